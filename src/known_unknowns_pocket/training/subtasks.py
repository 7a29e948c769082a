"""Subtask prompts: the single steps of a question, a few words each and many to an image.

A subtask is a line such as " small red star" with labels at its end: whether there is such an object, where it is and
how it looks, how many there are, or how one object lies relative to another. Whole questions train these steps too, at
several times the cost. Text tasks need no image: which letter precedes given words in a list of options.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from known_unknowns.records import Option, Question
from known_unknowns_benchmarks.humblebench import loader as humblebench
from known_unknowns_pocket.benchmarks.object_names import (
    ATTRIBUTES,
    expressions,
    matching,
    name,
    pair_name,
    phrase,
    plural,
)
from known_unknowns_pocket.benchmarks.question_templates import PHRASES, REFUSAL, countable
from known_unknowns_pocket.scenes import PREDICATES, SIZES, TEXTURES, TRAINING_PAIRS, Scene, relation_holds
from known_unknowns_pocket.training.prompts import MOST_COUNTED, WORDS, TrainingPrompt, held_out_words, marks

_HIDDEN = ((), ("colour",), ("shape",), ("texture",), ("size",))
_CHANGED = frozenset(("colour", "shape", "texture"))
_PAIR = frozenset(("colour", "shape"))
_SHARE_OF_PAIRS = 0.4
_COUNTS = 2
_COUPLES = 3


def subtask_prompts(scene: Scene, rng: random.Random, *, seen: bool) -> tuple[TrainingPrompt, ...]:
    """Return subtasks about a scene; if it is not ``seen``, only that each object is absent."""
    made = [*_present(scene, rng), *_absent(scene, rng), *count_prompts(scene, rng, _COUNTS), *_couples(scene, rng)]
    if seen:
        return tuple(made)
    return tuple(line_prompt(subtask.prompt[:-1], present=False) for subtask in made if subtask.options)


def line_prompt(
    text: str,
    *,
    present: bool | None = None,
    words: dict[str, int] | None = None,
    places: tuple[tuple[int, tuple[int, ...]], ...] = (),
    unasked: tuple[str, ...] = (),
    counted: tuple[int, ...] | None = None,
) -> TrainingPrompt:
    """Return a subtask whose labels are at its end; ``counted`` are the ids of counted objects."""
    options = () if present is None else ((len(text), present),)
    return TrainingPrompt(
        f"{text}\n",
        options=options,
        stem=len(text),
        words=words,
        places=places,
        counted=None if counted is None else (len(text), counted),
        held_out_words=unasked,
    )


def _present(scene: Scene, rng: random.Random) -> Iterator[TrainingPrompt]:
    """Yield an expression for each object: one that identifies it, with all its attributes, or colour and shape."""
    for index, thing in enumerate(scene.objects):
        found = expressions(scene, index, rng.choice(_HIDDEN))
        if rng.random() < _SHARE_OF_PAIRS or not found:
            found = [_PAIR]
        attributes = rng.choice(found[:4])
        text = f" {phrase(thing, attributes)}"
        if matching(scene, thing, attributes) != [index]:
            yield line_prompt(text, present=True, places=((len(text), tuple(matching(scene, thing, attributes))),))
            continue
        words = {
            slot: WORDS[slot].index(value) for slot in ATTRIBUTES if (value := getattr(thing, slot)) in WORDS[slot]
        }
        yield line_prompt(
            text, present=True, words=words, places=((len(text), (index,)),), unasked=held_out_words(thing)
        )


def _absent(scene: Scene, rng: random.Random) -> Iterator[TrainingPrompt]:
    """Yield each object with one attribute changed so that no such object exists, in the same forms as `_present`."""
    for index, thing in enumerate(scene.objects):
        found = expressions(scene, index, rng.choice(_HIDDEN))
        if rng.random() < _SHARE_OF_PAIRS or not found:
            found = [_PAIR]
        attributes = rng.choice(found[:4])
        slot = rng.choice(sorted(attributes & _CHANGED) or ["colour"])
        changed: dict[str, Any] = {slot: rng.choice(WORDS[slot])}
        other = replace(thing, **changed)
        named_pair = attributes >= _PAIR and other.pair not in TRAINING_PAIRS
        if slot in attributes and not named_pair and not matching(scene, other, attributes):
            yield line_prompt(f" {phrase(other, attributes)}", present=False)


def count_prompts(scene: Scene, rng: random.Random, many: int) -> Iterator[TrainingPrompt]:
    """Yield ``many`` prompts for the number of objects: different nouns, and several objects in every second prompt."""
    every = [(noun, ids) for noun, ids in countable(scene) if len(ids) <= MOST_COUNTED]
    several = [one for one in every if len(one[1]) > 1]
    drawn = rng.sample(several, min(many // 2, len(several)))
    rest = [one for one in every if one not in drawn]
    for noun, ids in drawn + rng.sample(rest, min(many - len(drawn), len(rest))):
        yield line_prompt(f" {plural(noun)}", words={"count": len(ids)}, counted=tuple(ids))


def _couples(scene: Scene, rng: random.Random) -> Iterator[TrainingPrompt]:
    """Yield prompts for the relation between two objects with exactly one certain predicate."""
    ids = range(len(scene.objects))
    for _ in range(_COUPLES):
        subject, target = rng.sample(ids, 2)
        ours, theirs = name(scene, subject, rng), name(scene, target, rng)
        true = [predicate for predicate in PREDICATES if relation_holds(scene, subject, target, predicate)]
        if len(true) != 1 or ours is None or theirs is None:
            continue
        text = f" {ours} in relation to the {theirs}"
        yield line_prompt(
            text,
            words={"predicate": WORDS["predicate"].index(f"{PHRASES[true[0]]} it")},
            places=((1 + len(ours), (subject,)), (len(text), (target,))),
        )


_LOOKED_UP = 5
_OPTIONS = 4
_GAP = 0.25
_SORTS = ("colour", "shape", "texture", "count", "predicate", "pair", "object")


def text_task_prompt(rng: random.Random) -> TrainingPrompt:
    """Return a list of options of one type and the letters of some words, in HumbleBench's form."""
    sort = rng.choice(_SORTS)
    words = _words(sort, rng)
    listed, others = words[:_OPTIONS], words[_OPTIONS:]
    lettered = dict(zip(humblebench.LETTERS, [*listed, REFUSAL], strict=True))
    if len(listed) == _OPTIONS and rng.random() < _GAP:
        others = [lettered.pop(rng.choice(humblebench.LETTERS[:-1])), *others]
    options = tuple(Option(letter, text, f"{letter}. ") for letter, text in lettered.items())
    letters = {option.text: option.label for option in options}
    asked = rng.sample([*letters][:-1], len(letters) - 1) + others[: _LOOKED_UP - _OPTIONS + 1]
    rng.shuffle(asked)
    question = Question("", humblebench.NAME, f"{sort}?", options, None, len(options) - 1, (), "", "")
    reply = []
    for word in asked:
        reply += [(f" {word}", False), (f" {letters.get(word, humblebench.REFUSAL)}", True)]
    return TrainingPrompt(humblebench.prompt(question), tuple(reply), marks=marks(question))


def _words(sort: str, rng: random.Random) -> list[str]:
    """Return different words, the listed ones first."""
    if sort in WORDS:
        every = [*WORDS[sort]]
        if sort == "texture":
            every += ["checkered", "zigzag", "floral"]
        return rng.sample(every, len(every))
    pairs = [pair_name(pair) for pair in rng.sample(sorted(TRAINING_PAIRS), _LOOKED_UP + 1)]
    if sort == "pair":
        return pairs
    return [f"{rng.choice(SIZES + TEXTURES)} {pair}" for pair in pairs]

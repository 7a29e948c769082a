"""Drills: the single steps that questions are made of, many to an image and a few words each.

A drill is a line such as " small red star", and what is asked of it at its end: whether there is such an object, where
it is and what it looks like; how many there are; how one object lies to another. Whole questions teach these too, but
at several times the cost.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from known_unknowns_pocket.benchmarks.object_names import ATTRIBUTES, expressions, matching, name, phrase, plural
from known_unknowns_pocket.benchmarks.question_templates import PHRASES, countable
from known_unknowns_pocket.scenes import PREDICATES, TRAINING_PAIRS, Scene, verdict
from known_unknowns_pocket.training.prompts import MOST_COUNTED, WORDS, TrainingPrompt, held_out_words

_HIDDEN = ((), ("colour",), ("shape",), ("texture",), ("size",))
_CHANGED = frozenset(("colour", "shape", "texture"))
_PAIR = frozenset(("colour", "shape"))
_SHARE_OF_PAIRS = 0.4
_COUNTS = 2
_COUPLES = 3


def subtask_prompts(scene: Scene, rng: random.Random, *, seen: bool) -> tuple[TrainingPrompt, ...]:
    """Drills about a scene; where it is not ``seen``, no object is there and nothing else is asked."""
    made = [*_present(scene, rng), *_absent(scene, rng), *count_prompts(scene, rng, _COUNTS), *_couples(scene, rng)]
    if seen:
        return tuple(made)
    return tuple(_line(subtask.prompt[:-1], present=False) for subtask in made if subtask.options)


def _line(
    text: str,
    *,
    present: bool | None = None,
    words: dict[str, int] | None = None,
    places: tuple[tuple[int, tuple[int, ...]], ...] = (),
    unasked: tuple[str, ...] = (),
) -> TrainingPrompt:
    options = () if present is None else ((len(text), present),)
    return TrainingPrompt(
        f"{text}\n", options=options, stem=len(text), words=words, places=places, held_out_words=unasked
    )


def _present(scene: Scene, rng: random.Random) -> Iterator[TrainingPrompt]:
    """Each object by an expression that picks it out, with all that it looks like; or only by colour and shape."""
    for index, thing in enumerate(scene.objects):
        found = expressions(scene, index, rng.choice(_HIDDEN))
        if rng.random() < _SHARE_OF_PAIRS or not found:
            found = [_PAIR]
        attributes = rng.choice(found[:4])
        text = f" {phrase(thing, attributes)}"
        if matching(scene, thing, attributes) != [index]:
            yield _line(text, present=True, places=((len(text), tuple(matching(scene, thing, attributes))),))
            continue
        words = {
            slot: WORDS[slot].index(value) for slot in ATTRIBUTES if (value := getattr(thing, slot)) in WORDS[slot]
        }
        yield _line(text, present=True, words=words, places=((len(text), (index,)),), unasked=held_out_words(thing))


def _absent(scene: Scene, rng: random.Random) -> Iterator[TrainingPrompt]:
    """Each object with one attribute changed, so that there is no such object: in the same forms as `_present`."""
    for index, thing in enumerate(scene.objects):
        found = expressions(scene, index, rng.choice(_HIDDEN))
        if rng.random() < _SHARE_OF_PAIRS or not found:
            found = [_PAIR]
        attributes = rng.choice(found[:4])
        slot = rng.choice(sorted(attributes & _CHANGED) or ["colour"])
        other = replace(thing, **{slot: rng.choice(WORDS[slot])})
        named_pair = attributes >= _PAIR and other.pair not in TRAINING_PAIRS
        if slot in attributes and not named_pair and not matching(scene, other, attributes):
            yield _line(f" {phrase(other, attributes)}", present=False)


def count_prompts(scene: Scene, rng: random.Random, many: int) -> Iterator[TrainingPrompt]:
    """How many there are of what a question may count: different nouns, and every second one of several things."""
    every = [(noun, ids) for noun, ids in countable(scene) if len(ids) <= MOST_COUNTED]
    several = [one for one in every if len(one[1]) > 1]
    drawn = rng.sample(several, min(many // 2, len(several)))
    rest = [one for one in every if one not in drawn]
    for noun, ids in drawn + rng.sample(rest, min(many - len(drawn), len(rest))):
        text = f" {plural(noun)}"
        yield replace(_line(text, words={"count": len(ids)}), counted=(len(text), tuple(ids)))


def _couples(scene: Scene, rng: random.Random) -> Iterator[TrainingPrompt]:
    """How one object lies to another, where exactly one predicate certainly holds."""
    ids = range(len(scene.objects))
    for _ in range(_COUPLES):
        subject, target = rng.sample(ids, 2)
        ours, theirs = name(scene, subject, rng), name(scene, target, rng)
        true = [predicate for predicate in PREDICATES if verdict(scene, subject, target, predicate)]
        if len(true) != 1 or ours is None or theirs is None:
            continue
        text = f" {ours} in relation to the {theirs}"
        yield _line(
            text,
            words={"predicate": WORDS["predicate"].index(f"{PHRASES[true[0]]} it")},
            places=((1 + len(ours), (subject,)), (len(text), (target,))),
        )

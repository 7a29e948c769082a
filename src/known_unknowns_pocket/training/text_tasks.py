"""Prompts without an image: which letter precedes given words in a list of options.

One reply contains several words. Words that are not in the list have the refusal's letter.
"""

from __future__ import annotations

import random

from known_unknowns.records import Option, Question
from known_unknowns_benchmarks.humblebench import loader as humblebench
from known_unknowns_pocket.benchmarks.object_names import pair_name
from known_unknowns_pocket.benchmarks.question_templates import REFUSAL
from known_unknowns_pocket.scenes import SIZES, TEXTURES, TRAINING_PAIRS
from known_unknowns_pocket.training.prompts import WORDS, TrainingPrompt, marks

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

"""ActiView's list of options ("A. red; B. blue") and the replies to it.

A reply is the answer in words and then the letter: " red Answer: A". ActiView's released parser and the robust parser
both read a single letter after "Answer:". A small model trained on the bare letter does not learn to choose; with the
words first, the letter can be looked up in the list.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from known_unknowns_benchmarks.actiview import prompts as prompts
from known_unknowns_pocket.benchmarks.questions import Question
from known_unknowns_pocket.scenes import Scene
from known_unknowns_pocket.training.prompts import TrainingPrompt, stem_prompt

LETTERS = "ABCDEFG"
MARK = "\0"
"""Placeholder of an image in a prompt."""


def listed(options: Sequence[str]) -> str:
    """Return the options as ActiView's prompts list them."""
    return "; ".join(f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False))


def marks(prompt: str, options: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the end of each listed option in a prompt, with its letter."""
    end = prompt.index(listed(options)) - 2
    for letter, text in zip(LETTERS, options, strict=False):
        end += len(f"; {letter}. {text}")
        yield end, letter


def reply_text(words: str, letter: str) -> str:
    """Return the reply: the answer in words and its letter."""
    return f" {words} Answer: {letter}"


def actiview_prompt(made: Question, scene: Scene, rng: random.Random) -> TrainingPrompt:
    """Return a question about one image in ActiView's form: two to four options, the right one among them, no refusal.

    It applies only to types of questions whose answer does not depend on the options.
    """
    false = [text for text in made.options[:-1] if text != made.truth]
    options = [made.truth, *rng.sample(false, rng.randint(1, len(false)))]
    rng.shuffle(options)
    (filled,) = prompts.fill(prompts.ANSWER, image=MARK, question=made.stem, options=listed(options))
    prompt = filled.rpartition(MARK)[2].strip()
    return replace(
        stem_prompt(made, scene).moved(prompt.index(made.stem)),
        prompt=prompt,
        reply=((reply_text(made.truth, LETTERS[options.index(made.truth)]), True),),
        marks=tuple(marks(prompt, options)),
    )

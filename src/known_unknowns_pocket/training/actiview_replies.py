"""ActiView's list of options, "A. red; B. blue", and replies to it: the answer in words, then the letter.

ActiView's released rule reads what follows "Answer:" if it is one letter and nothing else, as does a careful reader. So
the replies say " red Answer: A". A small model that is asked for the letter alone does not learn to choose: the words
come first, and the letter is looked up among the options by them, as in HumbleBench's form.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from known_unknowns.benchmarks.actiview import prompts as prompts
from known_unknowns_pocket.benchmarks.questions import Question
from known_unknowns_pocket.scenes import Scene
from known_unknowns_pocket.training.prompts import TrainingPrompt, stem_prompt

LETTERS = "ABCDEFG"
MARK = "\0"
"""Stands for an image in a prompt."""


def listed(options: Sequence[str]) -> str:
    """The options as ActiView's prompts list them."""
    return "; ".join(f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False))


def marks(prompt: str, options: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The end of each listed option in a prompt, with its letter."""
    end = prompt.index(listed(options)) - 2
    for letter, text in zip(LETTERS, options, strict=False):
        end += len(f"; {letter}. {text}")
        yield end, letter


def reply_text(words: str, letter: str) -> str:
    """The reply: what the answer says, and the letter of the option that this stands for."""
    return f" {words} Answer: {letter}"


def actiview_prompt(made: Question, scene: Scene, rng: random.Random) -> TrainingPrompt:
    """A question about one image, as HumbleBench's are, in ActiView's form: two to four options, the right one among
    them and no refusal. Only for kinds whose answer does not depend on the options."""
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

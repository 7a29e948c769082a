"""The benchmark's own variant."""

from __future__ import annotations

from dataclasses import replace

from known_unknowns.records import Question
from known_unknowns.variants import Variant, by_name


def negated(question: Question, *, word: str = "no") -> Question:
    """Ask "Is there no dog in the image?": the other answer is right."""
    text = question.text.replace("Is there a ", f"Is there {word} ", 1)
    return replace(question, text=text, answer=None if question.answer is None else 1 - question.answer)


VARIANTS = by_name([Variant(negated)])

"""A check before a model is asked: where a variant changes the right answer, it must change what the model is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from known_unknowns import tables
from known_unknowns.benchmark.protocol import Dialogue
from known_unknowns.errors import ConfigError
from known_unknowns.records import Cell, Question
from known_unknowns.variants.of_benchmark import variants_of

Cells = Mapping[Cell, tuple[Callable[[Question], Dialogue], Sequence[Question]]]
"""The protocol and the questions of each cell."""


def check_turns(functions: Mapping[str, str], benchmark: str, cells: Cells, originals: Path) -> None:
    """Raise ConfigError for a variant with another right answer to the same first turn.

    An example is `nota_only` with a prompt that lists no options. The first seed of each variant is checked. Variants
    that correct the published answers are not (`Variant.corrects`).

    Parameters
    ----------
    functions : mapping of str to str
        The function of each variant.
    originals : Path
        The table of the original questions. Without it, nothing is checked; the workflow always has it.
    """
    if not originals.is_file():
        return
    published = {question.id: question for question in tables.read_questions(originals)}
    checked = set()
    for cell, (protocol, questions) in cells.items():
        variant = cell.variant
        if variant in checked or variants_of(benchmark)[functions[variant]].corrects:
            continue
        checked.add(variant)
        unchanged = []
        for question in questions:
            original = published.get(question.id)
            if original is None or not _has_other_answer(question, original):
                continue
            if _first_content(protocol, question) == _first_content(protocol, original):
                unchanged.append(question.id)
        if unchanged:
            message = (
                f"{len(unchanged)} of {len(questions)} questions have another right answer than published, and the "
                f"model is shown the same, for example in {unchanged[0]!r}"
            )
            raise ConfigError(
                f"{message}; let the prompt list the options, or remove the variant", path=f"variants.{variant}"
            )


def _has_other_answer(changed: Question, published: Question) -> bool:
    """Whether the right option has another text, or another label among other options."""
    if changed.answer is None or published.answer is None:
        return changed.answer is not published.answer
    right, published_right = changed.options[changed.answer], published.options[published.answer]
    if right.text != published_right.text:
        return True
    is_refusal = changed.answer == changed.refusal  # which is recognised by its words, where no option is listed
    return right.label != published_right.label and changed.options != published.options and not is_refusal


def _first_content(protocol: Callable[[Question], Dialogue], question: Question) -> object:
    return next(protocol(question)).content

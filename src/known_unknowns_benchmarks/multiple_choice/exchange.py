"""Questions of the user's own in files of predictions, and in one file of annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from known_unknowns.benchmark.exchange import Exchange
from known_unknowns.config import DataEntry
from known_unknowns.exchange.embedded_questions import build_question
from known_unknowns.records import Option, Question
from known_unknowns_benchmarks.multiple_choice import answers, refusals
from known_unknowns_benchmarks.multiple_choice.loader import NAME, load
from known_unknowns_benchmarks.multiple_choice.options import read_options
from known_unknowns_benchmarks.multiple_choice.settings import Settings, is_empty

_CATEGORY = "questions"
"""The category of a question that names none. In a folder of questions, it is the name of the file."""


def embedded_question(fields: Mapping[str, Any], identifier: str, function: str) -> Question:
    """Parse the question in a row (`known_unknowns.benchmark.exchange.Exchange`).

    The columns are those of a folder of questions. The answer is a letter or a text: whether a number counts from 0 or
    from 1 is detected for all questions of a folder together, and a single row does not say it.
    """
    settings = Settings()
    asked = read_options(fields, settings)
    columns = {option.label: option.text for option in asked.options}
    category = settings.column("category", fields)
    named = "" if category is None or is_empty(fields[category]) else str(fields[category])
    known = {"question": asked.text, "label": _label(fields, settings, asked.options), "category": named or _CATEGORY}
    return build_question(
        {**fields, **columns, **known},
        identifier,
        function,
        benchmark=NAME,
        find_refusal=lambda options: refusals.find_refusal([option.text for option in options], None),
        category=("category",),
        extra={"question_id": identifier},
    )


def _label(fields: Mapping[str, Any], settings: Settings, options: Sequence[Option]) -> str | None:
    """Return the label of the right option."""
    column = settings.column("answer", fields)
    given = None if column is None else fields[column]
    if is_empty(given):
        return None
    named = [answers.meaning(given, options, kind) for kind in ("letter", "text")]
    places = named[0] | named[1]
    if len(places) == 1 or (named[0] and "variant" in fields):  # our own files have the letter
        return options[min(named[0] or places)].label
    if len(places) > 1:
        readings = " or ".join(repr(options[place].line) for place in sorted(places))
        raise ValueError(
            f"column {column}: the answer {str(given)[:60]!r} can be {readings}; name the questions with --annotations "
            "(a file or folder of questions)"
        )
    if isinstance(given, str) and len(given.strip()) == 1 and given.strip().isupper():
        return given.strip()  # of an option that the variant removed
    raise ValueError(
        f"column {column}: the answer {str(given)[:60]!r} is neither the letter nor the text of an option; name the "
        "questions with --annotations (a file or folder of questions)"
    )


def load_without_images(path: Path, *, settings: DataEntry | None = None) -> list[Question] | None:
    """Load the questions of one file, whose images are beside it (`Benchmark.load_without_images`)."""
    if path.is_dir():
        return None
    chosen = Settings.of(settings).model_copy(update={"files": [escape(path.name)]})
    with TemporaryDirectory() as folder:
        return list(load(path.parent, Path(folder), settings=chosen))


EXCHANGE = Exchange(embedded_question=embedded_question, has_texts=True)

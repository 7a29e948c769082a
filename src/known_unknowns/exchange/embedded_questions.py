"""Questions that a file of predictions carries with it, as they were asked: nothing of a variant is applied to them.

HumbleBench's lines, lmms-eval's ``doc`` and VLMEvalKit's columns all say question, options and right answer, in
fields that differ a little. Of the picture they know a path at most: it names the group of questions on one picture.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from known_unknowns.benchmarks.humblebench import loader as humblebench
from known_unknowns.benchmarks.mmsap import loader as mmsap
from known_unknowns.benchmarks.mmsap.official import plain
from known_unknowns.errors import unknown_name
from known_unknowns.records import Image, Option, Question

NOTHING_TO_SEE = frozenset({"noise", "gaussian", "blank"})
"""Variants (by function) whose right answer is the refusal, although their labels stay as published."""

NO_PICTURE = "question "
"""How the group of a question begins that does not say which picture it is on: it is one of its own."""


def question(benchmark: str, fields: Mapping[str, Any], identifier: str, function: str = "original") -> Question:
    """The question that a row's ``fields`` tell, asked in a variant made by ``function``.

    Raises ValueError saying what is missing or contradicts itself.
    """
    if benchmark not in CARRIERS:
        raise ValueError(f"a question of {benchmark} cannot be known from its predictions; name its --annotations")
    return CARRIERS[benchmark](fields, identifier, function)


def _humblebench(fields: Mapping[str, Any], identifier: str, function: str) -> Question:
    stem, options = _options(fields)
    labels = [option.label for option in options]
    refusal = labels.index(humblebench.REFUSAL) if humblebench.REFUSAL in labels else None
    if refusal is None and function != "without_refusal":
        raise ValueError(f"no option {humblebench.REFUSAL}, which is the refusal; there are {', '.join(labels)}")
    label = _first(fields, "label", "answer", "target")
    return Question(
        id=identifier,
        benchmark=humblebench.NAME,
        text=stem,
        options=options,
        answer=_answer(label, labels, refusal, function),
        refusal=refusal,
        images=_images(fields, function),
        category=_first(fields, "type", "category"),
        group=_path(fields) or NO_PICTURE + identifier,
        extra={"question_id": _number(identifier), "label": label, "image_path": _path(fields)},
    )


def _mmsap(fields: Mapping[str, Any], identifier: str, function: str) -> Question:
    stem, options = _options(fields)
    labels = [option.label for option in options]
    refusal = next((i for i, option in enumerate(options) if plain(option.text) == plain(mmsap.REFUSAL)), None)
    subset = _first(fields, "subset")
    if subset not in mmsap.SUBSETS:
        raise ValueError(f"the subset: {unknown_name(subset, mmsap.SUBSETS)}")
    return Question(
        id=identifier,
        benchmark=mmsap.NAME,
        text=stem,
        options=options,
        answer=_answer(_first(fields, "label", "answer", "target"), labels, refusal, function),
        refusal=refusal,
        images=_images(fields, function),
        category=_first(fields, "sub_task", "type", "category", "subset"),
        group=_path(fields) or NO_PICTURE + identifier,
        extra={"subset": subset, "question_id": identifier, "image_path": _path(fields)},
    )


CARRIERS: dict[str, Callable[[Mapping[str, Any], str, str], Question]] = {"humblebench": _humblebench, "mmsap": _mmsap}
"""ActiView's questions have annotated views, which no file of predictions carries."""


def text_of(fields: Mapping[str, Any]) -> str | None:
    """How the question reads in the row, with or without its options; None where it does not say."""
    value = fields.get("question")
    return value if isinstance(value, str) and value.strip() else None


def _options(fields: Mapping[str, Any]) -> tuple[str, tuple[Option, ...]]:
    """Stem and options: those of the columns A, B, ..., else the lines of the question."""
    question = text_of(fields)
    if question is None:
        raise ValueError("it carries no question")
    columns = {label: fields.get(label) for label in string.ascii_uppercase}
    options = tuple(Option(label, str(v), f"{label}. ") for label, v in columns.items() if not _empty(v))
    return (question, options) if options else humblebench.parse_question(question)


def _empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _first(fields: Mapping[str, Any], *names: str) -> str:
    for name in names:
        if not _empty(fields.get(name)):
            return str(fields[name]).strip()
    raise ValueError(f"it carries no {' or '.join(names)}")


def _answer(label: str, labels: list[str], refusal: int | None, function: str) -> int | None:
    """The option that is right in this variant, given the label that the row carries."""
    if len(label) != 1 or label not in string.ascii_uppercase:
        raise ValueError(f"the label is {label!r}, not an option's letter")
    on_offer = labels.index(label) if label in labels else None
    if function == "nota_only":
        if on_offer not in (None, refusal):
            raise ValueError(f"labelled {label}, which is still on offer; in nota_only the right option is removed")
        return refusal
    if on_offer is None:
        if function == "without_refusal":
            return None
        raise ValueError(
            f"labelled {label}, where the options are {', '.join(labels)}; "
            "if the right option was removed, it is the variant nota_only"
        )
    return refusal if function in NOTHING_TO_SEE and refusal is not None else on_offer


def _path(fields: Mapping[str, Any]) -> str:
    """The picture's path as the row has it; "" where it has none."""
    image = fields.get("image")
    value = image.get("path") if isinstance(image, Mapping) else fields.get("image_path") or fields.get("file_name")
    return value if isinstance(value, str) else ""


def _images(fields: Mapping[str, Any], function: str) -> tuple[Image, ...]:
    """The picture by its path alone. Rescoring never opens it."""
    path = _path(fields)
    if not path or function == "text_only":
        return ()
    if function in NOTHING_TO_SEE:
        from known_unknowns.images import drawn

        return (drawn("blank", 0, 0),)
    return (Image(path, sha256(path.encode()).hexdigest(), 0, 0),)


def _number(identifier: str) -> int | str:
    return int(identifier) if identifier.isdecimal() else identifier

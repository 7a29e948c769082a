"""Questions that a file of predictions contains, as they were asked: no variant is applied to them.

Rows of the known formats give question, options and right answer in fields that differ a little. What is specific to a
benchmark is in its `Exchange.embedded_question`, which uses the functions of this module. Of the image, a row has at
most the path, which identifies the group of questions on one image.
"""

from __future__ import annotations

import json
import math
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import PredictionFile, Row
from known_unknowns.benchmark.option_marks import check_marks
from known_unknowns.benchmark.question_text import COLUMNS, parse_question
from known_unknowns.errors import DataError
from known_unknowns.exchange.harness_logs import RECORD
from known_unknowns.images import recipe_image
from known_unknowns.records import Image, Option, Question
from known_unknowns.variants.of_benchmark import variants_of

ORIGINAL, NOTA_ONLY, WITHOUT_REFUSAL, TEXT_ONLY = "original", "nota_only", "without_refusal", "text_only"
"""Names of functions in `known_unknowns.variants`."""

UNANSWERABLE = frozenset({"noise", "gaussian", "blank"})
"""Functions of variants whose right answer is the refusal, although their labels stay as published."""

NO_IMAGE = "question "
"""Prefix of the group of a question whose image is unknown: it is a group of its own."""

_RECIPES = {"uniform-noise": "noise", "normal-noise": "gaussian", "blank": "blank"}
"""Functions of variants, by the recipe of their images."""
_ONE_IMAGE = 50
"""Files with more questions, all with the same path, do not say which image each question is about."""


def collect_questions(files: Iterable[PredictionFile], benchmark: str, function: str) -> list[Question]:
    """Return the questions that the files contain, one for each id, in their order.

    Raises DataError naming the line of a row without a question, or with another question under the same id.
    """
    parse = registry.get(benchmark).exchange().embedded_question
    found: dict[str, Question] = {}
    for file in files:
        if all(question_text(prediction.fields) is None for prediction in file.predictions):
            raise DataError(
                f"predictions of the format {file.format.name} do not say what was asked; name the questions with "
                "--annotations (the benchmark's own files, or a table of questions, such as "
                f"data/<edition>/questions/{benchmark}/questions.parquet)",
                file=file.file,
            )
        for prediction in file.predictions:
            if RECORD in prediction.fields:
                question = prediction.fields[RECORD]
            elif parse is None:
                raise prediction.row.error(
                    f"a question of {benchmark} cannot be known from its predictions; name its --annotations"
                )
            else:
                try:
                    question = parse(prediction.fields, prediction.name, function)
                except ValueError as error:
                    raise prediction.row.error(str(error)) from error
            if question.benchmark != benchmark:
                raise prediction.row.error(f"a question of {question.benchmark}, not of {benchmark}")
            if found.setdefault(prediction.name, question) != question:
                raise prediction.row.error(f"another question has the id {prediction.name!r} too")
    questions = list(found.values())
    if function in UNANSWERABLE and len({question.group for question in questions}) == 1:
        return [replace(question, group=NO_IMAGE + question.id) for question in questions]
    return questions


def stated_function(files: Sequence[PredictionFile], benchmark: str) -> str:
    """Return the function of the variant that the field ``variant`` of the rows names; "" if they name none.

    Raises DataError if the rows are of several variants.
    """
    known = variants_of(benchmark)
    stated: dict[str, Row] = {}
    for file in files:
        for prediction in file.predictions:
            name = prediction.fields.get("variant")
            stated.setdefault(name if isinstance(name, str) and name in known else "", prediction.row)
    if len(stated) > 1:
        names = ", ".join(sorted(name or ORIGINAL for name in stated))
        raise list(stated.values())[1].error(f"the rows are of several variants ({names}); rescore each alone")
    return next(iter(stated), "")


def check_images_differ(files: Sequence[PredictionFile]) -> None:
    """Raise DataError if all of many questions have the same image, so that the variant must be named."""
    paths = [image_path(prediction.fields) for file in files for prediction in file.predictions]
    if len(paths) > _ONE_IMAGE and len(set(paths)) == 1 and paths[0]:
        raise DataError(
            f"all {len(paths)} rows have the image {paths[0]!r}; if it was shown in place of the questions' images, "
            "name the variant (--variant noise), or else --variant original",
            file=files[0].file,
        )


def function_of(questions: Iterable[Question]) -> str:
    """Return the function of the variant that questions were made by, as far as answers and images depend on it."""
    return next((name for question in questions if (name := _function_of(question)) != ORIGINAL), ORIGINAL)


def _function_of(question: Question) -> str:
    recipes = {_RECIPES.get(image.source.partition(":")[0]) for image in question.images}
    if recipes and None not in recipes:
        return str(recipes.pop())
    if not question.images and question.extra.get("image_path"):
        return TEXT_ONLY
    if question.removed:
        return WITHOUT_REFUSAL if question.refusal is None else NOTA_ONLY
    return ORIGINAL


def build_question(
    fields: Mapping[str, Any],
    identifier: str,
    function: str,
    *,
    benchmark: str,
    find_refusal: Callable[[Sequence[Option]], int | None],
    category: Sequence[str],
    extra: Mapping[str, Any],
) -> Question:
    """Build the question that the ``fields`` of a row describe, in a variant made by ``function``.

    ``find_refusal`` returns the index of the refusal option. ``category`` lists the fields that can name the category.
    Raises ValueError if the question or its label is missing, if the label cannot be right in this variant, or if marks
    such as "B. " at the start of options contradict their labels.
    """
    stem, options = stem_and_options(fields)
    refusal = find_refusal(options)
    path = image_path(fields)
    labels = [option.label for option in options]
    check_marks(labels, [option.text for option in options])
    removed = _texts(fields.get("removed"))
    shown = path.partition(":")[0] not in _RECIPES
    return Question(
        id=identifier,
        benchmark=benchmark,
        text=stem,
        options=options,
        answer=_answer(_label(fields, function), labels, refusal, function),
        refusal=refusal,
        images=_images(path, function),
        category=first_value(fields, *category),
        group=_text(fields.get("group")) or (path if shown else "") or NO_IMAGE + identifier,
        extra={**extra, "image_path": path} | ({"removed": removed} if removed else {}),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    """The texts of a list, which is JSON in a cell of a table."""
    if isinstance(value, str) and value:
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _label(fields: Mapping[str, Any], function: str) -> str:
    """The label of the right option in a row; "" if it is the refusal, which the variant removed."""
    return first_value(fields, "label", "answer", "target", default="" if function == WITHOUT_REFUSAL else None)


def question_text(fields: Mapping[str, Any]) -> str | None:
    """Return the text of the question in a row, with or without its options; None if there is none."""
    values = (fields.get(name) for name in COLUMNS["question"])
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


def stem_and_options(fields: Mapping[str, Any]) -> tuple[str, tuple[Option, ...]]:
    """Return stem and options: from the columns A, B, ... if there are any, else from the lines of the question.

    Raises ValueError if there are none.
    """
    question = question_text(fields)
    if question is None:
        raise ValueError("it has no question")
    columns = {label: fields.get(label) for label in string.ascii_uppercase}
    options = tuple(Option(label, str(v), f"{label}. ") for label, v in columns.items() if not _is_empty(v))
    return (question, options) if options else parse_question(question)


def first_value(fields: Mapping[str, Any], *names: str, default: str | None = None) -> str:
    """Return the first of these fields that has a value. Raises ValueError if none has, and there is no ``default``."""
    for name in names:
        if not _is_empty(fields.get(name)):
            return str(fields[name]).strip()
    if default is None:
        raise ValueError(f"it has no {' or '.join(names)}")
    return default


def image_path(fields: Mapping[str, Any]) -> str:
    """Return the path of the image as the row has it; "" if it has none."""
    image = fields.get("image")
    value = image.get("path") if isinstance(image, Mapping) else fields.get("image_path") or fields.get("file_name")
    return value if isinstance(value, str) else ""


def _is_empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _answer(label: str, labels: list[str], refusal: int | None, function: str) -> int | None:
    """Return the option that is right in this variant, given the label in the row."""
    offered = labels.index(label) if label in labels else None
    if not label:
        return None
    if offered is None and (len(label) != 1 or label not in string.ascii_uppercase):
        raise ValueError(f"the label is {label!r}, not an option's label")
    if function == NOTA_ONLY:
        if offered not in (None, refusal):
            raise ValueError(f"labelled {label}, which is still on offer; in {NOTA_ONLY} the right option is removed")
        return refusal
    if offered is None:
        if function == WITHOUT_REFUSAL:
            return None
        raise ValueError(
            f"labelled {label}, where the options are {', '.join(labels)}; "
            f"if the right option was removed, it is the variant {NOTA_ONLY}"
        )
    return refusal if function in UNANSWERABLE and refusal is not None else offered


def _images(path: str, function: str) -> tuple[Image, ...]:
    """Return the image by its path alone. Rescoring does not read images."""
    if not path or function == TEXT_ONLY:
        return ()
    if function in UNANSWERABLE:
        return (recipe_image("blank", 0, 0),)
    return (Image(path, sha256(path.encode()).hexdigest(), 0, 0),)

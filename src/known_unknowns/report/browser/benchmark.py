"""The shards of one benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from known_unknowns import json_files, tables
from known_unknowns.edition_files import EditionFiles
from known_unknowns.metrics import dual
from known_unknowns.metrics.answers import confidences
from known_unknowns.records import Cell, Question
from known_unknowns.report.browser import outcomes
from known_unknowns.report.browser.columns import CHUNK, AskedQuestions, OrderedTable
from known_unknowns.report.browser.dialogue import DialogueWriter, SharedValues
from known_unknowns.report.browser.image_files import ImageFiles
from known_unknowns.report.browser.outcomes import codes_of, disagreements, planes
from known_unknowns.report.browser.replay import replay
from known_unknowns.report.browser.shards import ShardFolder
from known_unknowns.report.confidence_figures import source_name
from known_unknowns.report.private_texts import PrivateTexts
from known_unknowns.report.section import section
from known_unknowns.tables import Part

if TYPE_CHECKING:
    from known_unknowns.config import Params

TOGETHER = 32
"""Number of models in a shard of outcomes, answers or disagreements."""
TEXT_CHUNK = 8192
"""Number of questions in a shard of searchable text."""

Planes = dict[str, tuple[np.ndarray, np.ndarray]]
"""For each parser, the outcomes and the answers of one model's replies."""
Confidences = list[np.ndarray]
"""For each of `outcomes.SOURCES`, the confidences in one model's replies."""


class BenchmarkWriter:
    """Writes the shards of one benchmark."""

    images_to: Path | None = None
    """The folder for copies of images, None for none."""

    def __init__(
        self, params: Params, name: str, shards: ShardFolder, private: PrivateTexts, *, results: Path, data: Path
    ) -> None:
        self._params, self._name, self._shards, self._private = params, name, shards, private
        self._files = EditionFiles(data, results)
        self._parsers = list(params.parsers)
        self._cells = params.cells(name, samples=max(map(params.samples, params.models)))
        self._places: dict[str, int] = {}
        self._categories: dict[str, int] = {}

    def write(self, advance: Callable[[int], None]) -> tuple[str, list[Any]]:
        """Write all shards. Return the benchmark's name, its number of questions and the name of its index."""
        index: dict[str, Any] = self._published()
        copies = None if self.images_to is None else ImageFiles(self.images_to, self._files.questions(self._name))
        cells, replies_of = [], []
        present = np.zeros(len(outcomes.SOURCES), bool)
        writer = DialogueWriter(self._parsers, self._private)
        confidences_of = {model: self._confidences(model) for model in self._params.models}
        for place, cell in enumerate(self._cells):
            questions = AskedQuestions(self._read_questions(cell), self._places)
            shared: list[SharedValues] = [SharedValues() for _ in range(0, questions.size, CHUNK)]
            rows = self._question_rows(questions, shared)
            found: list[Any] = []
            sure: list[Any] = []
            for number, model in enumerate(self._params.models):
                if cell in self._params.cells(self._name, model):
                    of_parsers, names = self._replies(model, cell, questions, shared, writer)
                    replies_of.append([number, place, len(found), names])
                    found.append(of_parsers)
                    sure.append(confidences_of[model][cell])
                    present |= [bool(values.any()) for values in sure[-1]]
                    advance(1)
            refusals = self._shards.write(questions.refusal_is_right.tobytes())
            shards = self._question_shards(rows, shared, copies), self._plane_shards(found, sure), refusals
            cells.append([*self._cell_names(cell), *shards])
        index |= {
            "chunk": CHUNK,
            "together": TOGETHER,
            "parsers": self._parsers,
            "main": self._parsers.index("robust") if "robust" in self._parsers else 0,
            "sources": [
                [source, source_name(source), bool(is_present)]
                for source, is_present in zip(outcomes.SOURCES, present, strict=True)
            ],
            "relations": list(self._relations()),
            "cells": cells,
            "replies": replies_of,
            "provenance": self._private.removed_from(self._provenance()),
        }
        return self._name, [len(self._places), self._write(index)]

    def _confidences(self, model: str) -> dict[Cell, Confidences]:
        """Return the confidences of one model by cell. Some need several cells, so that its table is read once."""
        cells = self._params.cells(self._name, model)
        if not cells:
            return {}
        table = confidences(self._files.answers(model, self._name), self._name)
        by_cell = {Cell(*at): rows for at, rows in table.groupby(tables.CELL.names, observed=True)}
        nothing, ids = table.head(0), list(self._places)
        return {cell: outcomes.confidences(by_cell.get(cell, nothing), ids) for cell in cells}

    def _write(self, value: Any) -> str:
        """Write a JSON-able value without keys, and return the shard's name."""
        return self._shards.write_json(self._private.keys_removed_from(value))

    def _cell_names(self, cell: Cell) -> list[Any]:
        """The variant, its name in the report, and the seed as the page shows it: "3", or "3 sample 1"."""
        return [cell.variant, section(self._name).name(cell.variant), str(cell.repeat).removeprefix("seed ")]

    def _read_questions(self, cell: Cell) -> list[Question]:
        return tables.read_questions(self._files.asked(self._name, cell.variant, cell.seed))

    def _published(self) -> dict[str, Any]:
        """Find the ids of all questions. Return them with their categories and the shards of their texts.

        The text and the category of a question are those of the first variant that has it. A shard of texts has the
        text, a line break, the id and a NUL character for each question.
        """
        categories, texts = [], []
        for cell in self._cells:
            for question in self._read_questions(cell):
                if question.id not in self._places:
                    self._places[question.id] = len(self._places)
                    categories.append(self._categories.setdefault(question.category, len(self._categories)))
                    text = self._private.keys_removed(f"{question.rendered}\n{question.id}")
                    texts.append(text.replace("\0", "\ufffd"))
        parts = range(0, len(texts), TEXT_CHUNK)
        return {
            "ids": list(self._places),
            "categories": list(self._categories),
            "category": categories,
            "texts": [self._shards.write("\0".join([*texts[i : i + TEXT_CHUNK], ""]).encode()) for i in parts],
        }

    def _replies(
        self,
        model: str,
        cell: Cell,
        questions: AskedQuestions,
        shared: Sequence[SharedValues],
        writer: DialogueWriter,
    ) -> tuple[Planes, list[str]]:
        """Write one model's replies to one cell. Return its outcomes and the shards of the replies."""
        of_replies = Part(self._files.replies(model, self._name), cell)
        of_answers = Part(self._files.answers(model, self._name), cell)
        replies = OrderedTable(of_replies, tables.read_columns(of_replies, tables.REPLIES), questions)
        scores = OrderedTable(of_answers, tables.score_table(of_answers), questions)
        scores.keep(np.isin(scores.values("parser"), self._parsers) & (scores.rows_in(replies) >= 0))
        codes = codes_of(scores.values("outcome"), scores.values("correct"), file=scores.path)
        again = partial(replay, self._params, self._name, model, cell.variant)
        parts = writer.parts(questions, replies, scores, codes, shared, again)
        names = [self._write(part) for part in parts]
        return planes(scores, codes, self._parsers, questions), names

    def _plane_shards(self, models: Sequence[Planes], sure: Sequence[Confidences]) -> list[list[list[str]]]:
        """Write shards of bytes for some models together.

        They are outcomes and answers of each parser, disagreements, and the confidences from each source.
        """
        names = []
        for first in range(0, len(models), TOGETHER):
            part = models[first : first + TOGETHER]
            results, answers = ([[of[parser][kind] for of in part] for parser in self._parsers] for kind in (0, 1))
            pairs = zip(*(disagreements([answers for _, answers in of.values()]) for of in part), strict=True)
            of_sources = zip(*sure[first : first + TOGETHER], strict=True)
            kinds = (results, answers, pairs, of_sources)
            names.append([[self._joined(arrays) for arrays in kind] for kind in kinds])
        return names

    def _joined(self, arrays: Iterable[np.ndarray]) -> str:
        return self._shards.write(b"".join(array.tobytes() for array in arrays))

    @staticmethod
    def _question_rows(questions: AskedQuestions, shared: Sequence[SharedValues]) -> list[Any]:
        return [
            question
            and [
                question.text,
                [[option.label, option.mark, option.text] for option in question.options],
                question.answer,
                question.refusal,
                [shared[place // CHUNK].image(image) for image in question.images],
                question.category,
                question.group,
                json.dumps(dict(question.extra), ensure_ascii=False, sort_keys=True) if question.extra else "",
            ]
            for place, question in enumerate(questions.at)
        ]

    def _question_shards(
        self, rows: Sequence[Any], shared: Sequence[SharedValues], copies: ImageFiles | None
    ) -> list[str]:
        names = []
        for values, start in zip(shared, range(0, len(rows), CHUNK), strict=True):
            images = [
                [image.sha256, image.width, image.height, *(copies.copy(image) if copies else ("", "", ""))]
                for image in values.image_records
            ]
            part = {"prompts": list(values.prompts), "images": images, "questions": rows[start : start + CHUNK]}
            names.append(self._write(part))
        return names

    def _relations(self) -> Iterator[list[Any]]:
        """Yield the pairs of variants that a dual accuracy compares, and the pairs of seeds.

        The last value is the place of the variant whose replies are listed: the second, unless only the first has
        several seeds.
        """
        for combined in dual.combinations(self._params, self._name):
            seeds = [self._params.seeds_of(self._name, variant) for variant in combined.variants]
            several = [of_one for of_one in seeds if len(of_one) > 1] or seeds[:1]
            common = [seed for seed in several[0] if all(seed in of_one for of_one in several)]
            pairs = [[str(seed if seed in of_one else of_one[0]) for of_one in seeds] for seed in common]
            yield [*combined.variants, pairs, int(not len(seeds[0]) > 1 >= len(seeds[1]))]

    def _provenance(self) -> dict[str, Any]:
        engines = {}
        for model in self._params.models:
            path = self._files.engine(model, self._name)
            if path.is_file():
                engine = json_files.read(path)
                engines[model] = {key: engine[key] for key in ("entry", "facts", "about") if key in engine}
        return {"data": self._params.data(self._name).plain(), "engines": engines}

"""The shards of one benchmark."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from known_unknowns import benchmarks, tables
from known_unknowns.errors import DataError
from known_unknowns.inference.asking import bound
from known_unknowns.metrics import dual
from known_unknowns.records import AnsweredTurn, Question, Score, Turn
from known_unknowns.report.browser.dialogue import DialogueWriter, SharedValues
from known_unknowns.report.browser.image_files import ImageFiles
from known_unknowns.report.browser.outcomes import planes
from known_unknowns.report.browser.shards import ShardFolder
from known_unknowns.report.section import section

if TYPE_CHECKING:
    from known_unknowns.config import Params

CHUNK = 256
"""Number of questions in a shard of questions or replies."""
TEXT_CHUNK = 8192
"""Number of questions in a shard of searchable text."""

Cell = tuple[str, int]


class BenchmarkWriter:
    """Writes the shards of one benchmark."""

    images_to: Path | None = None
    """The folder for copies of images, None for none."""

    def __init__(self, params: Params, name: str, shards: ShardFolder, *, results: Path, data: Path) -> None:
        self._params, self._name, self._shards, self._results = params, name, shards, results
        self._questions = data / "questions" / name
        self._scorers = list(params.scorers)
        self._cells = params.cells(name)
        self._places: dict[str, int] = {}
        self._categories: dict[str, int] = {}

    def write(self, advance: Callable[[int], None]) -> tuple[str, list[Any]]:
        """Write all shards. Return the benchmark's name, its number of questions and the name of its index."""
        index: dict[str, Any] = self._published()
        copies = None if self.images_to is None else ImageFiles(self.images_to, self._questions)
        questions_of, replies_of = [], []
        writer = DialogueWriter(self._scorers)
        for place, cell in enumerate(self._cells):
            questions = {question.id: question for question in self._read_questions(cell)}
            shared: dict[int, SharedValues] = defaultdict(SharedValues)
            for number, model in enumerate(self._params.models):
                if cell in self._params.cells(self._name, model):
                    replies_of.append([number, place, *self._replies(model, cell, questions, shared, writer)])
                    advance(1)
            questions_of.append([*self._cell_names(cell), self._question_shards(questions, shared, copies)])
        index |= {
            "chunk": CHUNK,
            "textChunk": TEXT_CHUNK,
            "scorers": self._scorers,
            "main": self._scorers.index("robust") if "robust" in self._scorers else 0,
            "relations": list(self._relations()),
            "cells": questions_of,
            "replies": replies_of,
            "provenance": self._provenance(),
        }
        return self._name, [len(self._places), self._shards.write_json(index)]

    def _cell_names(self, cell: Cell) -> list[Any]:
        return [cell[0], section(self._name).name(cell[0]), cell[1]]

    def _file(self, kind: str, model: str, cell: Cell) -> Path:
        return self._results / kind / model / self._name / cell[0] / f"seed{cell[1]}.parquet"

    def _read_questions(self, cell: Cell) -> list[Question]:
        return tables.read_questions(self._question_file(cell))

    def _question_file(self, cell: Cell) -> Path:
        return self._questions / cell[0] / f"seed{cell[1]}.parquet"

    def _published(self) -> dict[str, Any]:
        """Find the ids of all questions. Return them with their categories and the shards of their texts.

        The text and the category of a question are those of the first variant that has it.
        """
        categories, texts = [], []
        for cell in self._cells:
            ids = pq.read_table(self._question_file(cell), columns=["id"])["id"].to_pylist()
            for question in self._read_questions(cell) if not self._places.keys() >= set(ids) else ():
                if question.id not in self._places:
                    self._places[question.id] = len(self._places)
                    categories.append(self._categories.setdefault(question.category, len(self._categories)))
                    texts.append(question.rendered)
        parts = range(0, len(texts), TEXT_CHUNK)
        return {
            "ids": list(self._places),
            "categories": list(self._categories),
            "category": categories,
            "texts": [self._shards.write_json(texts[start : start + TEXT_CHUNK]) for start in parts],
        }

    def _replies(
        self,
        model: str,
        cell: Cell,
        questions: dict[str, Question],
        shared: dict[int, SharedValues],
        writer: DialogueWriter,
    ) -> tuple[str, list[str]]:
        """Write one model's replies to one variant and seed. Return the shard of outcomes and those of the replies."""
        turns = self._by_question(tables.read_replies(self._file("replies", model, cell)), questions, model, cell)
        scores = self._by_question(tables.read_scores(self._file("scores", model, cell)), questions, model, cell)
        flags = planes(
            len(self._places), self._scorers, questions, self._places, (s for of_one in scores.values() for s in of_one)
        )
        rows: list[Any] = [None] * len(self._places)
        replay = partial(_replay, self._params, self._name, model, cell[0])
        for name, of_question in turns.items():
            place = self._places[name]
            rows[place] = writer.row(questions[name], of_question, scores.get(name, ()), shared[place // CHUNK], replay)
        chunks = (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
        return self._shards.write(flags), [self._shards.write_json(chunk) for chunk in chunks]

    def _by_question(
        self, rows: Sequence[Any], questions: dict[str, Question], model: str, cell: Cell
    ) -> dict[str, list[Any]]:
        """Group turns or scores by question, with the turns in order."""
        found: dict[str, list[Any]] = defaultdict(list)
        for row in rows:
            if row.question_id not in questions:
                raise DataError(
                    f"question {row.question_id!r} is not among the questions; run the workflow again",
                    file=self._file("replies" if isinstance(row, AnsweredTurn) else "scores", model, cell),
                )
            found[row.question_id].append(row)
        for of_question in found.values():
            of_question.sort(key=_turn_number)
        return found

    def _question_shards(
        self, questions: dict[str, Question], shared: dict[int, SharedValues], copies: ImageFiles | None
    ) -> list[str]:
        rows: list[Any] = [None] * len(self._places)
        for name, question in questions.items():
            place = self._places[name]
            rows[place] = [
                question.text,
                [[option.label, option.mark, option.text] for option in question.options],
                question.answer,
                question.refusal,
                [shared[place // CHUNK].image(image) for image in question.images],
                question.category,
                question.group,
                json.dumps(dict(question.extra), ensure_ascii=False, sort_keys=True) if question.extra else "",
            ]
        names = []
        for number, start in enumerate(range(0, len(rows), CHUNK)):
            values = shared[number]
            images = [
                [image.sha256, image.width, image.height, *(copies.copy(image) if copies else ("", "", ""))]
                for image in values.image_records
            ]
            part = {"prompts": list(values.prompts), "images": images, "questions": rows[start : start + CHUNK]}
            names.append(self._shards.write_json(part))
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
            pairs = [[seed if seed in of_one else of_one[0] for of_one in seeds] for seed in common]
            yield [*combined.variants, pairs, int(not len(seeds[0]) > 1 >= len(seeds[1]))]

    def _provenance(self) -> dict[str, Any]:
        engines = {}
        for model in self._params.models:
            path = self._results / "replies" / model / self._name / "engine.json"
            if path.is_file():
                try:
                    engine = json.loads(path.read_text(encoding="utf-8"))
                except ValueError as error:
                    raise DataError(f"not valid JSON ({error}); delete it and run again", file=path) from error
                engines[model] = {key: engine[key] for key in ("entry", "facts", "about") if key in engine}
        return {"data": self._params.data(self._name).as_dict(), "engines": engines}


def _turn_number(row: AnsweredTurn | Score) -> int:
    return row.turn


def _replay(
    params: Params, name: str, model: str, variant: str, question: Question, turns: Sequence[AnsweredTurn]
) -> Iterator[Turn]:
    """Yield the turns that the protocol asks after the same replies."""
    protocol = bound(
        benchmarks.get(name),
        params.protocol(name, variant),
        scorers=params.scorers,
        images=params.model(model).images,
    )
    dialogue = protocol(question)
    turn = next(dialogue, None)
    for answered in turns:
        if turn is None:
            return
        yield turn
        try:
            turn = dialogue.send(answered.reply)
        except StopIteration:
            return

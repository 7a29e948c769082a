"""A run of two models and two variants with hand-written replies, and the page of its questions.

python -m tests.unit.report_browser.tiny_run build/tiny-run      # and open build/tiny-run/report/questions.html
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from known_unknowns import config, tables
from known_unknowns.benchmark.answer_columns import answer_schema
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.files import write_text
from known_unknowns.images import recipe_image
from known_unknowns.records import AnsweredTurn, Cell, Image, Option, Question, Reply
from known_unknowns.report.browser import build
from known_unknowns.scoring.table import parse
from known_unknowns.tables import Part
from tests.cells import write_replies
from tests.factories import params_from, png
from tests.paths import ROOT

BENCHMARK = "humblebench"
IMAGE = png((200, 20, 20))
IMAGE_DIGEST = sha256(IMAGE).hexdigest()
MODELS = ("pocket", "pocket-never-refuses", "always_a")
VARIANTS = ("original", "nota_only", "noise")
HOSTILE = '<img src=x onerror=document.title="owned"> </script><script>alert(1)</script>\u2028 \u202egnorw\u202c{{ 7 }}'
LONG = "The image shows a chair, so it cannot be Red. I first thought of Gold. The answer is B, as the chair is Blue."
KEY = "0123456789abcdef" * 4

REPLIES = {
    ("pocket", "original"): ["A", "B", "E", "nothing", LONG, HOSTILE],
    ("pocket", "nota_only"): ["E", "B", "E", "E", "C", "E"],
    ("pocket", "noise"): ["E", "E", "E", "E", "E", "E"],
    ("pocket-never-refuses", "original"): ["A", "A", "B", "B", None, "A"],
    ("pocket-never-refuses", "nota_only"): ["B", "B", "B", "B", "B", "B"],
    ("pocket-never-refuses", "noise"): ["A", "A", "A", "A", "A", "A"],
    ("always_a", "original"): ["A"] * 6,
    ("always_a", "nota_only"): ["A"] * 6,
    ("always_a", "noise"): ["A"] * 6,
}
"""The replies to the questions q1 to q6; None failed. The right option is A, B, E, D, B, A."""
SURE = {1: 0.9, 2: 0.6, 5: 0.2}
"""Confidences of "pocket" in its replies as published."""
ANSWERS = (0, 1, 4, 3, 1, 0)
CATEGORIES = ("Object", "Object", "Relation", "Relation", "Attribute", HOSTILE)
TEXTS = ("What is red?", "What is blue?", "Is it there?", "Which chair?", "What colour is the chair?", HOSTILE)


@dataclass(frozen=True)
class TinyRun:
    folder: Path
    params: Params

    @property
    def page(self) -> Path:
        return self.folder / "report" / "questions.html"

    @property
    def shards(self) -> Path:
        return self.page.parent / "questions"


def make(folder: Path, *further: str) -> TinyRun:
    """Write the tables, the image and the page. The benchmarks ``further`` have the same questions and replies."""
    benchmarks = [BENCHMARK, *further]
    raw = config.load(ROOT / "params.yaml", edition="pocket").file.plain()
    raw["editions"]["pocket"] |= {"benchmarks": benchmarks, "models": list(MODELS), "seeds": [0]}
    for benchmark in benchmarks:
        raw["benchmarks"][benchmark]["variants"] = list(VARIANTS)
        raw["benchmarks"][benchmark].pop("seeds", None)
    params = params_from(raw)
    for benchmark in benchmarks:
        _write_tables(folder, params, benchmark)
    run = TinyRun(folder, params)
    build(params, results=folder, data=folder, out=run.page)
    return run


def _write_tables(folder: Path, params: Params, benchmark: str) -> None:
    questions = folder / "questions" / benchmark
    image = Image("images/a.png", IMAGE_DIGEST, 40, 30)
    (questions / "images").mkdir(parents=True)
    (questions / "images" / "a.png").write_bytes(IMAGE)
    asked = {variant: [_question(i, variant, image, benchmark) for i in range(6)] for variant in VARIANTS}
    for variant, rows in asked.items():
        tables.write_variant(folder / "variants" / benchmark / f"{variant}.parquet", {0: rows})
    for (model, variant), texts in REPLIES.items():
        turns = [_turn(question, text) for question, text in zip(asked[variant], texts, strict=True)]
        write_replies(folder / "replies" / model / benchmark / "replies.parquet", variant, 0, turns)
        engine = {"entry": {}, "facts": {"engine": "transformers", "revision": HOSTILE}, "about": {}}
        write_text(folder / "replies" / model / benchmark / "engine.json", json.dumps(engine))
    for model in MODELS:
        cells = [Cell(variant, 0) for variant in VARIANTS if (model, variant) in REPLIES]
        files = [folder / kind / model / benchmark / f"{kind}.parquet" for kind in ("replies", "answers")]
        parse(folder / "variants" / benchmark, *files, cells=cells, parsers=params.parsers)
    _set_confidences(EditionFiles(folder, folder).answers("pocket", benchmark), benchmark)


def _set_confidences(answers: Path, benchmark: str) -> None:
    """Replace the confidences from the labels' probabilities by `SURE`."""
    schema = answer_schema(benchmark)
    of_cells = []
    for cell in tables.cells_in(answers):
        table = tables.read_columns(Part(answers, cell), schema)
        rows = zip(table["parser"].to_pylist(), table["question_id"].to_pylist(), strict=True)
        is_original = cell == Cell("original", 0)
        known = {("robust", f"q{i}"): sure for i, sure in SURE.items() if is_original}
        letters = pa.array([known.get(row) for row in rows], pa.float64())
        of_cells.append((cell, table.set_column(schema.get_field_index("letters"), "letters", letters)))
    tables.write_cells(answers, schema, of_cells)


def _question(i: int, variant: str, image: Image, benchmark: str) -> Question:
    texts = ("Red", "Blue", "Black", "Gold", "None of the above")
    options = [Option(label, text, f"{label}. ") for label, text in zip("ABCDE", texts, strict=True)]
    answer = ANSWERS[i]
    if variant == "nota_only" and answer != 4:
        del options[answer]
    if variant != "original":
        answer = len(options) - 1
    shown = recipe_image("uniform-noise", 40, 30, seed=7) if variant == "noise" else image
    return Question(
        f"q{i + 1}", benchmark, TEXTS[i], tuple(options), answer, len(options) - 1, (shown,), CATEGORIES[i],
        image.sha256, {"label": HOSTILE, "subset": "KnowVisQA"},
    )  # fmt: skip


def _turn(question: Question, text: str | None) -> AnsweredTurn:
    logprobs = {label: -1.5 - i for i, label in enumerate(question.labels)}
    reply = Reply("", error="timeout") if text is None else Reply(text, logprobs, 90, 64, 3)
    return AnsweredTurn(
        question.id, 0, "answer", question.rendered, (question.images[0].sha256,), question.labels, KEY, reply
    )


if __name__ == "__main__":
    make(Path(sys.argv[1]))

"""A small, hand-made set of tables: two models, two variants, one seed, four questions, two parsers."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from known_unknowns import tables
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.records import OVERALL, AnsweredTurn, Cell, Metric, Option, Question, Reply, Score
from tests.cells import write_answers
from tests.factories import params_from

MODELS, VARIANTS = ("oracle", "always_a"), ("original", "nota_only_relettered")
CATEGORIES = ("Object", "Object", "Relation", "Attribute")
ANSWERS = (0, 1, 4, 0)
LETTERS = "ABCDE"
DVC_HASH = "0123456789abcdef0123456789abcdef.dir"

RAW: dict[str, Any] = {
    "edition": "pocket",
    "editions": {"pocket": {"benchmarks": ["humblebench"], "models": list(MODELS), "seeds": [0]}},
    "benchmarks": {
        "humblebench": {
            "protocol": "single_turn",
            "variants": list(VARIANTS),
            "data": {
                "pocket": {"source": "scenes", "seed": 1, "images": 4, "questions_per_image": 1, "revision": "abc"}
            },
        }
    },
    "variants": {"original": {}, "nota_only_relettered": {"function": "nota_only", "relettered": True}},
    "protocols": {"single_turn": {"max_new_tokens": 16}},
    "models": {
        "oracle": {"engine": "respondent", "behaviour": "oracle"},
        "always_a": {"engine": "respondent", "behaviour": "always_a", "seconds_per_reply": 0.5},
    },
    "parsers": ["official", "robust"],
    "statistics": {"confidence": 0.95},
    "tracking": {
        "enabled": True,
        "uri": "sqlite:///mlflow.db",
        "artifacts": "mlartifacts",
        "experiment": "known-unknowns",
    },
}


@dataclass
class World:
    """A project folder with the tables of every cell. ``raw`` is its params.yaml."""

    folder: Path
    raw: dict[str, Any]
    figures: list[Path] = field(default_factory=list)

    @property
    def params(self) -> Params:
        return params_from(self.raw)

    @property
    def data(self) -> Path:
        return self.folder / "data" / "pocket"

    @property
    def results(self) -> Path:
        return self.folder / "results" / "pocket"

    @property
    def out(self) -> Path:
        return self.results / "tracking.json"

    def metrics_file(self, model: str) -> Path:
        return EditionFiles(self.data, self.results).metrics(model, "humblebench")

    @property
    def metrics_files(self) -> list[Path]:
        return [self.metrics_file(model) for model in MODELS]

    def track(self) -> list[dict[str, Any]]:
        """Track, and give the runs that the listing names."""
        from known_unknowns.tracking import track

        folders = {"results": self.results, "data": self.data, "figures": self.figures}
        track(self.params, self.metrics_files, out=self.out, **folders)
        return json.loads(self.out.read_text())["runs"]

    def set_metric(self, model: str, variant: str, name: str, **changes: Any) -> None:
        """Change the overall metric of the robust parser."""
        file = self.metrics_file(model)
        metrics = [
            replace(m, **changes)
            if (m.variant, m.seed, m.parser, m.category, m.name) == (variant, 0, "robust", OVERALL, name)
            else m
            for m in tables.read_metrics(file)
        ]
        tables.write_metrics(file, metrics)


def build(folder: Path) -> World:
    world = World(folder, copy.deepcopy(RAW))
    raw = world.data / "raw" / "humblebench.dvc"
    raw.parent.mkdir(parents=True)
    raw.write_text(f"outs:\n- md5: {DVC_HASH}\n  hash: md5\n  path: humblebench\n")
    files = EditionFiles(world.data, world.results)
    tables.write_questions(files.question_table("humblebench"), questions())
    for variant in VARIANTS:
        tables.write_variant(files.variants("humblebench") / f"{variant}.parquet", {0: questions()})
    for model in MODELS:
        replied = {Cell(variant, 0): replies(model) for variant in VARIANTS}
        tables.write_replies(files.replies(model, "humblebench"), replied)
        for variant in VARIANTS:
            write_answers(files.answers(model, "humblebench"), variant, 0, scores(model))
        engine = {"model": model, "facts": {"behaviour": model}, "about": {"known_unknowns": "0.1.0"}}
        (world.results / "replies" / model / "humblebench" / "engine.json").write_text(json.dumps(engine))
        tables.write_metrics(world.metrics_file(model), [m for v in VARIANTS for m in metrics(model, v)])
    return world


def questions() -> list[Question]:
    options = tuple(Option(letter, f"thing {letter}", f"{letter}. ") for letter in LETTERS)
    return [
        Question(str(i), "humblebench", f"Question {i}?", options, answer, 4, (), category, f"image{i}")
        for i, (category, answer) in enumerate(zip(CATEGORIES, ANSWERS, strict=True))
    ]


def _said(model: str, question: int) -> str:
    return "A" if model == "always_a" else LETTERS[ANSWERS[question]]


def replies(model: str) -> list[AnsweredTurn]:
    labels = tuple(LETTERS)
    return [
        AnsweredTurn(str(i), 0, "answer", f"Question {i}?", (), labels, f"key{i}", Reply(_said(model, i)))
        for i in range(len(ANSWERS))
    ]


def scores(model: str) -> list[Score]:
    return [_score(i, answer, _said(model, i), by) for i, answer in enumerate(ANSWERS) for by in RAW["parsers"]]


def _score(question: int, answer: int, letter: str, parser: str) -> Score:
    outcome, choice = "refused" if letter == "E" else "answered", LETTERS.index(letter)
    return Score(str(question), 0, "answer", parser, outcome, letter, choice, choice == answer)


def metrics(model: str, variant: str) -> list[Metric]:
    """Per parser: the accuracy overall and per category, an undefined metric, a share overall and per category."""
    found = []
    for parser in ("official", "robust"):
        head = (model, "humblebench", variant, 0, 0, parser)
        found += [
            Metric(*head, OVERALL, "accuracy", 0.5, 0.15, 0.85, 4, "wilson"),
            Metric(*head, "Object", "accuracy", 0.5, 0.09, 0.91, 2, "wilson"),
            Metric(*head, "Relation", "accuracy", 0.0, 0.0, 0.79, 1, "wilson"),
            Metric(*head, OVERALL, "refusal_precision", None, None, None, 0, "wilson"),
            Metric(*head, OVERALL, "share_A", 1.0, None, None, 4, "none"),
            Metric(*head, "Object", "share_A", 1.0, 0.34, 1.0, 2, "wilson"),
        ]
    mean = Metric(model, "humblebench", variant, None, None, "robust", OVERALL, "accuracy", 0.25, 0.1, 0.4, 4, "t")
    return [*found, mean]

"""A fake run: the tables and images of a report, with known contents.

    python -m tests.unit.report.fake_run build/fake-run      # and look at build/fake-run/results/pocket/report

The scripted respondents behave as they must; "pocket" answers with seeded dice, in the ways that real models
write. The parsers disagree about a sentence with an answer and the article "a".
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from PIL import Image as Pillow
from PIL import ImageDraw

from known_unknowns import config, tables, variants
from known_unknowns.comparison import compare
from known_unknowns.comparison.paired_rows import write_model_comparison
from known_unknowns.comparison.pairs import Selection, compare_selection
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.records import AnsweredTurn, Cell, Image, Option, Question, Reply
from known_unknowns.scoring.table import parse
from tests.asked_and_measured import measure
from tests.factories import params_from
from tests.paths import ROOT

REPOSITORY = ROOT
CATEGORIES = ("Object", "Relation", "Attribute")
HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "{{ 7 * 7 }}", "\x1b[31mE\x00")
SHARING = {
    "asked": "auto",
    "prompts": {"packed": 300},
    "checked_on_pictures": 2,
    "differences": {"packed": 2.2e-6, "rows": 0.4},
    "fell_back": [{"plan": "rows", "why": "<b>its logits</b> differ"}],
}
SPENT = {
    "replies": 1234,
    "input_tokens": 56789,
    "output_tokens": 2468,
    "reasoning_tokens": 0,
    "usd": 0.25,
    "priced": 1200,
}
COLOURS = ("red", "green", "blue", "orange", "purple")
RESPONDENTS = ("oracle", "always_refuse", "always_a", "uniform")
MODELS = (*RESPONDENTS, "pocket", "pocket-never-refuses", "pocket-refuses-often")


@dataclass
class FakeRun:
    """Where the tables of a fake run lie, and what a report is built from."""

    folder: Path
    params: Params
    metrics: list[Path] = field(default_factory=list)

    @property
    def data(self) -> Path:
        return self.folder / "data" / self.params.edition

    @property
    def results(self) -> Path:
        return self.folder / "results" / self.params.edition

    @property
    def comparison(self) -> Path:
        return self.results / "comparison.parquet"

    @property
    def pairs(self) -> Path | None:
        """The table of models in pairs, if the run has one."""
        path = self.results / "model_comparison.parquet"
        return path if path.is_file() else None

    @property
    def page(self) -> Path:
        return self.results / "report" / "index.html"


def params(benchmark: str = "humblebench", models: Iterable[str] = MODELS) -> Params:
    """The repository's params.yaml with one benchmark and these models, in the pocket edition."""
    raw = config.load(REPOSITORY / "params.yaml", edition="pocket").file.plain()
    raw["editions"]["pocket"] |= {"benchmarks": [benchmark], "models": list(models)}
    raw["benchmarks"][benchmark]["data"].setdefault("pocket", {"source": "folder", "path": "questions"})
    return params_from(raw)


def make(
    folder: Path,
    *,
    questions: int = 60,
    variants_kept: Iterable[str] | None = None,
    seeds: int = 1,
    samples: int = 1,
    models: Iterable[str] = MODELS,
    reply: Callable[[str, Question, random.Random], Reply] | None = None,
) -> FakeRun:
    """Write the whole of a run under ``folder``. ``reply`` takes the place of `make_reply`."""
    chosen = params(models=models)
    raw = chosen.file.plain()
    raw["editions"]["pocket"] |= {"seeds": list(range(seeds)), "samples": samples}
    raw["benchmarks"]["humblebench"].pop("seeds", None)
    if variants_kept is not None:
        raw["benchmarks"]["humblebench"]["variants"] = list(variants_kept)
    run = FakeRun(folder, params_from(raw))
    asked = _questions(run.data / "questions" / "humblebench", questions)
    varied = {
        Cell(name, seed, sample): [variants.apply(run.params.variant(name), q, seed=seed) for q in asked]
        for name in run.params.variants("humblebench")
        for seed in run.params.seeds
        for sample in range(samples)
    }
    files = EditionFiles(run.data, run.results)
    for name in run.params.variants("humblebench"):
        of_seeds = {seed: rows for (variant, seed, _), rows in varied.items() if variant == name}
        tables.write_variant(files.variants("humblebench") / f"{name}.parquet", of_seeds)
    for model in run.params.models:
        _model(run, model, varied, reply or make_reply)
    pin = run.data / "raw" / "humblebench.dvc"
    pin.parent.mkdir(parents=True)
    pin.write_text("outs:\n- md5: 0123456789abcdef0123456789abcdef.dir\n  path: humblebench\n")
    compare(run.params, run.metrics, run.comparison)
    if len(run.params.models) > 1:
        selection = Selection(run.params.models, run.params.benchmarks, (), run.params.parsers[1:2])
        rows = compare_selection(run.params, selection, files)
        write_model_comparison(run.results / "model_comparison.parquet", rows)
    return run


def _questions(folder: Path, count: int) -> list[Question]:
    dice = random.Random(1)
    images = [make_image(folder, number) for number in range(max(1, count // 5))]
    made = []
    for number in range(count):
        texts = dice.sample(COLOURS, 4)
        options = [Option(letter, text, f"{letter}. ") for letter, text in zip("ABCD", texts, strict=True)]
        image, answer, labels = images[number % len(images)], dice.randrange(5), "ABCDE"
        made.append(
            Question(
                id=str(number),
                benchmark="humblebench",
                text=f"What colour is the largest ball beside box {number}?",
                options=(*options, Option("E", "None of the above", "E. ")),
                answer=answer,
                refusal=4,
                images=(image,),
                category=CATEGORIES[number % 3],
                group=image.sha256,
                extra={"question_id": number, "label": labels[answer], "image_path": image.source},
            )
        )
    return made


def make_image(folder: Path, number: int) -> Image:
    dice = random.Random(number)
    pixels = Pillow.new("RGB", (dice.choice([256, 400, 640]), 320), dice.choice(["#dde", "#eed", "#ded"]))
    pen = ImageDraw.Draw(pixels)
    for _ in range(6):
        x, y, r = dice.randrange(30, 230), dice.randrange(30, 290), dice.randrange(12, 40)
        pen.ellipse((x - r, y - r, x + r, y + r), fill=dice.choice(COLOURS), outline="black")
    data = BytesIO()
    pixels.save(data, "PNG")
    digest = sha256(data.getvalue()).hexdigest()
    path = folder / "images" / f"{digest}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.getvalue())
    return Image(f"images/{path.name}", digest, *pixels.size)


def _model(run: FakeRun, model: str, varied: dict[Cell, list[Question]], reply: Callable[..., Reply]) -> None:
    turns = {}
    for cell, questions in varied.items():
        sample = f":{cell.sample}" if cell.sample else ""
        dice = random.Random(f"{model}:{cell.variant}:{cell.seed}{sample}")
        turns[cell] = [_asked(question, reply(model, question, dice)) for question in questions]
    files = EditionFiles(run.data, run.results)
    replies, answers, metrics = (path(model, "humblebench") for path in (files.replies, files.answers, files.metrics))
    tables.write_replies(replies, turns)
    asked = files.variants("humblebench")
    parse(asked, replies, answers, cells=list(varied), parsers=run.params.parsers)
    measure(run.params, model, "humblebench", answers=answers, out=metrics)
    run.metrics.append(metrics)
    engine = {
        "model": model,
        "benchmark": "humblebench",
        "entry": run.params.model(model).plain(),
        "facts": {"source": model, "decoding": {"do_sample": False}, "image backend": "pil"},
        "about": {"device": "cpu", "torch": "2.13.0", "sharing": SHARING},
        "turns": sum(map(len, varied.values())),
        "newly_asked": 0,
        "reply_seconds": 12.5,
        "spent": SPENT,
    }
    (run.results / "replies" / model / "humblebench" / "engine.json").write_text(json.dumps(engine))


def _asked(question: Question, reply: Reply) -> AnsweredTurn:
    images = tuple(image.sha256 for image in question.images)
    return AnsweredTurn(question.id, 0, "answer", question.rendered, images, question.labels, question.id, reply)


def make_reply(model: str, question: Question, dice: random.Random) -> Reply:
    labels = question.labels
    right, refusal = labels[question.answer or 0], labels[question.refusal or 0]
    scripted = {"oracle": right, "always_refuse": refusal, "always_a": "A", "uniform": dice.choice(labels)}
    if model in scripted:
        return Reply(scripted[model])
    way = dice.random()
    letter = right if way < 0.55 else dice.choice(labels)
    if way > 0.985:
        return Reply("", error="the engine gave no reply: out of memory")
    if way > 0.94:
        return Reply(" ".join(HOSTILE) * dice.choice([1, 120]))
    if way > 0.85 and letter == refusal:
        return Reply(f"{letter}. None of the above")
    if way > 0.8:
        return Reply(f"The answer is {letter}, from a careful look.")
    return Reply(letter)


if __name__ == "__main__":
    from known_unknowns.report.page import build

    fake = make(Path(sys.argv[1]), questions=300)
    build(
        fake.params,
        fake.metrics,
        results=fake.results,
        data=fake.data,
        comparison=fake.comparison,
        out=fake.page,
        root=REPOSITORY,
        pairs=fake.pairs,
    )
    print(fake.page)

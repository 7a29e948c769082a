"""Our official numbers, our noise and our nota_only are those of the package that HumbleBench's authors publish."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image as Pillow

from known_unknowns import images, tables, variants
from known_unknowns.records import AnsweredTurn, Cell, Image, Question, Reply
from known_unknowns.scoring.table import parse
from known_unknowns_benchmarks.humblebench.loader import parse_question
from known_unknowns_construction import steps
from known_unknowns_construction.release import release
from tests import paths
from tests.asked_and_measured import measure
from tests.cells import write_replies
from tests.factories import variant_entry
from tests.peers import humblebench
from tests.unit.construction.test_release import workspace as constructed
from tests.unit.metrics.answered import params

pytestmark = humblebench.needed

SHARED = paths.SHARED / "data" / "humblebench"
ALL_VARIANTS = {
    "original": variant_entry("original"),
    "nota_only": variant_entry("nota_only"),
    "nota_only_relettered": variant_entry("nota_only", relettered=True),
    "noise": variant_entry("noise"),
    "gaussian": variant_entry("gaussian"),
    "blank": variant_entry("blank"),
    "text_only": variant_entry("text_only"),
    "shuffled_options": variant_entry("shuffled_options"),
}
PUBLISHED = [
    "What color is it?\nA. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above",
    "Is there a dog?\nA.Yes\nB.No\nC.Can't be determined\nD.There are many\nE.None of above",
    "How many: one, or more?\nA. A single one\nB.  Two\nC. 3.\nD. E. coli\nE. None of the above",
]
REPLIES = [
    *("A", "b", "E", "e", "E.", " E", "E\n", "(E)", "**E**", "_E_", "E. None of the above", "None of the above"),
    *("A car", "it is a car", "E, a car", "A or B", "a A a", "", " ", "\u00e9", "\uff25", "e\u0301", "\u0130"),
    *("The answer is C because it is black", "<think>B?</think>D", r"\boxed{E}", "d.\nC.", "I can't", "a.b", "E-bike"),
    *('"E"', "\\", "\u2028E", "E\x00", "\ud7ff \U0001f600 E", "F", "Z"),
    None,  # failed
]  # fmt: skip


def as_question(number: int, text: str, label: str, kind: str, *, image: int = 0) -> Question:
    stem, options = parse_question(text)
    labels = [option.label for option in options]
    return Question(
        id=str(number),
        benchmark="humblebench",
        text=stem,
        options=options,
        answer=labels.index(label),
        refusal=labels.index("E"),
        images=(Image(f"images/{image}.jpg", f"{image:064}", 40, 30),),
        category=kind,
        group=str(image),
        extra={"question_id": number, "label": label, "image_path": f"images/{image}.jpg"},
    )


def scored(folder: Path, by_variant: dict[str, list[tuple[Question, str | None]]]) -> list:
    """Write questions and replies, score and measure them; the metrics."""
    replies, answers = folder / "replies/m/humblebench/replies.parquet", folder / "answers.parquet"
    asked_of = folder / "variants"
    for variant, pairs in by_variant.items():
        tables.write_variant(asked_of / f"{variant}.parquet", {0: [question for question, _ in pairs]})
        asked = [
            AnsweredTurn(
                q.id, 0, "answer", "p", (), q.labels, "k", Reply(text or "", error="no" if text is None else None)
            )
            for q, text in pairs
        ]
        write_replies(replies, variant, 0, asked)
    cells = [Cell(variant, 0) for variant in by_variant]
    parse(asked_of, replies, answers, cells=cells, parsers=["official"])
    configured = params(list(by_variant), [0], parsers=["official"])
    out = folder / "metrics.parquet"
    measure(configured, "m", "humblebench", answers=answers, out=out)
    return tables.read_metrics(out)


def test_nasty_replies_score_alike_in_every_variant(tmp_path):
    """Every reply to a question of every label, in every variant: accuracies, E_accuracy and all proportions."""
    asked = [
        (as_question(n, PUBLISHED[n % 3], label, ("Object", "Relation", "Attribute")[n % 3], image=n // 5), reply)
        for n, (reply, label) in enumerate(product(REPLIES, "ABCDE"))
    ]
    by_variant = {
        name: [(variants.apply(entry, question, seed=0), reply) for question, reply in asked]
        for name, entry in ALL_VARIANTS.items()
    }
    metrics = scored(tmp_path, by_variant)
    cells = [("m", variant, 0) for variant in by_variant]
    humblebench.assert_scores_alike(tmp_path, tmp_path / "variants", metrics, cells=cells, folder=tmp_path)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real released predictions are not here")
def test_released_predictions_score_alike(tmp_path):
    (file,) = SHARED.glob("*.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    pairs = [(as_question(r["question_id"], r["question"], r["label"], r["type"]), r["prediction"]) for r in rows]
    metrics = scored(tmp_path, {"nota_only": pairs})
    cells = [("m", "nota_only", 0)]
    humblebench.assert_scores_alike(tmp_path, tmp_path / "variants", metrics, cells=cells, folder=tmp_path)
    (theirs,) = humblebench.evaluate([file], folder=tmp_path)
    official = [metric for metric in metrics if metric.parser == "official"]
    assert humblebench.as_the_package_reports(official) == pytest.approx(theirs["Accuracy"] | theirs["Proportions"])
    assert theirs["Accuracy"]["E_accuracy"] == pytest.approx(100 * 30 / 80)


_LOADER = """
import json, sys
from HumbleBench.utils.entity import DataLoader
from HumbleBench.utils.rand import set_global_seed

mode, file = sys.argv[1:]
samples = json.load(open(file))
set_global_seed(3720)
loader = DataLoader(samples, batch_size=7, use_noise_image=mode == "noise", nota_only=mode == "nota_only")
json.dump([sample for batch in loader for sample in batch], open(file, "w"))
"""


def loaded(folder: Path, mode: str, questions: list[Question]) -> list[dict]:
    """What the package's loader makes of the published form of ``questions``."""
    file = folder / "samples.json"
    samples = [
        {"question": q.rendered, "label": q.extra["label"], "image": {"path": q.extra["image_path"]}} for q in questions
    ]
    file.write_text(json.dumps(samples), encoding="utf-8")
    humblebench.run(_LOADER, mode, file, folder=folder)
    return json.loads(file.read_text(encoding="utf-8"))


def test_our_noise_has_the_pixels_of_its_noise(tmp_path):
    (sample,) = loaded(tmp_path, "noise", [as_question(1, PUBLISHED[0], "B", "Object")])
    with Pillow.open(tmp_path / sample["image"]["path"]) as theirs:
        assert theirs.mode == "L"
        pixels = np.asarray(theirs)
    ours = variants.noise(as_question(1, PUBLISHED[0], "B", "Object"))
    np.testing.assert_array_equal(images.recipe_pixels(ours.images[0]), pixels)
    assert sample["label"] == "B"  # the released code leaves the label, and so does our export


def test_our_nota_only_is_its_nota_only(tmp_path):
    questions = [
        as_question(n, text, label, "Object")
        for n, (text, label) in enumerate(product([*PUBLISHED, *real_texts()], "ABCDE"))
        if re.search(rf"^{label}\.", text, re.MULTILINE)
    ]
    theirs = loaded(tmp_path, "nota_only", questions)
    ours = [variants.nota_only(question) for question in questions]
    assert [q.rendered for q in ours] == [sample["question"] for sample in theirs]
    assert [q.options[q.answer].label for q in ours] == [sample["label"] for sample in theirs]


def real_texts() -> list[str]:
    files = sorted(SHARED.glob("*.jsonl")) if SHARED.is_dir() else []
    return [json.loads(line)["question"] for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def test_their_loader_reads_a_constructed_release(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))  # its key is the folder's name
    work = constructed(tmp_path)
    steps.import_graphs(work)
    steps.generate(work, "scenes")
    steps.filter_candidates(work)
    out, counts = release(work)
    code = """
import json, sys
from HumbleBench.utils.io import download_dataset
names = ("question_id", "question", "label", "type")
print(json.dumps([[sample[name] for name in names] for sample in download_dataset(sys.argv[1])]))
"""
    printed = humblebench.run(code, out, folder=tmp_path)
    rows = json.loads(printed.splitlines()[-1])
    ours = pq.read_table(out / "data").select(["question_id", "question", "label", "type"]).to_pylist()
    assert rows == [list(row.values()) for row in ours] and len(rows) == counts["questions"] == 12

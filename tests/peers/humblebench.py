"""The package that HumbleBench's authors publish (``humblebench``), asked to score what we export.

It pins other versions of NumPy and Pillow than ours, so it lives in a folder of its own and runs in a process of its
own: ``make test`` puts it there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from known_unknowns import tables
from known_unknowns.edition_files import asked
from known_unknowns.exchange.export import export
from known_unknowns.records import OVERALL, Cell, Metric
from known_unknowns.tables import Part

FOLDER = Path(sys.prefix) / "peers"
needed = pytest.mark.skipif(
    not (FOLDER / "HumbleBench").is_dir(),
    reason=f"the humblebench package is not in {FOLDER}: `make test` installs it",
)

_EVALUATE = """
import json, sys
from HumbleBench import evaluate
out, *files = sys.argv[1:]
json.dump([evaluate(file) for file in files], open(out, "w"))
"""
_CHOICES = ("A", "B", "C", "D", "E")


def run(code: str, *arguments: str | Path, folder: Path) -> str:
    """Run Python code that may import HumbleBench, in ``folder``; what it prints."""
    environment = os.environ | {"PYTHONPATH": str(FOLDER), "PYTHONUTF8": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def evaluate(files: Sequence[Path], *, folder: Path) -> list[dict[str, Any]]:
    """What the package's ``evaluate`` makes of each file, in percent. Fails where it drops a line as invalid."""
    printed = run(_EVALUATE, folder / "evaluated.json", *files, folder=folder)
    assert "Invalid sample" not in printed
    return json.loads((folder / "evaluated.json").read_text(encoding="utf-8"))


def assert_scores_alike(
    results: Path,
    variants: Path,
    metrics: Iterable[Metric],
    *,
    cells: Sequence[tuple[str, str, int]],
    folder: Path,
) -> None:
    """Export the replies of each cell (model, variant, seed) and hold the package's numbers against ours.

    Args:
        results: a folder with replies/<model>/humblebench/replies.parquet.
        variants: the benchmark's folder of variants.
        metrics: ours, of at least these cells.
        folder: where the exports may be written.
    """
    metrics = list(metrics)
    exported = []
    for model, variant, seed in cells:
        replies = Part(results / "replies" / model / "humblebench/replies.parquet", Cell(variant, seed))
        exported.append(folder / f"{model}-{variant}-{seed}.jsonl")
        export("humblebench", asked(variants, variant, seed), replies, exported[-1])
    for (model, variant, seed), theirs in zip(cells, evaluate(exported, folder=folder), strict=True):
        ours = [m for m in metrics if (m.model, m.variant, m.seed, m.parser) == (model, variant, seed, "official")]
        expected = as_the_package_reports(ours)
        in_table = tables.read_questions(asked(variants, variant, seed))
        found = theirs["Accuracy"] | theirs["Proportions"]
        if any(question.options[question.refusal].label != "E" for question in in_table):
            del expected["E_accuracy"], found["E_accuracy"]  # it knows no refusal but E, ours is the one on offer
        assert found == pytest.approx(expected), (model, variant, seed)


def as_the_package_reports(metrics: Iterable[Metric]) -> dict[str, float]:
    """Our official metrics of one variant and seed under the package's names, in percent.

    Its accuracy goes by the published labels where we have that metric, and an ``E_accuracy`` of nothing is 0.
    """
    known = {(metric.category, metric.name): metric for metric in metrics}
    named = {}
    for category in {category for category, _ in known}:
        by_label = known.get((category, "accuracy_published_labels"), known[category, "accuracy"])
        named[f"{category}_accuracy"] = by_label.value
    named["E_accuracy"] = known[OVERALL, "exact_refusal_recall"].value or 0.0
    for letter in _CHOICES:
        named[f"{letter}_proportion"] = known[OVERALL, f"share_{letter}"].value
    named["NA_proportion"] = known[OVERALL, "share_no_letter"].value + known[OVERALL, "share_failed"].value
    return {name: 100 * value for name, value in named.items()}

"""A yes/no benchmark of another distribution, run by the real Snakemake from its rendered files to the report."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from known_unknowns import tables
from known_unknowns.benchmark.registry import GROUP
from known_unknowns.records import OVERALL
from tests.paths import ROOT
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
VARIANTS = ["original", "negated", "text_only"]
MODELS = ["oracle", "always_a"]
QUESTIONS = 12
"""Of three questions about an image, the answers are "no", "yes" and "no"."""


def distribution(site: Path) -> Path:
    """Install the benchmark into ``site``: its package, and the metadata of a distribution with an entry point."""
    shutil.copytree(ROOT / "tests/benchmarks/pope", site / "pope_benchmark")
    info = site / "pope_benchmark-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pope-benchmark\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\npope = pope_benchmark:BENCHMARK\n")
    return site


def configure(params: dict[str, Any]) -> None:
    """Add an edition in which scripted respondents answer this benchmark alone."""
    params["edition"] = "yes_no"
    params["editions"]["yes_no"] = {"benchmarks": ["pope"], "models": MODELS, "seeds": [0]}
    source = {"source": "scenes", "seed": 1, "images": 4, "questions_per_image": 3, "revision": "unpinned"}
    params["benchmarks"]["pope"] = {"protocol": "single_turn", "variants": VARIANTS, "data": {"yes_no": source}}
    params["variants"]["negated"] = {}
    params["tracking"]["enabled"] = False


@pytest.fixture(scope="module")
def finished(untouched: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a finished run of this benchmark."""
    folder = tmp_path_factory.mktemp("pope")
    site = distribution(folder / "site")
    project = replace(untouched.twin(folder / "project"), environment={"PYTHONPATH": str(site)})
    project.change_params(configure)
    metrics = (f"results/yes_no/metrics/{model}/pope/metrics.parquet" for model in MODELS)
    project.snakemake("results/yes_no/report/index.html", *metrics)
    return project


@pytest.mark.parametrize("model", MODELS)
def test_accuracy_of_the_respondents(finished, model):
    """The first label, of always_a, is "yes"; a negated question has the other answer."""
    found = {
        (metric.variant, metric.parser): (metric.value, metric.n)
        for metric in tables.read_metrics(finished.root / f"results/yes_no/metrics/{model}/pope/metrics.parquet")
        if (metric.category, metric.name, metric.seed) == (OVERALL, "accuracy", 0)
    }
    share_yes = {variant: 2 / 3 if variant == "negated" else 1 / 3 for variant in VARIANTS}
    assert found == {
        (variant, parser): (pytest.approx(1 if model == "oracle" else share_yes[variant]), QUESTIONS)
        for variant in VARIANTS
        for parser in ("official", "robust", "likelihood")
    }


def test_the_report_names_the_benchmark_and_draws_its_labels(finished):
    report = finished.root / "results/yes_no/report"
    assert "<h2>POPE (rendered)</h2>" in (report / "index.html").read_text(encoding="utf-8")
    audit = (report / "audit.html").read_text(encoding="utf-8")
    assert "the benchmark defines no check of its published files" in audit
    figure = (report / "figures/pope_answers.svg").read_text(encoding="utf-8")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", figure)
    assert {"yes", "no"} < set(texts)
    assert not {"A", "B", "C", "D", "E"} & set(texts)

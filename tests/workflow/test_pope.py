"""A yes/no benchmark of another distribution, run by the real Snakemake from its published files to the report."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from known_unknowns import benchmarks, tables
from known_unknowns.records import OVERALL
from tests.factories import png
from tests.paths import ROOT
from tests.workflow.project import RESPONDENTS, Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
VARIANTS = ["original", "noise", "blank", "text_only"]
LABELS = ["yes", "no", "yes", "yes", "no"]
"""The published answers: "yes" is right for three of five questions."""
REPOSITORY, REVISION = "example/pope", "0" * 40


def published_files(folder: Path) -> dict[str, bytes]:
    """Write five questions on three images into ``folder``; return the content of each file."""
    rows = [
        {
            "question_id": number,
            "image": f"{number // 2}.png",
            "text": f"Is there a {thing} in the image?",
            "label": label,
        }
        for number, (thing, label) in enumerate(zip(["snowboard", "dog", "car", "tree", "cup"], LABELS, strict=True))
    ]
    files = {"adversarial.json": "".join(json.dumps(row) + "\n" for row in rows).encode()}
    files |= {f"{number}.png": png((number, 90, 30)) for number in range(3)}
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return files


def distribution(site: Path) -> Path:
    """Install the benchmark into ``site``: its package, and the metadata of a distribution with an entry point."""
    shutil.copytree(ROOT / "tests/benchmarks/pope", site / "pope_benchmark")
    info = site / "pope_benchmark-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pope-benchmark\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{benchmarks.GROUP}]\npope = pope_benchmark:BENCHMARK\n")
    return site


def configure(params: dict[str, Any]) -> None:
    """Add an edition in which scripted respondents answer this benchmark alone."""
    params["edition"] = "yes_no"
    params["editions"]["yes_no"] = {"benchmarks": ["pope"], "models": RESPONDENTS, "seeds": [0]}
    source = {"source": "hub", "repository": REPOSITORY, "revision": REVISION}
    params["benchmarks"]["pope"] = {"protocol": "single_turn", "variants": VARIANTS, "data": {"yes_no": source}}
    params["tracking"]["enabled"] = False


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a finished run of this benchmark. The data files are a user's own; no network is needed."""
    folder = tmp_path_factory.mktemp("pope")
    files = published_files(folder / "downloaded")
    site = distribution(folder / "site")
    project = Project.copy_of_tree(folder / "project", {"PYTHONPATH": str(site)})
    project.change_params(configure)
    pins = {name: {"size": len(content), "sha256": sha256(content).hexdigest()} for name, content in files.items()}
    key = f"hub:datasets/{REPOSITORY}@{REVISION}"
    lock = {"version": 1, "sources": {key: {"commit": REVISION, "files": pins}}}
    (project.root / "params.lock.yaml").write_text(yaml.safe_dump(lock), encoding="utf-8")
    project.run("python", "-m", "known_unknowns", "fetch", "pope", "--from", folder / "downloaded")
    project.snakemake()
    return project


@pytest.mark.parametrize(("model", "expected"), [("oracle", 1.0), ("always_a", 0.6)])  # "yes" is the first label
def test_accuracy_of_the_respondents(finished, model, expected):
    found = {
        (metric.variant, metric.scorer): (metric.value, metric.n)
        for metric in tables.read_metrics(finished.root / f"results/yes_no/metrics/{model}/pope.parquet")
        if (metric.category, metric.name, metric.seed) == (OVERALL, "accuracy", 0)
    }
    scorers = ["official", "robust", "likelihood"]
    assert found == {(variant, scorer): (expected, 5) for variant in VARIANTS for scorer in scorers}


def test_the_report_names_the_benchmark_and_draws_its_labels(finished):
    report = finished.root / "results/yes_no/report"
    assert "<h2>POPE</h2>" in (report / "index.html").read_text(encoding="utf-8")
    audit = (report / "audit.html").read_text(encoding="utf-8")
    assert "the benchmark defines no check of its published files" in audit
    figure = (report / "figures/pope_answers.svg").read_text(encoding="utf-8")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", figure)
    assert {"yes", "no"} < set(texts)
    assert not {"A", "B", "C", "D", "E"} & set(texts)


def test_nothing_but_params_yaml_and_the_lock_is_changed(finished):
    status = finished.run("git", "status", "--porcelain").stdout.splitlines()
    assert sorted(status) == [" M params.lock.yaml", " M params.yaml"]


def test_a_second_run_has_nothing_to_do(finished):
    assert "Nothing to be done" in finished.snakemake("--dry-run")

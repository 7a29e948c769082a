"""README, docs/installation.md and the tutorials as they are written: their files, commands and messages.

They are run in small copies of the project. test_own_benchmarks.py has the tutorial on a benchmark.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml

from known_unknowns.comparison import ComparisonRow, read_comparison
from known_unknowns.comparison.verdicts import UNJUDGED
from tests.paths import ROOT
from tests.servers.hub import Hub
from tests.workflow.pages import blocks, lines, paste, run, shell, with_environment
from tests.workflow.project import Project
from tests.workflow.test_fetch import parquet

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
README, INSTALLATION = "README.md", "docs/installation.md"
MODEL, TABLE3 = "docs/tutorial_model.md", "docs/comparison.md"


def compared(project: Project, edition: str) -> list[ComparisonRow]:
    return read_comparison(project.root / f"results/{edition}/comparison.parquet")


def test_evaluate_my_model(rerun, tmp_path, monkeypatch, capsys):
    """`test_try.py` continues with all questions. A respondent takes the place of the other model."""
    (code,) = blocks(MODEL, "python")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "tutorial_model.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[0] == blocks(MODEL, "text")[0].strip()
    (code,) = blocks(README, "python")
    exec(compile(code.replace("limit=100", "limit=20"), "README.md", "exec"), {})
    assert capsys.readouterr().out and (tmp_path / "report.html").is_file()

    rerun.change_params(lambda params: params["tracking"].update(enabled=False))
    sample, whole, folder, entry, check, everything, compare, metrics, export, copy = lines(MODEL)
    assert "20 of 30 questions" in run(rerun, sample)
    assert whole == sample.replace("20", "0")
    run(rerun, folder)
    paste(rerun, run(rerun, entry), "pocket")
    run(rerun, check)
    run(rerun, everything, "results/pocket/report/index.html", "results/pocket/leaderboard.csv")
    printed = run(rerun, compare.replace("pocket-never-refuses", "uniform"))
    assert re.search(r"my-model +uniform", printed)
    for line in (metrics, export, copy):
        run(rerun, line)
    header, *rows = (rerun.root / "my-model.csv").read_text(encoding="utf-8").splitlines()
    assert "value" in header and any(",dual_accuracy_answerable," in row for row in rows)
    assert len(list((rerun.root / "exported/data/humblebench").rglob("*.json*"))) == 2
    assert "my-model" in (rerun.root / "site/index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def published(finished: tuple[Project, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A finished run of the pocket edition, and a hub with ten published questions for the full one.

    The hub has the pocket model under the name of Qwen2.5-VL, so that the entry of the catalogue is asked as published.
    """
    root = tmp_path_factory.mktemp("published")
    repository = "someone/Qwen2.5-VL-7B-Instruct"
    files = {path.name: path.read_bytes() for path in (ROOT / "models/pocket").iterdir() if path.is_file()}
    with Hub(large=1_000_000) as hub:
        hub.commit("maifoundations/HumbleBench", {"README.md": b"one", "data/train.parquet": parquet(10)})
        hub.commit(repository, files, kind="model")
        environment = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_HOME": str(root / "home")}
        project = replace(finished[0].twin(root / "project"), environment=environment)

        def change(params: dict[str, Any]) -> None:
            model = {"source": repository, "revision": "main", "dtype": "float32", "device": "cpu"}
            card = {"family": "pocket", "parameters": 0.003, "licence": "MIT"}
            params["models"]["qwen2.5-vl-7b"] = model | {"card": card}
            own = {"benchmarks": ["humblebench"], "models": ["qwen2.5-vl-7b"]}
            params["editions"]["full"] |= own | {"variants": {"humblebench": ["original", "nota_only"]}}
            params["tracking"]["enabled"] = False

        project.change_params(change)
        with_environment(project)
        yield project


def test_the_commands_of_readme_and_the_advice_of_a_run(published):
    """The advice judges as many numbers as it says: each was not comparable, and then has a verdict."""
    root = published.root
    for place in re.findall(r"results/pocket/[\w/.]+", (ROOT / README).read_text(encoding="utf-8")):
        assert (root / place).exists(), place
    assert "Table 3" in (root / "results/pocket/report/benchmark-humblebench.html").read_text(encoding="utf-8")
    assert lines(README)[0] == "make run"
    printed = shell(published, "make run ARGS='--force -- results/pocket/comparison.parquet'")
    shell(published, "known-unknowns tables metrics --out metrics.csv")
    header, *rows = (root / "metrics.csv").read_text(encoding="utf-8").splitlines()
    assert header.startswith("model,benchmark,variant,") and rows

    (line, number) = re.search(
        r"HumbleBench: .*: (make run EDITION=full) \((\d+) published numbers\)", printed
    ).groups()
    assert {row.verdict for row in compared(published, "pocket")} == {"not comparable"}
    printed = shell(published, f"{line} ARGS='-- results/full/comparison.parquet'")
    after = compared(published, "full")
    judged = {(row.table, row.row, row.column) for row in after if row.verdict not in UNJUDGED}
    assert len(judged) == int(number) > 0
    assert {row.model for row in after if row.verdict not in UNJUDGED} == {"qwen2.5-vl-7b"}
    assert f"Verdicts   {number} of " in printed


def test_make_findings_writes_the_page_and_its_figure(untouched, tmp_path):
    project = untouched.twin(tmp_path / "project")
    with_environment(project)
    shutil.copytree(ROOT / "docs", project.root / "docs", ignore=shutil.ignore_patterns("example"))
    numbers = "src/known_unknowns_benchmarks/humblebench/published.yaml"  # `untouched` has ten questions there
    shutil.copy2(ROOT / numbers, project.root / numbers)
    shell(project, "make findings")
    for name in ("findings.md", "humblebench_e.svg"):
        assert (project.root / "docs" / name).read_bytes() == (ROOT / "docs" / name).read_bytes()


def test_reproduce_table_3(published):
    """The tiny model takes the place of Qwen2.5-VL, and ten questions that of the published ones.

    test_released.py runs the edition ``released``, and test_try.py the second sample.
    """
    released, needs, sample, whole, check, table, *_ = lines(TABLE3)
    assert released == "make run EDITION=released"
    assert "qwen2.5-vl-7b" in run(published, needs)
    printed = run(published, sample)
    form = re.sub(r"N+|\d+", r"\\d+", re.escape(blocks(TABLE3, "text")[0].strip()).replace("100", "10"))
    assert re.search(form, printed) and "10 of 10 questions" in printed
    assert whole == sample.replace("100", "0")
    (added,) = blocks(TABLE3, "yaml")

    def add(params: dict[str, Any]) -> None:
        params["editions"] |= yaml.safe_load(added)["editions"]
        params["editions"]["table3"]["models"] = ["oracle", "qwen2.5-vl-7b"]

    published.change_params(add)
    run(published, check)
    run(published, table, "results/table3/comparison.parquet")
    rows = compared(published, "table3")
    found = {(row.table, row.category) for row in rows if row.model == "qwen2.5-vl-7b"}
    assert {("Table 3", category) for category in ("Object", "Relation", "Attribute", "Overall")} <= found
    assert ("Figure 4", "Overall") in found


def test_a_project_of_the_package(tmp_path):
    _, _, create, enter, plan, *_ = lines(INSTALLATION)
    assert enter == "cd my-project"
    outside = Project(tmp_path, {"PYTHONPATH": str(ROOT / "src")})
    assert "Created a project" in shell(outside, create)
    assert "question browser" in run(replace(outside, root=tmp_path / "my-project"), plan)

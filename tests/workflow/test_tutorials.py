"""The tutorials as they are written: their files, commands and messages, in small copies of the project."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.comparison import read_comparison
from known_unknowns.records import OVERALL
from tests.paths import ROOT
from tests.servers.hub import Hub
from tests.workflow.project import Project
from tests.workflow.test_fetch import parquet

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
REPOSITORY = "someone/small-vl"


def blocks(name: str, language: str) -> list[str]:
    text = (ROOT / f"docs/tutorial_{name}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(project: Project, line: str, *targets: str) -> str:
    """Run a command of a tutorial. For ``make run``, the command is run that the Makefile has for it."""
    program, *arguments = shlex.split(line)
    if program == "make":
        assert arguments.pop(0) == "run"
        edition = [part.replace("EDITION", "edition") for part in arguments]
        return project.snakemake(*targets, "--cores", "1", *(["--config", *edition] if edition else []))
    assert program == "known-unknowns"
    return project.run("python", "-m", "known_unknowns", *arguments).stdout


def merged(params: dict[str, Any], added: dict[str, Any]) -> None:
    for key, value in added.items():
        params[key] |= value


def lines(name: str) -> list[str]:
    return [line for block in blocks(name, "sh") for line in block.splitlines()]


def accuracy(root: Path, edition: str, model: str, benchmark: str) -> dict[str, float | None]:
    metrics = tables.read_metrics(root / f"results/{edition}/metrics/{model}/{benchmark}/metrics.parquet")
    return {m.variant: m.value for m in metrics if (m.name, m.parser, m.category) == ("accuracy", "official", OVERALL)}


def test_evaluate_my_model(fresh, tmp_path, monkeypatch, capsys):
    (code,) = blocks("model", "python")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "tutorial_model.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[0] == blocks("model", "text")[0].strip()

    def change(params: dict[str, Any]) -> None:
        params["editions"]["pocket"]["models"] = ["oracle", "pocket-never-refuses"]
        params["benchmarks"]["humblebench"]["variants"] = ["original", "nota_only"]
        params["tracking"]["enabled"] = False

    fresh.change_params(change)
    printed = {line: run(fresh, line) for line in lines("model")}
    first, second = (text for line, text in printed.items() if line.startswith("known-unknowns try"))
    assert "20 of 30 questions" in first and "30 of 30 questions" in second
    assert re.search(r"my-model +pocket-never-refuses", next(v for k, v in printed.items() if "compare-models" in k))
    header, *rows = (fresh.root / "my-model.csv").read_text(encoding="utf-8").splitlines()
    assert "value" in header and any(",dual_accuracy," in row for row in rows)
    assert len(list((fresh.root / "exported/data/humblebench").rglob("*.json*"))) == 2
    assert "my-model" in (fresh.root / "site/index.html").read_text(encoding="utf-8")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A hub with ten published questions, and with the pocket model."""
    files = {path.name: path.read_bytes() for path in (ROOT / "models/pocket").iterdir() if path.is_file()}
    with Hub(large=1_000_000) as hub:
        hub.commit("maifoundations/HumbleBench", {"README.md": b"one", "data/train.parquet": parquet(10)})
        hub.commit(REPOSITORY, files, kind="model")
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        yield hub


def test_reproduce_table_3(fresh, hub):
    """The tiny model takes the place of Qwen2.5-VL, and ten questions that of the published ones.

    tests/workflow/test_released.py runs the edition ``released``.
    """

    def change(params: dict[str, Any]) -> None:
        small: dict[str, Any] = {"source": REPOSITORY, "revision": "main", "dtype": "float32", "device": "cpu"}
        small["card"] = {"family": "pocket", "parameters": 0.003, "licence": "MIT"}
        params["models"]["qwen2.5-vl-7b"] = small
        params["tracking"]["enabled"] = False

    fresh.change_params(change)
    released, needs, sample, everything, check, table = lines("table3")
    assert released == "make run EDITION=released"
    assert "qwen2.5-vl-7b" in run(fresh, needs)
    printed = run(fresh, sample)
    form = re.sub(r"\d+", r"\\d+", re.escape(blocks("table3", "text")[0].strip()).replace("100", "10"))
    assert re.search(form, printed)
    assert "10 of 10 questions" in run(fresh, everything)
    (added,) = blocks("table3", "yaml")
    fresh.change_params(lambda params: merged(params, yaml.safe_load(added)))
    fresh.change_params(lambda params: params["editions"]["table3"].update(models=["oracle", "qwen2.5-vl-7b"]))
    run(fresh, check)
    run(fresh, table, "results/table3/comparison.parquet", "results/table3/report/index.html")
    rows = read_comparison(fresh.root / "results/table3/comparison.parquet")
    found = {(row.table, row.category) for row in rows if row.model == "qwen2.5-vl-7b"}
    assert {("Table 3", category) for category in ("Object", "Relation", "Attribute", "Overall")} <= found
    assert ("Figure 4", "Overall") in found
    assert (fresh.root / "results/table3/report/benchmark-humblebench.html").is_file()


def test_add_a_benchmark(fresh):
    data, benchmark = blocks("benchmark", "python")
    published, added = blocks("benchmark", "yaml")
    fresh.run("python", "-c", data)
    folder = fresh.root / "src/known_unknowns_benchmarks/weather"
    folder.mkdir()
    (folder / "__init__.py").write_text(benchmark, encoding="utf-8")
    (folder / "published.yaml").write_text(published, encoding="utf-8")
    audit, check, everything = lines("benchmark")
    assert "Another model, Accuracy: 70.00" in run(fresh, audit)
    fresh.change_params(lambda params: merged(params, yaml.safe_load(added)))
    fresh.change_params(lambda params: params["tracking"].update(enabled=False))
    run(fresh, check)
    run(fresh, everything, "results/weather/report/index.html")
    assert accuracy(fresh.root, "weather", "oracle", "weather")["original"] == 1
    assert accuracy(fresh.root, "weather", "always_refuse", "weather")["nota_only"] == 1
    assert set(accuracy(fresh.root, "weather", "pocket", "weather")) == {"original", "nota_only", "blank"}
    assert "Weather" in (fresh.root / "results/weather/report/index.html").read_text(encoding="utf-8")

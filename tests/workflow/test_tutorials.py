"""README, docs/installation.md and the tutorials as they are written: their files, commands and messages.

They are run in small copies of the project.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.comparison import ComparisonRow, read_comparison
from known_unknowns.comparison.verdicts import UNJUDGED
from known_unknowns.records import OVERALL
from tests.paths import ROOT
from tests.servers.hub import Hub
from tests.workflow.project import Project, reduce
from tests.workflow.test_fetch import parquet

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
REPOSITORY = "someone/small-vl"
README, INSTALLATION = "README.md", "docs/installation.md"
RUN = {
    "make run",
    "make run EDITION=full",
    "make findings",
    "known-unknowns metrics --out metrics.csv",
    "known-unknowns init my-project",
    "cd my-project",
    "snakemake --dry-run",
}
"""The commands of README and docs/installation.md that are run here."""
ELSEWHERE = {
    "make test": "the command that runs this test; it installs packages",
    "make setup": "installs packages from a registry",
    "pip install 'known-unknowns[models,adapters,workflow,report]'": "a registry; test_wheel.py runs a wheel",
    "snakemake": "test_wheel.py, of another edition",
    "make": "test_makefile.py",
    "make construct": "test_construct.py",
    "make run EDITION=released": "test_released.py",
    "known-unknowns open": "test_open.py",
    "known-unknowns audit": "tests/unit/test_commands_of_pages.py",
    "known-unknowns try models/pocket": "test_try.py",
    "known-unknowns try OWNER/NAME --edition full": "test_try.py",
    "known-unknowns try openai:NAME --base-url http://localhost:8000/v1": "test_try.py",
}
"""The other ones: the test that runs them, or what they need. Those of containers need an engine for them."""


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a page, which is a path or the name of a tutorial."""
    path = page if page.endswith(".md") else f"docs/tutorial_{page}.md"
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(project: Project, line: str, *targets: str) -> str:
    """Run a command of a tutorial. For ``make run``, the command is run that the Makefile has for it."""
    program, *arguments = shlex.split(line)
    if program == "make":
        assert arguments.pop(0) == "run"
        edition = [part.replace("EDITION", "edition") for part in arguments]
        return project.snakemake(*targets, "--cores", "1", *(["--config", *edition] if edition else []))
    assert program == "known-unknowns"
    return project.run("known-unknowns", *arguments).stdout


def merged(params: dict[str, Any], added: dict[str, Any]) -> None:
    for key, value in added.items():
        params[key] |= value


def lines(page: str) -> list[str]:
    return [line.partition(" #")[0].strip() for block in blocks(page, "sh") for line in block.splitlines() if line]


def shell(project: Project, line: str) -> str:
    """Run a line exactly as a page or a program prints it."""
    return project.run("bash", "-c", line).stdout


def with_environment(project: Project) -> None:
    """Give a copy the environment of the tests as that of ``make setup``."""
    environment = project.root / ".venv"
    environment.mkdir()
    for part in ("bin", "lib", "pyvenv.cfg"):
        (environment / part).symlink_to(Path(sys.prefix, part))
    (environment / ".installed").touch()


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


TEN = "questions: {Overall: 10, Object: 4, Relation: 3, Attribute: 3}"
"""The questions of the test's hub, in the words of the file of published numbers."""


@dataclass(frozen=True)
class QuickStart:
    """A project in which ``make run`` has ended, and what it printed."""

    project: Project
    printed: str

    def comparison(self, edition: str) -> list[ComparisonRow]:
        return read_comparison(self.project.root / f"results/{edition}/comparison.parquet")


@pytest.fixture(scope="module")
def quick_start(untouched: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuickStart]:
    """README's first command, in a copy of HumbleBench of ten published questions. The hub has the pocket model under
    the name of Qwen2.5-VL, so that the entry of the catalogue is asked as published."""
    root = tmp_path_factory.mktemp("quick")
    repository = "someone/Qwen2.5-VL-7B-Instruct"
    files = {path.name: path.read_bytes() for path in (ROOT / "models/pocket").iterdir() if path.is_file()}
    with Hub(large=1_000_000) as hub:
        hub.commit("maifoundations/HumbleBench", {"README.md": b"one", "data/train.parquet": parquet(10)})
        hub.commit(repository, files, kind="model")
        environment = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_HOME": str(root / "home")}
        project = replace(untouched.twin(root / "project"), environment=environment)
        published = project.root / "src/known_unknowns_benchmarks/humblebench/published.yaml"
        text, count = re.subn(r"questions: \{Overall: 22831, .*?\}", TEN, published.read_text(encoding="utf-8"))
        text, of_e = re.subn("questions: 3326", "questions: 2", text)
        assert (count, of_e) == (1, 1)
        published.write_text(text, encoding="utf-8")

        def change(params: dict[str, Any]) -> None:
            reduce(params, models=["oracle"], variants=["original", "nota_only"], images=2, tracking=False)
            model = {"source": repository, "revision": "main", "dtype": "float32", "device": "cpu"}
            card = {"family": "pocket", "parameters": 0.003, "licence": "MIT"}
            params["models"]["qwen2.5-vl-7b"] = model | {"card": card}
            params["editions"]["full"] |= {"benchmarks": ["humblebench"], "models": ["qwen2.5-vl-7b"]}

        project.change_params(change)
        with_environment(project)
        assert lines(README)[0] == "make run"
        yield QuickStart(project, shell(project, "make run"))


@pytest.mark.parametrize("page", [README, INSTALLATION])
def test_every_command_of_the_first_pages_is_run_or_named(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    inline = re.findall(r"(?<!`)`((?:make|known-unknowns|snakemake)(?: [^`\n]+)?)`(?!`)", text)
    named = {line for line in (*lines(page), *inline) if not line.startswith(("docker ", "apptainer "))}
    assert named - {"known-unknowns", "known-unknowns init"} <= RUN | ELSEWHERE.keys()


def test_the_first_run_of_readme(quick_start):
    root = quick_start.project.root
    for place in re.findall(r"results/pocket/[\w/.]+", (ROOT / README).read_text(encoding="utf-8")):
        assert (root / place).exists(), place
    assert "Nothing to be done" in shell(quick_start.project, "make run")
    shell(quick_start.project, "known-unknowns metrics --out metrics.csv")
    header, *rows = (root / "metrics.csv").read_text(encoding="utf-8").splitlines()
    assert header.startswith("model,benchmark,variant,") and rows
    shutil.copytree(ROOT / "docs", root / "docs", ignore=shutil.ignore_patterns("example"))
    shell(quick_start.project, "make findings")
    for name in ("findings.md", "humblebench_e.svg"):
        assert (root / "docs" / name).read_bytes() == (ROOT / "docs" / name).read_bytes()


def test_the_advice_of_a_run_judges_as_many_numbers_as_it_says(quick_start):
    """The command is run as it is printed; each number that it promises was not comparable, and then has a verdict."""
    (line, number) = re.search(
        r"HumbleBench: .*: (make run EDITION=full) \((\d+) numbers\)", quick_start.printed
    ).groups()
    assert {row.verdict for row in quick_start.comparison("pocket")} == {"not comparable"}
    printed = shell(quick_start.project, line)
    after = quick_start.comparison("full")
    judged = {(row.table, row.row, row.column) for row in after if row.verdict not in UNJUDGED}
    assert len(judged) == int(number) > 0
    assert {row.model for row in after if row.verdict not in UNJUDGED} == {"qwen2.5-vl-7b"}
    assert f"Verdicts   {number} of " in printed


def test_a_project_of_the_package(tmp_path):
    install, create, enter, plan, everything, *_ = lines(INSTALLATION)
    assert {install, everything} <= ELSEWHERE.keys() and enter == "cd my-project"
    outside = Project(tmp_path, {"PYTHONPATH": str(ROOT / "src")})
    assert "Created a project" in shell(outside, create)
    assert "question browser" in shell(replace(outside, root=tmp_path / "my-project"), plan)


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

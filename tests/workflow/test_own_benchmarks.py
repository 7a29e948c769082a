"""One run of three benchmarks: that of the tutorial, one of another distribution, and own questions without images."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.entry_points import BENCHMARKS
from tests.paths import ROOT
from tests.workflow.pages import accuracy, blocks, lines, run
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PAGE = "docs/tutorial_benchmark.md"
MODELS = ["oracle", "always_a"]
YES_NO = ["original", "negated", "text_only"]
QUESTIONS = """question,A,B,C,answer
Which planet has the most moons?,Mars,Saturn,None of the above,B
How many legs has a spider?,Six,Ten,None of the above,C
"""


def install_pope(site: Path) -> None:
    """Install the benchmark into ``site``: its package, and the metadata of a distribution with an entry point."""
    shutil.copytree(ROOT / "tests/benchmarks/pope", site / "pope_benchmark")
    info = site / "pope_benchmark-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pope-benchmark\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{BENCHMARKS}]\npope = pope_benchmark:BENCHMARK\n")


def add_pope(params: dict[str, Any]) -> None:
    source = {"source": "scenes", "seed": 1, "images": 4, "questions_per_image": 3, "revision": "unpinned"}
    params["benchmarks"]["pope"] = {"protocol": "single_turn", "variants": YES_NO, "data": {"weather": source}}
    params["variants"]["negated"] = {}


def add_questions_without_images(params: dict[str, Any]) -> None:
    own = params["benchmarks"]["multiple_choice"]
    own |= {"variants": ["original", "nota_only", "noise", "blank"], "seeds": {}}
    own["data"]["weather"] = own["data"]["mine"] | {"without_image": True}


@pytest.fixture(scope="module")
def finished(untouched: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, str]]:
    """A project after the commands of the tutorial, with two benchmarks more, and what each command printed."""
    folder = tmp_path_factory.mktemp("benchmarks")
    install_pope(folder / "site")
    project = replace(untouched.twin(folder / "project"), environment={"PYTHONPATH": str(folder / "site")})
    data, benchmark = blocks(PAGE, "python")
    published, added = blocks(PAGE, "yaml")
    project.run("python", "-c", data)
    package = project.root / "src/known_unknowns_benchmarks/weather"
    package.mkdir()
    (package / "__init__.py").write_text(benchmark, encoding="utf-8")
    (package / "published.yaml").write_text(published, encoding="utf-8")
    (line,) = blocks(PAGE, "toml")
    section = '[project.entry-points."known_unknowns.benchmarks"]\n'
    listing = project.root / "pyproject.toml"
    listing.write_text(listing.read_text(encoding="utf-8").replace(section, section + line), encoding="utf-8")
    (project.root / "my_data").mkdir()
    (project.root / "my_data/questions.csv").write_text(QUESTIONS, encoding="utf-8")

    def change(params: dict[str, Any]) -> None:
        for section, entries in yaml.safe_load(added).items():
            params[section] |= entries
        add_pope(params)
        add_questions_without_images(params)
        params["editions"]["weather"] |= {"benchmarks": ["weather", "pope", "multiple_choice"], "models": MODELS}
        params["tracking"]["enabled"] = False

    project.change_params(change)
    pages = [f"results/weather/report/{page}.html" for page in ("index", "questions")]
    printed = {line: run(project, line, *(pages if line.startswith("make") else ())) for line in lines(PAGE)}
    return project, printed


def accuracies(project: Project, model: str, benchmark: str, parser: str = "official") -> dict[str, float | None]:
    found = accuracy(project.root, "weather", model, benchmark)
    return {variant: value for (variant, of), (value, _) in found.items() if of == parser}


def text(project: Project, page: str) -> str:
    return (project.root / "results/weather/report" / page).read_text(encoding="utf-8")


def test_the_benchmark_of_the_tutorial(finished):
    project, printed = finished
    assert (
        "Another model, Accuracy: No count among 3 questions gives it"
        in printed["known-unknowns audit --benchmark weather"]
    )
    assert accuracies(project, "oracle", "weather") == {"original": 1, "nota_only": 1, "blank": 1}
    assert accuracies(project, "always_a", "weather") == {
        "original": pytest.approx(1 / 3),
        "nota_only": 0,
        "blank": 0,
    }
    assert "Weather" in text(project, "index.html")


def test_a_yes_no_benchmark_of_another_distribution(finished):
    """Of three questions about an image, the answers are "no", "yes" and "no". A negated question has the other one."""
    project, _ = finished
    for parser in ("official", "robust", "likelihood"):
        assert accuracies(project, "oracle", "pope", parser) == dict.fromkeys(YES_NO, 1)
        yes = {variant: pytest.approx(2 / 3 if variant == "negated" else 1 / 3) for variant in YES_NO}
        assert accuracies(project, "always_a", "pope", parser) == yes
    assert {n for _, n in accuracy(project.root, "weather", "oracle", "pope").values()} == {12}
    assert "<h2>POPE</h2>" in text(project, "index.html")
    assert "the benchmark defines no check of its published files" in text(project, "audit.html")
    labels = set(re.findall(r"<text[^>]*>([^<]*)</text>", text(project, "figures/pope_answers.svg")))
    assert {"yes", "no"} < labels and not {"A", "B", "C", "D", "E"} & labels


def test_questions_without_images(finished):
    project, printed = finished
    note = "no question has an image, so these variants are left out: noise, blank"
    assert note in printed["known-unknowns check params --edition weather"]
    assert accuracies(project, "oracle", "multiple_choice") == {"original": 1, "nota_only": 1}
    replies = tables.read_replies(project.root / "results/weather/replies/oracle/multiple_choice/replies.parquet")
    assert {len(turn.images) for turn in replies} == {0} and len(replies) == 4
    assert "Multiple choice" in text(project, "index.html")
    assert (project.root / "results/weather/report/questions.html").is_file()

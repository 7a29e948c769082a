"""The structure that docs/architecture.md describes: paths, layers, and generic code without names of benchmarks."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import Exchange
from known_unknowns.benchmark.layout import read_layouts
from known_unknowns.benchmark.metrics import BenchmarkMetrics
from known_unknowns.benchmark.protocol import Protocol
from known_unknowns.benchmark.released import Released
from known_unknowns.benchmark.section import Section
from known_unknowns.benchmark.variant import Variant
from scripts import core_table
from tests.paths import ROOT, SOURCE
from tests.results_page import unexplained

TEXT = {".py", ".yaml", ".j2", ".css", ".rst", ".smk", ".md"}
MODELS = SOURCE / "models"
"""Names the rows of published tables that a model stands for, by benchmark: an added model touches one file here."""


def generic_files() -> list[Path]:
    folders = [SOURCE, ROOT / "rules"]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in TEXT]
    return [path for path in [*files, ROOT / "Snakefile"] if MODELS not in path.parents]


@pytest.mark.parametrize("name", registry.names())
def test_generic_code_names_no_benchmark(name: str) -> None:
    spelled = {name, registry.get(name).title}
    names = "|".join(map(re.escape, spelled))
    pattern = re.compile(rf"(?<![A-Za-z])(?i:{names})(?![a-z])")  # not as a part of a word
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in generic_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]
    assert not found, "\n".join(found)


def test_the_files_searched_are_the_generic_ones() -> None:
    files = generic_files()
    assert SOURCE / "report" / "figures.py" in files and ROOT / "rules" / "common.smk" in files
    assert not [path for path in files if "humblebench" in path.parts]


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md", "results/README.md"])
def test_every_path_on_the_page_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|rules|tests|docs|bench|models)/[\w./-]*)`", text)
    linked = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    paths = [ROOT / path for path in named] + [(ROOT / page).parent / path for path in linked]
    assert named
    assert not [str(path) for path in paths if not path.exists()]


def test_the_page_has_the_layers_that_are_checked() -> None:
    """The plugins, which use every layer, are a further line of the page."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    shown = page.partition("## Layers")[2].split("```")[1]
    contract = configparser.ConfigParser()
    contract.read(ROOT / ".importlinter")
    layers = contract["importlinter:contract:layers"]["layers"].split("\n")
    expected = [set(re.findall(r"\w+", line)) for line in layers if line and line != "__main__"]
    found = [set(re.findall(r"\w+", line.replace("(registry)", ""))) for line in shown.split("\n") if line]
    assert [names for names in found if names] == expected
    named = {name for names in expected for name in names}
    assert {path.stem for path in SOURCE.iterdir() if (path / "__init__.py").is_file()} <= named


def test_the_page_lists_the_core_as_it_is() -> None:
    page = core_table.PAGE.read_text(encoding="utf-8")
    assert page == core_table.written(page), "run `make format`, which writes the table"


def test_the_outputs_of_the_rules_are_explained() -> None:
    """tests/workflow/test_run.py compares the page with the files of a run."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.smk")]
    named = {path for text in texts for path in re.findall(r'[">]<results>/([^"{]*(?:\{[^"]*)?\.\w+)"', text)}
    assert len(named) > 15
    assert unexplained([re.sub(r"\{+[\w.]+\}+", "name", path) for path in sorted(named)]) == []
    assert unexplained(["metrics/oracle/humblebench.csv", "logs"]) == ["metrics/oracle/humblebench.csv", "logs"]


def test_imports_keep_the_layers_and_have_no_cycles() -> None:
    program = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert program, "import-linter is not installed"
    done = subprocess.run([program, "--no-logo"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_import_contracts_have_no_exemption() -> None:
    contracts = (ROOT / ".importlinter").read_text(encoding="utf-8")
    assert "ignore_imports" not in contracts and "exclude_type_checking_imports" not in contracts


@pytest.mark.parametrize("name", registry.names())
def test_the_parts_of_a_benchmark_are_of_the_kinds_of_the_interface(name: str) -> None:
    benchmark = registry.get(name)
    assert isinstance(benchmark.metrics(), BenchmarkMetrics)
    assert isinstance(benchmark.exchange(), Exchange)
    assert isinstance(benchmark.released(), Released | None)
    assert isinstance(benchmark.section(), Section)
    assert all(isinstance(variant, Variant) for variant in benchmark.variants().values())
    assert all(isinstance(protocol, Protocol) for protocol in benchmark.protocols().values())
    assert bool(benchmark.section().template) or not benchmark.has("section_data")
    assert bool(benchmark.section().template) or not read_layouts(benchmark.folder)
    assert not benchmark.forced_choice_metrics or benchmark.has("refusal_prompt")

"""``known_unknowns`` reaches ``known_unknowns_pocket`` through one module and the renderers of benchmarks."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns.benchmark import pocket as _pocket
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.registry import Lazy, Pocket
from known_unknowns.cli import app
from known_unknowns.data.rendered import render
from known_unknowns.errors import ConfigError
from tests.factories import data_entry
from tests.paths import ROOT

SOURCE = Path(registry.__file__).parents[1]


@pytest.fixture
def fresh_registry():
    registry.get.cache_clear()
    yield
    registry.get.cache_clear()


@pytest.fixture
def without_package(monkeypatch, fresh_registry):
    monkeypatch.setitem(sys.modules, _pocket.PACKAGE, None)


def test_two_modules_name_the_package() -> None:
    def names_it(path: Path) -> bool:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        modules += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        # A docstring may mention the package; a module path or an import may not.
        return any(isinstance(text, str) and text.startswith(_pocket.PACKAGE) for text in [*texts, *modules])

    found = [path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py")) if names_it(path)]
    assert found == ["benchmark/pocket.py", "workflow/code_digest.py"]


def test_every_pocket_has_a_renderer_and_a_digest() -> None:
    entries = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["benchmarks"]
    rendered = {
        name for name, entry in entries.items() if any(data["source"] == "scenes" for data in entry["data"].values())
    }
    assert len(rendered) >= 4
    assert rendered == {name for name in registry.names() if registry.get(name).pocket is not None}
    for name in rendered:
        pocket = registry.get(name).pocket
        assert callable(pocket.render.get()) and callable(pocket.digest.get())
        assert pocket.terms.get().redistribute


def test_a_benchmark_may_have_its_own_renderer(monkeypatch, fresh_registry) -> None:
    own = Pocket(render=Lazy("json:dumps"), digest=Lazy("json:loads"), terms=Lazy("json:load"))
    module = sys.modules[registry.get("humblebench").package]
    registry.get.cache_clear()
    monkeypatch.setattr(module, "BENCHMARK", replace(module.BENCHMARK, pocket=own))
    assert registry.get("humblebench").pocket == own


def test_without_the_package_rendering_says_what_to_install(without_package, tmp_path) -> None:
    assert registry.get("humblebench").pocket is None
    with pytest.raises(ConfigError, match="known_unknowns_pocket is not installed"):
        render("humblebench", data_entry("scenes"), tmp_path)
    with pytest.raises(ConfigError, match="known_unknowns_pocket is not installed"):
        _pocket.train_command()()


def test_train_is_a_command() -> None:
    result = CliRunner().invoke(app, ["train", "--help"])
    assert result.exit_code == 0
    assert "--smoke" in result.output

"""Braces in the names of folders, which Snakemake takes for wildcards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from known_unknowns.config import Params
from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration, prerequisites, project
from tests.paths import ROOT


def params(**entry: str) -> Params:
    """The pocket edition with one model, whose entry is changed."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["models"]["pocket"] |= entry
    raw["editions"]["pocket"] |= {"models": ["pocket"], "benchmarks": ["humblebench"]}
    return configuration.check(raw | {"edition": "pocket"})


@pytest.mark.parametrize("name", ["a{b}c", "a{", "}/below"])
def test_a_projects_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    with pytest.raises(ConfigError, match="has a brace in its name, which Snakemake takes for a wildcard; rename it"):
        project.create(tmp_path / name)
    assert not list(tmp_path.iterdir())
    (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / name)
    with pytest.raises(ConfigError, match="has a brace in its name"):
        prerequisites.checked(params())


@pytest.mark.parametrize("place", ["po{x}/", "pocket/sub{x}"])
def test_a_models_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "models/pocket", tmp_path / place, dirs_exist_ok=True)
    with pytest.raises(ConfigError, match=r"models\.pocket\.source: .*has a brace in its name"):
        prerequisites.checked(params(source=place.partition("/")[0]))

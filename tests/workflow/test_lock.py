"""The lock pins each requirement of pyproject.toml once, and the environment files agree with it."""

from __future__ import annotations

import re
import tomllib
from itertools import chain

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.workflow.project import ROOT

RULES = sorted((ROOT / "rules").glob("*.smk"))


def pins(lines):
    """Package name to version, of lines "name==version ; marker"."""
    found = {}
    for line in lines:
        requirement = Requirement(line)
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", line
        assert requirement.url is None, line
        assert canonicalize_name(requirement.name) not in found, f"{line} is pinned twice"
        found[canonicalize_name(requirement.name)] = specifier.version
    return found


@pytest.fixture(scope="module")
def locked():
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return pins(line for line in lines if not line.startswith("#"))


def environment(path):
    dependencies = yaml.safe_load(path.read_text(encoding="utf-8"))["dependencies"]
    return pins(next(entry["pip"] for entry in dependencies if isinstance(entry, dict)))


def test_every_requirement_of_pyproject_is_pinned_within_its_bounds(locked):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["dependencies"] + list(chain(*project["optional-dependencies"].values()))
    for requirement in map(Requirement, asked):
        version = locked[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version, prereleases=True), requirement


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda path: path.stem)
def test_environment_files_have_the_same_pins(locked, path):
    pinned = environment(path)
    assert pinned
    assert {name: locked.get(name) for name in pinned} == pinned


def test_every_environment_has_the_core(locked):
    core = environment(ROOT / "envs/core.yaml")
    for path in (ROOT / "envs").glob("*.yaml"):
        assert core.items() <= environment(path).items()


def test_every_rule_has_an_environment_that_exists():
    named = [name for path in RULES for name in re.findall(r'"\.\./envs/(\S+)"', path.read_text(encoding="utf-8"))]
    assert named
    assert {name for name in named if not (ROOT / "envs" / name).is_file()} == set()


def test_the_lock_names_no_registry_and_no_cuda_package(locked):
    for path in [ROOT / "requirements.lock", *(ROOT / "envs").glob("*.yaml")]:
        assert "://" not in path.read_text(encoding="utf-8")
    assert not [name for name in locked if name.startswith(("nvidia-", "cuda-"))]


def test_the_peers_are_pinned():
    lines = (ROOT / "tests/peers.txt").read_text(encoding="utf-8").splitlines()
    assert pins(line for line in lines if not line.startswith("#"))

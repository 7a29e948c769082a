"""The container files: what they copy exists, what they install is declared. They are built by no test."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from known_unknowns.workflow import project
from tests.paths import ROOT

DOCKER = (ROOT / "scripts/containers/Dockerfile").read_text(encoding="utf-8")
APPTAINER = (ROOT / "scripts/containers/known-unknowns.def").read_text(encoding="utf-8")


def test_both_images_install_declared_extras_with_the_lock():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for text in (DOCKER, APPTAINER):
        (found,) = re.findall(r'-c requirements\.lock "\.\[([\w,]+)\]"', text)
        assert set(found.split(",")) <= extras.keys() - {"dev"}
    assert (
        re.search(r"^FROM (\S+)$", DOCKER, re.MULTILINE)[1] == re.search(r"^From: (\S+)$", APPTAINER, re.MULTILINE)[1]
    )


def test_the_apptainer_image_has_the_files_of_a_project():
    section = re.search(r"%files\n(.*?)\n\n", APPTAINER, re.DOTALL)[1]
    pairs = [line.split() for line in section.splitlines()]
    assert all(target == f"/opt/known-unknowns/{source}" and (ROOT / source).exists() for source, target in pairs)
    copied = [Path(source) for source, _ in pairs]
    assert all(any(path == top or top in path.parents for top in copied) for path in project.template())


@pytest.mark.parametrize("path", [*map(str, project.template()), "setup.py", "requirements.lock"])
def test_the_docker_image_has_the_files_of_a_project(path):
    assert not _left_out_by_docker(path)


@pytest.mark.parametrize(
    "path",
    [".env", ".git/config", "data/own/raw/photos/1.png", "data/own/questions/q/a.jsonl", "results/pocket/report.html"],
)
def test_no_image_has_the_keys_or_the_data_of_the_user(path):
    assert _left_out_by_docker(path) and path not in APPTAINER


def _left_out_by_docker(path: str) -> bool:
    """Apply Docker's rules: the last pattern that matches the path or a folder above it decides, `!` is an exception,
    and a slash at a pattern's end has no meaning.

    https://docs.docker.com/build/concepts/context/#dockerignore-files
    """
    left_out = False
    for line in (ROOT / "scripts/containers/Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.removeprefix("!").rstrip("/").removeprefix("**/")
        tops = [Path(path), *Path(path).parents][:-1]
        at_any_depth = "**/" in line
        if line and not line.startswith("#"):
            depth = len(Path(pattern).parts)
            if any(top.match(pattern) and (at_any_depth or len(top.parts) == depth) for top in tops):
                left_out = not line.startswith("!")
    return left_out


def test_a_change_of_the_code_does_not_install_the_dependencies_again():
    before, _, after = DOCKER.partition("COPY . .")
    assert "[models," in before and "[models," not in after and "--no-deps" in after
    copied = re.search(r"^COPY (.+) \./$", before, re.MULTILINE)[1].split()
    assert all((ROOT / path).is_file() and not _left_out_by_docker(path) for path in copied)
    assert not [path for path in copied if path.endswith(".py")]


def test_the_hubs_cache_is_on_the_volume():
    """Otherwise `docker run --rm` downloads every model again, into a layer of the container."""
    (home,) = re.findall(r"^ENV HF_HOME=(\S+)$", DOCKER, re.MULTILINE)
    assert Path(home).is_relative_to("/project") and "/project" in re.findall(r"^WORKDIR (\S+)$", DOCKER, re.MULTILINE)

"""The container files: what they copy exists, what they install is declared. They are built by no test."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

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


def test_a_change_of_the_code_does_not_install_the_dependencies_again():
    before, _, after = DOCKER.partition("COPY . .")
    assert "[models," in before and "[models," not in after and "--no-deps" in after
    copied = re.search(r"^COPY (.+) \./$", before, re.MULTILINE)[1].split()
    assert all((ROOT / path).is_file() for path in copied)
    assert not [path for path in copied if path.endswith(".py")]


def test_the_hubs_cache_is_on_the_volume():
    """Otherwise `docker run --rm` downloads every model again, into a layer of the container."""
    (home,) = re.findall(r"^ENV HF_HOME=(\S+)$", DOCKER, re.MULTILINE)
    assert Path(home).is_relative_to("/project") and "/project" in re.findall(r"^WORKDIR (\S+)$", DOCKER, re.MULTILINE)

"""The container files: what they copy exists, what they install is declared. They are built by no test."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from known_unknowns.workflow import project
from tests.paths import ROOT

DOCKER = (ROOT / "containers/Dockerfile").read_text(encoding="utf-8")
APPTAINER = (ROOT / "containers/known-unknowns.def").read_text(encoding="utf-8")


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


def test_no_image_has_the_keys_of_the_user():
    ignored = (ROOT / "containers/Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert ".env" in ignored and ".env" not in APPTAINER


def test_the_devcontainer_sets_up_the_locked_packages():
    settings = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    assert settings["postCreateCommand"] == "make setup" and "python:3.11" in settings["image"]

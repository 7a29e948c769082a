"""Replies belong to what was asked, and not to the folder of the model or to the name of the edition."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
REPLIES = "results/{}/replies/pocket/humblebench/replies.parquet"


@pytest.fixture
def project(reproduced: Project, tmp_path: Path) -> Project:
    """A project in which the local model has answered."""
    return reproduced.twin(tmp_path / "project")


def newly_asked(project: Project, edition: str) -> int:
    record = (project.root / REPLIES.format(edition)).with_name("engine.json")
    found: int = json.loads(record.read_text(encoding="utf-8"))["newly_asked"]
    return found


def use_folder(folder: str, params: dict[str, Any]) -> None:
    params["models"]["pocket"]["source"] = folder


def test_a_renamed_edition_and_a_moved_or_missing_folder_ask_nothing(project, tmp_path):
    assert newly_asked(project, "pocket") > 0
    replies = (project.root / REPLIES.format("pocket")).read_bytes()
    journal = (project.root / "journal/pocket/humblebench.jsonl").read_bytes()

    def rename(params: dict[str, Any]) -> None:
        params["editions"]["renamed"] = params["editions"]["pocket"] | {"data": "pocket"}

    def check(edition: str) -> None:
        assert newly_asked(project, edition) == 0
        assert (project.root / REPLIES.format(edition)).read_bytes() == replies
        assert (project.root / "journal/pocket/humblebench.jsonl").read_bytes() == journal

    project.change_params(rename)
    project.snakemake(REPLIES.format("renamed"), "--config", "edition=renamed")
    check("renamed")
    moved = shutil.move(project.root / "models/pocket", tmp_path / "moved")
    project.change_params(partial(use_folder, str(moved)))
    project.snakemake(REPLIES.format("pocket"))
    check("pocket")
    shutil.rmtree(moved)
    project.snakemake("--forcerun", "infer", REPLIES.format("pocket"))
    check("pocket")

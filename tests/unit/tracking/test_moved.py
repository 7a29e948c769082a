"""A project's folder that was copied: its MLflow runs go on in the new place."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from known_unknowns.errors import DataError

from .logged import artifact, client, run_of, runs
from .world import World


def artifact_uris(world: World) -> set[str]:
    return {run.info.artifact_uri for run in runs(world)}


def test_runs_go_on_in_a_copied_folder(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.track()
    before, run = artifact_uris(world), run_of(world, "oracle", "humblebench")
    place = world.folder.with_name("another name")
    shutil.copytree(world.folder, place)
    monkeypatch.chdir(place)
    moved = replace(world, folder=place)
    moved.track()
    assert artifact_uris(moved) == {uri.replace(world.folder.as_uri(), place.as_uri()) for uri in before}
    assert artifact(moved, run, "engine.json").is_file()
    assert client(moved).list_artifacts(run.info.run_id)  # MLflow finds them there
    assert artifact_uris(world) == before  # the first folder is left alone


def test_another_folder_of_artifacts_is_still_a_mistake(world: World) -> None:
    world.track()
    world.params.raw["tracking"]["artifacts"] = "elsewhere"
    with pytest.raises(DataError, match="keeps its artifacts in"):
        world.track()
    assert Path(world.folder, "mlartifacts").is_dir()

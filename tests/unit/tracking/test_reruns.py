"""Tracking again: what is written anew, superseded, restored or left as it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from known_unknowns import json_files
from known_unknowns.edition_files import EditionFiles
from known_unknowns.tracking import track
from known_unknowns.tracking.store import open_store
from tests.paths import ROOT
from tests.unit.tracking.logged import artifact, client, current, history, run_of, runs, seed_of, seeds

from .world import MODELS, World


def test_a_rerun_changes_nothing(world: World) -> None:
    world.track()
    before, listing = {r.info.run_id: r for r in runs(world)}, world.out.read_bytes()
    world.track()
    after = {r.info.run_id: r for r in runs(world)}
    assert world.out.read_bytes() == listing
    assert {i: r.to_dictionary() for i, r in after.items()} == {i: r.to_dictionary() for i, r in before.items()}
    for run in seeds(world):
        assert history(world, run, "original/accuracy") == [0.5]


def test_replies_that_are_made_again_from_the_journal_are_the_same_runs(world: World) -> None:
    path = EditionFiles(world.data, world.results).engine("oracle", "humblebench")
    record = json_files.read(path)
    json_files.write(path, record | {"newly_asked": 12})
    first = world.track()
    json_files.write(path, record | {"newly_asked": 0})
    assert world.track() == first
    assert not runs(world, "tags.superseded = 'true'")


def test_a_changed_metric_replaces_the_runs_of_its_model_and_no_other(world: World) -> None:
    first = world.track()
    before, untouched = current(world, "oracle"), seed_of(world, "always_a").to_dictionary()
    world.set_metric("oracle", "original", "accuracy", value=0.25)
    second = world.track()
    assert second[1:] == first[1:]
    assert len(current(world, "oracle")) == 2
    assert not current(world, "oracle") & before
    assert {run.info.run_id for run in runs(world, "tags.superseded = 'true'")} == before
    run = client(world).get_run(second[0]["run_id"])
    assert (run.info.status, run.data.metrics["original/accuracy"]) == ("FINISHED", 0.25)
    assert client(world).get_run(first[0]["run_id"]).data.metrics["original/accuracy"] == 0.5
    assert seed_of(world, "always_a").to_dictionary() == untouched
    world.set_metric("oracle", "original", "accuracy", value=0.5)  # as before
    assert world.track() == first
    assert current(world, "oracle") == before
    assert len(runs(world)) == 2 + 2 + 2


def test_another_version_makes_new_runs_and_keeps_the_old_ones(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may make other contents of the same tables."""
    first = world.track()
    monkeypatch.setattr("known_unknowns.tracking.contents.__version__", "999")
    second = world.track()
    assert not {r["run_id"] for r in first} & {r["run_id"] for r in second}
    assert {r.info.run_id for r in seeds(world, " and tags.superseded = 'false'")} == {r["run_id"] for r in second}
    assert {r.info.run_id for r in seeds(world, " and tags.superseded = 'true'")} == {r["run_id"] for r in first}


def test_runs_of_an_earlier_version_are_superseded_and_the_line_of_the_page_deletes_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier versions had a run for each variant, at the level "cell"."""
    with open_store(world.params.tracking) as store:
        for level in ("model", "cell"):
            tags = {"edition": "pocket", "level": level, "tree": "earlier", "superseded": "false"}
            earlier = store.client.create_run(store.experiment_id, tags=tags)
            store.client.log_param(earlier.info.run_id, "model", "oracle")
            store.client.set_terminated(earlier.info.run_id)
    world.track()
    now = {run.info.run_id for run in runs(world, "tags.superseded = 'false'")}
    assert len(now) == 4
    assert len(runs(world)) == 6
    page = (ROOT / "docs/workflow.md").read_text(encoding="utf-8")
    command = re.search(r'^MLFLOW_TRACKING_URI=.* python -c ".*"$', page, re.MULTILINE)[0]
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    subprocess.run(command, shell=True, check=True, capture_output=True)
    assert {run.info.run_id for run in runs(world)} == now


def test_runs_of_a_removed_model_are_superseded_until_it_is_back(world: World) -> None:
    world.track()
    before = current(world, "always_a")
    oracle = [world.metrics_file("oracle")]
    track(world.params, oracle, out=world.out, results=world.results, data=world.data)
    assert current(world, "always_a") == before  # it is in the edition, and only has no metrics in this call
    models = world.raw["editions"]["pocket"]["models"]
    models.remove("always_a")
    shutil.move(world.metrics_file("always_a"), world.folder / "kept.parquet")
    track(world.params, oracle, out=world.out, results=world.results, data=world.data)
    assert not current(world, "always_a") and len(current(world, "oracle")) == 2
    models.append("always_a")
    shutil.move(world.folder / "kept.parquet", world.metrics_file("always_a"))
    world.track()
    assert current(world, "always_a") == before


def test_runs_of_a_model_are_written_again_if_one_or_its_artifacts_were_deleted(world: World) -> None:
    first = world.track()
    client(world).delete_run(seed_of(world, "oracle").info.run_id)
    second = world.track()
    assert not {r["run_id"] for r in first[:1]} & {r["run_id"] for r in second}
    assert second[1:] == first[1:]
    assert len(runs(world)) == 2 * len(MODELS)
    assert len(current(world, "oracle")) == 2
    shutil.rmtree(world.folder / "mlartifacts")
    world.track()
    assert len(runs(world)) == 2 * len(MODELS)
    for run in seeds(world):
        assert artifact(world, run, "questions.json").is_file()
    assert artifact(world, run_of(world, "oracle"), "headline.json").is_file()


def test_failed_run_is_not_finished(world: World) -> None:
    world.track()
    before, listing = current(world, "oracle"), world.out.read_bytes()
    (world.folder / "mlartifacts").rename(world.folder / "elsewhere")
    (world.folder / "mlartifacts").write_text("a file where a folder must be")
    world.set_metric("oracle", "original", "accuracy", value=0.25)
    with pytest.raises(Exception, match="mlartifacts"):
        world.track()
    assert {run.info.status for run in runs(world) if run.info.run_id not in before} >= {"FAILED"}
    assert world.out.read_bytes() == listing
    (world.folder / "mlartifacts").unlink()
    (world.folder / "elsewhere").rename(world.folder / "mlartifacts")
    world.track()
    assert {run.info.status for run in runs(world)} == {"FINISHED"}
    assert len(current(world, "oracle")) == 2

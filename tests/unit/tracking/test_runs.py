from __future__ import annotations

import csv
import json
import math
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run, ViewType

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL

from .world import DVC_HASH, MODELS, VARIANTS, World, build

CELLS = [(model, variant) for model in MODELS for variant in VARIANTS]


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> World:
    """Tracked once, for the tests that only look. One metric differs between the scorers."""
    world = build(tmp_path_factory.mktemp("tracked"))
    world.set_metric("oracle", "original", "accuracy", value=0.75, low=0.3, high=0.95)
    shutil.copy(empty_database, world.folder / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(world.folder)
        world.track()
    return world


def client(world: World) -> MlflowClient:
    return MlflowClient(f"sqlite:///{world.folder}/mlflow.db")


def runs(world: World, where: str = "", *, view: int = ViewType.ACTIVE_ONLY) -> list[Run]:
    store = client(world)
    experiment = store.get_experiment_by_name("known-unknowns")
    return list(store.search_runs([experiment.experiment_id], where, run_view_type=view))


def run_of(world: World, model: str, variant: str) -> Run:
    (run,) = runs(world, f"params.model = '{model}' and params.variant = '{variant}'")
    return run


def artifact(world: World, run: Run, name: str) -> Path:
    return world.folder / "mlartifacts" / run.info.run_id / "artifacts" / name


def history(world: World, run: Run, metric: str) -> list[float]:
    return [m.value for m in client(world).get_metric_history(run.info.run_id, metric)]


def test_one_finished_flat_run_per_cell_in_the_order_of_the_params(tracked: World) -> None:
    listed = json.loads(tracked.out.read_text())["runs"]
    assert [(r["model"], r["variant"]) for r in listed] == CELLS
    assert {(r["benchmark"], r["seed"]) for r in listed} == {("humblebench", 0)}
    found = {run.info.run_id: run for run in runs(tracked)}
    assert set(found) == {r["run_id"] for r in listed}
    for row in listed:
        run = found[row["run_id"]]
        assert run.info.status == "FINISHED"
        assert "mlflow.parentRunId" not in run.data.tags
        assert run.data.tags["job_key"] == row["job_key"]
        assert (run.data.params["model"], run.data.params["variant"]) == (row["model"], row["variant"])


def test_the_parameters_of_a_run(tracked: World) -> None:
    parameters = run_of(tracked, "always_a", "nota_only_relettered").data.params
    expected = {
        "edition": "pocket",
        "model": "always_a",
        "model.behaviour": "always_a",
        "engine.behaviour": "always_a",
        "benchmark": "humblebench",
        "variant": "nota_only_relettered",
        "variant.function": "nota_only",
        "variant.relettered": "true",
        "seed": "0",
        "protocol": "single_turn",
        "protocol.max_new_tokens": "16",
        "data.source": "scenes",
        "data.revision": "abc",
        "data.digest": DVC_HASH,
        "scorers": "official, robust",
        "statistics.confidence": "0.95",
    }
    assert expected.items() <= parameters.items()
    assert "model.seconds_per_reply" not in parameters  # it changes no reply


def test_the_metrics_of_a_run_are_those_of_its_cell_with_their_intervals(tracked: World) -> None:
    per_scorer = {
        "accuracy.Object": 0.5,
        "accuracy.Object.low": 0.09,
        "accuracy.Object.high": 0.91,
        "accuracy.Object.n": 2,
        "accuracy.Relation": 0.0,
        "accuracy.Relation.low": 0.0,
        "accuracy.Relation.high": 0.79,
        "accuracy.Relation.n": 1,
        "share_A.Overall": 1.0,
        "share_A.Overall.n": 4,
    }
    overall = {"accuracy.Overall": 0.5, "accuracy.Overall.low": 0.15, "accuracy.Overall.high": 0.85}
    changed = {"accuracy.Overall": 0.75, "accuracy.Overall.low": 0.3, "accuracy.Overall.high": 0.95}
    expected = {
        f"{scorer}.{name}": value
        for scorer, numbers in (("official", overall), ("robust", changed))
        for name, value in {**per_scorer, **numbers, "accuracy.Overall.n": 4}.items()
    }
    assert run_of(tracked, "oracle", "original").data.metrics == expected


def test_data_set_is_the_pinned_data(tracked: World) -> None:
    for run in runs(tracked):
        (used,) = run.inputs.dataset_inputs
        assert (used.dataset.name, used.dataset.digest) == ("humblebench", DVC_HASH)
        assert {tag.key: tag.value for tag in used.tags} == {"mlflow.data.context": "evaluation"}
        assert json.loads(used.dataset.source) == {"uri": str(tracked.data / "raw" / "humblebench")}
        assert json.loads(used.dataset.profile)["num_rows"] == 4


def test_data_of_a_hub_has_its_repository_and_revision(world: World) -> None:
    entry = {"source": "hub", "repository": "somebody/HumbleBench", "revision": "c0ffee"}
    world.raw["benchmarks"]["humblebench"]["data"]["pocket"] = entry
    world.track()
    (used,) = run_of(world, "oracle", "original").inputs.dataset_inputs
    source = json.loads(used.dataset.source)
    assert (source["path"], source["revision"]) == ("somebody/HumbleBench", "c0ffee")


def test_the_artifacts_hold_every_reply_and_every_metric(tracked: World) -> None:
    run = run_of(tracked, "always_a", "original")
    table = json.loads(artifact(tracked, run, "questions.json").read_text())
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    assert [(r["question_id"], r["category"], r["answer"], r["reply"]) for r in rows] == [
        ("0", "Object", "A", "A"),
        ("1", "Object", "B", "A"),
        ("2", "Relation", "E", "A"),
        ("3", "Attribute", "A", "A"),
    ]
    assert [r["robust.correct"] for r in rows] == [True, False, False, True]
    metrics = list(csv.DictReader(artifact(tracked, run, "metrics.csv").open()))
    assert len(metrics) == 12  # six for each of two scorers; the mean over seeds is of no single run
    undefined = [m for m in metrics if m["name"] == "refusal_precision"]
    assert [m["value"] for m in undefined] == ["", ""]
    assert json.loads(artifact(tracked, run, "engine.json").read_text())["model"] == "always_a"


def test_tags_give_the_provenance(world: World) -> None:
    git = ["git", "-C", str(world.folder), "-c", "user.name=T", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    world.track()
    tags = run_of(world, "always_a", "original").data.tags
    assert (tags["git.commit"], tags["git.dirty"]) == (commit.strip(), "true")
    assert tags["package.mlflow"]
    assert int(tags["hardware.cores"]) >= 1
    assert tags["model.seconds_per_reply"] == "0.5"
    assert "50.0% | 15.0% to 85.0% | 4 | wilson" in tags["mlflow.note.content"]


def test_a_rerun_changes_nothing(world: World) -> None:
    world.track()
    before, listing = {r.info.run_id: r for r in runs(world)}, world.out.read_bytes()
    world.track()
    after = {r.info.run_id: r for r in runs(world)}
    assert world.out.read_bytes() == listing
    assert {i: r.to_dictionary() for i, r in after.items()} == {i: r.to_dictionary() for i, r in before.items()}
    for run in after.values():
        assert history(world, run, "robust.accuracy.Overall") == [0.5]


def test_a_changed_metric_updates_its_run_and_no_other(world: World) -> None:
    first = world.track()
    untouched = run_of(world, "always_a", "original").to_dictionary()
    world.set_metric("oracle", "original", "accuracy", value=0.25)  # less than before: the latest, not the largest
    assert world.track() == first
    run = run_of(world, "oracle", "original")
    assert run.info.status == "FINISHED"
    assert run.data.metrics["robust.accuracy.Overall"] == 0.25
    assert history(world, run, "robust.accuracy.Overall") == [0.5, 0.25]
    assert history(world, run, "official.accuracy.Overall") == [0.5]
    assert "| robust | 25.0% |" in run.data.tags["mlflow.note.content"]
    assert run_of(world, "always_a", "original").to_dictionary() == untouched


def test_a_changed_reply_updates_the_table(world: World) -> None:
    world.track()
    file = world.results / "replies" / "oracle" / "humblebench" / "original" / "seed0.parquet"
    asked = tables.read_replies(file)
    tables.write_replies(file, [replace(a, reply=replace(a.reply, text="=1+1")) for a in asked])
    world.track()
    table = artifact(world, run_of(world, "oracle", "original"), "questions.json").read_text()
    assert table.count('"=1+1"') == 4


def test_an_undefined_metric_is_never_a_number(world: World) -> None:
    world.track()
    run = run_of(world, "oracle", "original")
    assert not [name for name in run.data.metrics if "refusal_precision" in name]
    world.set_metric("oracle", "original", "share_A", value=None)  # it was 1.0, over 4 questions
    world.track()
    metrics = run_of(world, "oracle", "original").data.metrics
    assert math.isnan(metrics["robust.share_A.Overall"])
    assert math.isnan(metrics["robust.share_A.Overall.n"])
    assert metrics["official.share_A.Overall"] == 1.0
    before = world.out.read_bytes()
    world.set_metric("oracle", "original", "share_A", value=0.5)
    world.track()
    assert run_of(world, "oracle", "original").data.metrics["robust.share_A.Overall"] == 0.5
    assert world.out.read_bytes() == before


def test_a_changed_parameter_makes_new_runs_and_keeps_the_old_ones(world: World) -> None:
    first = world.track()
    world.raw["protocols"]["single_turn"]["max_new_tokens"] = 32
    second = world.track()
    assert not {r["run_id"] for r in first} & {r["run_id"] for r in second}
    assert not {r["job_key"] for r in first} & {r["job_key"] for r in second}
    assert len(runs(world)) == 2 * len(CELLS)
    assert {r.info.run_id for r in runs(world, "tags.superseded = 'false'")} == {r["run_id"] for r in second}
    by_cell = {(r["model"], r["variant"]): r["run_id"] for r in second}
    for run in runs(world, "tags.superseded = 'true'"):
        assert run.data.params["protocol.max_new_tokens"] == "16"
        assert run.data.tags["superseded_by"] == by_cell[run.data.params["model"], run.data.params["variant"]]

    world.raw["protocols"]["single_turn"]["max_new_tokens"] = 16
    assert world.track() == first
    current = runs(world, "tags.superseded = 'false'")
    assert {r.info.run_id for r in current} == {r["run_id"] for r in first}
    assert not [r for r in current if "superseded_by" in r.data.tags]
    assert len(runs(world)) == 2 * len(CELLS)


def test_settings_that_change_no_reply_make_no_new_run(world: World) -> None:
    first = world.track()
    world.raw["models"]["always_a"]["seconds_per_reply"] = 0.25
    assert world.track() == first
    assert run_of(world, "always_a", "original").data.tags["model.seconds_per_reply"] == "0.25"


def test_other_data_make_new_runs(world: World) -> None:
    first = world.track()
    pin = world.data / "raw" / "humblebench.dvc"
    pin.write_text(pin.read_text().replace("0123", "3210"))
    second = world.track()
    assert not {r["run_id"] for r in first} & {r["run_id"] for r in second}


def test_without_a_pin_the_question_table_identifies_the_data(world: World) -> None:
    (world.data / "raw" / "humblebench.dvc").unlink()
    world.track()
    (used,) = run_of(world, "oracle", "original").inputs.dataset_inputs
    assert len(used.dataset.digest) == 36
    assert used.dataset.digest != DVC_HASH
    assert run_of(world, "oracle", "original").data.params["data.pinned"] == "false"


def test_run_deleted_in_the_ui_is_created_again(world: World) -> None:
    first = world.track()
    client(world).delete_run(first[0]["run_id"])
    second = world.track()
    assert second[0]["run_id"] != first[0]["run_id"]
    assert second[1:] == first[1:]
    assert len(runs(world)) == len(CELLS)


def test_missing_artifacts_are_restored(world: World) -> None:
    first = world.track()
    shutil.rmtree(world.folder / "mlartifacts")
    assert world.track() == first
    for run in runs(world):
        assert artifact(world, run, "questions.json").is_file()


def test_failed_run_is_not_finished(world: World) -> None:
    world.track()
    (world.folder / "mlartifacts").rename(world.folder / "elsewhere")
    (world.folder / "mlartifacts").write_text("a file where a folder must be")
    world.set_metric("oracle", "original", "accuracy", value=0.25)
    before = world.out.read_bytes()
    with pytest.raises(Exception, match="mlartifacts"):
        world.track()
    assert run_of(world, "oracle", "original").info.status == "FAILED"
    assert world.out.read_bytes() == before
    (world.folder / "mlartifacts").unlink()
    world.track()
    assert run_of(world, "oracle", "original").info.status == "FINISHED"


def test_inconsistent_tables_are_errors(world: World) -> None:
    file = world.metrics_file("oracle")
    metrics = tables.read_metrics(file)
    tables.write_metrics(file, [m for m in metrics if m.variant != "nota_only_relettered"])
    with pytest.raises(DataError, match=r"oracle.*no metric of variant 'nota_only_relettered', seed 0"):
        world.track()
    tables.write_metrics(file, [*metrics, metrics[0]])
    with pytest.raises(DataError, match=r"oracle.*two metrics are named 'official.accuracy.Overall'"):
        world.track()
    tables.write_metrics(file, tables.read_metrics(world.metrics_file("always_a")))
    with pytest.raises(DataError, match="same model and benchmark"):
        world.track()


def test_the_mean_over_seeds_is_in_no_run(tracked: World) -> None:
    means = [m for m in tables.read_metrics(tracked.metrics_file("oracle")) if m.seed is None]
    assert {(m.category, m.value) for m in means} == {(OVERALL, 0.25)}
    assert all(0.25 not in run.data.metrics.values() for run in runs(tracked))


def test_no_output_and_no_network_access(
    world: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: asked.append(address))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: asked.append(args) or [])
    world.track()
    assert asked == []
    assert capfd.readouterr() == ("", "")


def test_disabled_tracking_lists_no_runs(fresh: World, capsys: pytest.CaptureFixture[str]) -> None:
    fresh.raw["tracking"]["enabled"] = False
    assert fresh.track() == []
    assert json.loads(fresh.out.read_text())["enabled"] is False
    assert "no runs were logged" in capsys.readouterr().err
    assert not (fresh.folder / "mlflow.db").exists()


def test_package_does_not_import_mlflow() -> None:
    code = "import sys, known_unknowns.tracking; sys.exit('mlflow' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_database_is_in_the_working_directory(tracked: World) -> None:
    with closing(sqlite3.connect(tracked.folder / "mlflow.db")) as database:
        (count,) = database.execute("SELECT count(*) FROM runs").fetchone()
    assert count == len(CELLS)
    assert not (tracked.folder / "mlruns").exists()

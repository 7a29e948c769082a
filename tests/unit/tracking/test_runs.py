from __future__ import annotations

import json
import shutil
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL, Metric
from tests.cells import read_replies, read_scores, write_answers, write_replies
from tests.unit.tracking.logged import artifact, client, rows, run_of, runs, seed_of, seeds

from .world import DVC_HASH, MODELS, VARIANTS, World, build


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> World:
    """Tracked once, for the tests that only look. One metric differs between the parsers."""
    world = build(tmp_path_factory.mktemp("tracked"))
    world.set_metric("oracle", "original", "accuracy", value=0.75, low=0.3, high=0.95)
    shutil.copy(empty_database, world.folder / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(world.folder)
        world.track()
    return world


def test_runs_are_nested_and_finished_with_short_names(tracked: World) -> None:
    listed = json.loads(tracked.out.read_text())["runs"]
    assert [{key: value for key, value in row.items() if key != "run_id"} for row in listed] == [
        {"model": model, "benchmark": "humblebench", "seed": 0, "sample": 0} for model in MODELS
    ]
    found = {run.info.run_id: run for run in runs(tracked)}
    assert len(found) == 2 * len(MODELS)
    assert {run.info.status for run in found.values()} == {"FINISHED"}
    for row in listed:
        seed = found[row["run_id"]]
        model = found[seed.data.tags["mlflow.parentRunId"]]
        assert "mlflow.parentRunId" not in model.data.tags
        assert [run.info.run_name for run in (model, seed)] == [row["model"], f"{row['model']}, humblebench, seed 0"]
        assert [run.data.tags["level"] for run in (model, seed)] == ["model", "seed"]


def test_the_parameters_of_each_level(tracked: World) -> None:
    model = {"edition": "pocket", "model": "always_a", "model.behaviour": "always_a"}
    assert model.items() <= run_of(tracked, "always_a").data.params.items()
    seed = {"benchmark": "humblebench", "seed": "0", "engine.behaviour": "always_a", "parsers": "official, robust"}
    seed |= {"data.source": "scenes", "data.digest": DVC_HASH, "statistics.confidence": "0.95"}
    seed |= {"nota_only_relettered.function": "nota_only", "nota_only_relettered.relettered": "true"}
    seed |= {"original.protocol.name": "single_turn", "original.protocol.max_new_tokens": "16"}
    assert seed.items() <= seed_of(tracked, "always_a").data.params.items()
    for run in runs(tracked):
        assert "model.seconds_per_reply" not in run.data.params  # it changes no reply
        assert run.data.tags["caveat"] == "rendered questions, not the published ones"
        assert run.data.tags["caveat"] in run.data.tags["mlflow.note.content"]


def test_a_model_has_its_primary_numbers_with_intervals_and_a_seed_the_metrics_of_each_variant(tracked: World) -> None:
    """Those of a model are means over seeds, as in the table."""
    assert run_of(tracked, "oracle").data.metrics == {"HB acc": 0.25, "HB acc.low": 0.1, "HB acc.high": 0.4}
    assert seed_of(tracked, "oracle").data.metrics == {
        "original/accuracy": 0.75,
        "original/official.accuracy": 0.5,
        "nota_only_relettered/accuracy": 0.5,
        "nota_only_relettered/official.accuracy": 0.5,
    }
    table = rows(artifact(tracked, run_of(tracked, "oracle"), "headline.json"))
    assert [(row["number"], row["variant"], row["low"], row["high"], row["n"]) for row in table] == [
        ("accuracy", "original", 0.1, 0.4, 4),
        ("refused", "nota_only_relettered", 0.1, 0.4, 4),
    ]


def test_data_set_is_the_pinned_data(tracked: World) -> None:
    for run in seeds(tracked):
        (used,) = run.inputs.dataset_inputs
        assert (used.dataset.name, used.dataset.digest) == ("humblebench", DVC_HASH)
        assert {tag.key: tag.value for tag in used.tags} == {"mlflow.data.context": "evaluation"}
        assert json.loads(used.dataset.source) == {"uri": str(tracked.data / "raw" / "humblebench")}


def test_the_artifacts_hold_every_reply_and_every_metric(tracked: World) -> None:
    run = seed_of(tracked, "always_a")
    answered = rows(artifact(tracked, run, "questions.json"))
    assert [r["variant"] for r in answered] == ["original"] * 4 + ["nota_only_relettered"] * 4
    assert [(r["question_id"], r["category"], r["answer"], r["reply"]) for r in answered[:4]] == [
        ("0", "Object", "A", "A"),
        ("1", "Object", "B", "A"),
        ("2", "Relation", "E", "A"),
        ("3", "Attribute", "A", "A"),
    ]
    assert [r["robust.correct"] for r in answered[:4]] == [True, False, False, True]
    metrics = rows(artifact(tracked, run, "metrics.json"))
    assert len(metrics) == 24  # six for each of two parsers and two variants; the mean over seeds is of no single run
    assert [m["value"] for m in metrics if m["name"] == "refusal_precision"] == [None] * 4
    shown = json.loads(run.data.tags["mlflow.loggedArtifacts"])
    assert shown == [{"path": "questions.json", "type": "table"}, {"path": "metrics.json", "type": "table"}]
    assert json.loads(artifact(tracked, run, "engine.json").read_text())["model"] == "always_a"
    combined = rows(artifact(tracked, run_of(tracked, "always_a"), "combined.json"))
    assert [(m["benchmark"], m["variant"], m["seed"], m["value"]) for m in combined] == [
        ("humblebench", variant, None, 0.25) for variant in VARIANTS
    ]


def test_figures_are_artifacts_of_each_model(world: World) -> None:
    figure = world.folder / "stress.svg"
    figure.write_text("<svg/>")
    world.figures.append(figure)
    world.track()
    run = run_of(world, "oracle")
    assert artifact(world, run, "figures/stress.svg").read_text() == "<svg/>"
    figure.write_text("<svg>new</svg>")
    world.track()
    assert artifact(world, run, "figures/stress.svg").read_text() == "<svg>new</svg>"


def test_the_experiment_opens_on_a_table_of_models(world: World) -> None:
    """The primary number is the first column, the models are sorted by it, and its interval stands beside it."""
    world.set_metric("always_a", "original", "accuracy", value=0.5)
    file = world.metrics_file("oracle")
    means = {True: 0.6, False: 0.1}
    metrics = [
        replace(m, value=means[m.variant == "original"]) if m.seed is None else m for m in tables.read_metrics(file)
    ]
    tables.write_metrics(file, metrics)
    world.track()
    experiment = client(world).get_experiment_by_name("known-unknowns")
    page = json.loads(world.out.read_text())["page"]
    assert page == (
        f"#/experiments/{experiment.experiment_id}/runs?workflowType=machine_learning&viewStateShareKey=models-pocket"
    )
    view = json.loads(experiment.tags["mlflow.sharedViewState.models-pocket"])
    assert {run.info.run_name for run in runs(world, view["searchFilter"])} == set(MODELS)
    columns = ["metrics.`HB acc`", "metrics.`HB acc.low`", "metrics.`HB acc.high`"]
    assert view["selectedColumns"] == columns
    assert view["columnOrder"][:3] == columns
    assert view["columnWidths"].keys() == set(view["columnOrder"])
    assert (view["orderByKey"], view["orderByAsc"]) == ("metrics.`HB acc`", False)
    note = experiment.tags["mlflow.note.content"]
    assert "rendered questions" in note
    assert note.splitlines()[-2:] == ["| oracle | 60.0% |", "| always_a | 25.0% |"]


def test_the_notes_say_what_a_column_is_and_where_the_report_is(tracked: World) -> None:
    experiment = client(tracked).get_experiment_by_name("known-unknowns")
    for note in (experiment.tags["mlflow.note.content"], run_of(tracked, "oracle").data.tags["mlflow.note.content"]):
        assert "[report](http://127.0.0.1:8000/index.html)" in note
        assert "- `HB acc`: HumbleBench, accuracy; `HB acc.low` and `HB acc.high` are its interval" in note.splitlines()


@pytest.mark.parametrize("benchmark", registry.names())
def test_heads_of_columns_are_readable_at_1280_pixels(benchmark: str) -> None:
    """The column of a metric shows 13 characters."""
    declared = registry.get(benchmark)
    heads = [f"{declared.short} {number.short}.high" for number in declared.headline if number.ranks]
    assert max(map(len, heads)) <= 13
    assert len(set(heads)) == len(heads)


def test_the_area_of_each_confidence_is_a_number_of_the_model(world: World) -> None:
    """That of the variant and the parser of the other headline numbers."""
    for model, variant, value in [("oracle", "original", 0.875), ("oracle", "nota_only_relettered", 0.5)]:
        file = world.metrics_file(model)
        found = tables.read_metrics(file)
        area = next(m for m in found if (m.variant, m.parser, m.category) == (variant, "robust", OVERALL))
        tables.write_metrics(file, [*found, replace(area, name="auroc.letters", value=value)])
    world.track()
    assert run_of(world, "oracle").data.metrics["HB AUC let"] == 0.875
    metrics = seed_of(world, "oracle").data.metrics
    assert (metrics["original/auroc.letters"], metrics["nota_only_relettered/auroc.letters"]) == (0.875, 0.5)
    note = client(world).get_experiment_by_name("known-unknowns").tags["mlflow.note.content"]
    assert "- `HB AUC let`: HumbleBench, AUROC of the confidence letters, original" in note.splitlines()


def test_tags_give_the_provenance(world: World) -> None:
    git = ["git", "-C", str(world.folder), "-c", "user.name=T", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    world.track()
    tags = run_of(world, "always_a").data.tags
    assert (tags["git.commit"], tags["git.dirty"]) == (commit.strip(), "true")
    assert tags["package.mlflow"]
    assert int(tags["hardware.cores"]) >= 1
    assert tags["model.seconds_per_reply"] == "0.5"
    tags = seed_of(world, "always_a").data.tags
    assert tags["mlflow.source.git.commit"] == commit.strip()


def test_outcomes_of_replies_and_dual_accuracies_are_metrics_unless_undefined(world: World) -> None:
    extra = {"share_abstained": 0.25, "share_cut": 0.5, "recognised": 0.75, "recognised_abstained": 0.25}
    (world.data / "raw" / "humblebench.dvc").unlink()
    file = world.metrics_file("oracle")
    metrics = tables.read_metrics(file)
    (accuracy,) = [
        m
        for m in metrics
        if (m.variant, m.seed, m.parser, m.category, m.name) == ("original", 0, "robust", OVERALL, "accuracy")
    ]
    tables.write_metrics(file, [*metrics, *(replace(accuracy, name=n, value=v) for n, v in extra.items())])
    pair = Metric(
        "oracle", "humblebench", "original+nota_only_relettered", 0, 0, "robust", OVERALL,
        "dual_accuracy_answerable", 2 / 3, 0.2, 0.8, 4, "a method",
    )  # fmt: skip
    tables.write_metrics(file, [*tables.read_metrics(file), pair])
    world.set_metric("oracle", "original", "accuracy", value=None)
    world.track()
    run = seed_of(world, "oracle")
    found = run.data.metrics
    assert {f"original/{name}": value for name, value in extra.items()}.items() <= found.items()
    assert "original/accuracy" not in found
    assert found["original_nota_only_relettered/dual_accuracy_answerable"] == 0.6667
    primary = {
        "HB dual": 0.6667,
        "HB dual.low": 0.2,
        "HB dual.high": 0.8,
        "HB unusable": 0.5,
    }  # the replies that are cut
    assert run_of(world, "oracle").data.metrics == primary
    assert run.data.params["data.pinned"] == "false"  # the table of questions identifies the data
    assert len(run.inputs.dataset_inputs[0].dataset.digest) == 36


def test_inconsistent_tables_are_errors(world: World) -> None:
    file = world.metrics_file("oracle")
    metrics = tables.read_metrics(file)
    tables.write_metrics(file, [m for m in metrics if m.variant != "nota_only_relettered"])
    with pytest.raises(DataError, match=r"oracle.*no metric of nota_only_relettered, seed 0"):
        world.track()
    tables.write_metrics(file, [*metrics, metrics[0]])
    with pytest.raises(DataError, match=r"oracle.*metric .*'official', 'Overall', 'accuracy'.* twice"):
        world.track()
    tables.write_metrics(file, tables.read_metrics(world.metrics_file("always_a")))
    with pytest.raises(DataError, match=r"oracle.*not metrics of oracle on humblebench"):
        world.track()


def test_no_output_and_no_network_access(
    world: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: asked.append(address))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: asked.append(args) or [])
    monkeypatch.setattr("known_unknowns.progress._QUIET_SECONDS", 600.0)  # a busy machine needs more than two
    entry = {"source": "hub", "repository": "somebody/HumbleBench", "revision": "c0ffee"}
    world.raw["benchmarks"]["humblebench"]["data"]["pocket"] = entry
    world.track()
    assert asked == []
    assert capfd.readouterr() == ("", "")
    (used,) = seed_of(world, "oracle").inputs.dataset_inputs
    source = json.loads(used.dataset.source)
    assert (source["path"], source["revision"]) == ("somebody/HumbleBench", "c0ffee")


def test_disabled_tracking_lists_no_runs(fresh: World, capsys: pytest.CaptureFixture[str]) -> None:
    fresh.raw["tracking"]["enabled"] = False
    assert fresh.track() == []
    assert json.loads(fresh.out.read_text())["enabled"] is False
    assert "no runs were logged" in capsys.readouterr().err
    assert not (fresh.folder / "mlflow.db").exists()


def test_each_sample_has_a_run(world: World) -> None:
    """Two samples of always_a, one of oracle."""
    world.raw["models"]["always_a"]["samples"] = 2
    files = EditionFiles(world.data, world.results)
    path = files.replies("always_a", "humblebench")
    for variant in VARIANTS:
        write_replies(path, variant, 0, read_replies(path, variant), sample=1)
        answers = files.answers("always_a", "humblebench")
        write_answers(answers, variant, 0, read_scores(answers, variant), sample=1)
    found = tables.read_metrics(world.metrics_file("always_a"))
    more = [replace(metric, sample=1) for metric in found if metric.seed == 0]
    tables.write_metrics(world.metrics_file("always_a"), [*found, *more])
    listed = world.track()
    assert [(row["seed"], row["sample"]) for row in listed if row["model"] == "always_a"] == [(0, 0), (0, 1)]
    (second,) = seeds(world, " and attributes.run_name = 'always_a, humblebench, seed 0 sample 1'")
    assert (second.data.params["seed"], second.data.params["sample"]) == ("0", "1")
    assert "sample" not in seed_of(world, "oracle").data.params

"""Which results without a record stop a run, and the rules that its message names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from known_unknowns.config import Params
from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration, run_settings, unrecorded
from tests.factories import params_from, with_keys
from tests.paths import ROOT

QUESTIONS = "data/{}/questions/humblebench/questions.parquet"
METRICS = "results/{}/metrics/oracle/humblebench/metrics.parquet"


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """The configuration of a whole run of one model and benchmark, in its folder."""
    raw = configuration.load(ROOT / "params.yaml").file.plain()
    raw["editions"] = raw["editions"] | {"pocket": {"benchmarks": ["humblebench"], "models": ["oracle"], "seeds": [0]}}
    monkeypatch.chdir(tmp_path)
    params = params_from(raw)
    run_settings.end(params)
    return params


def rules(params: Params, *files: str, recorded: tuple[str, ...] = (), forced: tuple[str, ...] = ()) -> tuple[str, str]:
    """The message, and the rules that it names; both empty if the run may begin."""
    for path in files:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()
    try:
        unrecorded.check(
            params,
            files,
            lambda path: path in recorded,
            is_forced=lambda names: set(names) <= set(forced),
            again=lambda names: f"AGAIN {' '.join(names)}",
        )
    except ConfigError as error:
        message, _, again = str(error).partition("AGAIN ")
        return message, again
    return "", ""


def changed(params: Params, path: str, value: Any) -> Params:
    return with_keys(params, **{path.replace(".", "__"): value})


def test_results_of_a_whole_run_with_these_settings_are_used(params):
    files = QUESTIONS.format("pocket"), METRICS.format("pocket")
    assert rules(params, *files) == ("", "")
    assert rules(changed(params, "tracking.uri", "sqlite:///other.db"), *files) == ("", "")
    assert rules(changed(params, "editions.full.seeds", [1]), *files) == ("", "")


def test_other_settings_are_named_and_a_record_or_the_forced_rules_let_a_run_begin(params):
    files = QUESTIONS.format("pocket"), METRICS.format("pocket")
    other = changed(params, "variants.noise.noise_seed", 7)
    message, again = rules(other, *files)
    assert "results/pocket/params.yaml has other settings (variants.noise.noise_seed)" in message
    assert again == "fetch questions check"
    assert rules(other, *files, recorded=files) == ("", "")
    assert rules(other, *files, forced=("fetch", "questions", "check")) == ("", "")
    assert rules(other, *files, forced=("questions",))[1] == again
    run_settings.path_of("pocket", run_settings.WHOLE).unlink()
    assert "no whole run has written the settings" in rules(params, *files)[0]


def test_a_new_edition_takes_the_tables_of_the_same_data(params):
    edition = params.selected.plain() | {"data": "pocket"}
    other = with_keys(params, edition="other", editions__other=edition)
    assert rules(other, QUESTIONS.format("pocket")) == ("", "")
    images = changed(other, "benchmarks.humblebench.data.pocket.images", 3)
    assert rules(images, QUESTIONS.format("pocket"))[1] == "fetch questions check"
    run_settings.path_of("pocket", run_settings.WHOLE).unlink()
    assert rules(images, QUESTIONS.format("pocket")) == ("", "")  # in a clone, `dvc pull` brought them


def test_no_downloaded_data_are_fetched_again(params):
    full = with_keys(params, edition="full", editions__full__benchmarks=["humblebench"], editions__full__limit=None)
    run_settings.end(full)
    other = changed(full, "benchmarks.humblebench.data.full.revision", "elsewhere")
    message, again = rules(other, METRICS.format("full"))
    assert again == "questions check"
    assert "remove data/full/raw/humblebench first if its source has changed" in message


def test_a_run_with_other_settings_removes_those_of_the_whole_run(params):
    whole = run_settings.path_of("pocket", run_settings.WHOLE)
    run_settings.start(changed(params, "editions.full.seeds", [1]))
    assert whole.is_file()
    run_settings.start(changed(params, "statistics.confidence", 0.9))
    assert not whole.exists()
    started = run_settings.started_run("pocket")
    assert started is not None and started.statistics.confidence == 0.9
    assert run_settings.whole_run("pocket") is None


def test_imported_replies_are_made_by_no_rule(params):
    added = with_keys(params, models__theirs={"engine": "imported", "cells": {"humblebench": {"original": [0]}}})
    other = with_keys(added, editions__pocket__models=["oracle", "theirs"])
    files = [f"results/pocket/replies/theirs/humblebench/{name}" for name in ("replies.parquet", "engine.json")]
    assert rules(other, *files) == ("", "")
    assert rules(other, *files, METRICS.format("pocket"))[1] == "fetch questions check"

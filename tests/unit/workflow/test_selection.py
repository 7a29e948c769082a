"""A job has the settings that Snakemake compares, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from known_unknowns.comparison import Conditions, compare_cells, load, summarise
from known_unknowns.config import Params
from known_unknowns.config.models import Launch
from known_unknowns.errors import ConfigError
from known_unknowns.records import Cell
from known_unknowns.workflow import configuration, selection
from known_unknowns.workflow.job import configuration as of_job
from known_unknowns.workflow.selection import STEPS, compared
from tests.factories import params_from
from tests.paths import ROOT

HOSTED = {"engine": "openai", "source": "parrot", "base_url": "http://127.0.0.1:9/v1", "published": "Parrot"}
OF = {"model": "hosted", "benchmark": "humblebench", "variant": "noise"}


@pytest.fixture(scope="module")
def raw() -> dict[str, Any]:
    """The pocket edition with an endpoint, imported replies and a judge."""
    found = configuration.load(ROOT / "params.yaml").file.plain()
    found["models"] |= {"hosted": HOSTED, "theirs": {"engine": "imported", "cells": {"humblebench": {"noise": [0]}}}}
    found["editions"]["pocket"]["models"] = ["oracle", "pocket", "hosted", "theirs"]
    found["judge"] = {"model": "hosted"}
    return found


@pytest.fixture
def params(raw: dict[str, Any]) -> Params:
    return params_from(deepcopy(raw))


TABLES = {"summarise", "compare", "compare_models", "report", "question_browser", "track"}
"""Steps of the whole edition."""
SHOWN = {*TABLES, "released_numbers", "reply_tables", "summarise"}
CONSTRUCT = {step for step in STEPS if step.startswith("construct")}
MODEL = {"probe", "infer", "parse", "measure", "judge", "import_released", *SHOWN}


def of(step: str) -> dict[str, str]:
    """What a step of humblebench works on."""
    if step.startswith("construct"):
        return {"construction": "pocket"}
    if step == "probe":
        return {"model": OF["model"]}
    return {} if step in {*TABLES, "judge"} else OF


def read(params: Params, step: str, **names: str) -> Params:
    """The configuration of a job."""
    return of_job(compared(params, step, **names))


def changed(raw: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> set[str]:
    """The steps that Snakemake runs again after a change."""
    other = deepcopy(raw)
    change(other)
    one, two = params_from(raw), params_from(other)
    return {step for step in STEPS if compared(one, step, **of(step)) != compared(two, step, **of(step))}


@pytest.mark.parametrize(
    ("path", "value", "steps"),
    [
        (
            "models.scripted-constructor.decoding",
            {"temperature": 1},
            CONSTRUCT - {"construct_graphs", "construct_release"},
        ),
        ("tracking.experiment", "other", {"track"}),
        ("judge.model", "oracle", {"judge", *SHOWN}),
        ("editions.full.models", ["hosted"], set()),
        ("editions.mine", {"benchmarks": ["humblebench"], "models": ["oracle"], "seeds": [0], "data": "full"}, set()),
        ("construction.pocket.seed", 3, CONSTRUCT - {"construct_graphs", "construct_attributes"}),
    ],
)
def test_a_changed_key_of_a_step_outside_a_run_runs_it_again(raw, path, value, steps):
    """tests/workflow/test_every_key.py has the keys of the steps of a run."""

    def change(raw: dict[str, Any]) -> None:
        *above, last = path.split(".")
        for key in above:
            raw = raw[key]
        raw[last] = value

    assert changed(raw, change) == steps


LAUNCH = {
    "command": ("python server.py", True),
    "tensor_parallel_size": (2, True),
    "quantization": ("fp8", True),
    "max_model_len": (4096, True),
    "arguments": (["--seed", "1"], True),
    "wait_minutes": (5, False),
}
"""The keys of a server that the job starts, with another value, and whether it can change a reply."""


@pytest.mark.parametrize("key", LAUNCH)
def test_the_time_limit_of_a_server_changes_no_reply(raw, key):
    assert LAUNCH.keys() == Launch.model_fields.keys()
    raw = deepcopy(raw)
    raw["models"]["hosted"] = {"engine": "openai", "source": "parrot", "launch": {}}
    value, decides = LAUNCH[key]
    steps = changed(raw, lambda raw: raw["models"]["hosted"]["launch"].update({key: value}))
    assert steps == (MODEL if decides else {"import_released", *SHOWN})


def test_parse_reads_what_the_model_keeps_of_its_replies_to_the_benchmark(raw):
    raw = deepcopy(raw)
    raw["models"]["hosted"] |= {"kept": "is (.)", "asked": {"humblebench": {"kept": "says (.)"}}}
    kept = [
        read(params_from(raw), "parse", model="hosted", benchmark=name).model("hosted").kept
        for name in ("humblebench", "mmsap")
    ]
    assert kept == ["says (.)", "is (.)"]


@pytest.mark.parametrize(
    ("step", "reads", "name"),
    [
        ("parse", lambda p: p.statistics, "statistics"),
        ("parse", lambda p: p.judge, "judge"),
        ("parse", lambda p: p.model("oracle"), "'oracle' is not known"),
        ("parse", lambda p: p.data("mmsap"), "'mmsap' is not known"),
        ("infer", lambda p: p.variant("shuffled_all_options"), "'shuffled_all_options' is not known"),
        ("infer", lambda p: p.protocol_entry("mixed"), "'mixed' is not known"),
        ("probe", lambda p: p.parsers, "parsers"),
        ("report", lambda p: p.constructions, "construction"),
        ("compare", lambda p: p.report, "report"),
        ("report", lambda p: p.tracking, "tracking"),
    ],
)
def test_a_job_does_not_have_what_is_not_compared(params, step, reads, name):
    with pytest.raises((AttributeError, ConfigError), match=name):
        reads(read(params, step, **of(step)))
    reads(params)


def test_a_job_has_what_its_step_needs(params):
    infer = read(params, "infer", **OF)
    assert infer.model("hosted").plain() == params.model("hosted").reply_keys()
    assert (infer.benchmarks, infer.models) == (["humblebench"], ["hosted"])
    assert infer.cells("humblebench", "hosted") == params.cells("humblebench", "hosted")
    assert all(
        infer.protocol("humblebench", v) == params.protocol("humblebench", v) for v, *_ in params.cells("humblebench")
    )
    measure = read(params, "measure", model="theirs", benchmark="humblebench")
    assert measure.cells("humblebench", "theirs") == [Cell("noise", 0)]
    assert (measure.parsers, measure.statistics) == (params.parsers, params.statistics)
    listed = compared(params, "vary", benchmark="actiview", variant="zooming_robust")
    assert listed["variant"] == params.variant("zooming_robust").plain() and listed["seeds"] == [0]
    shuffled = compared(params, "vary", benchmark="mmsap", variant="shuffled_options")
    assert shuffled["seeds"] == [0, 1, 2, 3, 4]
    track = read(params, "track")
    assert (track.models, track.benchmarks, track.tracking) == (params.models, params.benchmarks, params.tracking)
    assert all(track.cells(name) == params.cells(name) for name in params.benchmarks)
    judge = read(params, "judge")
    assert judge.judge == params.judge and judge.model("oracle") == params.model("oracle")


@pytest.mark.parametrize("step", STEPS)
def test_the_parameters_of_a_step_are_plain_and_differ_from_each_other(params, step):
    """Snakemake compares them as one set."""
    parameters = [selection.parameter(params, step, name, **of(step)) for name in STEPS[step]]
    assert json.loads(json.dumps(parameters)) == parameters
    names = [name for each in parameters for name in each]
    assert len(names) == len(set(names))


def test_parsers_count_for_replies_if_a_protocol_asks_again(params):
    found = {name: compared(params, "infer", model="oracle", benchmark=name)["parsers"] for name in params.benchmarks}
    assert found == {"humblebench": [], "mmsap": ["likelihood", "official", "robust"], "actiview": []}


@pytest.mark.parametrize("step", ["compare", "report"])
def test_the_advice_of_tables_and_pages_names_no_other_edition(step):
    """They would have to be made again for each new edition. The end of a run names editions."""
    whole = configuration.load(ROOT / "params.yaml", edition="pocket")
    params = read(whole, step)
    for benchmark in params.benchmarks:
        conditions = Conditions(other_questions="rendered")
        rows = compare_cells(load(benchmark), [], published_rows={}, parsers=["official"], conditions=conditions)
        (advice,) = summarise(rows, params).steps
        assert advice.text.endswith("the questions are rendered; run an edition with the published ones")
        assert all("make run EDITION=" in found.text for found in summarise(rows, whole).steps)

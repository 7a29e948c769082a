"""A step reads the selected part of the configuration, and Snakemake compares the same part."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from known_unknowns.comparison import Conditions, compare_cells, load, summarise
from known_unknowns.config import Params
from known_unknowns.config.models import Launch
from known_unknowns.workflow import configuration
from known_unknowns.workflow.selection import STEPS, NotSelected, compared, select
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
        select(params_from(raw), "parse", model="hosted", benchmark=name).model("hosted").kept
        for name in ("humblebench", "mmsap")
    ]
    assert kept == ["says (.)", "is (.)"]


@pytest.mark.parametrize(
    ("step", "read", "key"),
    [
        ("parse", lambda p: p.statistics, "statistics"),
        ("parse", lambda p: p.model("hosted").source, "source of OpenAIModel"),
        ("parse", lambda p: p.is_imported("oracle"), "models.oracle"),
        ("parse", lambda p: p.data("humblebench"), "data of BenchmarkEntry"),
        ("parse", lambda p: p.cells("mmsap"), "benchmarks.mmsap"),
        ("parse", lambda p: p.models, "models of Edition"),
        ("infer", lambda p: p.benchmarks, "benchmarks of Edition"),
        ("infer", lambda p: p.judge, "judge"),
        ("infer", lambda p: p.variant("shuffled_all_options"), "variants.shuffled_all_options"),
        ("infer", lambda p: p.protocol_entry("mixed"), "protocols.mixed"),
        ("questions", lambda p: p.cells("humblebench"), "variants of BenchmarkEntry"),
        ("questions", lambda p: p.benchmark("humblebench").data["full"], None),
        ("vary", lambda p: p.protocol("humblebench", "noise"), "protocol of BenchmarkEntry"),
        ("probe", lambda p: p.parsers, "parsers"),
        ("report", lambda p: p.constructions, "construction"),
    ],
)
def test_a_job_cannot_read_what_is_not_compared(params, step, read, key):
    selected = select(params, step, **of(step))
    if key is None:
        with pytest.raises(LookupError):
            read(selected)
        return
    with pytest.raises(NotSelected, match=f"^{key}"):
        read(selected)
    read(params)


def test_a_step_reads_what_it_needs(params):
    infer = select(params, "infer", **OF)
    assert infer.model("hosted") == params.model("hosted")
    assert infer.cells("humblebench") == params.cells("humblebench")
    assert all(
        infer.protocol("humblebench", v) == params.protocol("humblebench", v) for v, _ in params.cells("humblebench")
    )
    measure = select(params, "measure", model="theirs", benchmark="humblebench")
    assert measure.cells("humblebench", "theirs") == [("noise", 0)]
    assert (measure.parsers, measure.statistics) == (params.parsers, params.statistics)
    listed = select(params, "vary", benchmark="actiview", variant="zooming_robust")
    assert listed.variant("zooming_robust") == params.variant("zooming_robust")
    assert listed.seeds_of("actiview", "zooming_robust") == [0]
    shuffled = select(params, "vary", benchmark="mmsap", variant="shuffled_options")
    assert shuffled.seeds_of("mmsap", "shuffled_options") == [0, 1, 2, 3, 4]
    track = select(params, "track")
    assert (track.models, track.benchmarks, track.tracking) == (params.models, params.benchmarks, params.tracking)
    assert all(track.cells(name) == params.cells(name) for name in params.benchmarks)
    judge = select(params, "judge")
    assert judge.judge == params.judge and judge.model("oracle") == params.model("oracle")


def test_parsers_count_for_replies_if_a_protocol_asks_again(params):
    found = {name: compared(params, "infer", model="oracle", benchmark=name)["parsers"] for name in params.benchmarks}
    assert found == {"humblebench": [], "mmsap": ["likelihood", "official", "robust"], "actiview": []}


def test_a_selection_can_be_passed_to_other_processes(params):
    selected = pickle.loads(pickle.dumps(select(params, "parse", **OF)))
    assert selected.parsers == params.parsers
    with pytest.raises(NotSelected):
        selected.statistics  # noqa: B018


@pytest.mark.parametrize("step", ["compare", "report"])
def test_the_advice_of_tables_and_pages_names_no_other_edition(step):
    """They would have to be made again for each new edition. The end of a run names editions."""
    whole = configuration.load(ROOT / "params.yaml", edition="pocket")
    params = select(whole, step)
    for benchmark in params.benchmarks:
        conditions = Conditions(other_questions="rendered")
        rows = compare_cells(load(benchmark), [], published_rows={}, parsers=["official"], conditions=conditions)
        (advice,) = summarise(rows, params).steps
        assert advice.text.endswith("the questions are rendered; run an edition with the published ones")
        assert all("make run EDITION=" in found.text for found in summarise(rows, whole).steps)

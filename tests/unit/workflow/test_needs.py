"""What jobs of a cluster request, for each kind of model; and the profiles of clusters."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.config import Params
from known_unknowns.errors import ConfigError
from known_unknowns.inference.shards import shards_of
from known_unknowns.workflow import configuration, needs, rule_functions
from known_unknowns.workflow.needs import ModelNeeds
from known_unknowns.workflow.rule_functions import RuleFunctions
from tests.factories import question
from tests.paths import ROOT

RAW = configuration.load(ROOT / "params.yaml").file.plain()
EIGHT = {  # 8 billion parameters in 16 bits: 16,000 MB
    "engine": "transformers",
    "source": "owner/name",
    "revision": "0" * 40,
    "dtype": "bfloat16",
    "card": {"family": "F", "licence": "MIT", "parameters": 8},
}
ON_CPU = EIGHT | {"device": "cpu"}
ORACLE = {"engine": "respondent", "behaviour": "oracle"}
ENDPOINT = {"engine": "openai", "source": "m"}
SERVER = ENDPOINT | {"launch": {"tensor_parallel_size": 4}}
GIB = 1073.741824  # MB


def params_of(entry: dict[str, Any], tokens: int = 200) -> Params:
    """A configuration in which the model m is asked the original questions of one benchmark."""
    raw = dict(RAW) | {"edition": "one", "models": {"m": entry}}
    raw["editions"] = {"one": {"data": "pocket", "benchmarks": ["humblebench"], "models": ["m"], "seeds": [0]}}
    scenes = RAW["benchmarks"]["humblebench"]["data"]["pocket"]
    data = {"pocket": scenes | {"images": 2_500, "questions_per_image": 10}}  # 25,000 questions
    raw["benchmarks"] = {"humblebench": {"protocol": "single_turn", "variants": ["original"], "data": data}}
    raw["protocols"] = RAW["protocols"] | {"single_turn": {"max_new_tokens": tokens}}
    return configuration.check(raw)


@pytest.mark.parametrize(
    ("entry", "attempt", "expected"),
    [
        (EIGHT, 1, 16_000 + 6 * GIB),
        (EIGHT, 2, 1.5 * (16_000 + 6 * GIB)),
        (EIGHT, 3, 2.25 * (16_000 + 6 * GIB)),
        (EIGHT | {"dtype": "float32"}, 1, 32_000 + 6 * GIB),
        (ON_CPU, 1, 1.2 * 16_000 + (2 + 6) * GIB),
        (EIGHT | {"card": {"family": "F", "licence": "MIT"}}, 1, (64 + 6) * GIB),
        (EIGHT | {"job": {"memory_gib": 10}}, 1, 10 * GIB),
        (ORACLE, 1, 4 * GIB),
        (ENDPOINT, 1, 6 * GIB),
        (SERVER, 1, (64 + 6) * GIB),
        (SERVER | {"card": EIGHT["card"]}, 1, 16_000 + 6 * GIB),
    ],
)
def test_memory(entry, attempt, expected):
    assert expected <= needs.memory_mb(params_of(entry), "m", attempt) < expected + 1


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        # 25,000 questions x 8 x (0.035 + 0.000125 x 200) s = 12,000 s; twice that in minutes, and 30
        (EIGHT, 430),
        (EIGHT | {"shards": 4}, 130),
        (EIGHT | {"decoding": {"max_new_tokens": 40}}, 297),  # 8,000 s, which is 133.3 minutes
        (EIGHT | {"decoding": {"max_new_tokens": 4096}}, 1440),
        (ON_CPU, 1440),
        (EIGHT | {"job": {"hours": 2.5}}, 150),
        (ORACLE, 60),
        (ORACLE | {"seconds_per_reply": 0.12}, 130),
        (ENDPOINT, 1440),
    ],
)
def test_time_limit(entry, expected, tmp_path):
    assert needs.minutes(params_of(entry), "m", "humblebench", tmp_path) == expected


SERVED = ENDPOINT | {"card": EIGHT["card"]}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        # 16 GB x 1.2 + 2 GiB
        (EIGHT, ModelNeeds("m", "in process", 16.0, 19.9)),
        (EIGHT | {"dtype": "float32"}, ModelNeeds("m", "in process", 32.0, 37.8)),
        (SERVED, ModelNeeds("m", "server", 16.0, 19.9)),
        (ENDPOINT, ModelNeeds("m", "hosted")),
        (EIGHT | {"card": {"family": "F", "licence": "MIT"}}, ModelNeeds("m", "in process")),
    ],
)
def test_the_needs_of_a_model_of_an_edition(entry, expected):
    assert needs.of_edition(params_of(entry)) == [expected]


def test_the_needs_of_an_edition_are_sums_and_the_largest_memory():
    each = [
        ModelNeeds("a", "in process", 16.0, 19.9),
        ModelNeeds("b", "server", 8.0, 10.9),
        ModelNeeds("c", "hosted"),
        ModelNeeds("d", "in process"),
    ]
    assert needs.totals(each) == needs.Totals(3, 1, 24.0, 19.9)


def test_the_time_limit_follows_from_the_number_of_questions(tmp_path):
    table = tmp_path / "questions/humblebench/questions.parquet"
    entry = EIGHT | {"decoding": {"max_new_tokens": 400_000}}  # 400.28 s per question
    tables.write_questions(table, [question(f"q{number}", images=()) for number in range(10)])
    assert needs.minutes(params_of(entry), "m", "humblebench", tmp_path) == 164  # 133.4 and 30 minutes


def test_the_job_that_writes_the_tables_of_shards_needs_no_model(tmp_path):
    sharded, whole = params_of(EIGHT | {"shards": 2}), params_of(EIGHT)
    assert needs.table_memory_mb(sharded, "m") == 4295 and needs.table_memory_mb(whole, "m") == 22443
    assert needs.table_minutes(sharded, "m", "humblebench", tmp_path) == 60
    assert needs.table_minutes(whole, "m", "humblebench", tmp_path) == 430


@pytest.mark.parametrize(
    ("entry", "gpus", "threads"), [(EIGHT, 1, 2), (ON_CPU, 0, 2), (ENDPOINT, 0, 1), (SERVER, 4, 6), (ORACLE, 0, 1)]
)
def test_a_server_has_the_gpus_that_share_its_model(entry, gpus, threads):
    found = params_of(entry)
    functions = RuleFunctions(found, "data")
    assert functions.gpus("m") == functions.gpus_besides_shards("m") == gpus
    assert rule_functions.threads(found, "m") == threads


@pytest.mark.parametrize(
    ("entry", "on", "of_job"),
    [
        (EIGHT, {None: None, 0: None, 1: None, 2: 2, 8: 8}, 1),  # on one GPU, or none, one job asks
        (EIGHT | {"shards": 3}, {None: 3, 8: 3}, 1),
        (EIGHT | {"device": "cuda:1"}, {8: None}, 1),
        (ON_CPU, {8: None}, 0),
        (SERVER, {1: None, 4: None, 7: None, 8: 2}, 4),
        (SERVER | {"max_cost": {"tokens": 9}}, {8: None}, 4),  # of each job
        (SERVER | {"job": {"gpus": 2}}, {8: 4}, 2),
        (ENDPOINT, {8: None}, 0),
        (ORACLE, {8: None}, 0),
        (ORACLE | {"job": {"gpus": 1}}, {1: None, 8: 8}, 1),
    ],
)
def test_a_model_has_as_many_shards_as_the_gpus_of_the_run_are_enough_for(entry, on, of_job):
    for gpus, count in on.items():
        params = params_of(entry)
        found = rule_functions.with_shards(params, gpus)
        assert shards_of(found.model("m")) == count
        assert RuleFunctions(found, "data", gpus).gpus("m") == min(of_job, 99 if gpus is None else gpus)
        assert found == (params if count == entry.get("shards") else params_of(entry | {"shards": count}))
        assert found.model("m").reply_keys() == params.model("m").reply_keys()


def test_an_endpoint_has_no_shards():
    with pytest.raises(ConfigError, match="shards needs launch: an endpoint has concurrency instead"):
        params_of(ENDPOINT | {"shards": 2}).model("m")


def test_only_fast_respondents_share_a_job():
    assert needs.group(params_of(ORACLE), "m") == needs.RESPONDENTS
    for entry in (ORACLE | {"seconds_per_reply": 1}, ENDPOINT, EIGHT):
        assert needs.group(params_of(entry), "m") is None


def profile(name: str) -> dict[str, Any]:
    found = yaml.safe_load((ROOT / f"profiles/{name}/config.v9+.yaml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_the_cluster_profile_differs_from_the_default_only_where_clusters_do():
    default, own = profile("default"), profile("slurm")
    shared = default.keys() - {"cores", "resources", "__use_yte__", "__definitions__"}  # this machine's cores and GPUs
    assert {key: own.get(key) for key in shared} == {key: default[key] for key in shared}
    assert not {"set-resources", "set-threads", "groups"} & own.keys()  # they would name rules


def test_the_groups_of_a_profile_are_those_of_rules():
    rules = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.smk"))
    groups = {*re.findall(r'group:\n +"(\w+)"', rules), needs.RESPONDENTS}
    named = {text.partition("=")[0] for text in profile("slurm")["group-components"]}
    assert named == groups

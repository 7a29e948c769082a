"""The parameters of all rules are plain values: Snakemake compares no others, and says nothing about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
WRITTEN = """

def write_parameters():
    import json

    def described(value):
        kind = type(value).__name__
        if isinstance(value, dict):
            return [kind, [described(each) for pair in value.items() for each in pair]]
        if isinstance(value, (list, tuple, set)):
            return [kind, [described(each) for each in value]]
        return [kind, []]

    found = {rule.name: [] for rule in workflow.rules}
    for job in workflow.persistence.dag.jobs:
        found.setdefault(job.rule.name, []).append([described(value) for value in job.params])
    for rule in workflow.rules:
        found[rule.name].append([described(value) for value in rule.params if not callable(value)])
    Path("parameters.json").write_text(json.dumps(found))


atexit.register(write_parameters)
"""
PLAIN = {"str", "int", "float", "bool", "NoneType", "list", "dict"}
DERIVED = {"AnnotatedString"}
"""Texts of `subpath`, which follow from the files of a job and are not compared."""
OUTSIDE = {"import_released", "reply_tables", "released_numbers", "fetch_released"}
"""Rules without a job here: those of released replies, which have to be fetched first."""


def kinds(described: list[Any]) -> set[str]:
    kind, content = described
    return {kind}.union(*map(kinds, content))


@pytest.fixture
def found(fresh: Project) -> dict[str, list[list[Any]]]:
    """The parameters of the jobs of each rule."""

    def change(params: dict[str, Any]) -> None:
        params["parsers"] = [*params["parsers"], "judge"]
        params["models"]["hosted"] = {"engine": "openai", "source": "parrot", "base_url": "http://127.0.0.1:9/v1"}
        params["judge"] = {"model": "hosted"}
        params["editions"]["pocket"]["models"] += ["pocket"]

    fresh.change_params(change)
    tags = fresh.root / "reviews/pocket/errors/uniform/humblebench/original-seed0.jsonl"
    tags.parent.mkdir(parents=True)
    tags.touch()
    with (fresh.root / "Snakefile").open("a") as snakefile:
        snakefile.write(WRITTEN)
    targets = ["all", "construction/pocket/release_candidate"]
    fresh.snakemake("--dry-run", *targets)
    whole: dict[str, list[list[Any]]] = json.loads(Path(fresh.root, "parameters.json").read_text())
    return whole


def test_every_parameter_of_every_rule_is_plain(found):
    assert found.keys() > {"infer", "infer_shard", "judge", "error_table", "track", "construct_filter"}
    without_jobs = {rule for rule, jobs in found.items() if len(jobs) < 2}
    assert without_jobs <= OUTSIDE
    used = {rule: set().union(*(kinds(value) for job in jobs for value in job)) for rule, jobs in found.items()}
    assert {rule: kinds - PLAIN - DERIVED for rule, kinds in used.items() if kinds - PLAIN - DERIVED} == {}

"""Runs on an invented number of GPUs: the plan, the order of the jobs, and what is asked."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
TABLES = ["oracle", "uniform", "always_a"]
GPUS = {"oracle": 1, "uniform": 4}
"""The GPUs that a job of a model takes; always_a takes none."""


def with_gpus(project: Project, count: int) -> Project:
    """The project on a machine whose driver reports so many GPUs."""
    program = project.root.parent / f"driver{count}" / "nvidia-smi"
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\n" + "echo 'Invented GPU'\n" * count)
    program.chmod(0o755)
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    return Project(project.root, environment)


@pytest.fixture
def project(fresh: Project) -> Project:
    def change(params: dict[str, Any]) -> None:
        for name, count in GPUS.items():
            params["models"][name] |= {"job": {"gpus": count}, "seconds_per_reply": 0.02}
        del params["models"]["uniform"]["shards"]

    fresh.change_params(change)
    return fresh


def planned(project: Project, *arguments: str) -> dict[str, int]:
    """The number of jobs that ask models, and the GPUs of all jobs, of a dry run."""
    text = project.snakemake("--dry-run", *arguments)
    assert "Plan of the edition pocket with at most" in text
    return {rule: int(count) for rule, count in re.findall(r"^ *(infer(?: shard)?) +(\d+) *$", text, re.MULTILINE)}


def asked(project: Project) -> list[str]:
    return sorted(
        json.loads(line)["key"]
        for path in (project.root / "journal").rglob("*.jsonl")
        if not path.name.endswith(".notes.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    )


def tables(project: Project) -> list[bytes]:
    folder = project.root / "results/pocket/replies"
    return [(folder / name / "humblebench/replies.parquet").read_bytes() for name in TABLES]


def spans(project: Project, rule: str, model: str) -> set[tuple[float, float]]:
    """When the jobs of a model ran, as Snakemake recorded it for each of their files."""
    files = (path for path in (project.root / ".snakemake/metadata").rglob("*") if path.is_file())
    records = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    of_model = [each for each in records if each["rule"] == rule and f"/{model}/" in str(each["log"])]
    return {(record["starttime"], record["endtime"]) for record in of_model}


def test_models_are_sharded_over_the_gpus_of_the_machine_and_nothing_is_asked_twice(project: Project) -> None:
    assert planned(with_gpus(project, 0)) == planned(with_gpus(project, 1)) == {"infer": 3}
    assert planned(with_gpus(project, 8)) == {"infer": 3, "infer shard": 8 + 2}
    targets = [f"results/pocket/replies/{name}/humblebench/replies.parquet" for name in TABLES]

    with_gpus(project, 4).snakemake("--cores", "8", *targets)
    expected, keys = tables(project), asked(project)
    assert len(keys) == len(set(keys))
    assert len(list((project.root / "results/pocket/shards/oracle/humblebench").iterdir())) == 4
    shards, of_all = spans(project, "infer_shard", "oracle"), spans(project, "infer", "uniform")
    assert len(shards) == 4 and max(start for start, _ in shards) < min(end for _, end in shards)
    assert of_all and all(b <= c or a >= d for a, b in of_all for c, d in shards)  # it has had four GPUs for itself
    assert "shards" not in (project.root / "results/pocket/run.yaml").read_text(encoding="utf-8")

    for count, arguments in ((8, ("--resources", "gpu=3")), (0, ())):
        other = with_gpus(project, count)
        other.snakemake("--cores", "8", *targets, *arguments)
        assert (tables(project), asked(project)) == (expected, keys)

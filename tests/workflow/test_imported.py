"""A model with imported replies in the real workflow: scored, measured and reported without inference."""

from __future__ import annotations

import json

import pytest

from known_unknowns import tables
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
RESULTS = "results/pocket"


def test_an_imported_model_is_measured_beside_the_others(rerun: Project):
    cell = "humblebench/nota_only/seed0.parquet"
    python = ("python", "-m", "known_unknowns")
    table, replies = f"data/pocket/questions/{cell}", f"{RESULTS}/replies/uniform/{cell}"
    rerun.run(*python, "export", "--questions", table, "--replies", replies, "--out", "theirs.jsonl")
    imported = ("--import", "theirs", "--benchmark", "humblebench", "--variant", "nota_only", "theirs.jsonl")
    printed = rerun.run(*python, "rescore", *imported).stdout
    assert "theirs: {engine: imported, cells: {humblebench: {nota_only: [0]}}}" in printed

    def change(params):
        params["models"]["theirs"] = {"engine": "imported", "cells": {"humblebench": {"nota_only": [0]}}}
        params["editions"]["pocket"]["models"].append("theirs")

    rerun.change_params(change)
    before = rerun.made(f"{RESULTS}/replies", "journal")
    rerun.snakemake()
    assert rerun.made(f"{RESULTS}/replies", "journal") == before
    metrics = {
        model: {
            (m.scorer, m.category, m.name): m.value
            for m in tables.read_metrics(rerun.root / RESULTS / "metrics" / model / "humblebench.parquet")
            if m.variant == "nota_only" and m.scorer != "likelihood"
        }
        for model in ("uniform", "theirs")
    }
    assert metrics["theirs"] == metrics["uniform"]
    imported = tables.read_metrics(rerun.root / RESULTS / "metrics/theirs/humblebench.parquet")
    without_input = [m.value for m in imported if m.scorer == "likelihood" and m.name != "chance"]
    assert without_input and set(without_input) == {None}  # the file has no log-probabilities
    runs = json.loads((rerun.root / RESULTS / "tracking.json").read_text(encoding="utf-8"))["runs"]
    assert [run["variant"] for run in runs if run["model"] == "theirs"] == ["nota_only"]
    assert "theirs" in (rerun.root / RESULTS / "report/index.html").read_text(encoding="utf-8")
    assert "Nothing to be done" in rerun.snakemake()


def test_a_missing_cell_is_named(rerun: Project):
    def change(params):
        params["models"]["theirs"] = {"engine": "imported", "cells": {"humblebench": {"noise": [0]}}}
        params["editions"]["pocket"]["models"].append("theirs")

    rerun.change_params(change)
    printed = rerun.snakemake("--dry-run", code=None)
    assert f"{RESULTS}/replies/theirs/humblebench/noise/seed0.parquet" in printed

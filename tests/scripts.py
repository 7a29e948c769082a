"""Runs a script of rules/scripts as a job of Snakemake does, without Snakemake."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snakemake.iocontainers import Namedlist

from known_unknowns.config import Params
from known_unknowns.inference.asking import Asking
from known_unknowns.workflow.rule_settings import named, uncompared
from tests.paths import ROOT

PROGRAM = """
import pickle, runpy, sys
script, given = sys.argv[1:]
runpy.run_path(script, {"snakemake": pickle.load(open(given, "rb"))}, "__main__")
"""
LOG = "job.log"


def parameters_of_asking(params: Params, model: str, benchmark: str) -> dict[str, Any]:
    """Return the settings of a job that asks a model, as its rule gives them (`ASKING` of rules/inference.smk)."""
    asking = Asking.of(params, model, benchmark)
    of_rule = named(**asking.settings) | uncompared(pace=asking.model.pace())
    wildcards = Namedlist(fromdict={"model": model, "benchmark": benchmark})
    return {name: of_wildcards(wildcards) for name, of_wildcards in of_rule.items()}


def infer(project: Path, params: Params, model: str, benchmark: str, **parameters: Path) -> list[str]:
    """Return the command of a job of the rule infer in a project's folder. Its log is `LOG` there.

    ``parameters`` are paths that differ from the defaults.
    """
    settings = parameters_of_asking(params, model, benchmark)
    defaults = {"questions": "questions", "folder": "variants", "out": "out", "shards": "shards", "journal": "j.jsonl"}
    paths = {name: str(parameters.get(name, project / path)) for name, path in defaults.items()}
    given = SimpleNamespace(
        params=Namedlist(fromdict=settings | paths),
        wildcards=Namedlist(fromdict={"model": model, "benchmark": benchmark}),
        log=[str(project / LOG)],
    )
    written = project / "infer.pickle"
    written.write_bytes(pickle.dumps(given))
    return [sys.executable, "-c", PROGRAM, str(ROOT / "rules/scripts/infer.py"), str(written)]


def run(job_command: list[str], folder: Path) -> tuple[int, str]:
    """Run a job, and return its exit code and its log."""
    done = subprocess.run(job_command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.stdout and not done.stderr, done.stderr
    return done.returncode, (folder / LOG).read_text(encoding="utf-8")

"""Runs a script of rules/scripts as a job of Snakemake does, without Snakemake."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from snakemake.iocontainers import Namedlist

from known_unknowns.config import Params
from known_unknowns.workflow import job, selection
from tests.paths import ROOT

PROGRAM = """
import pickle, runpy, sys
script, given = sys.argv[1:]
runpy.run_path(script, {"snakemake": pickle.load(open(given, "rb"))}, "__main__")
"""
LOG = "job.log"


def command(
    name: str,
    folder: Path,
    params: Params,
    *,
    wildcards: Mapping[str, str],
    parameters: Mapping[str, Any],
    files: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return the command of a job of a rule in a project's folder. Its log is `LOG` there.

    ``files`` are its inputs, and ``parameters`` those that are no settings.
    """
    frozen = folder / job.FROZEN
    frozen.parent.mkdir(parents=True, exist_ok=True)
    frozen.write_text(yaml.safe_dump(params.file.plain(), sort_keys=False), encoding="utf-8")
    step = "infer" if name == "infer_shard" else name
    settings = {each: selection.parameter(params, step, each, **wildcards) for each in selection.STEPS[step]}
    given = SimpleNamespace(
        input=Namedlist(fromdict=dict(files or {})),
        output=Namedlist(fromdict=dict(output or {})),
        params=Namedlist(fromdict={**settings, **parameters}),
        wildcards=Namedlist(fromdict=dict(wildcards)),
        threads=1,
        log=[str(folder / LOG)],
    )
    written = folder / f"{name}.pickle"
    written.write_bytes(pickle.dumps(given))
    return [sys.executable, "-c", PROGRAM, str(ROOT / "rules/scripts" / f"{name}.py"), str(written)]


def infer(project: Path, params: Params, model: str, benchmark: str, **parameters: Path) -> list[str]:
    """Return the command of a job of the rule infer. ``parameters`` are paths that differ from the defaults."""
    paths = {"questions": "questions", "folder": "variants", "out": "out", "shards": "shards", "journal": "j.jsonl"}
    given = {name: str(parameters.get(name, project / path)) for name, path in paths.items()}
    return command("infer", project, params, wildcards={"model": model, "benchmark": benchmark}, parameters=given)


def run(job_command: list[str], folder: Path) -> tuple[int, str]:
    """Run a job, and return its exit code and its log."""
    done = subprocess.run(job_command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.stdout and not done.stderr, done.stderr
    return done.returncode, (folder / LOG).read_text(encoding="utf-8")

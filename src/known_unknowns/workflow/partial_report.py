"""A report of the models whose jobs succeeded, after a run in which others failed.

It is in a folder of its own. The report of the edition stays that of the last complete run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.workflow.run import JOB_SETTINGS, SETTINGS_VARIABLE, write_settings
from known_unknowns.workflow.targets import Targets

_COMPLETE = "no update"
"""What `snakemake --summary` plans for a file that is up to date."""


def folder_of(params: Params) -> Path:
    """Return the folder of an edition's partial report."""
    return Path("results", params.edition, "partial_report")


def write(params: Params) -> str:
    """Write the partial report, and return a message about it; empty if all models succeeded, or none."""
    complete = complete_models(params)
    missing = [model for model in params.models if model not in complete]
    if not complete or not missing:
        return ""
    out, files = folder_of(params), EditionFiles.of(params)
    shutil.rmtree(out, ignore_errors=True)
    edition = params.raw["editions"][params.edition] | {"models": complete, "published_models": False}
    settings = Params({**params.raw, "editions": {**params.raw["editions"], params.edition: edition}})
    write_settings(settings, out / "params.yaml")
    log = files.results / "logs" / "partial_report.log"
    with log.open("w", encoding="utf-8") as output:
        for command in _commands(settings, files, out, missing):
            done = subprocess.run(
                [sys.executable, "-m", "known_unknowns", *command],
                env={**os.environ, SETTINGS_VARIABLE: str(out / "params.yaml")},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
            if done.returncode:
                return f"No partial report was written: {log} says why."
    return f"Partial report  {out}/index.html, without {', '.join(missing)}"


def complete_models(params: Params) -> list[str]:
    """Return the models whose metrics are all up to date, as Snakemake sees it."""
    command = ["--summary", "--cores", "1", "--configfile", str(JOB_SETTINGS), "--replace-workflow-config"]
    summary = subprocess.run(
        [sys.executable, "-m", "snakemake", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    ).stdout
    rows = [line.split("\t") for line in summary.splitlines()]
    files, complete = EditionFiles.of(params), {row[0] for row in rows if row[-1] == _COMPLETE}
    needed: dict[str, list[str]] = {}
    for model, benchmark in Targets(params).pairs:
        needed.setdefault(model, []).append(files.metrics(model, benchmark).as_posix())
    return [model for model in params.models if model in needed and complete.issuperset(needed[model])]


def _commands(params: Params, files: EditionFiles, out: Path, missing: list[str]) -> Iterator[list[str]]:
    """Yield the arguments of the steps from metrics to pages."""
    metrics = [str(files.metrics(model, benchmark)) for model, benchmark in Targets(params).pairs]
    released = [
        argument for path in sorted(files.results.glob("released/*.json")) for argument in ("--released", str(path))
    ]
    folders = ["--results", str(files.results), "--data", str(files.data)]
    comparison, pairs = str(out / "comparison.parquet"), str(out / "model_comparison.parquet")
    yield ["step", "compare", *metrics, "--replies", str(files.results / "replies"), *released, "--out", comparison]
    yield ["compare-models", *folders, "--out", pairs]
    yield ["step", "question-browser", *folders, "--out", str(out / "questions.html")]
    yield [
        *("step", "report", *metrics, *folders, "--comparison", comparison, "--pairs", pairs),
        *("--checks", str(files.results / "checks"), "--out", str(out / "index.html")),
        *(argument for model in missing for argument in ("--missing", model)),
    ]

"""The report of the models that succeeded, after a run in which another one failed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from known_unknowns.comparison import compare
from known_unknowns.comparison.pairs import compare_edition
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.report import browser, page
from known_unknowns.workflow import job
from known_unknowns.workflow.rule_functions import Targets
from known_unknowns.workflow.run import partial_report_folder

_COMPLETE = "no update"
"""What `snakemake --summary` plans for a file that is up to date."""


def write(params: Params) -> str:
    """Write the partial report, and return a message about it; empty if all models succeeded, or none."""
    complete = complete_models(params)
    missing = [model for model in params.models if model not in complete]
    if not complete or not missing:
        return ""
    out, files = partial_report_folder(params), EditionFiles.of(params)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    log = files.results / "logs" / "partial_report.log"
    edition = params.selected.model_copy(update={"models": complete, "published_models": False})
    of_complete = params.with_entries("editions", {params.edition: edition})
    shown = Params.of_sections(of_complete.shown())  # as the jobs of these pages
    with log.open("w", encoding="utf-8") as output, redirect_stdout(output), redirect_stderr(output):
        try:
            _write_pages(shown, files, out, missing)
        except Exception:  # the message of the run that failed must follow
            traceback.print_exc()
            return f"No partial report was written: {log} says why."
    return f"Partial report  {out}/index.html, without {', '.join(missing)}"


def complete_models(params: Params) -> list[str]:
    """Return the models whose metrics are all up to date, as Snakemake sees it."""
    # The settings have the numbers of shards of this run; another number of GPUs would give others.
    command = ["--summary", "--cores", "1", "--resources", "gpu=1"]
    command += ["--configfile", str(job.FROZEN), "--replace-workflow-config"]
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


def _write_pages(params: Params, files: EditionFiles, out: Path, missing: Sequence[str]) -> None:
    """Write the tables and pages of a configuration's models into a folder."""
    metrics = [files.metrics(model, benchmark) for model, benchmark in Targets(params).pairs]
    comparison, pairs = out / "comparison.parquet", out / "model_comparison.parquet"
    released = sorted(files.results.glob("released/*.json"))
    compare(params, metrics, comparison, replies=files.results / "replies", released=released)
    compare_edition(params, files, pairs)
    browser.build(params, results=files.results, data=files.data, out=out / "questions.html")
    page.build(
        params,
        metrics,
        results=files.results,
        data=files.data,
        comparison=comparison,
        out=out / "index.html",
        checks=files.results / "checks",
        pairs=pairs,
        missing=missing,
    )

"""What happens around a run of the workflow: its settings, and the messages at its end."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, repeat
from pathlib import Path
from types import FrameType
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.caveats import caveat, title
from known_unknowns.comparison import read_comparison, summarise
from known_unknowns.config import Params, without_password
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.metrics import unusable_replies
from known_unknowns.metrics.dual import SEPARATOR
from known_unknowns.metrics.summary import main_parser, read_leaderboard
from known_unknowns.metrics.unusable_replies import UNUSABLE_LIMIT
from known_unknowns.progress import duration
from known_unknowns.workflow import configuration, job, run_settings
from known_unknowns.workflow.opening import mlflow_command, program

STOPPED: list[int] = []
"""The signals that asked this run to stop."""
_ADVICE_LINES = 2
"""Steps that the end of a run names. The first page of the report has all of them."""


def forward_sigterm() -> None:
    """Send a SIGTERM that this process receives to its jobs as well. Snakemake's own handler then waits for them."""
    before = signal.getsignal(signal.SIGTERM)

    def forward(number: int, frame: FrameType | None) -> None:
        import psutil

        STOPPED.append(number)
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if job.is_job(child.cmdline()):  # not the shell around it, which would leave it alone
                    child.terminate()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGTERM, forward)


def end_at_second_interrupt() -> None:
    """At the second Ctrl-C, end this process at once; Snakemake would print tracebacks. The jobs receive it as well."""
    before = signal.getsignal(signal.SIGINT)

    def end(number: int, frame: FrameType | None) -> None:
        if number in STOPPED:
            os.write(2, b"\nStopped. Recorded replies are kept; the same command continues.\n")
            os._exit(130)
        STOPPED.append(number)
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, end)


def prepend_to_path(folder: Path) -> None:
    """Put a folder before all others on PATH, so that jobs run its programs."""
    os.environ["PATH"] = os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)])


def shell_prefix(source: Path) -> str:
    """Return the start of every job's shell command: its package.

    The shell outlives a SIGTERM, which a cluster sends to all processes of a job: when the first of them ends, Slurm
    kills the others, which would lose the replies under way.

    A project outside a checkout has no folder ``source``; its jobs use the installed package. Braces are doubled,
    because Snakemake formats the prefix.
    """
    python_path = (
        f"export PYTHONPATH={shlex.quote(str(source))}${{PYTHONPATH:+:$PYTHONPATH}}; " if source.is_dir() else ""
    )
    return f"set -euo pipefail; trap : TERM; {python_path}".replace("{", "{{").replace("}", "}}")


def closing_message(params: Params, results: str, seconds: float) -> str:
    """Return the end of a run: the best models, the files, the verdicts, how to open them, how long it took."""
    folder = Path(results)
    places = {"Report": "report/index.html", "Questions": "report/questions.html", "Tables": "leaderboard.csv"}
    lines = ["", *_best_models(params, folder)]
    lines += [f"{name:<10} {results}/{path}" for name, path in places.items() if (folder / path).is_file()]
    lines += [f"Replies    {results}/replies/", ""]
    notes = _verdicts(params, folder / "comparison.parquet") + _without_text(params, folder)
    if notes:
        lines += [*notes, ""]
    if (folder / places["Report"]).is_file():
        lines.append(f"Open       {program('known-unknowns')} open {_options(params, folder)}")
    if params.tracking.enabled:
        store = without_password(params.tracking.uri)
        is_server = store.startswith(("http://", "https://", "databricks"))
        lines.append(f"MLflow     {store if is_server else mlflow_command(store)}")
    lines.append(f"Duration   {duration(seconds)}")
    return "\n".join(lines)


def _without_text(params: Params, results: Path) -> list[str]:
    """Return the number of replies without a text, and what to do about them."""
    command, options = program("known-unknowns"), _options(params, results)
    found = unusable_replies.without_text(params, results, program=command, options=options)
    return _labelled("No text", found)


def _labelled(label: str, lines: Iterable[str]) -> list[str]:
    """Return lines of which the first has a label."""
    labels = chain([label], repeat(""))
    return [f"{label:<10} {line}" for label, line in zip(labels, lines, strict=False)]


def _options(params: Params, results: Path) -> str:
    """Return the options with which a command reads the configuration of this run.

    params.yaml does not have it after ``--configfile`` or ``--config``, or if variants were left out of one's own data.
    """
    own = results / run_settings.STARTED
    with suppress(ConfigError):
        if configuration.load(edition=params.edition) == params or not own.is_file():
            return f"--edition {params.edition}"
    return f"--params {shlex.quote(str(own))}"


def _best_models(params: Params, results: Path) -> list[str]:
    """Return one line per benchmark, with its best model by the primary headline number, and the caveat.

    Scripted respondents are left out, unless there is nothing else. A model with too many unusable replies has a line
    of its own.
    """
    leaderboard = results / "leaderboard.csv"
    rows = read_leaderboard(leaderboard) if leaderboard.is_file() else []
    lines = []
    for benchmark in params.benchmarks:
        known = [row for row in rows if row["benchmark"] == benchmark and row["model"] in params.models]
        ranking = {number.name for number in registry.get(benchmark).headline if number.ranks}
        primary = next((row["number"] for row in known if row["number"] in ranking and row["value"] is not None), None)
        of_number = [row for row in known if row["number"] == primary]
        asked = [row for row in of_number if params.model(row["model"]).engine != "respondent"]
        usable = [row for row in asked or of_number if (row["unusable"] or 0) <= UNUSABLE_LIMIT]
        measured = [row for row in usable if row["value"] is not None]
        if measured:
            lines.append(_best(title(params, benchmark), measured, "model" if asked else "scripted respondent"))
        lines += [_unusable(params, row, results) for row in asked if row not in usable]
    note = caveat(params)
    if not lines:
        return []
    return _labelled("Results", lines) + _labelled("Caveat", [note] if note else [])


def _best(name: str, rows: Sequence[Mapping[str, Any]], kind: str) -> str:
    """Return the highest number, and which models have it."""
    lower = next(n.lower_is_better for n in registry.get(rows[0]["benchmark"]).headline if n.name == rows[0]["number"])
    best = (min if lower else max)(rows, key=lambda row: row["value"])
    names = [row["model"] for row in rows if row["value"] == best["value"]]
    count = f"the {'lowest' if lower else 'highest'} of {len(rows)} {kind}s" if len(rows) > 1 else f"the only {kind}"
    if len(names) > 1:
        count = "equal"
    bounds = [] if best["low"] is None else [f"interval {100 * best['low']:.1f} to {100 * best['high']:.1f}"]
    unusable = [] if best["unusable"] is None else [f"unusable {best['unusable']:.1%}"]
    facts = ", ".join([*bounds, f"n = {best['n']:,}", *unusable])
    return f"{name}: {best['label']} {best['value']:.1%} ({facts}) of {', '.join(names)}, {count}"


def _unusable(params: Params, row: Mapping[str, Any], results: Path) -> str:
    """Return why a model has no rank, and the most frequent unusable reply. The report names a likely remedy."""
    model, benchmark, files = row["model"], row["benchmark"], EditionFiles(EditionFiles.of(params).data, results)
    cells, first = params.cells(benchmark, model), row["variant"].split(SEPARATOR)[0]
    cells = [cell for cell in cells if cell.variant == first] or cells
    try:
        found = unusable_replies.outcomes(params, files, model, benchmark, cells, main_parser(params.parsers))
        most = unusable_replies.unusable(found, remedy=False) or f"{row['unusable']:.1%} of its replies are unusable."
    except DataError as error:
        most = f"{row['unusable']:.1%} of its replies are unusable; none is shown: {error}"
    return f"{title(params, benchmark)}: {model} is not ranked. {most}"


def _verdicts(params: Params, comparison: Path) -> list[str]:
    """Return the number of verdicts and what to run next; nothing if the table is absent or of another version.

    A run whose jobs do not include the comparison succeeds without it. Rendered questions, and benchmarks without
    published numbers, can have no verdict, and there is no count of them.
    """
    if not comparison.is_file():
        return []
    try:
        summary = summarise(read_comparison(comparison), params)
    except DataError as error:
        return [f"Verdicts   none: {error}"]
    if not summary.comparable:
        # The steps with the fewest numbers, which needs the fewest models, and with the most.
        return _labelled("Next", map(str, dict.fromkeys([*summary.steps[-1:], *summary.steps[:1]])))
    return summary.counts() + _labelled("Next", map(str, summary.steps[:_ADVICE_LINES]))


def fetched_message(benchmarks: Iterable[str], again: Path) -> str:
    """Return the end of a run that only fetched. ``again`` is a file that tells `make run` to start the next one."""
    again.parent.mkdir(parents=True, exist_ok=True)
    again.touch()
    return f"\nThe released files of {', '.join(benchmarks)} are there. The same command continues with them.\n"


def failure_message(logs: Iterable[str], lines: int = 5) -> str:
    """Return the last lines of the logs of failed jobs. ``logs`` are Snakemake's own, which name them.

    A job that succeeded in a later attempt is left out. The log of a cluster is shown if a job's own log is empty.
    """
    text = "\n".join(Path(path).read_text(encoding="utf-8", errors="replace") for path in logs)
    of_jobs, of_groups = _failed_logs(text)
    found = [pair for names in of_jobs if (pair := _first_with_text(names, lines))]
    if not found:
        found = [pair for names in of_groups if (pair := _first_with_text(names, lines))]
    stopped = f"The run was stopped by {signal.Signals(STOPPED[0]).name}" if STOPPED else "The run stopped"
    if not of_jobs and not of_groups:
        return f"\n{stopped}, and no job failed. The same command continues. Recorded replies are kept.\n"
    parts = ["", *([f"{stopped}."] if STOPPED else []), "Some results are missing. These logs say why:"]
    for path, last in dict(found).items():
        parts += [path, *(f"    {line}" for line in last)]
    if not found:
        parts += list(dict.fromkeys(name for names in of_jobs for name in names))
    return "\n".join(
        [*parts, "Correct what the logs say and run the same command again. Recorded replies are kept.", ""]
    )


def _failed_logs(text: str) -> tuple[list[list[str]], list[list[str]]]:
    """Return the names of the logs of each failed job, and of each failed group of jobs, from Snakemake's log."""
    of_jobs: dict[str, list[str]] = {}
    of_groups = []
    job = ""
    for line in text.splitlines():
        if line.startswith("    message: Error in group"):
            job = ""
        elif named := re.match(r" *jobid: (\S+)", line):
            job = named[1]
        elif finished := re.match(r"Finished jobid: (\S+)", line):
            of_jobs.pop(finished[1], None)
        elif failed := re.match(r" *log: (.+) \(check log file", line):
            names = failed[1].split(", ")
            if job:
                of_jobs[job] = names
            else:
                of_groups.append(names)
    return list(of_jobs.values()), of_groups


def _first_with_text(names: Iterable[str], lines: int) -> tuple[str, list[str]] | None:
    """Return the first file that is not empty, with its last lines."""
    for name in names:
        path = Path(name)
        if path.is_file() and (last := path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]):
            return str(path), last
    return None


def partial_report_folder(params: Params) -> Path:
    """Return the folder of an edition's partial report."""
    return Path("results", params.edition, "partial_report")

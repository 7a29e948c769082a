"""Command that gives a first number for a model: it asks a sample of one benchmark, by the workflow."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
import yaml

from known_unknowns import config, json_files, tables
from known_unknowns.cli.options import PARAMS
from known_unknowns.config import ImportedModel, ModelEntry, Params, TransformersModel, catalogue
from known_unknowns.config.locked_commits import is_folder_pin
from known_unknowns.edition_files import EditionFiles
from known_unknowns.engines import memory_needs, new_model
from known_unknowns.errors import ConfigError, MachineError, unknown_name
from known_unknowns.evaluation import result, trial
from known_unknowns.evaluation.published import published
from known_unknowns.files import write_text
from known_unknowns.model_runs.probe import probe
from known_unknowns.run_command import run_command
from known_unknowns.stopping import StoppedError
from known_unknowns.workflow import configuration, needs, prerequisites
from known_unknowns.workflow.opening import program
from known_unknowns.yaml_reader import parse_yaml

_ENDPOINT = "openai:"


@dataclass(frozen=True)
class _Model:
    """The model's name, and its entry unless params.yaml or the catalogue has one; notes for the user."""

    name: str
    entry: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


def try_(
    model: Annotated[
        str,
        typer.Argument(help="A name of params.yaml or the catalogue, a folder, OWNER/NAME on the hub, or openai:NAME."),
    ],
    benchmark: Annotated[
        str | None, typer.Option(help="A benchmark of params.yaml. [default: the first one of the edition]")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="The largest number of questions; 0 for all.")] = 100,
    edition: Annotated[
        str,
        typer.Option(help="The edition whose questions are asked: pocket (rendered), full (published), or another."),
    ] = "pocket",
    base_url: Annotated[
        str | None, typer.Option(help="The address of openai:NAME. [default: OPENAI_BASE_URL, or else OpenAI's own]")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A key of the model's entry: template.enable_thinking=false. Repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the model's entry for params.yaml, check it, and ask nothing.")
    ] = False,
) -> None:
    """Ask a model a sample of one benchmark, and print its accuracy, abstention and unusable replies.

    The model is checked first. The questions are asked as published and, if the benchmark has a refusal option, without
    their right option. The results are an edition of their own in results/. The same command with a larger limit asks
    only the questions that are missing. The key of an endpoint is in OPENAI_API_KEY.

    With --dry-run, the entry of the model is printed: a folder's has the sha256 of the weights, a repository's the
    commit, and both have the dtype and the number of parameters. No weights are downloaded.

    \b
    Examples:
      known-unknowns try models/pocket
      known-unknowns try OWNER/NAME --edition full --limit 500
      known-unknowns try openai:NAME --base-url http://localhost:8000/v1 --set template.enable_thinking=false
    """
    base = configuration.load(PARAMS, edition=edition)
    benchmark = base.benchmarks[0] if benchmark is None else benchmark
    if benchmark not in base.file.benchmarks:
        raise ConfigError(unknown_name(benchmark, base.file.benchmarks), path="--benchmark")
    chosen = _with_settings(_model(model, base, base_url), settings or [], base)
    name = f"try-{chosen.name}-{benchmark}-{base.data_name}"
    variants = trial.variants_of(base, benchmark)
    added = trial.overlay(
        base, name, chosen.name, benchmark, variants=variants, entry=chosen.entry, limit=limit or None
    )
    trying, notes = prerequisites.checked(config.merged(config.read(PARAMS), added))
    entry = trying.model(chosen.name)
    for note in (*chosen.notes, *notes):
        print(f"note: {note}")
    if dry_run:
        print(_entry_text(chosen, entry), flush=True)
    if not dry_run:
        _require_project()
    found = probe(chosen.name, entry, None if dry_run else Path("journal", chosen.name))
    print(f"Model      {chosen.name}: {_checked(found)}")
    print(f"Estimate   {needs.estimate(trying, chosen.name, benchmark, limit)}", flush=True)
    if dry_run:
        return
    files = EditionFiles.of(trying)
    configfile = files.results / "try.yaml"
    write_text(configfile, yaml.safe_dump(added, sort_keys=False, allow_unicode=True))
    # The result of the rule `probe`, which then does not check the model a second time. An earlier one stays if nothing
    # was checked, so that nothing that follows from it runs again.
    record = files.results / "probe" / f"{chosen.name}.json"
    if found["checked"] != "journal" or not record.is_file():
        json_files.write(record, found)
    _run(configfile, files.metrics(chosen.name, benchmark))
    row = trying.published(chosen.name, benchmark)
    metrics = tables.read_metrics(files.metrics(chosen.name, benchmark))
    lines = published(metrics, benchmark, row, trying.variants(benchmark)) if row else []
    measured = result.read(trying, chosen.name, benchmark, files, published=lines)
    print(f"\n{measured.summary()}")
    page = measured.report(files.results / "questions.html")
    options = {"--benchmark": benchmark, "--edition": edition, "--base-url": base_url, "--limit": "0"}
    given = [part for option, value in options.items() if value is not None for part in (option, value)]
    given += [part for text in settings or () for part in ("--set", text)]
    everything = shlex.join([program("known-unknowns"), "try", model, *given])
    print(f"\nPage       {page}")
    if measured.asked < measured.total:
        print(f"All        {everything}")
    print(f"Report     {run_command('', '--configfile', str(configfile))}")


def _entry_text(model: _Model, entry: ModelEntry) -> str:
    """Return the model's entry as text, with what to do with it."""
    if model.entry is None:
        head = f"Entry      params.yaml or the catalogue has this one; name {model.name} in an edition's models"
    else:
        head = f"Entry      paste it below `models` in params.yaml, and name {model.name} in an edition's models"
    dumped = yaml.safe_dump({model.name: entry.plain()}, sort_keys=False, allow_unicode=True, width=10**6)
    return f"{head}\n{textwrap.indent(dumped, '  ')}"


def _checked(found: Mapping[str, Any]) -> str:
    """Return what the probe found."""
    if found["checked"] == "endpoint":
        served = "the endpoint serves it, accepts the key"
        if not found["endpoint"]["listed"]:
            served = "the endpoint does not list it, so that its name is not checked; it accepts the key"
        return served + (", and answers questions about images" if found["sees_images"] else "")
    if found["checked"] == "settings":
        return "the endpoint accepts its settings; whether it serves it is not checked (check_served: false)"
    if found["checked"] == "program":
        return "the program of its server is installed; the run starts it"
    if found["checked"] == "journal":
        return "it has answered all questions of an earlier run"
    if found["checked"] == "checkpoint":
        return "it loads and answers a question" if found["asked"] else "its files, weights and processor fit together"
    return "no check is possible before it is loaded"


def _model(given: str, params: Params, base_url: str | None) -> _Model:
    """Find the model: by its name, by its source, or as a new entry."""
    known = dict(catalogue.models()) | params.file.models
    if base_url is not None and not given.startswith(_ENDPOINT):
        raise ConfigError(f"only {_ENDPOINT}NAME has an address", path="--base-url")
    if given in known:
        if isinstance(known[given], ImportedModel):
            raise ConfigError("its replies are imported, and it is asked no questions", path=f"models.{given}")
        return _Model(given)
    if given.startswith(_ENDPOINT):
        source = given.removeprefix(_ENDPOINT)
        if not source:
            raise ConfigError(f"name the model at the endpoint: {_ENDPOINT}NAME", path="MODEL")
        if base_url is None and (same := _of_source(known, "openai", source)):
            return _Model(same)
        entry = {"engine": "openai", "source": source} | ({} if base_url is None else {"base_url": base_url})
        return _Model(_free_name(source, known), entry)
    is_folder = Path(given).expanduser().is_dir()
    same = _of_source(known, "transformers", os.path.normpath(given))
    # An entry of a folder that has no sha256 cannot be run; the entry that is printed has it.
    if same and (not is_folder or _has_pin(known[same])):
        return _Model(same)
    if not is_folder and "/" not in given:
        raise ConfigError(f"there is no folder {given!r} here; {unknown_name(given, known)}", path="MODEL")
    found = new_model.describe(given)
    if found.entry["dtype"] == "float16" and not memory_needs.this_machine().gpus:
        found.entry["dtype"] = "float32"
        found.notes.append("float32 instead of float16, which models rarely support on a CPU")
    return _Model(_free_name(found.name, known), found.entry, tuple(found.notes))


def _with_settings(chosen: _Model, settings: list[str], params: Params) -> _Model:
    """Return the model with keys of its entry, each as KEY=VALUE; under a name of its own if they change replies."""
    if not settings:
        return chosen
    known = dict(catalogue.models()) | params.file.models
    entry: Any = known[chosen.name].plain() if chosen.entry is None else chosen.entry
    name, keys = chosen.name, set()
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not all(key.split(".")):
            raise ConfigError(f"{text!r} is not KEY=VALUE, such as template.enable_thinking=false", path="--set")
        added = parse_yaml(value)
        for part in reversed(key.split(".")):
            added = {part: added}
        entry = config.merged(entry, added)
        name += f"-{key.rpartition('.')[2]}-{value}"
        keys.add(key.partition(".")[0])
    if keys <= config.typed_model(chosen.name, entry).not_in_the_reply:
        return _Model(chosen.name, entry, chosen.notes)
    return _Model(_free_name(name, known), entry, chosen.notes)


def _has_pin(entry: ModelEntry) -> bool:
    return isinstance(entry, TransformersModel) and is_folder_pin(entry.revision)


def _of_source(known: Mapping[str, ModelEntry], engine: str, source: str) -> str | None:
    """The first model of a source, without an adapter."""
    for name, entry in known.items():
        has_adapter = isinstance(entry, TransformersModel) and entry.adapter is not None
        if entry.engine == engine and not has_adapter and entry.plain().get("source") == source:
            return name
    return None


def _free_name(text: str, known: Mapping[str, Any]) -> str:
    name = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._") or "model"
    return f"my-{name}" if name in known else name


def _require_project() -> None:
    if find_spec("snakemake") is None:
        raise MachineError("snakemake is not installed; install known-unknowns[workflow,models]")
    if not Path("Snakefile").is_file():
        raise ConfigError(
            f"{Path.cwd()} has no Snakefile; `known-unknowns init FOLDER` creates a project", path="MODEL"
        )


def _run(settings: Path, target: Path) -> None:
    """Run the workflow in this folder up to a file. Its closing message, which is of the whole edition, is left out."""
    command = [sys.executable, "-m", "snakemake", "--configfile", str(settings), "--", str(target)]
    started = time.time()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    stopped: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        if number == signal.SIGTERM:  # the terminal sends SIGINT to both
            process.terminate()

    before = {number: signal.signal(number, forward) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if stopped:
        raise StoppedError
    if code:
        error = MachineError("the workflow did not finish; its last lines say why, and the same command continues")
        error.exit_code = _exit_code_of_jobs(started) or error.exit_code
        raise error


def _exit_code_of_jobs(started: float) -> int | None:
    """Return the smallest exit code of the failed jobs of a run in this folder, by Snakemake's log.

    It is that of a mistake of the user (2), if there was one. Snakemake itself ends with 1 whatever failed.
    """
    codes: list[int] = []
    for log in Path(".snakemake", "log").glob("*.log"):
        if log.stat().st_mtime >= started:
            text = log.read_text(encoding="utf-8", errors="replace")
            codes += map(int, re.findall(r"returned non-zero exit status (\d+)\.", text))
    return min((code for code in codes if code > 1), default=None)

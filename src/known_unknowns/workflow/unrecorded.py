"""Results that Snakemake has no record of: those of `dvc pull` in a clone, or after ``.snakemake`` was deleted.

Snakemake runs a step again if its parameters differ from those that it recorded. Without a record, it would take
results of other settings for those of the configuration. So the settings that are stored with the results are compared.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from known_unknowns import json_files
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.workflow import prerequisites
from known_unknowns.workflow.rule_functions import Targets
from known_unknowns.workflow.selection import compared

_ALL = frozenset({"-F", "--forceall"})
_FORCE = frozenset({"-R", "--forcerun", "-f", "--force", *_ALL})
HasRecord = Callable[[str], bool]
"""Whether Snakemake has a record of a file."""


def check(params: Params, has_record: HasRecord, arguments: Sequence[str] = ()) -> None:
    """Raise ConfigError if results without a record were made with other settings.

    Parameters
    ----------
    params : Params
    has_record : callable
    arguments : sequence of str
        Those of the command line. The files and rules that it forces to run are not reported.
    """
    forced = set(arguments) if _FORCE & set(arguments) else set()
    files = [path for rule, path in _outdated(params, has_record) if not {rule, path, *_ALL} & forced]
    if files:
        again = shlex.join(["snakemake", *arguments, "--forcerun", *files])
        raise ConfigError(
            f"{files[0]} was made with other settings, and Snakemake has no record of it (a clone, or a deleted "
            f".snakemake). Use the configuration that made it, or make it again:  {again}"
        )


def _outdated(params: Params, has_record: HasRecord) -> Iterator[tuple[str, str]]:
    """Yield the rule and the first output of each job to run again. What is made of it follows by itself."""
    files, last = EditionFiles.of(params), prerequisites.last_run(params)
    found = False
    for model, benchmark in Targets(params).pairs:
        steps = {
            "infer": files.replies(model, benchmark),
            "parse": files.scores(model, benchmark),
            "measure": files.metrics(model, benchmark),
        }
        for step, path in steps.items():
            if not path.is_file() or has_record(path.as_posix()):
                continue
            names = {"model": model, "benchmark": benchmark}
            stored = _recorded(files.engine(model, benchmark)) if step == "infer" else _compared(last, step, **names)
            if stored is not None and stored != compared(params, step, **names):
                found = True
                yield step, path.as_posix()
                break
    if found:
        return
    for step, path in {
        "compare": files.results / "comparison.parquet",
        "compare_models": files.results / "model_comparison.parquet",
        "report": files.results / "report" / "index.html",
        "question_browser": files.results / "report" / "questions.html",
    }.items():
        if path.is_file() and not has_record(path.as_posix()):
            stored = _compared(last, step)
            if stored is not None and stored != compared(params, step):
                yield step, path.as_posix()


def _recorded(engine: Path) -> Any:
    """Return the settings of replies; None for imported ones."""
    try:
        return json_files.read(engine).get("settings")
    except DataError:
        return None


def _compared(last: Params | None, step: str, **names: str) -> Any:
    """Return what a step of the last run read; None if that run had no such model or benchmark."""
    try:
        return None if last is None else compared(last, step, **names)
    except (ConfigError, KeyError):
        return None

"""Results that Snakemake has no record of: those of `dvc pull` in a clone, or after ``.snakemake`` was deleted.

Snakemake runs a step again if its parameters differ from those that it recorded. Without records it would take results
of other settings for those of the configuration. So the configuration of the last whole run of the edition, which is
beside its results, is compared. Replies are compared with the settings that are recorded beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from known_unknowns import json_files, tables
from known_unknowns.config import FolderData, Params, ScenesData
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.inference.asking import Asking
from known_unknowns.workflow.rule_functions import Targets
from known_unknowns.workflow.rule_settings import plain
from known_unknowns.workflow.run_settings import WHOLE, path_of, whole_run, whole_runs

_NAMED = 5
_SCHEMAS = {
    "answers": tables.ANSWERS,
    "metrics": tables.METRICS,
    "questions": tables.QUESTIONS,
    "replies": tables.REPLIES,
}
"""The tables that other steps read, by the names of their files."""


def check(
    params: Params,
    outputs: Collection[str],
    has_record: Callable[[str], bool],
    *,
    is_forced: Callable[[Collection[str]], bool],
    again: Callable[[Collection[str]], str],
) -> None:
    """Raise ConfigError if results without a record may be of other settings, and are not made again.

    Parameters
    ----------
    params : Params
        The configuration of this run.
    outputs : collection of str
        The files of the edition.
    has_record : callable
        Whether Snakemake knows a file.
    is_forced : callable
        Whether this run makes the files of some rules again.
    again : callable
        Returns the command that makes the files of these rules again.
    """
    # No rule makes the replies of an imported model.
    made = [path for path in outputs if not path.startswith(_imported(params))]
    unknown = [path for path in made if Path(path).exists() and not has_record(path)]
    last = whole_run(params.edition)
    results = [path for path in unknown if path.startswith("results/")]
    questions = [path for path in unknown if path not in results and _has_other_data(params, Path(path).parent.name)]
    changed = [] if last is None else list(changed_keys(last.shown(), params.shown()))
    earlier = [path for path in unknown if _is_of_earlier_version(Path(path))]
    if questions or earlier or (results and (last is None or changed)):
        rules = ["questions", "check"]
        if all(isinstance(params.data(name), ScenesData | FolderData) for name in params.benchmarks):
            rules = ["fetch", *rules]  # nothing is downloaded
        if changed:
            why = f"{path_of(params.edition, WHOLE)} has other settings ({_listed(changed)})"
        elif earlier:
            why = f"{earlier[0]} is a table of an earlier version"
        else:
            why = "no whole run has written the settings that made them"
    elif results and _other_replies(params, has_record):
        rules, why = ["infer"], "replies were asked for with other settings"
    else:
        return
    if is_forced(rules):
        return
    raise ConfigError(
        f"Snakemake has no record of {len(unknown)} files of the edition, such as {unknown[0]} (a clone, or a deleted "
        f".snakemake), and {why}. Use the configuration that made them, or make them again; recorded replies are taken "
        f"from journal/{_other_source(params, last)}:  {again(rules)}"
    )


def _imported(params: Params) -> tuple[str, ...]:
    folder = EditionFiles.of(params).results / "replies"
    return tuple(f"{folder.as_posix()}/{model}/" for model in params.models if params.is_imported(model))


def changed_keys(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted paths of the keys whose values differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys([*before, *after]):
            yield from changed_keys(before.get(name), after.get(name), f"{path}.{name}" if path else name)
    elif before != after:
        yield path


def _is_of_earlier_version(path: Path) -> bool:
    schema = tables.QUESTIONS if path.parts[-3] == "variants" else _SCHEMAS.get(path.stem)
    return path.suffix == ".parquet" and schema is not None and tables.is_of_earlier_version(path, schema)


def _listed(keys: Collection[str]) -> str:
    shown = ", ".join(list(keys)[:_NAMED])
    return f"{shown} and {len(keys) - _NAMED} more" if len(keys) > _NAMED else shown


def _has_other_data(params: Params, benchmark: str) -> bool:
    """Whether whole runs used other data of this name, and none used these."""
    runs = (run for run in whole_runs() if run.data_name == params.data_name and benchmark in run.benchmarks)
    used = [run.data(benchmark) for run in runs]
    return bool(used) and params.data(benchmark) not in used


def _other_replies(params: Params, has_record: Callable[[str], bool]) -> bool:
    """Whether there are replies without a record that were asked for with other settings."""
    files = EditionFiles.of(params)
    for model, benchmark in Targets(params).pairs:
        record = files.replies(model, benchmark).with_name("engine.json")
        if params.is_imported(model) or not record.is_file() or has_record(record.as_posix()):
            continue
        if _recorded(record) != plain(Asking.of(params, model, benchmark).settings):
            return True
    return False


def _recorded(record: Path) -> Any:
    try:
        return plain(json_files.read(record).get("settings"))
    except DataError:
        return None


def _other_source(params: Params, last: Params | None) -> str:
    """Say which fetched data are of another source: they are never fetched again by themselves."""
    if last is None:
        return ""
    folders = [
        EditionFiles.of(params).raw(name).as_posix()
        for name in params.benchmarks
        if name in last.file.benchmarks and last.data_name == params.data_name and last.data(name) != params.data(name)
    ]
    return f" (remove {' and '.join(folders)} first if its source has changed)" if folders else ""

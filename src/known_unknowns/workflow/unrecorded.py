"""Results that Snakemake has no record of: those of `dvc pull` in a clone, or after ``.snakemake`` was deleted.

Snakemake runs a step again if its parameters differ from those that it recorded. Without a record, it would take
results of other settings for those of the configuration. So the settings that are stored with the results are compared.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from known_unknowns import json_files
from known_unknowns.config import DataEntry, FolderData, Params
from known_unknowns.config.sections import QuestionFiles
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.workflow.prerequisites import last_run
from known_unknowns.workflow.rule_functions import Targets
from known_unknowns.workflow.selection import compared

_ALL = frozenset({"-F", "--forceall"})
_FORCE = frozenset({"-R", "--forcerun", "-f", "--force", *_ALL})
HasRecord = Callable[[str], bool]
"""Whether Snakemake has a record of a file."""


def check(params: Params, has_record: HasRecord, arguments: Sequence[str] = ()) -> list[str]:
    """Raise ConfigError if results without a record were made with other settings.

    Parameters
    ----------
    params : Params
    has_record : callable
    arguments : sequence of str
        Those of the command line. The files and rules that it forces to run are not reported.

    Returns
    -------
    list of str
        The files of other settings that this run makes again.
    """
    forced = set(arguments) if _FORCE & set(arguments) else set()
    outdated = _outdated(params, has_record)
    unforced = [each for each in outdated if not {each.step, each.path, *_ALL} & forced]
    if unforced:
        places = dict.fromkeys(f"{each.of} from the step {each.step} on" for each in unforced)
        again = shlex.join(["snakemake", *arguments, "--forcerun", *(each.path for each in unforced)])
        raise ConfigError(
            f"results were made with other settings, and Snakemake has no record of them (a clone, or a deleted "
            f".snakemake): {', '.join(places)}. Use the configuration that made them, or make them again:  {again}"
        )
    return [each.path for each in outdated]


class _Outdated(NamedTuple):
    """The first output of a job to run again. What is made of it follows by itself."""

    of: str
    """The benchmark, or what else it belongs to."""
    step: str
    path: str


@dataclass(frozen=True)
class _Comparison:
    """Two configurations: that of this run, and that of the last run of the edition, if its copy is there."""

    params: Params
    last: Params | None
    has_record: HasRecord

    def differs(self, step: str, path: Path, **names: str) -> bool:
        """Whether a file without a record was made with other settings of its step."""
        if not self._is_unrecorded(path):
            return False
        stored = settings_of(self.last, step, **names)
        return stored is not None and stored != compared(self.params, step, **names)

    def has_other_source(self, path: Path, benchmark: str) -> bool:
        """Whether a folder of fetched or rendered files without a record is of another source.

        The step `fetch` is given the whole entry of the data, of which most keys only say how the files are read.
        """
        if self.last is None or not self._is_unrecorded(path):
            return False
        if benchmark not in self.last.file.benchmarks:
            return False
        return _source(self.last.data(benchmark)) != _source(self.params.data(benchmark))

    def has_other_replies(self, replies: Path, model: str, benchmark: str) -> bool:
        """Whether replies without a record were asked for with other settings, which are stored beside them."""
        if not self._is_unrecorded(replies):
            return False
        stored = _recorded(replies.with_name("engine.json"), model, benchmark)
        return stored is not None and stored != compared(self.params, "infer", model=model, benchmark=benchmark)

    def _is_unrecorded(self, path: Path) -> bool:
        return path.exists() and not self.has_record(path.as_posix())


def _outdated(params: Params, has_record: HasRecord) -> list[_Outdated]:
    last = last_run(params.edition)
    settings = _Comparison(params, last, has_record)
    shares_data = last is not None and last.data_name == params.data_name
    of_data = settings if shares_data else _Comparison(params, _last_run_with_data(params.data_name), has_record)
    found: list[_Outdated] = []
    for benchmark in params.benchmarks:
        first = _of_data(of_data, benchmark) or _of_variants(settings, benchmark) or _of_models(settings, benchmark)
        found += [_Outdated(benchmark, step, path.as_posix()) for step, path in first]
    judgements = EditionFiles.of(params).results / "judgements.json"
    if params.judge is not None and settings.differs("judge", judgements):
        found.append(_Outdated("the judge", "judge", judgements.as_posix()))
    return found or _of_edition(settings)


Files = list[tuple[str, Path]]
"""Steps and files that they made."""


def _of_data(settings: _Comparison, benchmark: str) -> Files:
    files = EditionFiles.of(settings.params)
    raw = files.raw(benchmark)
    if settings.has_other_source(raw, benchmark):
        return [("fetch", raw)]
    made = [("questions", files.question_table(benchmark)), ("check", files.results / "checks" / f"{benchmark}.json")]
    return [(step, path) for step, path in made if settings.differs(step, path, benchmark=benchmark)]


def _of_variants(settings: _Comparison, benchmark: str) -> Files:
    folder = EditionFiles.of(settings.params).variants(benchmark)
    made = [(variant, folder / f"{variant}.parquet") for variant in settings.params.variants(benchmark)]
    return [("vary", path) for name, path in made if settings.differs("vary", path, benchmark=benchmark, variant=name)]


def _of_models(settings: _Comparison, benchmark: str) -> Files:
    """Return the first step of each model."""
    files, found = EditionFiles.of(settings.params), []
    for model, of_pair in Targets(settings.params).pairs:
        if of_pair != benchmark:
            continue
        names = {"model": model, "benchmark": benchmark}
        replies, answers, metrics = (of(model, benchmark) for of in (files.replies, files.answers, files.metrics))
        if settings.has_other_replies(replies, **names):
            found.append(("infer", replies))
        elif settings.params.is_imported(model) and settings.differs("import_released", replies, **names):
            found.append(("import_released", replies))
        elif settings.differs("parse", answers, **names):
            found.append(("parse", answers))
        elif settings.differs("measure", metrics, **names):
            found.append(("measure", metrics))
    return found


def _of_edition(settings: _Comparison) -> list[_Outdated]:
    """Return the tables and pages of the whole edition, and of released replies."""
    results = EditionFiles.of(settings.params).results
    made = {
        "summarise": results / "metrics.json",
        "compare": results / "comparison.parquet",
        "compare_models": results / "model_comparison.parquet",
        "report": results / "report" / "index.html",
        "question_browser": results / "report" / "questions.html",
    }
    found = [
        _Outdated("the edition", step, path.as_posix()) for step, path in made.items() if settings.differs(step, path)
    ]
    for benchmark in settings.params.benchmarks:
        of_released = {
            "released_numbers": results / "released" / f"{benchmark}.json",
            "reply_tables": results / "released" / benchmark / "parsers.csv",
        }
        for step, path in of_released.items():
            if settings.differs(step, path, benchmark=benchmark):
                found.append(_Outdated(benchmark, step, path.as_posix()))
    return found


def _source(entry: DataEntry) -> dict[str, Any]:
    """Return the keys of data that decide which files are fetched or rendered."""
    how_read = {"start_seed", "settings", "questions"}
    if isinstance(entry, QuestionFiles):
        how_read |= QuestionFiles.model_fields.keys()
    if isinstance(entry, FolderData):
        how_read.add("files")  # all files of the folder are copied
    return {key: value for key, value in entry.plain().items() if key not in how_read}


def _recorded(engine: Path, model: str, benchmark: str) -> Any:
    """Return the settings of replies; None for imported ones."""
    try:
        settings = json_files.read(engine).get("settings")
    except DataError:
        return None
    if settings is not None and "before" in settings:  # of an earlier version, which recorded the data apart
        data = settings.pop("before")["benchmarks"][benchmark]["data"]
        settings["benchmarks"][benchmark]["data"] = data
        settings["editions"][settings["edition"]] |= {"benchmarks": [benchmark], "models": [model]}
    return settings


def _last_run_with_data(name: str) -> Params | None:
    """Return that of an edition with this folder of data."""
    for path in sorted(Path("results").glob("*/params.yaml")):
        last = last_run(path.parent.name)
        if last is not None and last.data_name == name:
            return last
    return None


def settings_of(last: Params | None, step: str, **names: str) -> Any:
    """Return what a step of the last run read; None if that run had no such model or benchmark."""
    try:
        return None if last is None else compared(last, step, **names)
    except (ConfigError, KeyError):
        return None

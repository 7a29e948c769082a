"""The page of the provenance: a description of the run, and tables of the use of the models and of their computations.

docs/shared_prefixes.md describes the plans of the prefix cache and their checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import json_files
from known_unknowns.config import GitData, ReleasedData, locked_commits
from known_unknowns.data import git, provenance
from known_unknowns.data.terms import terms_of
from known_unknowns.edition_files import replies_table
from known_unknowns.metrics.intervals import wilson
from known_unknowns.report.formatting import DASH, Cell, Table, counted, interval, make_row, make_table, percent

if TYPE_CHECKING:
    from known_unknowns.config import DataEntry, Params

PACKAGES = (*provenance.PACKAGES, "altair", "vl-convert-python")
"""Packages whose version can change a number or a figure."""
_COMPUTATIONS = ("sharing", "certificate", "rendering")
"""The parts of an engine's ``about`` that have a table of their own."""


@dataclass(frozen=True, slots=True)
class Data:
    """The source and the ``terms`` of a benchmark's data.

    ``pin`` is the hash in its .dvc file, ``locked`` the revision in params.lock.yaml. ``redistribute`` is whether its
    files, and copies of its images, may be passed on.
    """

    benchmark: str
    source: Mapping[str, Any]
    pin: str | None
    locked: str | None
    terms: Mapping[str, Any]
    redistribute: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    """One model of the run.

    ``entry`` is its entry in params.yaml, and ``engines`` are the records of its engine by benchmark. ``locked`` is
    the revision in params.lock.yaml, if the replies have it.
    """

    name: str
    entry: Mapping[str, Any]
    engines: tuple[Mapping[str, Any], ...] = ()
    locked: str | None = None

    @property
    def scripted(self) -> bool:
        return self.entry.get("engine") == "respondent"

    @property
    def facts(self) -> Mapping[str, Any]:
        """Settings that can change a reply. They do not differ between benchmarks."""
        return self.engines[0].get("facts", {}) if self.engines else {}

    @property
    def about(self) -> dict[str, Any]:
        """Settings that cannot change a reply."""
        about = self.engines[0].get("about", {}) if self.engines else {}
        return {name: value for name, value in about.items() if name not in _COMPUTATIONS}


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What a run was made from, for the page of its provenance."""

    seeds: tuple[int, ...] = ()
    samples: Mapping[str, int] = field(default_factory=dict)
    statistics: Mapping[str, Any] = field(default_factory=dict)
    data: tuple[Data, ...] = ()
    models: tuple[Model, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None
    dirty: bool | None = None
    images: bool = True
    """Whether the question browser has copies of the images."""

    @property
    def restricted(self) -> list[str]:
        """The benchmarks whose images may not be passed on."""
        return [each.benchmark for each in self.data if not each.redistribute]


def describe_run(params: Params, *, results: Path, data: Path, root: Path) -> RunDescription:
    """Describe a run. Absent parts (no commit, no pin, no engine.json) are None.

    Raises DataError for an invalid pin or engine.json, and ConfigError for an invalid lock.
    """
    commit, dirty = provenance.git_state(root)
    locks = locked_commits.read(root / locked_commits.PATH)
    return RunDescription(
        seeds=tuple(params.seeds),
        samples={model: count for model in params.models if (count := params.samples(model)) > 1},
        statistics=params.statistics.plain(),
        data=tuple(_data(benchmark, params.data(benchmark), data, locks) for benchmark in params.benchmarks),
        models=tuple(_model(params, model, results, locks) for model in params.models),
        versions=provenance.package_versions(PACKAGES),
        commit=commit,
        dirty=dirty,
        images=params.report.images,
    )


def _data(benchmark: str, entry: DataEntry, data: Path, locks: Mapping[str, locked_commits.LockEntry]) -> Data:
    source = locked_commits.data_source(benchmark, entry)
    locked = locks.get(source.key) if source else None
    commits = ", ".join(str(locks[of.key].commit) for of in locked_commits.released_sources(entry) if of.key in locks)
    names = {"redistribute": "may be redistributed", "why": "reason"}
    words = {True: "yes", False: "no"}
    of_data = terms_of(benchmark, entry)
    terms = {
        names.get(name, name): words[value] if isinstance(value, bool) else value
        for name, value in of_data.as_dict().items()
    }
    pin = provenance.dvc_hash(data / "raw" / benchmark)
    revision = locked_commits.locked_revision(source, locked) if source and locked else commits or None
    source_of = entry.plain()
    if isinstance(entry, GitData | ReleasedData) and git.is_without_commit(data / "raw" / benchmark):
        source_of["fetched"] = "files of a folder without a commit; not compared with the repository"
    return Data(benchmark, source_of, pin, revision, terms, of_data.redistribute)


def _model(params: Params, model: str, results: Path, locks: Mapping[str, locked_commits.LockEntry]) -> Model:
    engines = []
    for benchmark in params.benchmarks:
        path = replies_table(results / "replies", model, benchmark).with_name("engine.json")
        if path.is_file():
            engines.append(json_files.read(path))
    source = locked_commits.model_source(params.model(model))
    locked = locks.get(source.key) if source else None
    has_commit = locked and engines and engines[0].get("facts", {}).get("revision") == locked.commit
    return Model(
        name=model,
        entry=params.model(model).plain(),
        engines=tuple(engines),
        locked=locked_commits.locked_revision(source, locked) if source and locked and has_commit else None,
    )


def usage(description: RunDescription) -> Table:
    """Return the table of turns, and of the replies, tokens, seconds and cost of each model over all benchmarks.

    Replies are distinct ones, of this or an earlier run. Columns without any number are left out.
    """
    columns = ("engine", "turns", "replies", "tokens in", "tokens out", "seconds", "US dollars")
    cells = [_usage(model) for model in description.models]
    kept = [i for i in range(len(columns)) if any(row[i].text != DASH for row in cells)]
    rows = [
        make_row(model.name, (row[i] for i in kept), "baseline" if model.scripted else "")
        for model, row in zip(description.models, cells, strict=True)
    ]
    return make_table("Use of each model", "Model", (columns[i] for i in kept), rows)


def _usage(model: Model) -> list[Cell]:
    engine = Cell("scripted" if model.scripted else str(model.entry.get("engine", DASH)), kind="plain")
    turns = _count(sum(record.get("turns", 0) for record in model.engines) if model.engines else None)
    records = [record["spent"] for record in model.engines if record.get("spent")]
    if not records or len(records) < len(model.engines):
        return [engine, turns, *[Cell(DASH, title="not recorded")] * 5]
    total = {
        name: sum(record[name] or 0 for record in records)
        for name in ("replies", "input_tokens", "output_tokens", "priced", "usd")
    }
    has_price = any(record["usd"] is not None for record in records)
    partly = f"of {total['priced']:,} replies" if has_price and total["priced"] < total["replies"] else ""
    return [
        engine,
        turns,
        _count(total["replies"]),
        _count(total["input_tokens"] or None),
        _count(total["output_tokens"] or None),
        Cell(f"{sum(record.get('reply_seconds', 0.0) for record in model.engines):,.0f}"),
        Cell(f"{total['usd']:,.4f}" if has_price else DASH, note=partly),
    ]


def _count(value: int | None) -> Cell:
    return Cell(DASH if value is None else f"{value:,}")


def computations(description: RunDescription, titles: Mapping[str, str]) -> Table | None:
    """Return how the replies of local weights were computed, or None without such replies.

    ``titles`` are those of the benchmarks.
    """
    level = description.statistics.get("confidence", 0.95)
    engines = [
        (model.name, engine)
        for model in description.models
        for engine in model.engines
        if engine.get("about", {}).get("sharing")
    ]
    columns = [
        "prefix cache",
        "prompts by plan",
        "largest difference from generate",
        "rejected plans",
        "answers that change at batch size 1",
    ]
    rendered_anew = any(engine["about"].get("rendering") for _, engine in engines)
    if rendered_anew:
        columns.append("prompts rendered in another way later")
    rows = []
    for name, engine in engines:
        cells = _computation(engine["about"], level)
        if rendered_anew:
            cells.append(Cell("; ".join(engine["about"].get("rendering", ())) or "none", kind="text"))
        rows.append(make_row((name, _title(engine, titles)), cells))
    caption = "Prompts of this run by plan, without replies of earlier runs"
    return make_table(caption, ("Model", "Benchmark"), columns, rows) if rows else None


def _title(record: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    benchmark = record.get("benchmark", "")
    return titles.get(benchmark, benchmark)


def _computation(about: Mapping[str, Any], confidence: float) -> list[Cell]:
    """Return the cells of the prefix cache. The largest difference is that of the plans in use."""
    sharing = about["sharing"]
    rejected = {entry["plan"]: entry["why"] for entry in sharing.get("fell_back", ())}
    plans = ", ".join(f"{plan} {number:,}" for plan, number in sharing.get("prompts", {}).items())
    used = [value for plan, value in sharing.get("differences", {}).items() if plan not in rejected]
    images = f"standard deviations, on {counted(sharing.get('checked_on_pictures', 0), 'image')}"
    return [
        Cell(sharing["asked"], kind="plain"),
        Cell(plans or DASH, kind="text"),
        Cell(f"{max(used):.1g}", note=images) if used else Cell("not checked"),
        Cell("; ".join(f"{plan}: {why}" for plan, why in rejected.items()) or "none", kind="text"),
        _changes(about.get("certificate"), confidence),
    ]


def _changes(certificate: Mapping[str, Any] | None, confidence: float) -> Cell:
    """Return the answers that changed when turns were asked again at batch size 1, and the widest gap of labels."""
    if not certificate or not certificate["compared"]:
        return Cell(DASH)
    share, n = certificate["rate"], certificate["compared"]
    gap = f"; widest gap {max(certificate['gaps']):.3f} nats" if certificate["gaps"] else ""
    bounds = interval(*wilson(share, n, confidence))
    return Cell(f"{certificate['flips']} of {n}", note=f"{percent(share)}% {bounds}, Wilson{gap}")

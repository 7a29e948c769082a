"""The headline numbers of an edition, and the files of the rule `summarise`: tables, and a record per model."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.caveats import caveat
from known_unknowns.benchmark.headline import HeadlineNumber
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.files import atomic_path, write_text
from known_unknowns.files.csv_cells import escape_row
from known_unknowns.metrics import dual, proportions, selective
from known_unknowns.metrics.dual import ANSWERABLE, DUAL, SEPARATOR, combinations
from known_unknowns.metrics.index import Lookup, MetricIndex, repeat_order
from known_unknowns.metrics.proportions import CONSTANT_ANSWER, RECOGNISED
from known_unknowns.metrics.unusable_replies import Unusable, unusable_of
from known_unknowns.records import OVERALL, Definition, Metric
from known_unknowns.variants.of_benchmark import content_free

if TYPE_CHECKING:
    from known_unknowns.config import Params

HEADLINE_PARSERS = ("official", "robust")
HEADLINE_METRICS = (
    "above_chance",
    CONSTANT_ANSWER,
    "accuracy_answered",
    "refusal_recall",
    "refusal_precision",
    *RECOGNISED,
    "share_abstained",
    "share_unparsed",
    "share_cut",
    "share_failed",
    ANSWERABLE,
    DUAL,
)
"""Headline metrics of a variant, besides the accuracy; a benchmark adds its own (`BenchmarkMetrics.headline`)."""
COLUMNS = (
    *("model", "benchmark", "number", "label", "metric", "variant", "parser", "value", "low", "high"),
    *("n", "denominator", "method", "unusable", "unusable_replies", "caveat"),
)
"""Columns of the leaderboard. ``n`` counts questions; the denominator of a ratio may be smaller. ``unusable`` is the
share of unusable replies to these questions."""
_DEFINITIONS = {**selective.DEFINITIONS, **dual.DEFINITIONS, **proportions.DEFINITIONS}
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class HeadlineValue:
    """A headline number of one model on one benchmark."""

    number: HeadlineNumber
    variant: str
    metric: Metric
    unusable: Unusable | None


def main_parser(parsers: Iterable[str]) -> str:
    """Return the parser of numbers that compare models: the robust one, else the first."""
    parsers = list(parsers)
    return "robust" if "robust" in parsers else parsers[0]


def numbers_of(params: Params, benchmark: str) -> list[tuple[HeadlineNumber, str]]:
    """Return the headline numbers that a benchmark declares and an edition asks for, in this order, with variants."""
    declared = registry.get(benchmark)
    names, free = params.variants(benchmark), content_free(params, benchmark)
    function = {name: params.variant(name).function for name in names}
    across = [each.name for each in declared.metrics().across_variants if set(each.variants) <= set(names)]
    pairs = [each.name for each in combinations(params, benchmark) if not free & set(each.variants)]
    found = []
    for number in declared.headline:
        known = pairs if number.metric in (ANSWERABLE, DUAL) else [name for name in names if name not in free]
        if number.variants:
            known = [
                variant
                for wanted in number.variants
                for variant in sorted((*names, *across), key=lambda name: name != wanted)  # the name before functions
                if wanted in (variant, function.get(variant)) and (variant not in free or number.metric in RECOGNISED)
            ]
        found += [(number, known[0])] if known else []
    return found


def definition_of(number: HeadlineNumber) -> Definition | None:
    """Return what a headline number is: as it is declared, or else as its metric is defined; None without any."""
    return number.definition or _DEFINITIONS.get(number.metric)


def main_variant(params: Params, benchmark: str) -> str:
    """Return the variant of the number that ranks models, of a pair the first; "" without such a number."""
    ranking = next((variant for number, variant in numbers_of(params, benchmark) if number.ranks), "")
    return ranking.split(SEPARATOR)[0]


def headline_of(params: Params, benchmark: str, lookup: Lookup) -> list[HeadlineValue]:
    """Return the measured headline numbers of a model, the primary one first.

    They are those of the main parser, or of the first parser that has the metric.
    """
    found = []
    for number, variant in numbers_of(params, benchmark):
        of_parsers = (lookup(variant, p, number.metric) for p in (main_parser(params.parsers), *params.parsers))
        metric = next((metric for metric in of_parsers if metric is not None), None)
        if metric is not None:
            unusable = unusable_of(params, benchmark, lookup, variant, main_parser(params.parsers))
            found.append(HeadlineValue(number, variant, metric, unusable))
    return found


def lookup_in(metrics: Iterable[Metric]) -> Lookup:
    """Return the lookup in metrics over all questions, one row each."""
    found = {(m.variant, m.parser, m.name): m for m in metrics}
    return lambda *key: found.get(key)


def leaderboard_rows(params: Params, model: str, benchmark: str, metrics: Iterable[Metric]) -> list[dict[str, Any]]:
    """Return the rows of the leaderboard of a model and a benchmark, with the values of `COLUMNS`.

    ``metrics`` are those over all questions, one row each. There is a row for each headline number.
    """
    rows = []
    for each in headline_of(params, benchmark, lookup_in(metrics)):
        number, metric, unusable = each.number, each.metric, each.unusable
        values: tuple[Any, ...] = (
            *(model, benchmark, number.name, number.label, number.metric, each.variant, metric.parser),
            *(*map(rounded, (metric.value, metric.low, metric.high)), metric.n),
            *(rounded(metric.denominator), metric.method),
            *((rounded(unusable.share), unusable.replies) if unusable else (None, None)),
            caveat(params),
        )
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def by_benchmark(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Return the values of a model's rows of the leaderboard, and the share of unusable replies of its primary one."""
    found: dict[str, dict[str, float | None]] = {}
    for row in rows:
        found.setdefault(row["benchmark"], {})[row["number"]] = row["value"]
    shares = {row["benchmark"]: row["unusable"] for row in reversed(rows)}
    return {benchmark: values | {"unusable": shares[benchmark]} for benchmark, values in found.items()}


def read_leaderboard(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a leaderboard in CSV. An empty cell is None."""
    with path.open(newline="", encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [
            {name: value or None for name, value in row.items()} for row in csv.DictReader(lines)
        ]
    kinds = dict.fromkeys(("value", "low", "high", "unusable"), float) | dict.fromkeys(("n", "unusable_replies"), int)
    return [row | {name: kind(row[name]) for name, kind in kinds.items() if row.get(name)} for row in rows]


def shows(metric: Metric, free: Collection[str]) -> bool:
    """Return whether a summary shows a metric: of variants without content, only the share that recognised it."""
    return metric.name in RECOGNISED or not set(free) & set(metric.variant.split(SEPARATOR))


def variant_headline(metrics: Iterable[Metric], parser: str, free: Collection[str]) -> dict[str, Metric]:
    """Return the headline metrics of one variant by name; ``metrics`` are those over all questions, one row each.

    Those of ``parser`` have names without a prefix (``accuracy``). Of the other parsers, only the accuracy is returned
    (``likelihood.accuracy``), and of those of `HEADLINE_PARSERS` the benchmark's own headline metrics.
    """
    found, general = {}, set(HEADLINE_METRICS)
    for m in metrics:
        names = set(_headline_metrics(m.benchmark))
        if not shows(m, free):
            continue
        if m.parser == parser and m.name in names:
            found[m.name] = m
        elif m.parser != parser and m.name in ({"accuracy"} if m.parser not in HEADLINE_PARSERS else names - general):
            found[f"{m.parser}.{m.name}"] = m
    return found


def _headline_metrics(benchmark: str) -> tuple[str, ...]:
    declared = registry.get(benchmark)
    own = (*declared.metrics().headline, *(number.metric for number in declared.headline))
    return tuple(dict.fromkeys(["accuracy", *HEADLINE_METRICS, *own]))


def rounded(value: Any) -> Any:
    """Return a number of a summary with six digits; other values as they are."""
    return round(value, _DIGITS) if isinstance(value, float) else value


def summarise(
    params: Params,
    metrics: Sequence[Path],
    *,
    out: Path,
    plot: Path,
    leaderboard_table: Path,
    models: Path,
) -> None:
    """Write the summaries of all metrics. An undefined number is an empty cell of a CSV and null in JSON.

    Parameters
    ----------
    params : Params
        The configuration.
    metrics : sequence of Path
        Tables of metrics (Parquet), one per model and benchmark.
    out : Path
        JSON with a short record per model: the numbers of the leaderboard by benchmark.
    plot : Path
        CSV of the benchmarks and their stress tests.
    leaderboard_table : Path
        CSV of the leaderboard, one row per model, benchmark and headline number, the primary one first.
    models : Path
        Folder for the record of each model, <model>.json, for ``dvc metrics``. Records of other models are removed.
    """
    chosen: list[Metric] = []
    rows: list[dict[str, Any]] = []
    for path in metrics:
        of_path = [metric for metric in MetricIndex(tables.read_metrics(path)) if metric.category == OVERALL]
        if of_path:
            rows += leaderboard_rows(params, of_path[0].model, of_path[0].benchmark, of_path)
        chosen += of_path
    chosen.sort(key=_order)
    rows.sort(key=lambda row: (row["benchmark"], row["model"]))
    write_text(leaderboard_table, _csv(COLUMNS, rows))
    of_model = {metric.model: [row for row in rows if row["model"] == metric.model] for metric in chosen}
    records = {model: by_benchmark(own) for model, own in of_model.items()}
    write_text(out, _json(records))
    for model, record in records.items():
        write_text(models / f"{model}.json", _json(record))
    _remove_other_records(models, records)
    write_text(plot, _plot(chosen))


def _remove_other_records(folder: Path, models: Collection[str]) -> None:
    """Remove the records of models that were removed from the edition, which ``dvc metrics`` would show as current.

    A record has benchmarks as its keys. Other files are kept.
    """
    for path in folder.glob("*.json"):
        if path.stem not in models:
            with suppress(ValueError):
                record = json.loads(path.read_text(encoding="utf-8"))
                if isinstance(record, dict) and record.keys() <= set(registry.names()):
                    path.unlink()


def write_all_metrics(metrics: Sequence[Path], out: Path, *, chosen: Mapping[str, str]) -> int:
    """Write the rows of tables of metrics as one CSV, and return their number.

    ``chosen`` has columns and the value that their rows must have. It is a ConfigError if no row has these values; the
    file is not written then.
    """
    count = 0
    with atomic_path(out) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, tables.METRICS.names, lineterminator="\n")
        writer.writeheader()
        for path in metrics:
            rows = sorted(tables.read_metrics(path, chosen), key=_order)
            writer.writerows(escape_row(asdict(metric)) for metric in rows)  # None is written as an empty cell
            count += len(rows)
        if chosen and not count:
            raise _no_rows(metrics, chosen)
    return count


def _no_rows(metrics: Sequence[Path], chosen: Mapping[str, str]) -> ConfigError:
    """Return the error for values that no row has: the first unknown one, or that they do not occur together."""
    for name, value in chosen.items():
        known: set[str] = set()
        for path in metrics:
            known.update(tables.read_columns(path, tables.METRICS, [name])[name].unique().to_pylist())
        if value not in known:
            return ConfigError(unknown_name(value, known), path=f"--{name}")
    return ConfigError("no metric has all these values: " + ", ".join(chosen.values()))


def _plot(metrics: Sequence[Metric]) -> str:
    """Return the CSV of the benchmarks and their stress tests, a row for each benchmark and model."""
    columns: dict[str, tuple[str, str, str]] = {}
    for benchmark in dict.fromkeys(metric.benchmark for metric in metrics):
        columns |= registry.get(benchmark).plot
    column_of = {source: column for column, source in columns.items()}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for metric in metrics:
        if column := column_of.get((metric.variant, metric.parser, metric.name)):
            blank = {"benchmark": metric.benchmark, "model": metric.model}
            rows.setdefault((metric.benchmark, metric.model), blank)[column] = rounded(metric.value)
    return _csv(("benchmark", "model", *columns), rows.values())


def _order(metric: Metric) -> tuple[Any, ...]:
    """Sort key: every key column; Overall before the categories, means before single seeds."""
    return (
        metric.model,
        metric.benchmark,
        metric.variant,
        metric.parser,
        metric.category != OVERALL,
        metric.category,
        metric.name,
        *repeat_order(metric),
    )


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(escape_row, rows))  # None is written as an empty cell
    return text.getvalue()


def _json(records: Mapping[str, Any]) -> str:
    return json.dumps(records, indent=2, sort_keys=True, allow_nan=False) + "\n"

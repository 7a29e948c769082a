"""The page on confidence: whether a model knows which of its answers are wrong. Tables, figures and a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from known_unknowns.benchmark.metrics import RiskCoverage
from known_unknowns.edition_files import EditionFiles
from known_unknowns.metrics import dual
from known_unknowns.metrics.confidence import BINS, HIGH_BOUND, LOW_BOUND, binned
from known_unknowns.metrics.confidence_sources import COLUMNS, KNOWN, OPTION_TEXT_SUM, PARSER
from known_unknowns.metrics.selective import risks
from known_unknowns.records import Metric
from known_unknowns.report import charts
from known_unknowns.report.charts import Axis
from known_unknowns.report.drawing import Figure, figure
from known_unknowns.report.formatting import (
    DASH,
    Cell,
    Head,
    Row,
    Table,
    bounds_cell,
    counted,
    make_row,
    make_table,
    metric_cell,
)
from known_unknowns.report.tables import Run
from known_unknowns.report.tables import confidence as level
from known_unknowns.scoring.confidence import REFUSAL
from known_unknowns.scoring.confidence import SOURCES as SOURCES
from known_unknowns.tables import CONFIDENCES
from known_unknowns.tables.parquet import CELL, read_columns

AUROC = "auroc"
_METRICS = {
    AUROC: Head("AUROC", verbatim=True),
    "ece": Head("calibration error", note=f"ECE, {BINS} bins"),
    "overconfidence": Head("overconfidence", note="confidence less accuracy"),
    "brier": Head("Brier score"),
    "excess_aurc": Head("excess AURC", verbatim=True, note="above the best order"),
    "accuracy_at_80": Head("right at 80%", note="of the attempts"),
    "accuracy_at_50": Head("right at 50%", note="of the attempts"),
}
_REFUSALS = {
    "selective_gain": Head("selective gain", note="above refusing at random"),
    "abstention_precision": Head("refusals right", note="would be wrong"),
    "abstention_recall": Head("wrong ones refused"),
    AUROC: Head("AUROC of refusing", verbatim=True),
}
_SCHEMA = pa.schema([*CELL, *CONFIDENCES])
_BEST = "best possible order"
_COVERAGES = np.arange(1, 101) / 100


def source_name(source: str) -> str:
    """Return a source in words.

    Examples
    --------
    >>> source_name("option_text_sum")
    'option text (sum)'
    """
    return source.replace("_", " ").replace(" sum", " (sum)")


@dataclass(frozen=True)
class PageContent:
    """What the page shows of one benchmark. ``absent`` has the sources that no model has, by the reason."""

    table: Table | None
    refusals: Refusals
    figures: Sequence[Figure]
    absent: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Refusals:
    """The table of the models' own refusals, or the reason why there is none.

    ``has_unknown`` says whether any refused question has no known answer, so that numbers are bounds.
    """

    table: Table | None = None
    absent: str = ""
    has_unknown: bool = False


@dataclass(frozen=True)
class ModelSource:
    """A model's confidences from one source: the variant that they are of, and their AUROC."""

    model: str
    source: str
    variant: str
    auroc: Metric | None


def build(run: Run, *, data: Path, results: Path) -> PageContent:
    """Return what the page shows of a benchmark. Raises DataError for an invalid table of confidences."""
    known = [each for each in sources_of(run) if each.variant]
    absent: dict[str, list[str]] = {}
    for source in sorted(set(COLUMNS[:-1]) - {each.source for each in known}, key=COLUMNS.index):
        rows = (run.get(model, v, PARSER, f"{KNOWN}.{source}") for v in _variants(run)[:1] for model in _asked(run))
        reason = next((metric.method for metric in rows if metric), "nothing was measured")
        absent.setdefault(reason.removeprefix("undefined: "), []).append(source_name(source))
    attempts = _attempts(run, known, EditionFiles(data, results))
    return PageContent(_table(run, known), _refusals(run), _figures(run, attempts), absent)


def _asked(run: Run) -> list[str]:
    """The models, the scripted baselines last."""
    return sorted(run.models, key=lambda model: model in run.baselines)


def sources_of(run: Run) -> Iterator[ModelSource]:
    """Yield every model with every source: of the first variant with unchanged questions that has it, else of none."""
    variants = _variants(run)
    for model in run.models:
        for source in COLUMNS[:-1]:
            variant = next((v for v in variants if _is_known(run, model, source, v)), "")
            yield ModelSource(model, source, variant, run.get(model, variant, PARSER, f"{AUROC}.{source}"))


def _variants(run: Run) -> list[str]:
    """The variants that keep the content of the questions: those with the most sources first, then of the headline."""
    functions = {v: run.params.variant(v).function for v in run.variants}
    kept = [v for v in run.variants if functions[v] in dual.AS_PUBLISHED]
    number = {v: sum(_is_known(run, m, s, v) for m in run.models for s in COLUMNS[:-1]) for v in kept}
    return sorted(kept, key=lambda variant: (-number[variant], variant not in run.headline))


def _is_known(run: Run, model: str, source: str, variant: str) -> bool:
    metric = run.get(model, variant, PARSER, f"{KNOWN}.{source}")
    return metric is not None and metric.value is not None


def _table(run: Run, known: Sequence[ModelSource]) -> Table | None:
    """The metrics of every model and source, the highest AUROC first, baselines last."""

    def order(each: ModelSource) -> tuple[bool, bool, float]:
        value = each.auroc.value if each.auroc else None
        return each.model in run.baselines, value is None, -(value or 0.0)

    rows = []
    for each in sorted(known, key=order):
        metrics = [run.get(each.model, each.variant, PARSER, f"{name}.{each.source}") for name in _METRICS]
        count = next((m.n for m in metrics if m is not None), None)
        cells = [replace(metric_cell(m), n=None, denominator="", kind="number stacked") for m in metrics]
        head = Head(source_name(each.source), note=run.section.name(each.variant))
        cells.insert(0, Cell(DASH if count is None else f"{count:,}", kind="plain"))
        rows.append(make_row((each.model, head), cells, _kind(run, each.model)))
    caption = f"{run.section.title}: confidence and correctness of the attempts, in percent with {level(run)} intervals"
    caption += ", sorted by AUROC"
    return make_table(caption, ("Model", "Source"), [Head("attempts"), *_METRICS.values()], rows) if rows else None


def _refusals(run: Run) -> Refusals:
    """What the models' own refusals gain, the largest gain first."""
    variant = next(iter(_variants(run)), "")
    rows: list[tuple[float, Row]] = []
    absent, unknown = "", 0
    for model in run.models:
        known = run.get(model, variant, PARSER, f"{KNOWN}.{REFUSAL}")
        if known is None:
            continue
        if known.denominator is None:
            absent = known.method.removeprefix("undefined: ")
            continue
        bounds = [
            [run.get(model, variant, PARSER, f"{name}{bound}.{REFUSAL}") for bound in (LOW_BOUND, HIGH_BOUND)]
            for name in _REFUSALS
        ]
        missing = round((1 - (known.value or 0.0)) * known.denominator)
        unknown += missing
        cells = [Cell(f"{missing:,} of {known.denominator:,.0f}", kind="plain")]
        cells += [replace(bounds_cell(*pair), kind="number stacked") for pair in bounds]
        gain = bounds[0][0]
        order = -1.0 if gain is None or gain.value is None else gain.value
        rows.append((order, make_row(model, cells, _kind(run, model))))
    rows.sort(key=lambda row: (bool(row[1].kind), -row[0]))
    caption = f"{run.section.title}: the models' own refusals ({run.section.name(variant)}), in percent with "
    caption += f"{level(run)} intervals"
    columns = [Head("answer not known", note="refusals"), *_REFUSALS.values()]
    table = make_table(caption, "Model", columns, (row for _, row in rows), moves_n=True)
    return Refusals(table, has_unknown=unknown > 0) if rows else Refusals(absent=absent)


def _kind(run: Run, model: str) -> str:
    """The class of a model's row."""
    return "baseline" if model in run.baselines else ""


@dataclass(frozen=True)
class _Attempts:
    """Attempts with a known confidence, over all seeds, and the number of all replies."""

    confidence: np.ndarray
    correct: np.ndarray
    asked: int
    refused: int


def _attempts(run: Run, known: Sequence[ModelSource], files: EditionFiles) -> dict[ModelSource, _Attempts]:
    """The attempts of every model that is no baseline, or of the baselines. At least as many as there are bins."""
    shown = [each for each in known if each.model not in run.baselines and each.source != OPTION_TEXT_SUM]
    read = {}
    for each in shown or known:
        path = files.confidence(each.model, run.benchmark)
        if path.is_file():
            names = ["variant", "attempted", "correct", REFUSAL, each.source]
            columns = read_columns(path, _SCHEMA, names)
            rows = columns.to_pandas()
            rows = rows[rows.variant == each.variant]
            attempts = rows[rows.attempted & rows[each.source].notna()]
            confidence, correct = attempts[each.source].to_numpy(float), attempts.correct.to_numpy(bool)
            read[each] = _Attempts(confidence, correct, len(rows), int((rows[REFUSAL] == 0).sum()))
    return {each: attempts for each, attempts in read.items() if len(attempts.confidence) >= BINS}


def _figures(run: Run, attempts: Mapping[ModelSource, _Attempts]) -> list[Figure]:
    if not attempts:
        return []
    return [_reliability(run, attempts), _risk_coverage(run, attempts)]


def _reliability(run: Run, attempts: Mapping[ModelSource, _Attempts]) -> Figure:
    """Draw the accuracy of the attempts in bins of their confidence."""
    points, rows = [], []
    for each, of in attempts.items():
        bins, _ = binned(of.confidence, of.correct)
        name = source_name(each.source)
        for size, confidence, accuracy in zip(*(values.tolist() for values in bins), strict=True):
            hover = f"{each.model}, {name}: confidence {100 * confidence:.1f}, right {100 * accuracy:.1f}, n = {size:,}"
            place = {"x": 100 * confidence, "y": 100 * accuracy, "hover": hover}
            points.append(place | {"facet": each.model, "series": name})
            cells = [Cell(f"{value:.1f}") for value in (100 * confidence, 100 * accuracy)]
            rows.append(make_row((each.model, name), [Cell(f"{size:,}", kind="plain"), *cells]))
    axes = Axis("confidence (%)"), Axis("right (%)")
    chart = charts.curves(points, *axes, facets=_models(attempts), series=_series(attempts), diagonal=True, dots=True)
    title = f"{run.section.title}: reliability"
    note = (
        f"Up to {BINS} bins with equally many attempts. On the dashed line, confidence and accuracy are equal; below "
        "it, the model is overconfident."
    )
    alt_text = (
        f"Reliability diagrams of {counted(len(_models(attempts)), 'model')}: accuracy against mean confidence of each "
        "bin, one line for each source. The table below has the numbers."
    )
    table = make_table(f"{title}, in percent", ("Model", "Source"), ["attempts", "confidence", "right"], rows)
    return figure(f"{run.benchmark}_reliability", title, chart, alt_text, note=note, table=table, caveat=run.caveat)


def _risk_coverage(run: Run, attempts: Mapping[ModelSource, _Attempts]) -> Figure:
    """Draw the risk at each coverage, in the order of each source, and the point at which the model operates."""
    points, best, ends = [], {}, []
    for each, of in attempts.items():
        wrong = 1.0 - of.correct
        share = len(wrong) / of.asked
        points += _curve(each.model, source_name(each.source), RiskCoverage(of.confidence, wrong), share)
        known = best.get(each.model)
        if known is None or len(known[0]) < len(wrong):
            best[each.model] = wrong, share
    for model, (wrong, share) in best.items():
        points += _curve(model, _BEST, RiskCoverage(-wrong, wrong), share)
        hover = f"{model} answers {100 * share:.1f}, wrong among them {100 * wrong.mean():.1f}"
        ends.append({"facet": model, "x": 100 * share, "y": 100 * wrong.mean(), "hover": hover})
    highest = max(20.0, 20.0 * np.ceil(max(point["y"] for point in points) / 20))
    axes = Axis("coverage: questions answered (%)"), Axis("risk: wrong among them (%)", 0, highest)
    series = [*_series(attempts), _BEST]
    chart = charts.curves(points, *axes, facets=_models(attempts), series=series, ends=ends, grey=_BEST)
    title = f"{run.section.title}: risk against coverage"
    note = (
        "Attempts in the order of falling confidence. A lower curve is better. The dot is the model as it is: it "
        "refuses, abstains or gives no answer to the rest."
    )
    alt_text = (
        f"Curves for {counted(len(_models(attempts)), 'model')}: the percentage of wrong answers among the share of "
        "questions answered, one curve for each source of confidence. The table above has the areas and two points of "
        "each curve."
    )
    return figure(f"{run.benchmark}_risk_coverage", title, chart, alt_text, note=note, caveat=run.caveat)


def _curve(model: str, series: str, curve: RiskCoverage, share: float) -> list[dict[str, float | str]]:
    at = _COVERAGES[_COVERAGES * len(curve.wrong) >= 1]
    found = zip(100 * share * at, 100 * risks(curve, at), strict=True)
    return [
        {"facet": model, "series": series, "x": x, "y": y, "hover": f"{series}: {y:.1f} at {x:.1f}"} for x, y in found
    ]


def _models(attempts: Mapping[ModelSource, _Attempts]) -> list[str]:
    return list(dict.fromkeys(each.model for each in attempts))


def _series(attempts: Mapping[ModelSource, _Attempts]) -> list[str]:
    present = {each.source for each in attempts}
    return [source_name(source) for source in COLUMNS if source in present]


def column(runs: Sequence[Run], models: Sequence[str]) -> tuple[Head, list[Cell]] | None:
    """Return the column of the first page's matrix: the AUROC of one source on one benchmark; None if there is none.

    It is the source and benchmark that most models have, of several the first, so that the column compares models.
    """
    known = {
        (each.model, run.benchmark, each.source): each
        for run in runs
        for each in sources_of(run)
        if _value(each) is not None
    }
    counts = {(run.benchmark, s): sum((m, run.benchmark, s) in known for m in models) for run in runs for s in SOURCES}
    (benchmark, source), count = max(counts.items(), key=lambda item: item[1], default=(("", ""), 0))
    if not count:
        return None
    (title,) = (run.section.title for run in runs if run.benchmark == benchmark)
    cells = []
    for model in models:
        each = known.get((model, benchmark, source))
        cell = metric_cell(each.auroc if each else None)
        cells.append(
            replace(cell, kind="number stacked", denominator="", link=f"confidence.html#{benchmark}" if each else "")
        )
    return Head("AUROC of confidence", note=f"{source_name(source)}, {title}", verbatim=True), cells


def _value(each: ModelSource) -> float | None:
    return each.auroc.value if each.auroc else None

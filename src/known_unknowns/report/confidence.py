"""The page on confidence: whether a model knows which of its answers are wrong. Sentences, tables and a column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scipy.stats import norm

from known_unknowns.config import Params, RespondentModel
from known_unknowns.edition_files import EditionFiles
from known_unknowns.metrics import dual
from known_unknowns.metrics.confidence import BINS, DEFINITIONS, HIGH_BOUND, LOW_BOUND, REFUSAL_DEFINITIONS
from known_unknowns.metrics.paired import holm
from known_unknowns.metrics.run import Run
from known_unknowns.metrics.summary import main_variant
from known_unknowns.records import Metric
from known_unknowns.report import confidence_figures
from known_unknowns.report.confidence_figures import LEAST_DRAWN, ModelSource, source_name
from known_unknowns.report.drawing import Figure
from known_unknowns.report.formatting import (
    DASH,
    Cell,
    Head,
    Row,
    Table,
    bounds_cell,
    interval,
    make_row,
    make_table,
    metric_cell,
    percent,
)
from known_unknowns.report.tables import confidence as level
from known_unknowns.tables.confidence_sources import (
    COLUMNS,
    FOLLOWS,
    FOLLOWS_TEXT,
    KNOWN,
    LETTERS,
    OPTION_TEXT,
    PARSER,
    REFUSAL,
    SOURCES,
    VERBALISED,
    left_out_text,
)

AUROC, OVERCONFIDENCE = "auroc", "overconfidence"
_FEWEST = 20
"""Attempts below which a sentence gives their number only."""
CHANCE = 0.5
"""The AUROC of confidences that say nothing."""
_NULL = ((AUROC, CHANCE), (OVERCONFIDENCE, 0.0))
"""What the sentences test, and the values without a difference."""
Corrected = Mapping[tuple[str, str, str, str], float]
"""Corrected p-values by benchmark, model, variant and metric."""
STATED_BY_BASELINES = (OPTION_TEXT, LETTERS, VERBALISED)
"""Sources that give the confidence with which a scripted respondent of known calibration answers."""
CALIBRATED_BASELINES = ("calibrated", "overconfident", "uninformative")
"""Behaviours with a confidence of their own. That of other baselines is a constant and says nothing."""
_METRICS = {
    AUROC: Head("AUROC", verbatim=True, definition=DEFINITIONS[AUROC]),
    "ece": Head("calibration error", note=f"ECE, {BINS} bins", definition=DEFINITIONS["ece"]),
    OVERCONFIDENCE: Head("overconfidence", note="confidence less accuracy", definition=DEFINITIONS[OVERCONFIDENCE]),
    "excess_aurc": Head(
        "excess AURC", verbatim=True, note="above the best order", definition=DEFINITIONS["excess_aurc"]
    ),
    "accuracy_at_80": Head("right at 80%", note="of the attempts", definition=DEFINITIONS["accuracy_at_80"]),
}
_REFUSALS = {
    "selective_gain": Head(
        "selective gain", note="above refusing at random", definition=REFUSAL_DEFINITIONS["selective_gain"]
    ),
    "abstention_recall": Head("wrong ones refused", definition=REFUSAL_DEFINITIONS["abstention_recall"]),
    AUROC: Head("AUROC of refusing", verbatim=True, definition=REFUSAL_DEFINITIONS[AUROC]),
}


@dataclass(frozen=True)
class PageContent:
    """What the page shows of one benchmark.

    ``answers`` has a sentence for each model, by source, and whether the model is a baseline. ``not_drawn`` says which
    models have too few attempts for a figure. ``absent`` has the sources that no model has, by the reason.
    """

    answers: Mapping[str, Sequence[tuple[str, bool]]]
    table: Table | None
    refusals: Refusals
    figures: Sequence[Figure]
    not_drawn: str
    absent: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Refusals:
    """The table of the models' own refusals, or the reason why there is none.

    ``has_unknown`` says whether any refused question has no known answer, so that numbers are bounds.
    """

    table: Table | None = None
    absent: str = ""
    has_unknown: bool = False


def build(run: Run, *, data: Path, results: Path, corrected: Corrected) -> PageContent:
    """Return what the page shows of a benchmark. Raises DataError for an invalid table of answers.

    ``corrected`` are the p-values of all sentences of the page (`corrected_tests`).
    """
    known = [each for each in sources_of(run) if each.variant]
    absent: dict[str, list[str]] = {}
    for source in sorted(set(COLUMNS[:-1]) - {each.source for each in known}, key=COLUMNS.index):
        rows = (run.get(model, v, PARSER, f"{KNOWN}.{source}") for v in _variants(run)[:1] for model in _asked(run))
        reason = next((metric.reason for metric in rows if metric and metric.reason), "nothing was measured")
        absent.setdefault(reason, []).append(source_name(source))
    known.sort(key=lambda each: _order(run, each))
    drawn, few = confidence_figures.draw(run, known, EditionFiles(data, results))
    return PageContent(
        _answers(run, known, corrected), _table(run, known), _refusals(run), drawn, _not_drawn(few), absent
    )


def _order(run: Run, each: ModelSource) -> tuple[int, bool, bool, float]:
    """The order of sentences and rows: by source, models before baselines, the highest AUROC first."""
    value = each.auroc.value if each.auroc else None
    return COLUMNS.index(each.source), each.model in run.baselines, value is None, -(value or 0.0)


def corrected_tests(runs: Sequence[Run]) -> Corrected:
    """Return the p-values of all statements that the page's sentences make, corrected by Holm's method.

    Each is that of the interval: the level at which an interval of this kind would end at the value without a
    difference.
    """
    p_values: dict[tuple[str, str, str, str], float] = {}
    for run in runs:
        for each in sources_of(run):
            metrics = [
                (run.get(each.model, each.variant, PARSER, f"{name}.{each.source}"), null) for name, null in _NULL
            ]
            for metric, null in metrics:
                if metric is not None and metric.n >= _FEWEST:
                    p_values[_key(metric)] = _p_value(metric, null, run.confidence)
    return dict(zip(p_values, holm(list(p_values.values())).tolist(), strict=True))


def _key(metric: Metric) -> tuple[str, str, str, str]:
    return metric.benchmark, metric.model, metric.variant, metric.name


def _p_value(metric: Metric, null: float, confidence: float) -> float:
    """The two-sided p-value of a metric, from the side of its interval towards ``null``; NaN without an interval."""
    if metric.value is None or metric.low is None or metric.high is None:
        return float("nan")
    width = metric.value - metric.low if metric.value > null else metric.high - metric.value
    if width <= 0:
        return 1.0 if metric.value == null else 0.0
    deviations = norm.isf((1 - confidence) / 2) * abs(metric.value - null) / width
    return float(2 * norm.sf(deviations))


def _answers(run: Run, known: Sequence[ModelSource], corrected: Corrected) -> dict[str, list[tuple[str, bool]]]:
    """A sentence for each model, by source and variant."""
    answers: dict[str, list[tuple[str, bool]]] = {}
    for each in known:
        source = "Verbalised" if each.source == VERBALISED else f"By {source_name(each.source)}"
        heading = f"{source}, {run.section.name(each.variant)}"
        answers.setdefault(heading, []).append((sentence(run, each, corrected), each.model in run.baselines))
    return answers


def sentence(run: Run, each: ModelSource, corrected: Corrected) -> str:
    """Return whether a model's confidences say which answers are wrong, and whether they are too high.

    A difference is stated if its p-value, corrected for all statements of the page, is at most the significance level.
    """
    level = 1 - run.confidence
    confidence = run.get(each.model, each.variant, PARSER, f"{OVERCONFIDENCE}.{each.source}")
    count = confidence or each.auroc
    if count is not None and count.n < _FEWEST:
        left_out = _left_out(run, each)
        note = f"; {left_out_text(left_out, left_out + count.n)}" if left_out else ""
        return f"{each.model}: too few attempts with a confidence (n = {count.n:,}{note})."
    differs = [metric is not None and corrected.get(_key(metric), 1.0) <= level for metric in (each.auroc, confidence)]
    parts = [_order_clause(each.auroc, differs[0]), _level_clause(confidence, differs[1])]
    if count is None:
        return f"{each.model}: {'; '.join(filter(None, parts))}."
    left_out = _left_out(run, each)
    note = f"; {left_out_text(left_out, left_out + count.n)}" if left_out else ""
    return f"{each.model}: {'; '.join(filter(None, parts))} (n = {count.n:,}{note})."


def _left_out(run: Run, each: ModelSource) -> int:
    """The number of attempts whose label follows other text."""
    share = run.get(each.model, each.variant, PARSER, f"{FOLLOWS}.{each.source}")
    return 0 if share is None else round((share.value or 0.0) * (share.denominator or 0.0))


def calibrated_baselines(params: Params) -> list[str]:
    """Return the baselines of known calibration."""
    entries = {name: params.model(name) for name in params.models}
    return [
        name
        for name, entry in entries.items()
        if isinstance(entry, RespondentModel) and entry.behaviour in CALIBRATED_BASELINES
    ]


def _order_clause(auroc: Metric | None, differs: bool) -> str:
    if auroc is None:
        return "no AUROC was measured"
    if auroc.value is None:
        return f"no AUROC, because {auroc.reason}"
    text = f"AUROC {percent(auroc.value)} {interval(auroc.low, auroc.high)}".rstrip()
    if auroc.low is None or auroc.high is None:
        return text
    if differs:
        return f"{text}, {'better' if auroc.value > CHANCE else 'worse'} than chance"
    return f"{text}, cannot be distinguished from chance"


def _level_clause(overconfidence: Metric | None, differs: bool) -> str:
    if overconfidence is None or overconfidence.value is None:
        return ""
    value, low, high = overconfidence.value, overconfidence.low, overconfidence.high
    if low is None or high is None:
        return f"confidence less accuracy {percent(value, signed=True)} points"
    if differs and value > 0:
        return f"overconfident by {percent(value)} {interval(low, high)} points"
    if differs:
        return f"underconfident by {percent(-value)} {interval(-high, -low)} points"
    bounds = interval(low, high, signed=True)
    return f"confidence and accuracy cannot be distinguished ({percent(value, signed=True)} {bounds} points)"


def _not_drawn(few: Mapping[ModelSource, int]) -> str:
    """Name the models and sources with attempts at fewer questions than a figure needs."""
    if not few:
        return ""
    named = [f"{each.model} by {source_name(each.source)} ({questions:,})" for each, questions in few.items()]
    return (
        f"Not drawn: {', '.join(named)}. With attempts at fewer than {LEAST_DRAWN} questions, the distance of a "
        "calibrated model's bins from the diagonal is mostly chance."
    )


def _asked(run: Run) -> list[str]:
    """The models, the scripted baselines last."""
    return sorted(run.models, key=lambda model: model in run.baselines)


def sources_of(run: Run) -> Iterator[ModelSource]:
    """Yield every model with every source: of the first variant with unchanged questions that has it, else of none."""
    variants = _variants(run)
    for model in run.models:
        for source in _sources(run, model):
            variant = next((v for v in variants if _is_known(run, model, source, v)), "")
            yield ModelSource(model, source, variant, run.get(model, variant, PARSER, f"{AUROC}.{source}"))


def _sources(run: Run, model: str) -> Sequence[str]:
    """The sources of a model; of a baseline, those that give a confidence of its own."""
    if model not in run.baselines:
        return COLUMNS[:-1]
    entry = run.params.model(model)
    is_calibrated = isinstance(entry, RespondentModel) and entry.behaviour in CALIBRATED_BASELINES
    return STATED_BY_BASELINES if is_calibrated else ()


def _variants(run: Run) -> list[str]:
    """The variants that keep the content of the questions: that of the headline numbers first, then by sources."""
    main = main_variant(run.params, run.benchmark)
    functions = {v: run.params.variant(v).function for v in run.variants}
    kept = [v for v in run.variants if functions[v] in dual.AS_PUBLISHED]
    number = {v: sum(_is_known(run, m, s, v) for m in run.models for s in _sources(run, m)) for v in kept}
    return sorted(kept, key=lambda name: (name != main, -number[name], name not in run.headline))


def _is_known(run: Run, model: str, source: str, variant: str) -> bool:
    metric = run.get(model, variant, PARSER, f"{KNOWN}.{source}")
    return metric is not None and metric.value is not None


def _table(run: Run, known: Sequence[ModelSource]) -> Table | None:
    """The metrics of every model and source."""
    rows = []
    for each in known:
        metrics = [run.get(each.model, each.variant, PARSER, f"{name}.{each.source}") for name in _METRICS]
        count = next((m.n for m in metrics if m is not None), None)
        cells = [replace(metric_cell(m), n=None, denominator="", kind="number stacked") for m in metrics]
        head = Head(source_name(each.source), note=run.section.name(each.variant))
        left_out = _left_out(run, each)
        note = f"{left_out:,} left out: {FOLLOWS_TEXT}" if left_out else ""
        cells.insert(0, Cell(DASH if count is None else f"{count:,}", note=note, kind="plain"))
        rows.append(make_row((head, each.model), cells, _kind(run, each.model)))
    caption = f"{run.section.title}: confidence and correctness of the attempts, in percent with {level(run)} intervals"
    caption += ", by source and AUROC"
    return make_table(caption, ("Source", "Model"), [Head("attempts"), *_METRICS.values()], rows) if rows else None


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
            absent = known.reason or ""
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


def column(runs: Sequence[Run], models: Sequence[str]) -> tuple[Head, list[Cell]] | None:
    """Return the column of the first page's matrix: the AUROC of one source on one benchmark; None if there is none.

    It is the source and benchmark that most models have, of several the first, so that the column compares models. The
    variant is that of the benchmark's other headline numbers.
    """
    known = {
        (each.model, run.benchmark, each.source): each
        for run in runs
        for each in sources_of(run)
        if _value(each) is not None and each.variant == main_variant(run.params, run.benchmark)
    }
    counts = {(run.benchmark, s): sum((m, run.benchmark, s) in known for m in models) for run in runs for s in SOURCES}
    (benchmark, source), count = max(counts.items(), key=lambda item: item[1], default=(("", ""), 0))
    if not count:
        return None
    (chosen,) = (run for run in runs if run.benchmark == benchmark)
    place = f"{chosen.section.title}, {chosen.section.name(main_variant(chosen.params, benchmark))}"
    cells = []
    for model in models:
        each = known.get((model, benchmark, source))
        cell = metric_cell(each.auroc if each else None)
        cells.append(replace(cell, kind="number stacked", link=f"confidence.html#{benchmark}" if each else ""))
    note = f"{source_name(source)}, {place}"
    return Head("AUROC of confidence", note=note, verbatim=True, definition=DEFINITIONS[AUROC]), cells


def _value(each: ModelSource) -> float | None:
    return each.auroc.value if each.auroc else None

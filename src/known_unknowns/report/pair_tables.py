"""Tables of dual accuracy, and of the consistency of answers across shuffles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from known_unknowns.benchmark import registry
from known_unknowns.metrics.dual import DUAL, SEPARATOR
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.formatting import DASH, Cell, Head, Row, Table, metric_cell, move_n_to_heading
from known_unknowns.report.paper_tables import table_parser
from known_unknowns.report.tables import Run, categories, confidence

_PARTS = {
    "dual_accuracy_answerable": "dual, answer is an option",
    "right_as_published": "right {unchanged}",
    "refused_when_changed": "refused when changed",
    "recognised_when_changed": "recognised when changed",
    "refused_given_right": "refused among right",
    "chance": "chance of both",
    "unpaired": "questions not paired",
}
_CONSISTENCY = {
    "same_answer": "same answer every time",
    "content_agreement": "pairs of runs that agree",
    "content_kept": "kept the content",
    "position_kept": "kept the position",
    "position_alone": "explained by position alone",
}


def dual_accuracy(run: Run) -> Table | None:
    """Return the dual accuracy per model, pair of variants and parser, with its parts, or None without a pair."""
    rows = []
    for model in run.models:
        pairs = _pairs(run, model)
        for place, pair in enumerate(pairs):
            heads = [Head(model, span=len(pairs))] if place == 0 else []
            metrics = [run.get(model, pair, parser, DUAL) for parser in run.parsers]
            metrics += [run.get(model, pair, run.main_parser, name) for name in _PARTS]
            rows.append(Row((*heads, Head(_name(run, pair), note=pair)), tuple(map(metric_cell, metrics))))
    if not rows:
        return None
    parts = [label.format(unchanged=run.section.unchanged) for label in _PARTS.values()]
    labels = [*map(run.parser_name, run.parsers), *parts]
    columns, rows = move_n_to_heading([Head(label) for label in labels], rows)
    return Table(
        caption=f"{run.section.title}: dual accuracy in percent, with {confidence(run)} intervals",
        corner=("Model", "Variants"),
        groups=(
            Head("dual accuracy, by parser", span=len(run.parsers)),
            Head(f"under the {run.parser_name(run.main_parser)} parser", span=len(_PARTS)),
        ),
        columns=columns,
        rows=rows,
    )


def dual_by_category(run: Run) -> Table | None:
    """Return the dual accuracy per type of question, with n and the method of its interval, or None without a pair."""
    rows = []
    for model in run.models:
        pairs = [pair for pair in _pairs(run, model) if pair.partition(SEPARATOR)[2] in run.headline]
        for pair in pairs:
            measured = {
                category: [run.get(model, pair, parser, DUAL, category) for parser in run.parsers]
                for category in categories(run)
            }
            measured = {category: metrics for category, metrics in measured.items() if any(metrics)}
            for place, (category, metrics) in enumerate(measured.items()):
                heads = [Head(model, span=len(pairs) * len(measured))] if place == 0 and pair == pairs[0] else []
                heads += [Head(_name(run, pair), span=len(measured))] if place == 0 else []
                rows.append(Row((*heads, Head(category)), tuple(_cells(metrics))))
    if not rows:
        return None
    columns = (Head("n"), *(Head(run.parser_name(parser)) for parser in run.parsers), Head("interval by"))
    caption = f"{run.section.title}: dual accuracy by type of question, with {confidence(run)} intervals"
    return Table(caption, ("Model", "Variants", "Type"), columns, tuple(rows))


def _cells(metrics: list[Metric | None]) -> Iterator[Cell]:
    """The number of questions, the metric under each parser, and the methods of the intervals."""
    counts = {m.n for m in metrics if m is not None}
    yield Cell(" / ".join(f"{n:,}" for n in sorted(counts)) or DASH, kind="plain")
    yield from (replace(metric_cell(m), n=None, denominator="") for m in metrics)
    yield Cell("; ".join(dict.fromkeys(m.method for m in metrics if m is not None)) or DASH, kind="text")


def _pairs(run: Run, model: str) -> list[str]:
    """The pairs of variants that a model has a dual accuracy of."""
    of_model = (m for m in run.numbers if (m.model, m.benchmark) == (model, run.benchmark))
    return list(dict.fromkeys(m.variant for m in of_model if m.name == DUAL and m.category == OVERALL))


def _name(run: Run, pair: str) -> str:
    return " and ".join(run.section.name(variant) for variant in pair.split(SEPARATOR))


def compares_seeds(run: Run) -> bool:
    """Whether the benchmark has metrics of the consistency of answers."""
    return registry.get(run.benchmark).metrics().across_seeds is not None


def consistency(run: Run) -> Table | None:
    """Return the consistency of answers across shuffles per model and variant, or None without several seeds."""
    rows = list(_consistency_rows(run))
    if not rows:
        return None
    columns, rows = move_n_to_heading([Head(label) for label in _CONSISTENCY.values()], rows)
    caption = f"{run.section.title}: the same questions with shuffled options, with {confidence(run)} "
    groups = (Head("of all questions", span=2), Head("of answers whose option moved", span=3))
    return Table(f"{caption}intervals", ("Model", "Variant"), columns, rows, groups)


def _consistency_rows(run: Run) -> Iterator[Row]:
    for model in run.models:
        measured = {
            variant: [run.get(model, variant, table_parser(run), name) for name in _CONSISTENCY]
            for variant in run.variants
        }
        measured = {variant: metrics for variant, metrics in measured.items() if any(metrics)}
        for place, (variant, metrics) in enumerate(measured.items()):
            heads = [Head(model, span=len(measured))] if place == 0 else []
            heads.append(Head(run.section.name(variant), note=f"{len(run.seeds[variant])} runs"))
            yield Row(tuple(heads), tuple(replace(metric_cell(m), kind="number stacked") for m in metrics))

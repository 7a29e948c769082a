"""The report's tables of metrics: the headline, types of questions, variants, dual accuracy, consistency, parsers."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from known_unknowns.benchmark import registry
from known_unknowns.edition_files import answers_table
from known_unknowns.errors import DataError
from known_unknowns.metrics import consistency as of_seeds
from known_unknowns.metrics import dual, proportions
from known_unknowns.metrics.dual import DUAL, SEPARATOR
from known_unknowns.metrics.proportions import CHANCE, CONSTANT_ANSWER, RECOGNISED
from known_unknowns.metrics.run import OFFICIAL, Run
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.formatting import (
    DASH,
    Cell,
    Head,
    Row,
    Table,
    interval,
    make_row,
    make_table,
    metric_cell,
    move_n_to_column,
    percent,
)
from known_unknowns.tables import read_answers
from known_unknowns.tables.parquet import CELL

if TYPE_CHECKING:
    pass

ACCURACY = "accuracy"
_KNOWN = (CHANCE, CONSTANT_ANSWER)
"""Numbers that the questions decide alone."""
RECOGNISED_HEADINGS = dict(zip(RECOGNISED, ("recognised", "of it refused", "of it abstained"), strict=True))
"""Headings of the share that recognised that nothing can be answered, and of its two parts."""


def parser_name(parser: str) -> str:
    """Heading of a parser in a table of published numbers. A table of one benchmark uses `Run.parser_name`."""
    return "as released" if parser == OFFICIAL else parser


def confidence(run: Run) -> str:
    """Return the confidence level as text: "95%"."""
    return f"{100 * run.confidence:g}%"


def headline(run: Run) -> Table:
    """Return the section's metric per model and headline variant, under the official and the robust parser."""
    measured, label = run.section.measured
    is_accuracy = measured == ACCURACY
    shown = [s for s in (OFFICIAL, "robust") if s in run.parsers] or list(run.parsers[:1])
    official = {metric.name: metric for metric in run.section.official_metrics}
    groups, names = [], []
    for variant in run.headline:
        free = variant in run.content_free
        of_variant = [(variant, s, measured, run.parser_name(s)) for s in shown if s == OFFICIAL or not free]
        if free:
            of_variant += [(variant, run.main_parser, *recognised) for recognised in RECOGNISED_HEADINGS.items()]
        if OFFICIAL in run.parsers:
            of_official = (metric for metric in official.values() if variant in metric.variants)
            of_variant += [(variant, OFFICIAL, metric.name, metric.heading) for metric in of_official]
        groups.append(Head(run.section.name(variant), span=len(of_variant)))
        names += of_variant

    def cell(model: str, variant: str, parser: str, name: str) -> Cell:
        chance = run.chance(model, variant) if is_accuracy and name not in RECOGNISED else None
        if parser == OFFICIAL and name in official:
            return metric_cell(run.official(model, variant, official[name]), chance=chance, gauge=True)
        return metric_cell(run.get(model, variant, parser, name), chance=chance, gauge=True)

    def known_cell(variant: str, name: str, known: str) -> Cell:
        if name in RECOGNISED:
            return Cell(DASH)
        return _known(next((found for model in run.models if (found := run.known(model, variant, known))), None))

    foot = [
        make_row(known.replace("_", " "), [known_cell(variant, name, known) for variant, _, name, _ in names])
        for known in _KNOWN
    ]
    return make_table(
        f"{run.section.title}: {label}, with {confidence(run)} intervals",
        "Model",
        [Head(heading, definition=proportions.DEFINITIONS.get(name)) for _, _, name, heading in names],
        [make_row(model, (cell(model, *name) for *name, _ in names)) for model in run.models],
        groups=groups,
        foot=foot if is_accuracy else (),
        moves_n=True,
    )


def by_category(run: Run) -> Table:
    """Return the section's metric per model, variant and type of question, with n and the method of its interval."""
    measured, label = run.section.measured
    variants = tuple(v for v in run.section.by_type if v in run.variants) or run.headline
    types = categories(run)
    rows = []
    for model in run.models:
        for variant in variants:
            for category in types:
                metrics = [run.score(model, variant, parser, measured, category) for parser in run.parsers]
                cells = list(_of_category(metrics))
                if measured == ACCURACY:
                    known = (run.known(model, variant, name, category) for name in _KNOWN)
                    cells[-1:-1] = map(_known, known)
                rows.append(make_row((model, run.section.name(variant), category), cells))
    columns = [
        "n",
        *map(run.parser_name, run.parsers),
        *(["chance", "constant answer"] if measured == ACCURACY else []),
        "interval by",
    ]
    caption = f"{run.section.title}: {label} by type of question, with {confidence(run)} intervals"
    return make_table(caption, ("Model", "Variant", "Type"), columns, rows)


def categories(run: Run) -> list[str]:
    """Return the types in the paper's order, then other types, then all questions together."""
    measured = dict.fromkeys(m.category for m in run.numbers if m.benchmark == run.benchmark)
    order = dict.fromkeys((*run.section.categories, *measured))
    return [category for category in order if category in measured and category != OVERALL] + [OVERALL]


def _of_category(metrics: Sequence[Metric | None]) -> Iterator[Cell]:
    """The number of questions, the metric under each parser, and the methods of the intervals."""
    known = [metric for metric in metrics if metric is not None]
    yield Cell(" / ".join(f"{n:,}" for n in sorted({metric.n for metric in known})) or DASH, kind="plain")
    yield from (replace(metric_cell(metric), n=None, denominator="") for metric in metrics)
    yield Cell("; ".join(dict.fromkeys(metric.method for metric in known)) or DASH, kind="text")


def _known(metric: Metric | None) -> Cell:
    """The cell of a number that the questions decide alone, with the label of a constant answer."""
    label = (metric.label or "") if metric is not None else ""
    return replace(metric_cell(metric), n=None, denominator="", kind="plain", note=label)


_ACCURACIES = {
    "accuracy_answered": "right among answered",
    "accuracy_high_bound": "right, unread all right",
}
_REFUSALS = {"refusal_recall": "refusals found", "refusal_precision": "refusals right"}
_OUTCOMES = {f"share_{name}": name for name in ("abstained", "unparsed", "cut", "failed")}


def _is_defined(run: Run, *names: str) -> bool:
    return any(m.benchmark == run.benchmark and m.name in names and m.value is not None for m in run.numbers)


def has_refusals(run: Run) -> bool:
    """Return whether any question has a refusal option, or any reply was a refusal."""
    return _is_defined(run, *_REFUSALS)


def all_variants(run: Run) -> Table:
    """Return accuracy under every parser, refusals, and the other outcomes per model and variant."""
    refusals = has_refusals(run)
    parts = RECOGNISED if refusals else RECOGNISED[:1]  # without refusals, all of it is abstained
    recognised = {name: RECOGNISED_HEADINGS[name] for name in parts if _is_defined(run, name)}
    details = recognised | (_REFUSALS if refusals else {}) | _ACCURACIES | _OUTCOMES
    groups = {"right, by parser": [(ACCURACY, parser, run.parser_name(parser)) for parser in run.parsers]}
    official = {metric.name: metric for metric in run.section.official_metrics if OFFICIAL in run.parsers}
    if official:
        of_official = [(metric.name, OFFICIAL, metric.long_heading) for metric in official.values()]
        groups[run.section.official_name] = of_official
    within = f"under the {run.parser_name(run.main_parser)} parser"
    groups[within] = [(name, run.main_parser, label) for name, label in details.items()]
    columns = [column for of_group in groups.values() for column in of_group]

    rows = []
    for model in run.models:
        for variant in run.variants:
            known = (run.known(model, variant, name) for name in _KNOWN)
            cells: list[Cell | Metric | None] = [*map(_known, known)]
            for name, parser, _ in columns:
                if parser == OFFICIAL and name in official:
                    cells.append(run.official(model, variant, official[name]))
                    continue
                get = run.score if name in (ACCURACY, *_ACCURACIES) else run.get
                cells.append(get(model, variant, parser, name))
            rows.append(make_row((model, Head(run.section.name(variant), note=variant)), cells))
    return make_table(
        f"{run.section.title}: every variant, in percent, with {confidence(run)} intervals",
        ("Model", "Variant"),
        [
            *(Head(known.replace("_", " "), definition=proportions.DEFINITIONS[known]) for known in _KNOWN),
            *(Head(label, definition=proportions.DEFINITIONS.get(name)) for name, _, label in columns),
        ],
        rows,
        groups=[Head("", span=2), *(Head(name, span=len(of_group)) for name, of_group in groups.items())],
        moves_n=True,
    )


_DUAL_PARTS = {
    "dual_accuracy_answerable": "dual, answer is an option",
    "right_as_published": "right {unchanged}",
    "refused_when_changed": "refused when changed",
    "recognised_when_changed": "recognised when changed",
    "refused_given_right": "refused among right",
    "chance": "chance of both",
    "unpaired": "questions not paired",
}


def dual_accuracy(run: Run) -> Table | None:
    """Return the dual accuracy per model, pair of variants and parser, with its parts, or None without a pair."""
    names = [(parser, DUAL) for parser in run.parsers] + [(run.main_parser, name) for name in _DUAL_PARTS]
    rows = [
        make_row((model, Head(run.names_of(pair), note=pair)), (run.get(model, pair, *name) for name in names))
        for model, pairs in _pairs(run).items()
        for pair in pairs
    ]
    of_parsers = [Head(run.parser_name(parser), definition=dual.DEFINITIONS[DUAL]) for parser in run.parsers]
    parts = [
        Head(label.format(unchanged=run.section.unchanged), definition=dual.DEFINITIONS[name])
        for name, label in _DUAL_PARTS.items()
    ]
    within = f"under the {run.parser_name(run.main_parser)} parser"
    table = make_table(
        f"{run.section.title}: dual accuracy in percent, with {confidence(run)} intervals",
        ("Model", "Variants"),
        [*of_parsers, *parts],
        rows,
        groups=[Head("dual accuracy, by parser", span=len(run.parsers)), Head(within, span=len(_DUAL_PARTS))],
        moves_n=True,
    )
    return table if rows else None


def dual_by_category(run: Run) -> Table | None:
    """Return the dual accuracy per type of question, with n and the method of its interval, or None without a pair."""
    types = categories(run)
    rows = []
    for model, pairs in _pairs(run).items():
        for pair in pairs:
            for category in types if pair.partition(SEPARATOR)[2] in run.headline else ():
                metrics = [run.get(model, pair, parser, DUAL, category) for parser in run.parsers]
                if any(metrics):
                    rows.append(make_row((model, run.names_of(pair), category), _of_category(metrics)))
    columns = ("n", *map(run.parser_name, run.parsers), "interval by")
    caption = f"{run.section.title}: dual accuracy by type of question, with {confidence(run)} intervals"
    return make_table(caption, ("Model", "Variants", "Type"), columns, rows) if rows else None


def _pairs(run: Run) -> dict[str, dict[str, None]]:
    """The pairs of variants that each model has a dual accuracy of, as keys in their order."""
    pairs: dict[str, dict[str, None]] = {model: {} for model in run.models}
    for metric in run.numbers:
        if metric.benchmark == run.benchmark and metric.name == DUAL and metric.category == OVERALL:
            pairs[metric.model][metric.variant] = None
    return pairs


_CONSISTENCY = {
    "same_answer": "same answer every time",
    "content_agreement": "pairs of runs that agree",
    "content_kept": "kept the content",
    "position_kept": "kept the position",
    "position_alone": "explained by position alone",
}


def compares_seeds(run: Run) -> bool:
    """Whether the benchmark has metrics of the consistency of answers."""
    return registry.get(run.benchmark).metrics().compares_seeds


def consistency(run: Run) -> Table | None:
    """Return the consistency of answers across shuffles per model and variant, or None without several seeds."""
    rows = []
    for model in run.models:
        for variant in run.variants:
            metrics = [run.get(model, variant, run.table_parser, name) for name in _CONSISTENCY]
            if any(metrics):
                heads = model, Head(run.section.name(variant), note=f"{len(run.seeds[variant])} runs")
                rows.append(make_row(heads, (replace(metric_cell(m), kind="number stacked") for m in metrics)))
    caption = f"{run.section.title}: the same questions with shuffled options, with {confidence(run)} intervals"
    groups = (Head("of all questions", span=2), Head("of answers whose option moved", span=3))
    corner = ("Model", "Variant")
    columns = [Head(label, definition=of_seeds.DEFINITIONS[name]) for name, label in _CONSISTENCY.items()]
    return make_table(caption, corner, columns, rows, groups=groups, moves_n=True) if rows else None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """``table`` has the models with a reply on which two parsers disagree; ``agreed`` are the others."""

    table: Table | None
    agreed: tuple[str, ...]


_COLUMNS = (*CELL.names, "question_id", "parser", "outcome", "choice")


def disagreement(run: Run, results: Path) -> Disagreement | None:
    """Return how often two parsers disagree on the same reply, per model and variant, over all seeds and samples.

    Returns None for a single parser. Raises DataError for an invalid table of answers.
    """
    pairs = list(combinations(run.parsers, 2))
    if not pairs:
        return None
    rows: list[Row] = []
    agreed = []
    for model in run.models:
        file = answers_table(results / "answers", model, run.benchmark)
        answers = read_answers(file, _COLUMNS) if file.is_file() else pd.DataFrame(columns=_COLUMNS)
        counts = {v: _disagreements(answers[answers["variant"] == v], pairs) for v in run.variants}
        if any(differ for of_variant in counts.values() for differ, _ in of_variant):
            rows += [
                make_row(
                    (model, Head(run.section.name(variant), note=variant)),
                    (
                        Cell(percent(d / n), f"{d:,} of {n:,} replies", n) if n else Cell(percent(None))
                        for d, n in of_variant
                    ),
                )
                for variant, of_variant in counts.items()
            ]
        else:
            agreed.append(model)
    caption = f"{run.section.title}: replies on which two parsers disagree, in percent and number"
    columns = [f"{run.parser_name(one)} and {run.parser_name(other)}" for one, other in pairs]
    table = move_n_to_column(make_table(caption, ("Model", "Variant"), columns, rows, moves_n=True))
    return Disagreement(table if rows else None, tuple(agreed))


def _disagreements(answers: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
    """Return for each pair of parsers the number of answers on which they disagree, and of answers with both.

    Two parsers agree if they chose the same option, or none with the same outcome.
    """
    parsed = answers["choice"].astype(object).where(answers["choice"].notna(), answers["outcome"])
    answers = answers.assign(parsed=parsed)
    counts = []
    for first, second in pairs:
        of_first, of_second = (answers[answers["parser"] == parser] for parser in (first, second))
        both = of_first.merge(of_second, on=["seed", "sample", "question_id"])
        counts.append((int((both["parsed_x"] != both["parsed_y"]).sum()), len(both)))
    return counts


def error_shares(run: Run, results: Path) -> dict[str, Any] | None:
    """Return the kinds of wrong answers that reviewers tagged (docs/construction.md); None if none are tagged.

    The edition's folder ``results`` has the tables ``errors/<model>/<benchmark>/<variant>-seed<k>.csv``. The page shows
    a ``table`` of the shares, the ``method`` of their intervals, and the ids of ``examples``. Raises DataError for a
    table that cannot be read.
    """
    rows, examples, method = [], [], ""
    for model in run.models:
        for path in sorted((results / "errors" / model / run.benchmark).glob("*-seed*.csv")):
            variant, _, seed = path.stem.rpartition("-seed")
            for values in _tags(path):
                share, low, high, n = (float(values[name]) for name in ("share", "low", "high", "n"))
                method = values["method"]
                left = ", ".join(f"{values[name]} {name}" for name in ("pending", "disputed") if int(values[name]))
                cell = Cell(percent(share), interval(low, high), int(n), title=method, note=left)
                rows.append(make_row((model, variant, values["tag"]), (cell, int(values["count"]))))
                ids = tuple(json.loads(values["examples"]))
                examples.append({"model": model, "variant": variant, "seed": seed, "tag": values["tag"], "ids": ids})
    table = make_table("Kinds of wrong answers", ("Model", "Variant", "Kind"), ("Share", "Count"), rows)
    return {"table": table, "examples": examples, "method": method} if rows else None


def _tags(path: Path) -> list[dict[str, str]]:
    """Return the tags over all categories that some answer has, the most frequent one first."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["category"] == OVERALL and int(row["count"])]
    except (OSError, KeyError, ValueError, csv.Error) as error:
        raise DataError(f"not a table of errors ({error}); delete it and run again", file=path) from error
    return sorted(rows, key=lambda row: -int(row["count"]))

"""The figure of MM-SAP that is not declared: risk against coverage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from known_unknowns.edition_files import EditionFiles
from known_unknowns.metrics.score_tables import load
from known_unknowns.metrics.selective import risks
from known_unknowns.report import charts
from known_unknowns.report.charts import Axis, Coordinate, Point
from known_unknowns.report.drawing import Figure, figure, placeholder
from known_unknowns.report.figures import kind, own_models
from known_unknowns.report.formatting import Head, Row, Table, metric_cell
from known_unknowns.report.tables import Run

LIKELIHOOD, AREA = "likelihood", "aurc"
_OPERATING, _END = "operating point", "end of the curve (answers nothing)"
_COVERAGES = np.arange(1, 101) / 100


def risk_coverage(run: Run, *, results: Path, data: Path) -> Figure:
    """Draw the risk at each coverage if questions with the least likely refusal are answered first.

    Raises DataError for an invalid table of questions, replies or scores.
    """
    name, title = "mmsap_risk_coverage", "Risk against coverage"
    variant = next(iter(run.headline), "")
    curves = {
        model: curve
        for model in (run.models if LIKELIHOOD in run.parsers else ())
        if (curve := _curve(run, model, variant, results=results, data=data)) is not None
    }
    undrawn = [model for model in run.models if model not in curves and model not in run.baselines]
    if not curves.keys() - set(run.baselines):
        areas = [run.get(model, variant, LIKELIHOOD, AREA) for model in undrawn or run.models]
        reason = next((area.method for area in areas if area), "no engine of this run has likelihoods of options")
        return placeholder(name, title, f"not drawn: {reason.removeprefix('undefined: ')}")
    alt_text = (
        f"Curves, one for each of {len(curves)} models: the percentage of wrong answers (vertical) among the share of "
        "questions answered (horizontal), with the least likely refusals first; and a dot at the operating "
        "point of the model."
    )
    note = (
        "Share of wrong answers if a model answers only the questions with the least likely refusal. The dot is the "
        "operating point of the most likely label. A smaller area under the curve (AURC) is better. "
        f"On {run.section.name(variant)}, mean of {len(run.seeds[variant])} "
        f"{'run' if len(run.seeds[variant]) == 1 else 'runs'}."
        + (f" The area of {', '.join(undrawn)} is undefined." if undrawn else "")
    )
    table = _risk_table(run, variant, list(curves))
    return figure(name, title, _risk_chart(curves, run, variant), alt_text, note=note, table=table, caveat=run.caveat)


def _curve(run: Run, model: str, variant: str, *, results: Path, data: Path) -> np.ndarray | None:
    """Return the risk at `_COVERAGES` as the mean over seeds, or None for a model whose area is undefined."""
    area = run.get(model, variant, LIKELIHOOD, AREA)
    if area is None or area.value is None:
        return None
    files, name = EditionFiles(data, results), run.benchmark
    inputs = files.variants(name), files.scores(model, name), files.replies(model, name)
    found = [
        load(*inputs, variant=variant, seed=seed, parsers=[LIKELIHOOD]).curves[LIKELIHOOD][AREA]
        for seed in run.seeds[variant]
    ]
    if not all(curve.defined for curve in found):
        return None
    return np.mean([risks(curve, _COVERAGES) for curve in found], axis=0)


def _risk_chart(curves: dict[str, np.ndarray], run: Run, variant: str) -> Any:
    found = []
    for model, curve in curves.items():
        x, y = (
            Coordinate.of(run.get(model, variant, LIKELIHOOD, f"operating_{part}")) for part in ("coverage", "risk")
        )
        if x is None or y is None:
            found.append(Point(model, _END, Coordinate(100), Coordinate(100 * curve[-1]), kind(run, model)))
        else:
            found.append(Point(model, _OPERATING, x, y, kind(run, model)))
    lines = {model: [*zip(100 * _COVERAGES, 100 * curve, strict=True)] for model, curve in curves.items()}
    x_axis, y_axis = Axis("coverage: questions answered (%)"), Axis("risk: wrong among them (%)")
    series = [name for name in (_OPERATING, _END) if any(point.series == name for point in found)]
    return charts.points(found, x_axis, y_axis, own_models(run), series=series, curves=lines)


def _risk_table(run: Run, variant: str, models: Sequence[str]) -> Table:
    columns_of = {AREA: "area under the curve", "operating_coverage": "answers", "operating_risk": "wrong among them"}
    rows = [
        Row((Head(model),), tuple(metric_cell(run.get(model, variant, LIKELIHOOD, name)) for name in columns_of))
        for model in models
    ]
    columns = tuple(Head(label) for label in columns_of.values())
    return Table("Risk and coverage by likelihood, in percent", ("Model",), columns, tuple(rows))

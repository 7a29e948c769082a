"""The data of the report's section on MM-SAP: risk against coverage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from known_unknowns.benchmark.section_data import PointsData, SectionData, TableData
from known_unknowns.edition_files import EditionFiles
from known_unknowns.metrics.answers import cells_of, read
from known_unknowns.metrics.run import Run
from known_unknowns.metrics.selective import risks
from known_unknowns.records import Cell, Metric
from known_unknowns_benchmarks.mmsap.metrics import METRICS

LIKELIHOOD, AREA = "likelihood", "aurc"
_COLUMNS = {AREA: "area under the curve", "operating_coverage": "answers", "operating_risk": "wrong among them"}
_OPERATING, _END = "operating point", "end of the curve (answers nothing)"
_COVERAGES = np.arange(1, 101) / 100


def build(run: Run, *, results: Path, data: Path) -> SectionData:
    """Return the figure that section.yaml does not declare."""
    return SectionData(figures=[risk_coverage(run, results=results, data=data)])


def risk_coverage(run: Run, *, results: Path, data: Path) -> PointsData:
    """Return the risk at each coverage if questions with the least likely refusal are answered first.

    Raises DataError for an invalid table of answers.
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
        reasons = [area.reason for area in areas if area and area.reason]
        absent = reasons[0] if reasons else "no engine of this run has likelihoods of options"
        return PointsData(name, title, absent=absent)
    runs = len(run.seeds[variant])
    note = (
        "Share of wrong answers if a model answers only the questions with the least likely refusal. The dot is the "
        "operating point of the most likely label. A smaller area under the curve (AURC) is better. "
        f"On {run.section.name(variant)}, mean of {runs} {'run' if runs == 1 else 'runs'}."
    )
    if undrawn:
        note += f" The area of {', '.join(undrawn)} is undefined."
    points = pd.DataFrame(_points(curves, run, variant))
    lines = [pd.DataFrame({"model": model, "x": 100 * _COVERAGES, "y": 100 * curve}) for model, curve in curves.items()]
    rows = [((model,), [run.get(model, variant, LIKELIHOOD, metric) for metric in _COLUMNS]) for model in curves]
    return PointsData(
        name,
        title,
        alt=(
            f"Curves, one for each of {len(curves)} models: the percentage of wrong answers (vertical) among the share "
            "of questions answered (horizontal), with the least likely refusals first; and a dot at the operating "
            "point of the model."
        ),
        note=note,
        table=TableData("Risk and coverage by likelihood, in percent", ("Model",), [*_COLUMNS.values()], rows),
        frame=points,
        axes=("coverage: questions answered (%)", "risk: wrong among them (%)"),
        series=tuple(series for series in (_OPERATING, _END) if (points["series"] == series).any()),
        curves=pd.concat(lines, ignore_index=True),
    )


def _curve(run: Run, model: str, variant: str, *, results: Path, data: Path) -> np.ndarray | None:
    """Return the risk at `_COVERAGES` as the mean over seeds, or None for a model whose area is undefined."""
    area = run.get(model, variant, LIKELIHOOD, AREA)
    if area is None or area.value is None:
        return None
    file = EditionFiles(data, results).answers(model, run.benchmark)
    chosen = [Cell(variant, seed) for seed in run.seeds[variant]]
    answers = cells_of(read(file, run.benchmark, cells=chosen, parsers=[LIKELIHOOD]))
    found = [METRICS.curves(cell)[AREA] for cell in answers[variant][LIKELIHOOD].values()]
    if not all(curve.defined for curve in found):
        return None
    return np.mean([risks(curve, _COVERAGES) for curve in found], axis=0)


def _points(curves: Mapping[str, np.ndarray], run: Run, variant: str) -> Iterator[dict[str, Any]]:
    """Yield the operating point of each model, or the end of its curve if it answers nothing."""
    for model, curve in curves.items():
        coverage = run.get(model, variant, LIKELIHOOD, "operating_coverage")
        risk = run.get(model, variant, LIKELIHOOD, "operating_risk")
        if coverage is None or risk is None or coverage.value is None or risk.value is None:
            end = {"x": 100.0, "y": 100 * float(curve[-1])}
            yield {"model": model, "series": _END, **end} | dict.fromkeys(("x_low", "x_high", "y_low", "y_high"))
        else:
            yield {"model": model, "series": _OPERATING, **_percent("x", coverage), **_percent("y", risk)}


def _percent(axis: str, metric: Metric) -> dict[str, float | None]:
    parts = {"": metric.value, "_low": metric.low, "_high": metric.high}
    return {f"{axis}{part}": None if value is None else 100 * value for part, value in parts.items()}

"""The figures of the page on confidence: reliability, and risk against coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from known_unknowns.benchmark.metrics import Ratio, RiskCoverage
from known_unknowns.edition_files import EditionFiles
from known_unknowns.metrics.answers import confidences
from known_unknowns.metrics.confidence import BINS, binned
from known_unknowns.metrics.confidence_sources import attempted
from known_unknowns.metrics.estimates import ratio_estimates
from known_unknowns.metrics.run import Run
from known_unknowns.metrics.selective import risks
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report import charts
from known_unknowns.report.charts import Axis
from known_unknowns.report.drawing import Figure, figure
from known_unknowns.report.formatting import Cell, counted, interval, make_row, make_table
from known_unknowns.report.tables import confidence as level
from known_unknowns.tables.confidence_sources import COLUMNS, OPTION_TEXT_SUM

LEAST_DRAWN = 300
"""Questions below which the calibration error of a good model is mostly bias (bench/confidence). Attempts at the same
question with several seeds are not independent, so that they do not count."""
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
class ModelSource:
    """A model's confidences from one source: the variant that they are of, and their AUROC."""

    model: str
    source: str
    variant: str
    auroc: Metric | None


@dataclass(frozen=True)
class _Attempts:
    """Attempts with a known confidence, over all seeds: their question and group, and the number of all replies.

    Of several samples of a reply, the first one counts: the others mostly repeat it.
    """

    confidence: np.ndarray
    correct: np.ndarray
    questions: np.ndarray
    groups: np.ndarray
    asked: int

    @property
    def size(self) -> int:
        """The number of questions, however often each was attempted."""
        return len(np.unique(self.questions))


def draw(run: Run, known: Sequence[ModelSource], files: EditionFiles) -> tuple[list[Figure], Mapping[ModelSource, int]]:
    """Draw the figures. Return also the number of questions of models and sources that are not drawn.

    Baselines are drawn if there is no model. Raises DataError for an invalid table of answers.
    """
    drawn = [each for each in known if each.source != OPTION_TEXT_SUM]
    models = [each for each in drawn if each.model not in run.baselines]
    attempts = _attempts(models or drawn, run.benchmark, files)
    few = {each: of.size for each, of in attempts.items() if of.size < LEAST_DRAWN}
    enough = {each: of for each, of in attempts.items() if each not in few}
    return [_reliability(run, enough), _risk_coverage(run, enough)] if enough else [], few


def _attempts(drawn: Sequence[ModelSource], benchmark: str, files: EditionFiles) -> dict[ModelSource, _Attempts]:
    """Read the attempts of each model and source, without models that have no table."""
    found: dict[ModelSource, _Attempts] = {}
    for model in dict.fromkeys(each.model for each in drawn):
        path = files.answers(model, benchmark)
        if path.is_file():
            answers = confidences(path, benchmark)
            of_model = [each for each in drawn if each.model == model]
            found |= {each: _of_source(answers, each) for each in of_model}
    return {each: found[each] for each in drawn if each in found}


def _of_source(answers: pd.DataFrame, each: ModelSource) -> _Attempts:
    """The attempts among the answers of a model to all variants."""
    rows = answers[(answers["variant"] == each.variant) & (answers["sample"] == 0)]
    attempts = rows[attempted(rows) & rows[each.source].notna()]
    return _Attempts(
        confidence=attempts[each.source].to_numpy(float),
        correct=attempts["correct"].to_numpy(bool),
        questions=attempts["question_id"].to_numpy(str),
        groups=attempts["cluster"].to_numpy(),
        asked=len(rows),
    )


def _reliability(run: Run, attempts: Mapping[ModelSource, _Attempts]) -> Figure:
    """Draw the accuracy of the attempts in bins of their confidence, with the interval of each bin."""
    points, rows = [], []
    facets = {model: _facet(model, attempts) for model in _models(run, attempts)}
    for each, of in attempts.items():
        bins, place = binned(of.confidence, of.correct)
        members = [place == number for number in range(len(bins.size))]
        ratios = {str(number): Ratio(of.correct & inside, inside) for number, inside in enumerate(members)}
        everything = {OVERALL: np.ones(len(of.correct), bool)}
        bounds = ratio_estimates(ratios, everything, of.groups)[OVERALL].intervals(run.confidence)
        name = source_name(each.source)
        for size, confidence, accuracy, of_bin in zip(*(values.tolist() for values in bins), bounds, strict=True):
            shown = interval(of_bin.low, of_bin.high)
            right = f"{100 * accuracy:.1f} {shown}".rstrip()
            hover = f"{each.model}, {name}: confidence {100 * confidence:.1f}, right {right}, n = {size:,}"
            ends = {
                "low": 100 * (accuracy if of_bin.low is None else of_bin.low),
                "high": 100 * (accuracy if of_bin.high is None else of_bin.high),
            }
            point = {"x": 100 * confidence, "y": 100 * accuracy, "hover": hover}
            points.append(point | ends | {"facet": facets[each.model], "series": name})
            cells = [Cell(f"{100 * confidence:.1f}"), Cell(f"{100 * accuracy:.1f}", shown, title=of_bin.method)]
            rows.append(make_row((each.model, name), [Cell(f"{size:,}", kind="plain"), *cells]))
    axes = Axis("confidence (%)"), Axis("right (%)")
    chart = charts.curves(
        *axes, facets=[*facets.values()], series=_series(attempts), lines=points, dots=points, diagonal=True
    )
    title = f"{run.section.title}: reliability"
    note = (
        f"Up to {BINS} bins with equally many attempts, with {level(run)} intervals that allow for several attempts at "
        "one question or image; n counts questions. On the dashed line, confidence and accuracy are equal; below it, "
        "the model is overconfident."
    )
    alt_text = (
        f"Reliability diagrams of {counted(len(facets), 'model')}: accuracy against mean confidence of each "
        "bin, one line for each source. The table below has the numbers."
    )
    table = make_table(f"{title}, in percent", ("Model", "Source"), ["attempts", "confidence", "right"], rows)
    return figure(f"{run.benchmark}_reliability", title, chart, alt_text, note=note, table=table, caveat=run.caveat)


def _risk_coverage(run: Run, attempts: Mapping[ModelSource, _Attempts]) -> Figure:
    """Draw the risk at each coverage, in the order of each source, and the point at which the model operates."""
    points: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    best: dict[str, tuple[np.ndarray, float]] = {}
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
        ends.append({"facet": model, "series": "", "x": 100 * share, "y": 100 * wrong.mean(), "hover": hover})
    highest = max(20.0, 20.0 * np.ceil(max(point["y"] for point in points) / 20))
    axes = Axis("coverage: questions answered (%)"), Axis("risk: wrong among them (%)", 0, highest)
    series = [*_series(attempts), _BEST]
    models = _models(run, attempts)
    chart = charts.curves(*axes, facets=models, series=series, lines=points, dots=ends, grey=_BEST)
    title = f"{run.section.title}: risk against coverage"
    note = (
        "Attempts in the order of falling confidence. A lower curve is better. The dot is the model as it is: it "
        "refuses, abstains or gives no answer to the rest."
    )
    alt_text = (
        f"Curves for {counted(len(models), 'model')}: the percentage of wrong answers among the share of "
        "questions answered, one curve for each source of confidence. The table above has the areas and one point of "
        "each curve."
    )
    return figure(f"{run.benchmark}_risk_coverage", title, chart, alt_text, note=note, caveat=run.caveat)


def _curve(model: str, series: str, curve: RiskCoverage, share: float) -> list[dict[str, Any]]:
    at = _COVERAGES[_COVERAGES * len(curve.wrong) >= 1]
    found = zip(100 * share * at, 100 * risks(curve, at), strict=True)
    return [
        {"facet": model, "series": series, "x": x, "y": y, "hover": f"{series}: {y:.1f} at {x:.1f}"} for x, y in found
    ]


def _models(run: Run, attempts: Mapping[ModelSource, _Attempts]) -> list[str]:
    drawn = {each.model for each in attempts}
    return [model for model in run.models if model in drawn]


def _facet(model: str, attempts: Mapping[ModelSource, _Attempts]) -> str:
    """The heading of a model's facet, with the number of its questions."""
    counts = sorted(of.size for each, of in attempts.items() if each.model == model)
    return f"{model}\nn = {' to '.join(dict.fromkeys(f'{count:,}' for count in (counts[0], counts[-1])))}"


def _series(attempts: Mapping[ModelSource, _Attempts]) -> list[str]:
    present = {each.source for each in attempts}
    return [source_name(source) for source in COLUMNS if source in present]

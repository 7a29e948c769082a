"""Metrics that combine the answers to the same questions under several variants (`AcrossVariants`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from known_unknowns.benchmark.metrics import AcrossVariants
from known_unknowns.metrics.answers import Cells, categories, replies_left_out, undefined
from known_unknowns.metrics.estimates import ratio_estimates
from known_unknowns.metrics.rows import UNPAIRED, rows, without_undefined
from known_unknowns.records import Metric, Repeat

if TYPE_CHECKING:
    import pandas as pd

LeftOut = Mapping[str, Sequence[set[str]]]
"""By category, the ids of each variant's questions that another variant lacks."""


def across_variants(
    blank: Metric, combined: AcrossVariants, cells: Mapping[str, Mapping[str, Cells]], confidence: float
) -> Iterator[Metric]:
    """Yield the metrics of each repeat, then the means over them."""
    if combined.name in cells:
        raise ValueError(f"a variant has the name of the metrics across variants: {combined.name!r}")
    if not all(variant in cells for variant in combined.variants):
        return
    for parser in cells[combined.variants[0]]:
        row = replace(blank, parser=parser)
        combined_cells = _combined_cells(
            [cells[variant][parser] for variant in combined.variants], paired=combined.paired
        )
        estimates, common, left_out = {}, {}, {}
        for repeat, of_variants in combined_cells.items():
            shared = _common_questions(of_variants)
            found = combined.ratios(shared)
            if not found:
                return
            members, left_out[repeat] = _members(blank.benchmark, of_variants, shared[0].index)
            common[repeat] = {category: int(flags.sum()) for category, flags in members.items()}
            clusters = shared[0]["cluster"].to_numpy()
            estimates[repeat] = ratio_estimates(found, members, clusters, replies_left_out(shared))
        if not estimates:
            continue
        metrics: list[Metric] = []
        for of, of_category in rows(row, estimates, confidence):
            parts = list(left_out.values()) if of is None else [left_out[of]]
            note = _note(combined, of_category[0].category, parts)
            metrics += [replace(metric, method=metric.method + note) for metric in of_category]
        if combined.paired:
            metrics += _unpaired(row, combined, common, left_out)
        reasons = {repeat: undefined(of_variants) for repeat, of_variants in combined_cells.items()}
        yield from without_undefined(metrics, reasons)


def _combined_cells(of_variants: Sequence[Cells], *, paired: bool) -> dict[Repeat, list[pd.DataFrame]]:
    """The cells of the combined variants for each repeat that they have in common.

    In a pair, a variant that was asked once is combined with every repeat of the other.
    """
    several = list(of_variants)
    if paired:
        several = [cells for cells in of_variants if len(cells) > 1] or several[:1]
    found = {}
    for repeat in several[0]:
        if all(repeat in cells for cells in several):
            found[repeat] = [cells.get(repeat, next(iter(cells.values()))) for cells in of_variants]
    return found


def _common_questions(cells: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """The questions that all cells have, by id, in the order of the first cell."""
    common = cells[0].index
    for cell in cells[1:]:
        common = common[common.isin(cell.index)]
    return [cell.loc[common] for cell in cells]


def _members(benchmark: str, cells: Sequence[pd.DataFrame], common: pd.Index) -> tuple[dict[str, np.ndarray], LeftOut]:
    """Flags of the common questions of each category, and by category the ids of each variant that another lacks."""
    of_cells = [categories(benchmark, cell) for cell in cells]
    shared = [cell.index.isin(common) for cell in cells]
    members = {category: flags[shared[0]] for category, flags in of_cells[0].items()}
    left_out: dict[str, list[set[str]]] = {}
    for category in dict.fromkeys(name for of_cell in of_cells for name in of_cell):
        left_out[category] = []
        for cell, of_cell, is_shared in zip(cells, of_cells, shared, strict=True):
            lost = cell.index[of_cell[category] & ~is_shared] if category in of_cell else ()
            left_out[category].append(set(lost))
    return {category: flags for category, flags in members.items() if flags.any()}, left_out


def _note(combined: AcrossVariants, category: str, left_out: Iterable[LeftOut]) -> str:
    """The number of questions that are not in all variants, as text; empty if there are none."""
    counts = dict.fromkeys(combined.variants, 0)
    for of_repeat in left_out:
        for variant, ids in zip(combined.variants, of_repeat.get(category, ()), strict=False):
            counts[variant] += len(ids)
    stated = [f"{count} of {variant}" for variant, count in counts.items() if count]
    return f"; questions without a counterpart, left out: {', '.join(stated)}" if stated else ""


def _unpaired(
    blank: Metric,
    combined: AcrossVariants,
    common: Mapping[Repeat, Mapping[str, int]],
    left_out: Mapping[Repeat, LeftOut],
) -> Iterator[Metric]:
    """The share of questions that a variant lacks, by category: one row per repeat, then the mean over them."""
    for category in dict.fromkeys(name for of_repeat in left_out.values() for name in of_repeat):
        row, found = replace(blank, name=UNPAIRED, category=category), []
        for repeat, of_repeat in left_out.items():
            lost = len(set().union(*of_repeat.get(category, ())))
            n = lost + common[repeat].get(category, 0)
            if n:
                method = "counted" + _note(combined, category, [of_repeat])
                of = replace(row, **repeat._asdict())
                found.append(replace(of, value=lost / n, n=n, denominator=float(n), method=method))
        yield from found
        if len(left_out) > 1 and len(found) == len(left_out):
            value, mean_n = (float(np.mean([getattr(each, name) for each in found])) for name in ("value", "n"))
            method = "counted" + _note(combined, category, left_out.values())
            yield replace(row, value=value, n=round(mean_n), denominator=mean_n, method=method)

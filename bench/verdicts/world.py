"""Simulated runs with the structure of the published tables: their rows, columns, categories and numbers of questions.

A run is a table of right answers, one per question and seed, for each variant and metric of a published row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from known_unknowns import comparison
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison.conditions import published_counts, published_number
from known_unknowns.metrics.intervals import wilson
from known_unknowns.records import OVERALL, Metric

PARSER = "official"
SHARES = ("accuracy", "exact_refusal_recall", "share_E", "score_kk", "score_ku")
"""Metrics that are a share of the questions of a category."""
_CONCENTRATION = 0.2
"""Of the beta distribution of a question's probability of a right answer over shuffles of its options."""

Outcomes = Mapping[tuple[str, str], np.ndarray]
"""Right answers (seeds, questions), or their probabilities (questions,), by variant and metric."""
Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class World:
    """The published cells of one benchmark that are shares of questions.

    Attributes
    ----------
    benchmark : str
    cells : tuple of PublishedCell
    sizes : mapping of str to int
        Number of questions of the smallest categories, in order.
    parts : mapping of str to tuple of str
        The smallest categories of each category.
    seeds : int
        Runs with other shuffles of the options; 1 if options are not shuffled.
    """

    benchmark: str
    cells: tuple[PublishedCell, ...]
    sizes: Mapping[str, int]
    parts: Mapping[str, tuple[str, ...]]
    seeds: int

    @property
    def rows(self) -> list[str]:
        """The published models with at least three numbers."""
        models = [cell.model for cell in self.cells]
        return [model for model in dict.fromkeys(models) if models.count(model) >= 3]

    def members(self, category: str) -> np.ndarray:
        """Return which questions a category has, shape (questions,)."""
        return np.concatenate([np.full(n, part in self.parts[category]) for part, n in self.sizes.items()])


def simulated() -> list[str]:
    """Return the benchmarks whose published numbers can be simulated: those with cells of the metrics `SHARES`."""
    return [name for name in registry.names() if _cells(name)]


def build(benchmark: str) -> World:
    """Return the cells of a benchmark with a metric of `SHARES`, measured on the first data that its file names."""
    published = _cells(benchmark)
    cells = [c for c in published if c.revision == published[0].revision]
    counts = published_counts(cells)[published[0].revision]
    cells = [c for c in cells if published_number(c) == counts[c.category]]  # a share of the whole category
    total = counts.pop(OVERALL)
    sums = _sums(benchmark)
    sizes = {name: n for name, n in counts.items() if name not in sums}
    assert sum(sizes.values()) == total
    parts = {name: (name,) for name in sizes} | sums | {OVERALL: tuple(sizes)}
    return World(benchmark, tuple(cells), sizes, parts, max(cell.runs for cell in cells))


def _cells(benchmark: str) -> list[PublishedCell]:
    return [c for c in comparison.load(benchmark) if c.metric in SHARES and c.parser is None]


def _sums(benchmark: str) -> dict[str, tuple[str, ...]]:
    """Return the parts of categories that are sums of others."""
    if benchmark != "actiview":
        return {}
    from known_unknowns_benchmarks.actiview.format import TYPES

    return {name: tuple(parts) for name, parts in TYPES.items()}


def probabilities(world: World, row: str, rng: np.random.Generator) -> dict[tuple[str, str], np.ndarray]:
    """Draw a model of a published row: the probability of a right answer (questions,) by variant and metric.

    Each category's share of right answers is about the printed one. Without shuffles, a probability is 0 or 1.
    """
    found, cells = {}, [cell for cell in world.cells if cell.model == row]
    for variant, metric in dict.fromkeys((cell.variant, cell.metric) for cell in cells):
        shares = {c.category: c.value / 100 for c in cells if (c.variant, c.metric) == (variant, metric)}
        own = {part: shares[part] for part in world.sizes if part in shares}
        rest = _rest(world, own, shares.get(OVERALL))
        p = np.concatenate([np.full(n, own.get(part, rest)) for part, n in world.sizes.items()])
        found[variant, metric] = _questions(p, rng) if world.seeds > 1 else (rng.random(p.size) < p).astype(float)
    return found


def run_of(world: World, model: Outcomes, rng: np.random.Generator) -> dict[tuple[str, str], np.ndarray]:
    """Draw a run of a model: right answers (seeds, questions) by variant and metric."""
    return {key: runs(p, world.seeds, rng) for key, p in model.items()}


def _rest(world: World, own: Mapping[str, float], overall: float | None) -> float:
    """Return the share of the categories without a printed one, so that the total is as printed."""
    others = sum(n for part, n in world.sizes.items() if part not in own)
    if overall is None or not others:
        return float(np.mean(list(own.values()))) if own else 0.0
    missing = overall * sum(world.sizes.values()) - sum(share * world.sizes[part] for part, share in own.items())
    return float(np.clip(missing / others, 0.0, 1.0))


def _questions(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the probability of a right answer over shuffles for every question."""
    spread = np.clip(p, 1e-9, 1 - 1e-9)
    return rng.beta(_CONCENTRATION * spread, _CONCENTRATION * (1 - spread))


def runs(p: np.ndarray, seeds: int, rng: np.random.Generator) -> np.ndarray:
    """Draw right answers (seeds, questions) from probabilities (questions,)."""
    return rng.random((seeds, p.size)) < p


def value_of(world: World, outcomes: Outcomes, cell: PublishedCell) -> np.ndarray:
    """Return the percentage of a cell for every seed."""
    return 100 * outcomes[cell.variant, cell.metric][:, world.members(cell.category)].mean(axis=1)


def printed(world: World, row: str, outcomes: Outcomes) -> list[PublishedCell]:
    """Return the cells with the numbers of a simulated run in one row; other rows are as published."""
    return [
        replace(cell, value=round(float(value_of(world, outcomes, cell).mean()), cell.decimals))
        if cell.model == row
        else cell
        for cell in world.cells
    ]


def metrics_of(world: World, row: str, outcomes: Outcomes) -> list[Metric]:
    """Return our metrics of a simulated run, with Wilson intervals."""
    found = []
    keys = dict.fromkeys((c.variant, c.category, c.metric) for c in world.cells if c.model == row)
    cells = {(c.variant, c.category, c.metric): c for c in world.cells if c.model == row}
    for variant, category, metric in keys:
        values = value_of(world, outcomes, cells[variant, category, metric]) / 100
        n, mean = int(world.members(category).sum()), float(values.mean())
        low, high = wilson(mean, n, 0.95)
        spread = float(values.std(ddof=1)) if values.size > 1 else None
        where = ("ours", world.benchmark, variant, None, None, PARSER, category, metric)
        base = Metric(*where, mean, low, high, n, "wilson", spread)
        of_seeds = [replace(base, seed=seed, sample=0) for seed in range(values.size)]
        found += [base] if values.size == 1 else [base, *of_seeds]
    return found


def changed(outcomes: Outcomes, change: Change, rng: np.random.Generator) -> dict[tuple[str, str], np.ndarray]:
    return {key: change(right, rng) for key, right in outcomes.items()}


def verdicts(world: World, row: str, published: Outcomes, ours: Outcomes) -> list[str]:
    """Return the verdicts on the cells of a row, from a published and an own run."""
    rows = comparison.compare_cells(
        printed(world, row, published), metrics_of(world, row, ours), published_rows={"ours": row}, parsers=[PARSER]
    )
    return [found.verdict for found in rows if found.model == "ours"]


def distinct(rows: Iterable[str], cells: Sequence[PublishedCell]) -> list[str]:
    """Return the rows, without those that print the same numbers as an earlier one."""
    seen: dict[tuple[tuple[str, str, float], ...], str] = {}
    for row in rows:
        seen.setdefault(tuple(sorted((c.table, c.column, c.value) for c in cells if c.model == row)), row)
    return list(seen.values())

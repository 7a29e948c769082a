"""Simulate runs of known truth and count their verdicts: python -m bench.verdicts.simulate --seed 0 --trials 200.

Each trial takes a published row at random, draws a published run of it and our run, prints the former and judges. The
table has the share of the verdicts over the numbers of all trials. See docs/comparison.md#verdicts.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable

import numpy as np

from bench.verdicts import world as worlds
from bench.verdicts.world import Outcomes, World
from known_unknowns.comparison import (
    COMPATIBLE,
    DIFFERS,
    IDENTICAL,
    INCONCLUSIVE,
    REPRODUCED,
    UNJUDGED,
)
from known_unknowns.comparison import (
    verdicts as rules,
)

FLIPS, LOSS = 0.005, 0.05
_OPTIONS = 4
Ours = Callable[[World, str, Outcomes, np.random.Generator], Outcomes]


def _random_flips(right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Change 0.5% of the answers to another option at random."""
    flipped = rng.random(right.shape) < FLIPS
    return np.where(flipped, ~right & (rng.random(right.shape) < 1 / (_OPTIONS - 1)), right)


def _losing_flips(right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Change 0.5% of the answers, all to a wrong option."""
    return right & (rng.random(right.shape) >= FLIPS)


def _losses(right: np.ndarray, rng: np.random.Generator, loss: float = LOSS) -> np.ndarray:
    """Turn right answers to wrong ones: 5% of all questions."""
    share = min(1.0, loss / max(right.mean(), 1e-9))
    return right & (rng.random(right.shape) >= share)


def _same(world: World, model: Outcomes, change: worlds.Change, rng: np.random.Generator) -> Outcomes:
    """The same model; with several seeds, other shuffles of the same questions."""
    return worlds.changed(worlds.run_of(world, model, rng), change, rng)


def _worse_model(world: World, row: str, rng: np.random.Generator) -> Outcomes:
    """Another model that is 5 points worse in every category: its answers are independent."""
    return worlds.changed(worlds.run_of(world, worlds.probabilities(world, row, rng), rng), _losses, rng)


def _losing_parts(world: World, model: Outcomes, rng: np.random.Generator) -> Outcomes:
    """The same model, which loses 3 points in every smallest category."""
    found = {}
    for key, right in worlds.run_of(world, model, rng).items():
        found[key] = right.copy()
        for part in world.sizes:
            found[key][:, world.members(part)] = _losses(right[:, world.members(part)], rng, 0.03)
    return found


def _guesser(world: World, model: Outcomes, rng: np.random.Generator) -> Outcomes:
    return {key: rng.random((world.seeds, p.size)) < 1 / _OPTIONS for key, p in model.items()}


def _other_row(world: World, row: str, model: Outcomes, rng: np.random.Generator) -> Outcomes:
    """The run of another row of the same tables, under the name of this one."""
    others = [r for r in worlds.distinct(world.rows, world.cells) if r != row]
    for other in rng.permutation(others):
        found = worlds.probabilities(world, str(other), rng)
        if model.keys() <= found.keys():
            return worlds.run_of(world, found, rng)
    return _guesser(world, model, rng)


SCENARIOS: dict[str, Ours] = {
    "same model": lambda w, r, m, g: _same(w, m, lambda right, _: right, g),
    "same model, 0.5% flipped": lambda w, r, m, g: _same(w, m, _random_flips, g),
    "same model, 0.5% flipped to wrong": lambda w, r, m, g: _same(w, m, _losing_flips, g),
    "5 points lost": lambda w, r, m, g: _same(w, m, _losses, g),
    "another model, 5 points worse": lambda w, r, m, g: _worse_model(w, r, g),
    "another row of the table": _other_row,
    "guesser": lambda w, r, m, g: _guesser(w, m, g),
    "3 points lost in every part": lambda w, r, m, g: _losing_parts(w, m, g),
}


def run(benchmark: str, scenario: str, *, trials: int, seed: int) -> Counter[str]:
    """Return the number of each verdict over all trials. The trials of a seed do not depend on the rules."""
    world = worlds.build(benchmark)
    rows = worlds.distinct(world.rows, world.cells)
    names = list(SCENARIOS)
    found: Counter[str] = Counter()
    for trial in range(trials):
        rng = np.random.default_rng([seed, names.index(scenario), trial])
        row = str(rng.choice(rows))
        model = worlds.probabilities(world, row, rng)
        published = worlds.run_of(world, model, rng)
        ours = SCENARIOS[scenario](world, row, model, rng)
        found.update(worlds.verdicts(world, row, published, ours))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=200, help="rows per benchmark and scenario")
    parser.add_argument("--benchmark", action="append", choices=worlds.simulated())
    parser.add_argument("--agreement", type=float, default=rules.SMALLEST_AGREEMENT, help="SMALLEST_AGREEMENT")
    parser.add_argument("--rivals", type=float, default=rules.LARGEST_SHARE_OF_RIVALS, help="LARGEST_SHARE_OF_RIVALS")
    parser.add_argument("--group", type=int, default=rules.SMALLEST_GROUP, help="SMALLEST_GROUP; 0 for no support rule")
    chosen = parser.parse_args()
    rules.SMALLEST_AGREEMENT, rules.LARGEST_SHARE_OF_RIVALS = chosen.agreement, chosen.rivals
    rules.SMALLEST_GROUP = chosen.group
    if not chosen.group:
        rules.SMALLEST_AGREEMENT = 0.0
    columns = (IDENTICAL, REPRODUCED, COMPATIBLE, INCONCLUSIVE, DIFFERS)
    print("| benchmark | our run | numbers | " + " | ".join(columns) + " | identical or reproduced |")
    print("|---|---|" + "---:|" * (len(columns) + 2))
    for benchmark in chosen.benchmark or worlds.simulated():
        for scenario in SCENARIOS:
            counts = run(benchmark, scenario, trials=chosen.trials, seed=chosen.seed)
            assert not any(counts[verdict] for verdict in UNJUDGED), counts
            n = counts.total()
            shares = [f"{100 * counts[verdict] / n:.1f}" for verdict in columns]
            both = 100 * (counts[IDENTICAL] + counts[REPRODUCED]) / n
            print(f"| {benchmark} | {scenario} | {n:,} | " + " | ".join(shares) + f" | {both:.2f} |", flush=True)


if __name__ == "__main__":
    main()

"""The rendered editions, by the names of their benchmarks."""

from __future__ import annotations

from pathlib import Path

from known_unknowns.benchmark.pocket import Pocket
from known_unknowns.benchmark.terms import read_terms
from known_unknowns_pocket.benchmarks import actiview, humblebench, mm_upd, mmsap

TERMS = read_terms(Path(__file__).parent, "scenes")
"""The licence of everything that this package renders."""
_EDITIONS = {
    "humblebench": Pocket(
        humblebench.build,
        humblebench.content_digest,
        TERMS,
        scenes=humblebench.write_scene_folder,
        templates=humblebench.TEMPLATES,
    ),
    "mmsap": Pocket(mmsap.build, mmsap.content_digest, TERMS),
    "actiview": Pocket(actiview.build, actiview.content_digest, TERMS),
    "mm_upd": Pocket(mm_upd.build, mm_upd.content_digest, TERMS),
}


def edition(benchmark: str) -> Pocket | None:
    """Return the rendered edition of a benchmark; None if there is none."""
    return _EDITIONS.get(benchmark)

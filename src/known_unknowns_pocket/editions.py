"""The rendered editions, by the names of their benchmarks."""

from __future__ import annotations

from known_unknowns.benchmark.pocket import Pocket
from known_unknowns_pocket.benchmarks import actiview, humblebench, mm_upd, mmsap
from known_unknowns_pocket.terms import TERMS


def edition(benchmark: str) -> Pocket | None:
    """Return the rendered edition of a benchmark; None if there is none."""
    if benchmark == "humblebench":
        return Pocket(
            humblebench.build,
            humblebench.content_digest,
            TERMS,
            scenes=humblebench.write_scene_folder,
            templates=humblebench.TEMPLATES,
        )
    if benchmark == "mmsap":
        return Pocket(mmsap.build, mmsap.content_digest, TERMS)
    if benchmark == "actiview":
        return Pocket(actiview.build, actiview.content_digest, TERMS)
    if benchmark == "mm_upd":
        return Pocket(mm_upd.build, mm_upd.content_digest, TERMS)
    return None

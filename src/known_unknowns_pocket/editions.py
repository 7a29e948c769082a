"""The rendered editions. pyproject.toml registers them as entry points, by the names of their benchmarks."""

from __future__ import annotations

from pathlib import Path

from known_unknowns.benchmark.pocket import Pocket
from known_unknowns_pocket.benchmarks import actiview, humblebench, mm_upd, mmsap

FOLDER = Path(__file__).parent
"""The folder of the licence of everything that this package renders."""
_CODE = ("known_unknowns_pocket", "known_unknowns_construction")

HUMBLEBENCH = Pocket(
    humblebench.build,
    humblebench.content_digest,
    FOLDER,
    scenes=humblebench.write_scene_folder,
    templates=humblebench.TEMPLATES,
    code=_CODE,
)
MMSAP = Pocket(mmsap.build, mmsap.content_digest, FOLDER, code=_CODE)
ACTIVIEW = Pocket(actiview.build, actiview.content_digest, FOLDER, code=_CODE)
MM_UPD = Pocket(mm_upd.build, mm_upd.content_digest, FOLDER, code=_CODE)

"""How a benchmark is constructed is found by its name."""

from __future__ import annotations

import sys
from types import ModuleType

from known_unknowns_construction.benchmarks import GROUP, construction_of
from known_unknowns_construction.interface import Construction


def test_one_of_another_distribution(tmp_path, monkeypatch):
    theirs = ModuleType("their_construction")
    theirs.CONSTRUCTION = Construction(generators={}, kinds={"colour": "Colour"})
    monkeypatch.setitem(sys.modules, "their_construction", theirs)
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\ntheirs = their_construction:CONSTRUCTION\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert construction_of("theirs") is theirs.CONSTRUCTION

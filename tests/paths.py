"""Paths that tests share: the project, and a folder of real benchmark files beside it that may be absent."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
SOURCE = ROOT / "src" / "known_unknowns"

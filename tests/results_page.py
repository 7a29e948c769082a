"""The files of a run that results/README.md explains."""

from __future__ import annotations

import re

from tests.paths import ROOT


def unexplained(paths: list[str]) -> list[str]:
    """The paths below results/<edition>/ that no row of the page explains: "<model>" is any name, "logs/" a folder."""
    text = (ROOT / "results/README.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    patterns = [re.escape(path) for cell in cells for path in re.findall(r"`([^`]+)`", cell)]
    names = "|".join(
        re.sub(r"<\w+>", "[^/]+", pattern) + (".+" if pattern.endswith("/") else "") for pattern in patterns
    )
    return [path for path in paths if not re.fullmatch(names, path)]

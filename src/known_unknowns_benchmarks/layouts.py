"""Layouts of the papers' tables, from tables.yaml in a benchmark's folder: table to the keys of a `Layout`.

In place of ``split_heading``, ``groups`` maps a column heading to the heading of its group and its own, and ``split``
lists groups whose name is the first word of a heading. ``conditions`` are lists of variant, parser and label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from known_unknowns.report.paper_tables import Layout
from known_unknowns.yaml_reader import parse_yaml


def read_layouts(folder: Path, **others: Any) -> dict[str, Layout]:
    """Return the layouts of a benchmark's tables, in their order; ``others`` are attributes of all of them."""
    return {
        name: Layout(
            split_heading=partial(_split, given.pop("groups", {}), given.pop("split", ())),
            conditions={(variant, parser): label for variant, parser, label in given.pop("conditions", ())},
            secondary={metric: (other, label) for metric, (other, label) in given.pop("secondary", {}).items()},
            **given,
            **others,
        )
        for name, given in parse_yaml((folder / "tables.yaml").read_text(encoding="utf-8")).items()
    }


def _split(groups: Mapping[str, Sequence[str]], split: Sequence[str], column: str) -> tuple[str, str]:
    group, _, rest = column.partition(" ")
    if group in split and rest:
        return group, rest
    group, own = groups.get(column, ("", column))
    return group, own

"""Compare the tables of two runs of one edition row by row, and print the differences as Markdown.

::

    python bench/restructure/compare.py BEFORE AFTER [--edition pocket]

BEFORE and AFTER are project folders with data/<edition>/questions and results/<edition>. Rows are joined by their keys.
The values of the columns that both tables have are compared exactly; undefined values are equal to each other.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

GROUPS_SHOWN = 12


@dataclass(frozen=True)
class Kind:
    """A kind of table.

    Attributes
    ----------
    name : str
    files : str
        Pattern of the files in a project folder.
    keys : tuple of str
        The columns that identify a row of a file.
    groups : tuple of str
        The columns by which differences are counted, besides the column that differs.
    """

    name: str
    files: str
    keys: tuple[str, ...]
    groups: tuple[str, ...] = ()


KINDS = (
    Kind("questions", "data/{edition}/questions/**/*.parquet", ("id",)),
    Kind("replies", "results/{edition}/replies/*/*/*/*.parquet", ("question_id", "turn"), ("step",)),
    Kind("scores", "results/{edition}/scores/*/*/*/*.parquet", ("question_id", "turn", "scorer"), ("scorer",)),
    Kind(
        "metrics",
        "results/{edition}/metrics/*/*.parquet",
        ("variant", "seed", "scorer", "category", "name"),
        ("scorer", "name"),
    ),
    Kind(
        "comparison",
        "results/{edition}/comparison.parquet",
        ("benchmark", "table", "row", "column", "variant", "category", "metric", "model", "scorer"),
        ("benchmark", "table"),
    ),
)


@dataclass
class Differences:
    """What differs in the files of one kind that both runs have. Counters are by group."""

    equal: int = 0
    differing: int = 0
    columns: dict[str, Counter[str]] = field(default_factory=dict)
    only_before: Counter[str] = field(default_factory=Counter)
    only_after: Counter[str] = field(default_factory=Counter)

    def add(self, kind: Kind, old: Mapping[Any, Any], new: Mapping[Any, Any], columns: Sequence[str]) -> None:
        """Add the rows of one file, by their keys."""

        def group(row: Mapping[str, Any]) -> str:
            return " ".join(str(row[column]) for column in kind.groups)

        self.only_before.update(group(old[key]) for key in old.keys() - new.keys())
        self.only_after.update(group(new[key]) for key in new.keys() - old.keys())
        for key in old.keys() & new.keys():
            changed = [column for column in columns if old[key][column] != new[key][column]]
            self.equal += not changed
            self.differing += bool(changed)
            for column in changed:
                self.columns.setdefault(column, Counter())[group(new[key])] += 1


def rows_of(path: Path, keys: Sequence[str]) -> tuple[dict[tuple[Any, ...], dict[str, Any]], list[str]]:
    """Return the rows of a table by their keys, and its columns. ValueError if two rows have the same keys."""
    table = pq.read_table(path)
    found = {tuple(row[key] for key in keys): row for row in table.to_pylist()}
    if len(found) != table.num_rows:
        raise ValueError(f"{path}: the keys {', '.join(keys)} do not identify a row")
    return found, table.column_names


def report(before: Path, after: Path, edition: str) -> Iterator[str]:
    """Yield the lines of the comparison: a table, then the differences by column and group."""
    yield "| table | files in both | only before | only after | rows equal | rows differ | only before | only after |"
    yield "|---|---|---|---|---|---|---|---|"
    details: list[str] = []
    for kind in KINDS:
        pattern = kind.files.format(edition=edition)
        here, there = ({path.relative_to(root).as_posix() for path in root.glob(pattern)} for root in (before, after))
        found = Differences()
        for name in sorted(here & there):
            (old, old_columns), (new, columns) = (rows_of(root / name, kind.keys) for root in (before, after))
            found.add(kind, old, new, [column for column in old_columns if column in columns])
        files = [len(here & there), len(here - there), len(there - here)]
        rows = [found.equal, found.differing, found.only_before.total(), found.only_after.total()]
        yield f"| {kind.name} | {' | '.join(f'{number:,}' for number in files + rows)} |"
        parts = {f"column {column}": counts for column, counts in found.columns.items()}
        parts |= {"rows only before": found.only_before, "rows only after": found.only_after}
        for title, counts in parts.items():
            if counts:
                most = ", ".join(f"{group} {count:,}" for group, count in counts.most_common(GROUPS_SHOWN))
                details.append(f"- {kind.name}, {title}: {counts.total():,} ({most})")
    yield ""
    yield from details


def main() -> None:
    """Print the comparison of two runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--edition", default="pocket")
    arguments = parser.parse_args()
    for line in report(arguments.before, arguments.after, arguments.edition):
        print(line)


if __name__ == "__main__":
    main()

"""Compare the values of two runs row by row, and explain differences by the entries of expected.yaml."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from bench.golden.tables import KINDS, Kind

TOLERANCE = {"logprobs": 1e-4}
"""Of the numbers of a column; of all others it is 1e-9, absolute and relative."""
_HEAD = ("kind", "golden", "run", "equal", "differing", "missing", "extra", "unexplained")


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    Attributes
    ----------
    change : str
        ``differing`` (a value), ``missing`` or ``extra`` (a row), or ``column`` (a column that one side lacks).
    row : mapping
        The keys of the row.
    changed : str
        The column that differs.
    golden, run : object
        The two values.
    """

    change: str
    row: Mapping[str, Any]
    changed: str = ""
    golden: Any = None
    run: Any = None

    def is_of(self, where: Mapping[str, Any]) -> bool:
        """Whether the columns of an entry of expected.yaml, with values or globs, are those of this difference."""
        facts = {**{key: getattr(self, key) for key in ("change", "changed", "golden", "run")}, **self.row}
        return all(key in facts and fnmatchcase(_shown(facts[key]), _shown(where[key])) for key in where)

    def __str__(self) -> str:
        values = f": {_shown(self.golden)[:80]!r}, now {_shown(self.run)[:80]!r}" if self.change == "differing" else ""
        return f"- {self.change} {self.changed}{values} ({', '.join(map(_shown, self.row.values()))})"


def differences(golden: pa.Table | None, run: pa.Table | None, kind: Kind) -> tuple[Counter[str], list[Difference]]:
    """Compare two tables of one kind. Rows with equal keys are compared in their order.

    Parameters
    ----------
    golden, run : Table or None
        None is a table without rows.
    kind : Kind

    Returns
    -------
    tuple of Counter and list of Difference
        The numbers of rows, and the differences.
    """
    old, new = ({} if table is None else table.to_pydict() for table in (golden, run))
    before, after = _index(old, kind), _index(new, kind)
    counts, found = Counter(golden=len(before), run=len(after)), []
    names = [name for name in {**old, **new} if name not in (*kind.keys, *kind.ignored) and "seconds" not in name]
    common = [name for name in names if name in old and name in new]
    if old and new:
        found += [Difference("column", {}, name, name in old, name in new) for name in names if name not in common]
    for key in {**before, **after}:
        row, here, there = dict(zip(kind.keys, key, strict=False)), before.get(key), after.get(key)
        if here is None or there is None:
            changed = [Difference("extra" if here is None else "missing", row)]
        else:
            pairs = ((name, old[name][here], new[name][there]) for name in common)
            changed = [Difference("differing", row, *pair) for pair in pairs if not equal(*pair)]
        counts[changed[0].change if changed else "equal"] += 1
        found += changed
    return counts, found


def _index(columns: Mapping[str, Sequence[Any]], kind: Kind) -> dict[tuple[Any, ...], int]:
    """Return the place of each row by its keys and by how many rows before it have the same ones."""
    seen: Counter[tuple[Any, ...]] = Counter()
    found = {}
    for place, key in enumerate(zip(*(columns[name] for name in kind.keys), strict=True) if columns else ()):
        found[*key, seen[key]] = place
        seen[key] += 1
    return found


def equal(name: str, golden: Any, run: Any) -> bool:
    """Whether two values of a column are equal: numbers within its tolerance."""
    if golden == run:
        return True
    if name in TOLERANCE and isinstance(golden, str) and isinstance(run, str):
        old, new = json.loads(golden), json.loads(run)
        return old.keys() == new.keys() and all(equal(name, old[key], new[key]) for key in old)
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in (golden, run)):
        return False
    close = math.isclose(golden, run, rel_tol=1e-9, abs_tol=TOLERANCE.get(name, 1e-9))
    return close or (math.isnan(golden) and math.isnan(run))


def _shown(value: Any) -> str:
    return "" if value is None else str(value)


def select(table: pa.Table | None, editions: Sequence[str], *, without_robust: bool) -> pa.Table | None:
    """Return the rows of some editions (none: of all), with or without those that depend on the robust parser."""
    if table is None:
        return None
    keep = [True] * table.num_rows
    for name in table.column_names:
        values = table[name].to_pylist() if name.startswith(("parser", "variant", "edition")) else []
        for place, value in enumerate(values):
            if name == "edition":
                keep[place] &= not editions or value in editions
            elif without_robust:
                keep[place] &= value != "robust" and not (value or "").endswith("_robust")
    return table.filter(pa.array(keep, pa.bool_()))


def report(
    golden: Mapping[str, pa.Table],
    run: Mapping[str, pa.Table],
    *,
    expected: Sequence[Mapping[str, Any]] = (),
    kinds: Sequence[str] = ("*",),
    editions: Sequence[str] = (),
    without_robust: bool = False,
    shown: int = 5,
) -> tuple[list[str], int]:
    """Return the lines of a comparison, and the number of differences that no entry explains.

    Parameters
    ----------
    golden, run : mapping of str to Table
        Tables by kind.
    expected : sequence of mapping, optional
        Entries of expected.yaml.
    kinds, editions : sequence of str, optional
        Compare these only. Kinds may be globs.
    without_robust : bool, optional
        Leave out rows of the robust parser.
    shown : int, optional
        How many unexplained differences of a kind are printed.
    """
    lines, details = [f"| {' | '.join(_HEAD)} |", "|" + "---|" * len(_HEAD)], []
    explained, total = [0] * len(expected), 0
    for kind in (kind for kind in KINDS if any(fnmatchcase(kind.name, name) for name in kinds)):
        sides = (select(side.get(kind.name), editions, without_robust=without_robust) for side in (golden, run))
        counts, found = differences(*sides, kind)
        places = [place for place, entry in enumerate(expected) if fnmatchcase(kind.name, entry["kind"])]
        unexplained = []
        for each in found:
            of = next((place for place in places if each.is_of(expected[place].get("where", {}))), None)
            if of is None:
                unexplained.append(each)
            else:
                explained[of] += 1
        counts["unexplained"] = len(unexplained)
        lines.append(f"| {kind.name} | {' | '.join(f'{counts[name]:,}' for name in _HEAD[1:])} |")
        details += _details(kind.name, unexplained, shown)
        total += len(unexplained)
    why = [f"- {number:,} {entry['kind']}: {entry['why']}" for number, entry in zip(explained, expected, strict=True)]
    return [*lines, *(["", "Explained differences:", *why] if why else []), *details], total


def _details(kind: str, found: Sequence[Difference], shown: int) -> Iterator[str]:
    if found:
        counts = Counter(f"{each.change} {each.changed}".strip() for each in found)
        yield from ("", f"{kind}: " + ", ".join(f"{name} {count:,}" for name, count in counts.most_common()))
        yield from map(str, found[:shown])


def read_expected(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file of explained differences. ValueError if one has not the right keys."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    for entry in entries:
        if not {"kind", "why"} <= entry.keys() <= {"kind", "where", "why"}:
            raise ValueError(f"{path}: an entry has the keys kind, where (may be left out) and why: {entry}")
    return entries

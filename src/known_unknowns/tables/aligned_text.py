"""Tables as lines of aligned text, for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def align(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """Return each row of cells as one line, in columns two spaces apart. The columns ``right`` are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = zip(row, widths, strict=True)
        lines.append("  ".join(c.rjust(w) if n in right else c.ljust(w) for n, (c, w) in enumerate(cells)).rstrip())
    return lines

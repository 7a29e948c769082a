"""The results of a review as text, for the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from known_unknowns.records import OVERALL
from known_unknowns_construction.review.error_analysis import ErrorShare

_OF_INITIAL = ("kept", "modified", "deleted", "final", "pending", "disputed")


def counts_as_text(counts: Mapping[str, int]) -> str:
    """Return the counts with their shares of the initial questions, as Table 2 of Tong et al. (2025) does."""
    initial = counts["initial"]
    lines = [f"initial    {initial:>7,}"]
    for name in _OF_INITIAL:
        share = f"  ({counts[name] / initial:.2%})" if initial else ""
        lines.append(f"{name:<10} {counts[name]:>7,}{share}")
    if counts["stale"]:
        lines.append(f"{counts['stale']:,} decisions are on other versions of their questions and do not count")
    return "\n".join(lines)


def as_text(summary: Mapping[str, Any], errors: Sequence[ErrorShare] = ()) -> str:
    """Return a summary (`known_unknowns_construction.review.results.summary`) as text."""
    parts = [str(summary["title"])]
    parts.append(_errors(errors) if errors else counts_as_text(summary["counts"]))
    parts.append(_table(("reviewer", "role", "decided", "undone", "median time", "actions"), _reviewers(summary)))
    if summary["agreement"]:
        parts.append(
            _table(("scale", "coefficient", "reviewers", "value", "95 % interval", "n", "same"), _rows(summary))
        )
        parts.append(f"Intervals: {summary['agreement'][0]['method']}.")
    if summary["disputed"]:
        shown = ", ".join(summary["disputed"][:10])
        parts.append(
            f"{len(summary['disputed'])} disputed ({shown}): decide them with  known-unknowns review start --adjudicate"
        )
    if summary["unknown"]:
        parts.append(f"{summary['unknown']} decisions are on questions that are not here")
    return "\n\n".join(printable(part) for part in parts)


def next_step(out: Path, benchmark: str | None, counts: Mapping[str, int]) -> str:
    """Return what was written, and how to use it."""
    if benchmark is None:
        return (
            f"{out / 'final.jsonl'} has the {counts['final']:,} kept and modified candidates; {out / 'review.json'} why"
        )
    return (
        f"{out} corrects {counts['modified']:,} questions and leaves out {counts['deleted']:,}. To measure the effect, "
        f"add to params.yaml\n\n  variants:\n    corrected: {{corrections: {out.as_posix()}}}\n\n"
        f"and list corrected under the variants of {benchmark}. Unchanged prompts are not asked again."
    )


def printable(text: str) -> str:
    """Return a text without characters that control a terminal."""
    return "".join(c if c == "\n" or c.isprintable() else "�" for c in text)


def _errors(rows: Sequence[ErrorShare]) -> str:
    overall = [row for row in rows if row.category == OVERALL and (row.count or row.n == 0)]
    cells = [
        (
            row.tag,
            str(row.count),
            "" if row.share is None else f"{row.share:.1%}",
            "" if row.low is None or row.high is None else f"{row.low:.1%} to {row.high:.1%}",
            " ".join(row.examples),
        )
        for row in sorted(overall, key=lambda row: -row.count)
    ]
    first = rows[0]
    note = f"n = {first.n} tagged wrong answers ({first.disputed} disputed). Intervals: {first.method}."
    return _table(("kind of error", "count", "share", "95 % interval", "examples"), cells) + f"\n{note}"


def _reviewers(summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            row["reviewer"],
            row["role"],
            str(row["decided"]),
            str(row["undone"]),
            "" if row["median_seconds"] is None else f"{row['median_seconds']:.1f} s",
            ", ".join(f"{count} {action}" for action, count in row["actions"].items()),
        )
        for row in summary["reviewers"]
    ]


def _rows(summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
    def number(value: float | None) -> str:
        return "undefined" if value is None else f"{value:.3f}"

    return [
        (
            row["scale"],
            row["coefficient"],
            ", ".join(row["reviewers"]),
            number(row["value"]),
            "undefined" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}",
            str(row["n"]),
            "" if row["same"] is None else f"{row['same']:.1%}",
        )
        for row in summary["agreement"]
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [head, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells)

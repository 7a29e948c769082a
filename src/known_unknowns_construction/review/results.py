"""What a review leaves: final candidates, corrections, and its counts and agreement, also as text."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from known_unknowns.files import write_text
from known_unknowns.records import OVERALL
from known_unknowns.tables.aligned_text import align
from known_unknowns.variants.corrections import FORMAT
from known_unknowns_construction.candidates import read_candidates
from known_unknowns_construction.jsonl import write_records
from known_unknowns_construction.review.agreement import agreement
from known_unknowns_construction.review.decisions import (
    DELETED,
    MODIFIED,
    UNDO,
    AppliedDecisions,
    Decision,
    Outcome,
    apply_decisions,
    counts_of,
    outcomes,
    standing,
)
from known_unknowns_construction.review.error_analysis import ErrorShare
from known_unknowns_construction.review.items import Source


def summary(
    source: Source, decisions: Sequence[Decision], *, required: int = 1, confidence: float = 0.95, seed: int = 0
) -> dict[str, Any]:
    """Return the counts, the work of each reviewer, and the agreement, as JSON-able values."""
    found = standing(decisions)
    contents = {item.id: item.content for item in source.items}
    after = outcomes(contents, decisions, required=required)
    reasons = Counter(decision.reason for each in after.values() for decision in each.decisions if decision.reason)
    groups = {item.id: item.group for item in source.items}
    return {
        "title": source.title,
        "counts": counts_of(after.values()),
        "reviewers": _reviewers(decisions),
        "reasons": dict(reasons.most_common()),
        "agreement": [asdict(row) for row in agreement(contents, groups, found, confidence=confidence, seed=seed)],
        "disputed": [identifier for identifier, each in after.items() if each.state == "disputed"],
        "unknown": sum(len(of_item) for item, of_item in found.items() if item not in contents),
    }


def _reviewers(decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    rows = []
    counting = [decision for of_item in standing(decisions).values() for decision in of_item.values()]
    for role, name in dict.fromkeys((decision.role, decision.reviewer) for decision in decisions):
        own = [d for d in counting if (d.role, d.reviewer) == (role, name)]
        times = [d.seconds for d in own if d.seconds is not None]
        rows.append(
            {
                "reviewer": name,
                "role": role,
                "decided": len(own),
                "actions": dict(Counter(decision.tag or decision.action for decision in own)),
                "undone": sum(d.action == UNDO and (d.role, d.reviewer) == (role, name) for d in decisions),
                "median_seconds": statistics.median(times) if times else None,
            }
        )
    return rows


def write_applied(path: Path, decisions: Sequence[Decision], out: Path, *, required: int = 1) -> AppliedDecisions:
    """Write what decisions make of a file of candidates to the folder ``out``.

    ``final.jsonl`` has the kept and modified candidates, with the image paths of ``path``; ``review.json`` the counts
    and the outcome of each candidate with its reasons.
    """
    applied = apply_decisions(read_candidates(path), decisions, required=required)
    write_records(out / "final.jsonl", applied.final)
    content = {
        "counts": applied.counts,
        "outcomes": [
            {
                "id": identifier,
                "state": found.state,
                "adjudicated": found.adjudicated,
                "reasons": list(found.reasons),
                "after": asdict(found.content) if found.state == MODIFIED and found.content else None,
            }
            for identifier, found in applied.outcomes.items()
        ],
    }
    write_text(out / "review.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return applied


def write_corrections(
    benchmark: str, source: Source, decisions: Sequence[Decision], out: Path, *, required: int = 1
) -> Mapping[str, Outcome]:
    """Write the corrections of a published benchmark to a JSON file, for the variant ``corrected``.

    Pending and disputed questions are not in it. Returns the outcome of each question by its id.
    """
    after = outcomes({item.id: item.content for item in source.items}, decisions, required=required)
    entries = [
        {
            "id": item.id,
            "sha256": item.content.sha256,
            "why": "; ".join(after[item.id].reasons),
            "before": asdict(item.content),
            "after": asdict(content) if (content := after[item.id].content) else None,
        }
        for item in source.items
        if after[item.id].state in (MODIFIED, DELETED)
    ]
    corrections = {"format": FORMAT, "benchmark": benchmark, "corrections": entries}
    write_text(out, json.dumps(corrections, indent=1, ensure_ascii=False) + "\n")
    return after


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
    parts.append(_table(("reviewer", "role", "decided", "undone", "median time", "actions"), _reviewer_rows(summary)))
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


def _reviewer_rows(summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
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
    return "\n".join(align([head, *rows]))

"""What a review leaves: final candidates, corrections of published questions, and its counts and agreement."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from known_unknowns.files import write_text
from known_unknowns.variants.corrections import FORMAT
from known_unknowns_construction.candidates import read_candidates
from known_unknowns_construction.jsonl import write_records
from known_unknowns_construction.review.agreement import agreement
from known_unknowns_construction.review.decisions import (
    DELETED,
    MODIFIED,
    AppliedDecisions,
    Outcome,
    apply_decisions,
    counts_of,
    outcome,
    standing,
)
from known_unknowns_construction.review.items import Source
from known_unknowns_construction.review.records import UNDO, Decision


def outcomes(source: Source, decisions: Sequence[Decision], *, required: int = 1) -> dict[str, Outcome]:
    """Return the outcome of each item of a source, in its order."""
    found = standing(decisions)
    return {item.id: outcome(item.content, found.get(item.id, {}).values(), required=required) for item in source.items}


def summary(
    source: Source, decisions: Sequence[Decision], *, required: int = 1, confidence: float = 0.95, seed: int = 0
) -> dict[str, Any]:
    """Return the counts, the work of each reviewer, and the agreement, as JSON-able values.

    Parameters
    ----------
    source : Source
    decisions : sequence of Decision
        All decisions, undone ones included.
    required : int
        Number of reviewers without whom an item is pending.
    confidence : float
        Level of the intervals of the agreement.
    seed : int
        Seed of their bootstrap.
    """
    found = standing(decisions)
    after = outcomes(source, decisions, required=required)
    reasons = Counter(decision.reason for each in after.values() for decision in each.decisions if decision.reason)
    contents = {item.id: item.content for item in source.items}
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
    """Write what decisions make of a file of candidates.

    Parameters
    ----------
    path : Path
        The candidates.
    decisions : sequence of Decision
    out : Path
        The folder to write: ``final.jsonl`` has the kept and modified candidates, ``review.json`` the counts and the
        outcome of each candidate with its reasons. Paths of images in ``final.jsonl`` are those of ``path``.
    required : int
        Number of reviewers without whom a candidate is pending.
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
                "after": found.content.as_dict() if found.state == MODIFIED and found.content else None,
            }
            for identifier, found in applied.outcomes.items()
        ],
    }
    write_text(out / "review.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return applied


def write_corrections(
    benchmark: str, source: Source, decisions: Sequence[Decision], out: Path, *, required: int = 1
) -> Mapping[str, Outcome]:
    """Write the corrections of a published benchmark that decisions make, for the variant ``corrected``.

    Parameters
    ----------
    benchmark : str
        Name of the benchmark.
    source : Source
        Its questions as published.
    decisions : sequence of Decision
    out : Path
        The JSON file. Pending and disputed questions are not in it.
    required : int
        Number of reviewers without whom a question is pending.

    Returns
    -------
    Mapping
        Id of each question to its outcome.
    """
    after = outcomes(source, decisions, required=required)
    entries = [
        {
            "id": item.id,
            "sha256": item.content.sha256,
            "why": "; ".join(after[item.id].reasons),
            "before": item.content.as_dict(),
            "after": after[item.id].content.as_dict() if after[item.id].content else None,  # type: ignore[union-attr]
        }
        for item in source.items
        if after[item.id].state in (MODIFIED, DELETED)
    ]
    content = {"format": FORMAT, "benchmark": benchmark, "corrections": entries}
    write_text(out, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return after

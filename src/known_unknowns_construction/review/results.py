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
    outcomes,
    standing,
)
from known_unknowns_construction.review.items import Source
from known_unknowns_construction.review.records import UNDO, Decision


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

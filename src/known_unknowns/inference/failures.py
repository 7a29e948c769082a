"""Questions without a usable reply: how many a run recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from known_unknowns import json_files
from known_unknowns.config import Params
from known_unknowns.edition_files import replies_table
from known_unknowns.records import Reply

FINISHES = ("error", "rejected", "no_choice", "content_filter")
"""``Reply.finish`` of questions that the engine or the endpoint failed to answer. A model's refusal is an answer."""

CUT_OFF = "length"
"""``Reply.finish`` of a reply that ended at the token limit."""


def is_failure(reply: Reply, finishes: Collection[str] = FINISHES) -> bool:
    """Whether the engine failed to answer, in one of these ways. A reply that was cut off has no text of an answer."""
    failed = reply.error is not None or (reply.finish == CUT_OFF and not reply.text.strip())
    return failed and reply.finish in finishes


def count(replies: Iterable[Reply]) -> dict[str, int]:
    """Return the number of failures by ``Reply.finish``."""
    finishes = (*FINISHES, CUT_OFF)
    found = Counter(reply.finish for reply in replies if is_failure(reply, finishes))
    return {finish: found[finish] for finish in finishes if found[finish]}


def recorded(params: Params, results: Path, *, program: str) -> list[str]:
    """Return one line for each model and benchmark of the edition with recorded failures, and lines with the remedies.

    ``program`` is the command line's program.
    """
    lines, finishes = [], set[str]()
    for model in params.models:
        for benchmark in params.benchmarks:
            path = replies_table(results / "replies", model, benchmark).with_name("engine.json")
            found = json_files.read(path).get("failures") if path.is_file() else None
            if found:
                reasons = ", ".join(f"{number} {finish}" for finish, number in found.items())
                lines.append(f"{model} {benchmark}: {sum(found.values())} without a usable reply ({reasons})")
                finishes |= found.keys()
    if finishes & set(FINISHES):
        lines.append(f"Ask them again: {program} retry MODEL --edition {params.edition}")
    if CUT_OFF in finishes:
        lines.append(
            f"{CUT_OFF}: cut off at the token limit before any answer; allow the model more tokens (reasoning.tokens "
            "or decoding.max_new_tokens in its entry), and run the same command again"
        )
    return lines

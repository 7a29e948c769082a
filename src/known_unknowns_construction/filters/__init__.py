"""Filters of candidates before a person reviews them. Each is optional, and its findings are counted.

A filter drops candidates or flags them. Every finding is a flag of its candidate with a reason, also of dropped ones.
Filters run in the order of `FILTERS`; a later one does not see what an earlier one dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns_construction.candidates import Candidate, Flag
from known_unknowns_construction.filters import answers, graph, texts
from known_unknowns_construction.filters._interface import Ask, Context, Filter, ModelAnswer

FILTERS: Mapping[str, Filter] = {
    "broken_schema": Filter(
        texts.broken_schema, "another form than the benchmark's: options, refusal, kind, texts", True
    ),
    "duplicate": Filter(texts.duplicates, "the same question and answer as an earlier one of the image", True),
    "near_duplicate": Filter(
        texts.near_duplicates, "nearly the same text as an earlier one of the image (MinHash)", True
    ),
    "repeated_option": Filter(texts.repeated_options, "two options that are the same or synonyms", True),
    "leak": Filter(texts.leaks, "an object's index, a class name, or a mention of the captions", True),
    "uncountable": Filter(graph.uncountable, "a count of stuff or of a crowd, which is not annotated", True, "graphs"),
    "contradiction": Filter(graph.contradictions, "an answer that the scene graph proves false", True, "graphs"),
    "two_correct": Filter(graph.two_correct, "a second option that the scene graph proves true", True, "graphs"),
    "solvable": Filter(answers.solvable_without_image, "models answer it without the image", True, "models"),
    "models_disagree": Filter(answers.models_disagree, "all models agree on another answer", False, "models"),
    "balance": Filter(answers.balance, "a kind, or an answer label in its kind, that is too frequent", False),
}
"""The filters by name, in the order in which they run."""


@dataclass(frozen=True, slots=True)
class FilterCount:
    """What a filter did: candidates that it saw, and its findings, which it dropped or flagged."""

    filter: str
    seen: int
    found: int
    action: str


@dataclass(frozen=True, slots=True)
class FilterResult:
    """Candidates after the filters. Both lists have the flags; ``left_out`` names filters that could not run."""

    kept: list[Candidate]
    dropped: list[Candidate]
    counts: list[FilterCount]
    left_out: Mapping[str, str]


def apply(
    candidates: Iterable[Candidate],
    context: Context,
    *,
    only: Collection[str] | None = None,
    without: Collection[str] = (),
    flag: Collection[str] = (),
) -> FilterResult:
    """Apply the filters.

    Flags of these filters from an earlier run are replaced. ``only`` are the filters to apply, by default all;
    ``without`` are left out, ``flag`` flag candidates instead of dropping them. Raises ConfigError for an unknown name.
    """
    for name in {*(only or ()), *without, *flag}:
        if name not in FILTERS:
            raise ConfigError(unknown_name(name, FILTERS), path="--only")
    kept = [_without_flags(candidate) for candidate in candidates]
    dropped: list[Candidate] = []
    counts: list[FilterCount] = []
    left_out: dict[str, str] = {}
    for name, each in FILTERS.items():
        if name in without or (only is not None and name not in only):
            continue
        missing = {"graphs": not context.graphs, "models": context.ask is None}.get(each.needs, False)
        if missing:
            left_out[name] = f"needs {each.needs}"
            continue
        drops = each.drops and name not in flag
        found = dict(each.find(kept, context))
        counts.append(FilterCount(name, len(kept), len(found), "dropped" if drops else "flagged"))
        flagged = [_with_flag(candidate, name, found.get(candidate.id)) for candidate in kept]
        dropped += [candidate for candidate in flagged if drops and candidate.id in found]
        kept = [candidate for candidate in flagged if not (drops and candidate.id in found)]
    return FilterResult(kept, dropped, counts, left_out)


def _without_flags(candidate: Candidate) -> Candidate:
    return replace(candidate, flags=tuple(flag for flag in candidate.flags if flag.filter not in FILTERS))


def _with_flag(candidate: Candidate, name: str, reason: str | None) -> Candidate:
    return candidate if reason is None else replace(candidate, flags=(*candidate.flags, Flag(name, reason)))


__all__ = ["FILTERS", "Ask", "Context", "Filter", "FilterCount", "FilterResult", "ModelAnswer", "apply"]

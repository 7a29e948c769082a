"""Whether our questions are the published ones and asked as published: source, revision, number, protocol, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison.margins import Flips, mean_turns
from known_unknowns.comparison.settings import differences, published_settings, unknown_settings
from known_unknowns.config.locked_commits import data_revision, is_commit
from known_unknowns.records import OVERALL, Metric

if TYPE_CHECKING:
    from known_unknowns.config import Params

QUESTIONS, REVISION, NUMBER, PROTOCOL, SETTINGS = "questions", "revision", "n", "protocol", "asked otherwise"
MODEL, VARIANT, METRIC = "model", "variant", "metric"
OBSTACLES = (QUESTIONS, REVISION, NUMBER, PROTOCOL, SETTINGS, MODEL, VARIANT, METRIC)
"""What prevents a judgement: the first five are "not comparable", the others "not run"."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How a model was asked beside its published row: what differs, and the settings that no source states."""

    otherwise: Sequence[str] = ()
    unknown: Sequence[str] = ()

    @property
    def note(self) -> str:
        """The unknown settings as a sentence; empty if there are none."""
        return f"Unknown in the source: {', '.join(self.unknown)}." if self.unknown else ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a run on one benchmark.

    ``other_questions`` is the reason why the questions are not the published ones, ``revision`` the commit of our data;
    both can be empty. ``other_protocols`` are the reasons why variants are not asked by the published protocol.
    ``flips`` are the measured ones by model. ``turns`` and ``asked`` return, of a model and a variant, the mean number
    of turns of a question (`margins.mean_turns`), and `Asked`. ``limit`` is the largest number of questions asked.
    """

    other_questions: str = ""
    revision: str = ""
    other_protocols: Mapping[str, str] = field(default_factory=dict)
    flips: Mapping[str, Flips] = field(default_factory=dict)
    turns: Callable[[str, str], float] = lambda model, variant: 1.0
    asked: Callable[[str, str], Asked] = lambda model, variant: Asked()
    limit: int | None = None


def conditions_of(
    params: Params, benchmark: str, flips: Mapping[str, Flips], replies: Path | None = None
) -> Conditions:
    """Return the conditions of an edition on a benchmark, with the numbers of turns in its folder of replies."""
    other = ""
    if params.data(benchmark).source == "scenes":
        other = f"the {params.edition} edition asks rendered questions, not the published ones"

    @cache
    def turns(model: str, variant: str) -> float:  # reads tables at the first use
        if replies is None:
            return 1.0
        return mean_turns(replies, model, benchmark, _parts(benchmark, variant), params.cells(benchmark, model))

    return Conditions(
        other,
        data_revision(benchmark, params.data(benchmark)),
        other_protocols(params, benchmark),
        flips,
        turns,
        asked_as(params, benchmark),
        params.limit,
    )


def asked_as(params: Params, benchmark: str) -> Callable[[str, str], Asked]:
    """Return how models were asked beside their published rows. The authors' own replies were asked as published."""

    @cache
    def asked(model: str, variant: str) -> Asked:
        row = published_settings(benchmark).get(params.published(model, benchmark) or "")
        if params.is_imported(model):
            return Asked()
        parts = [part for part in _parts(benchmark, variant) if part in params.variants(benchmark)]
        otherwise: dict[str, None] = {}
        unknown: dict[str, None] = {}
        for part in parts:
            published = row.of(part) if row else {}
            length = params.protocol(benchmark, part).arguments.get("max_new_tokens")
            otherwise |= dict.fromkeys(differences(published, params.model(model), benchmark, length).values())
            unknown |= dict.fromkeys(unknown_settings(published) if row else ())
        return Asked(tuple(otherwise), tuple(unknown))

    return asked


def _parts(benchmark: str, variant: str) -> Sequence[str]:
    """Return the variants that a number combines, or the variant itself."""
    combined = {found.name: found.variants for found in registry.get(benchmark).metrics().across_variants}
    return combined.get(variant, (variant,))


def other_protocols(params: Params, benchmark: str) -> dict[str, str]:
    """Return the variants whose protocol is not the published one, with the reason."""
    reasons = {}
    for variant, published in registry.get(benchmark).published_protocols.items():
        if variant in params.variants(benchmark):
            changed = published.differences(params.protocol(benchmark, variant))
            if changed:
                reasons[variant] = f"{variant} is asked with the protocol's {', '.join(changed)}"
    for combined in registry.get(benchmark).metrics().across_variants:
        reason = next((reasons[variant] for variant in combined.variants if variant in reasons), None)
        reasons |= {} if reason is None else {combined.name: reason}
    return reasons


def published_counts(cells: Iterable[PublishedCell]) -> dict[str, dict[str, int]]:
    """Return the published number of questions by revision and category.

    A number may be a share of only some questions of its category. The largest number is that of the category.
    """
    found: dict[str, dict[str, int]] = {}
    for cell in cells:
        number = published_number(cell)
        if number is not None:
            counts = found.setdefault(cell.revision, {})
            counts[cell.category] = max(number, counts.get(cell.category, 0))
    return found


def published_number(cell: PublishedCell) -> int | None:
    """Return the published number of questions of a cell; None if no source states it."""
    return cell.questions if cell.n is None else cell.n


def sampled_from(
    cell: PublishedCell, conditions: Conditions, own: Mapping[str, int], counts: Mapping[str, int]
) -> int | None:
    """Return the number of published questions of a cell if ours are a sample of them, which a limit drew; else None.

    ``own`` and ``counts`` are as in `difference`.
    """
    n = published_number(cell)
    if conditions.limit is None or own.get(OVERALL, 0) >= counts.get(OVERALL, n or 0):
        return None
    return n or counts.get(cell.category) or counts[OVERALL]


def difference(
    cell: PublishedCell, ours: Metric, conditions: Conditions, own: Mapping[str, int], counts: Mapping[str, int]
) -> tuple[str, str] | None:
    """Return what differs from the published conditions, as (obstacle, reason); None if nothing does.

    ``own`` and ``counts`` are our number of questions by category, and the published one of the data of the cell.
    """
    if cell.variant in conditions.other_protocols:
        return PROTOCOL, conditions.other_protocols[cell.variant]
    if otherwise := conditions.asked(ours.model, cell.variant).otherwise:
        return SETTINGS, f"{SETTINGS}: {'; '.join(otherwise)} (our {ours.model})"
    n = published_number(cell)
    sampled = sampled_from(cell, conditions, own, counts) is not None
    if n is not None and n not in (ours.n, ours.denominator) and not sampled:
        return NUMBER, f"published of {n:,} questions, ours are {ours.n:,}"
    if n is None and OVERALL not in counts:
        return NUMBER, "no source states the published number of questions"
    if is_commit(cell.revision) and not conditions.revision.startswith(cell.revision):
        return REVISION, f"published of revision {cell.revision[:12]}, ours is {conditions.revision[:12] or 'unknown'}"
    for category, number in counts.items() if not sampled else ():
        if own.get(category, number) != number:
            text = f"the published data have {number:,} questions of {category}, ours have {own[category]:,}"
            return REVISION, text
    return None

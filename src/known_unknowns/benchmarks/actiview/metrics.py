"""ActiView's metrics; see `known_unknowns.metrics.benchmark_hooks`. Sources are sections and tables of the paper.

| metric                   | numerator                                  | denominator                | source         |
|--------------------------|--------------------------------------------|----------------------------|----------------|
| view_recall              | annotated views that the answer is from    | annotated views            | Equation 1     |
| view_recall_as_published | the same, as Table 13 counts them          | annotated views            | Table 13       |
| invalid_selections       | any choice of views was invalid            | questions with a choice    | Section 5      |
| views                    | views that the answer is from              | questions, as a mean       | Tables 3, 13   |
| zooms                    | views that mixed zoomed into               | questions, as a mean       | Table 3        |
| shifts                   | views shifted to                           | questions, as a mean       | Table 3        |

``views``, ``zooms`` and ``shifts`` are `derived` from shares of all views there are, so that their intervals are those
of a share; the ``n`` of a share, and of a recall, counts views. A recall is only counted where the model chose, and of
splits into four, whose views are annotated; 42 questions without a clue in any view have all four annotated.

- Table 13 counts the views of shifting from 0 and the annotated ones from 1: every model that looked at all four
  views (#view 4.00) is printed with 74.62, and 641 of the 859 annotated views are 1, 2 or 3. Equation 1 gives 100.
- #shift of Table 3 is not defined, and exceeds #view in three of five rows. Ours is the views of the answer that mixed
  had not zoomed into, and in shifting those after the first.
- Whether a choice was invalid is read by the official scorer as the toolkit reads it, by the others robustly, whatever
  the reading was that decided what was asked next: the difference is what the quirks reject.
- Chance follows from each question's own options (34.24% of the published data; the paper prints 33.95%).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from known_unknowns.benchmarks.actiview.parsing import (
    FAILED_REPLY,
    OFFICIAL,
    ROBUST,
    Selection,
    operated,
    selected,
    zoomed,
)
from known_unknowns.benchmarks.actiview.prompts import split_named, views_named
from known_unknowns.benchmarks.actiview.views import SPLITS
from known_unknowns.metrics.benchmark_hooks import BenchmarkMetrics, Scored
from known_unknowns.metrics.proportions import Ratio
from known_unknowns.protocols import ANSWER, MORE, OPERATE, SELECT, VIEW, ZOOM
from known_unknowns.records import AnsweredTurn, Metric, Question

_QUARTERED = 4
TYPES = ("Type I", "Type II", "Type III")
"""Environment-, object- and event-centric questions (Section 3.1)."""
MEANS = {"share_of_views": "views", "share_zoomed": "zooms", "share_shifted": "shifts"}
"""Shares of all views, and the means that `derived` makes of them."""


def categories(questions: Sequence[Question]) -> dict[str, np.ndarray]:
    """The three types."""
    types = np.array([question.extra["type"] for question in questions])
    return {name: types == name for name in TYPES}


@dataclass(frozen=True)
class Looked:
    """What one dialogue looked at: the views that its answer is from (``used``), that mixed zoomed into, and that were
    shifted to; the last two are None where the pipeline has no such operation. ``choices`` are its choices of views, as
    one reading has them."""

    steps: frozenset[str]
    used: frozenset[int]
    zoomed: frozenset[int] | None
    shifted: frozenset[int] | None
    choices: tuple[Selection, ...]

    @classmethod
    def of(cls, question: Question, turns: Sequence[AnsweredTurn], reading: str) -> Looked:
        named = {turn.turn: views_named(turn.text, question) for turn in turns}

        def of_step(*steps: str) -> list[int]:
            return [view for turn in turns if turn.step in steps for view in named[turn.turn]]

        steps = frozenset(turn.step for turn in turns)
        used = frozenset(of_step(VIEW, ANSWER))
        zoomed_into = frozenset(of_step(OPERATE)) if ZOOM in steps else None
        shifted = None
        if zoomed_into is not None:
            shifted = used - zoomed_into
        elif MORE in steps:
            shifted = used - set(of_step(MORE)[:1])
        choices = (_choice(turn, named[turn.turn], reading) for turn in turns)
        return cls(steps, used, zoomed_into, shifted, tuple(choice for choice in choices if choice is not None))


def _choice(turn: AnsweredTurn, current: Sequence[int], reading: str) -> Selection | None:
    """The choice that a turn asks for; None where it asks for none."""
    if turn.step not in (SELECT, ZOOM, OPERATE):
        return None
    text = FAILED_REPLY if turn.reply.error is not None else turn.reply.text
    split = split_named(turn.text) or _QUARTERED
    if turn.step == OPERATE:
        return operated(text, current, split, reading)
    return (selected if turn.step == SELECT else zoomed)(text, split, reading)


def ratios(scored: Scored) -> dict[str, Ratio]:
    """The metrics of the module's table, of the pipelines that have them."""
    reading = OFFICIAL if scored.scorer == OFFICIAL else ROBUST
    looked = [Looked.of(q, turns, reading) for q, turns in zip(scored.questions, scored.dialogues, strict=True)]
    return _recalls(scored.questions, looked) | _choices(looked) | _shares(looked)


def _recalls(questions: Sequence[Question], looked: Sequence[Looked]) -> dict[str, Ratio]:
    chose = [bool(one.steps & {SELECT, MORE, ZOOM}) for one in looked]
    views = max((view for one in looked for view in one.used), default=0)
    if not any(chose) or views > _QUARTERED:
        return {}
    annotated = [
        frozenset(q.extra["groundtruth_views"]) if c else frozenset() for q, c in zip(questions, chose, strict=True)
    ]
    from_zero = [{view - 1 for view in one.used} if MORE in one.steps else one.used for one in looked]
    of_all = np.array([len(views) for views in annotated])
    found = np.array([len(views & one.used) for views, one in zip(annotated, looked, strict=True)])
    published = np.array([len(views & used) for views, used in zip(annotated, from_zero, strict=True)])
    return {"view_recall": Ratio(found, of_all), "view_recall_as_published": Ratio(published, of_all)}


def _choices(looked: Sequence[Looked]) -> dict[str, Ratio]:
    chose = np.array([bool(one.choices) for one in looked])
    invalid = np.array([not all(choice.valid for choice in one.choices) for one in looked])
    return {"invalid_selections": Ratio(invalid, chose)} if chose.any() else {}


def _shares(looked: Sequence[Looked]) -> dict[str, Ratio]:
    """Shares of all views, of the operations that the pipeline has. Only four views have other names than numbers: of
    more, the highest number tells how many there are."""
    if not any(one.used or one.steps & {SELECT, MORE, ZOOM} for one in looked):
        return {}
    most = max((view for one in looked for view in one.used), default=0)
    everything = np.full(len(looked), next(split for split in sorted(SPLITS) if split >= most))
    sets = {
        "share_of_views": [one.used for one in looked],
        "share_zoomed": [one.zoomed for one in looked],
        "share_shifted": [one.shifted for one in looked],
    }
    return {
        name: Ratio(np.array([len(views or ()) for views in of_each]), everything)
        for name, of_each in sets.items()
        if any(views is not None for views in of_each)
    }


def derived(metrics: Mapping[str, Metric]) -> Iterator[Metric]:
    """The means of `MEANS`: numbers of views a question."""
    for share, mean in MEANS.items():
        if share in metrics:
            yield _mean_views(metrics[share], mean)


def _mean_views(share: Metric, name: str) -> Metric:
    """A share of all views as a mean number of views per question."""
    views = share.denominator / share.n

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * views

    return replace(
        share,
        name=name,
        value=scaled(share.value),
        low=scaled(share.low),
        high=scaled(share.high),
        spread=scaled(share.spread),
        denominator=share.n,
        method=share.method if share.value is None else f"{share.method}, times {views:g} views",
    )


AVERAGED = ("zooming", "shifting_r", "shifting_e", "shifting_m", "shifting_h")
"""The variants of the paper's "Model AVG" (Table 2)."""


def average(accuracies: Mapping[str, float | None]) -> float | None:
    """ "Model AVG" of Table 2: the mean of the accuracies of zooming and the four kinds of shifting, given by variant.

    (Table 7's caption leaves Shifting-E out, but its numbers do not.) None where any of the five is missing.
    """
    found = [accuracies.get(variant) for variant in AVERAGED]
    values = [value for value in found if value is not None]
    return float(np.mean(values)) if len(values) == len(AVERAGED) else None


@dataclass(frozen=True, slots=True)
class Needed:
    """How many of ``n`` questions a pipeline got right, how many of these are wrong without its views (``needed``), and
    how many are right without them but wrong with them (``spoiled``)."""

    right: int
    needed: int
    spoiled: int
    n: int

    @property
    def share(self) -> float | None:
        """Of the right answers, those that needed the views; None where nothing was right."""
        return self.needed / self.right if self.right else None


WITHOUT: Mapping[str, str] = {
    "zooming": "full_image",
    "mixed": "full_image",
    "groundtruth_views": "full_image",
    "shifting_r": "single_view",
}
"""The variant that shows what each pipeline starts from and no more."""


def needed_views(with_views: Mapping[str, bool], without: Mapping[str, bool]) -> Needed:
    """Both say of each question, by its id, whether it was right. Raises ValueError where the questions differ."""
    if with_views.keys() != without.keys():
        strangers = sorted(with_views.keys() ^ without.keys())
        raise ValueError(f"{len(strangers)} questions are not in both, among them {strangers[:3]}")
    return Needed(
        right=sum(with_views.values()),
        needed=sum(right and not without[question] for question, right in with_views.items()),
        spoiled=sum(without[question] and not right for question, right in with_views.items()),
        n=len(with_views),
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """Means over ``n`` questions of the turns, of the pictures shown in them, of the input tokens and of those among
    them that stand for pictures; None where the engine does not count them."""

    turns: float
    pictures: float
    input_tokens: float | None
    visual_tokens: float | None
    n: int


def cost(dialogues: Sequence[Sequence[AnsweredTurn]]) -> Cost:
    """What one variant cost, given all turns of each question. A picture that is shown in two turns counts twice.

    Raises ValueError where there are no questions.
    """
    if not dialogues:
        raise ValueError("no dialogues: the cost of a question is not defined")
    turns = [turn for dialogue in dialogues for turn in dialogue]
    replies = [turn.reply for turn in turns if turn.reply.error is None]

    def mean(counts: Sequence[int | None]) -> float | None:
        return sum(counts) / len(dialogues) if counts and None not in counts else None

    return Cost(
        turns=len(turns) / len(dialogues),
        pictures=sum(len(turn.images) for turn in turns) / len(dialogues),
        input_tokens=mean([reply.input_tokens for reply in replies]),
        visual_tokens=mean([reply.visual_tokens for reply in replies]),
        n=len(dialogues),
    )


METRICS = BenchmarkMetrics(categories=categories, ratios=ratios, derived=derived)

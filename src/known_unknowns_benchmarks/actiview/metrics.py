"""ActiView's metrics; see `known_unknowns.benchmark.metrics`. Sources are sections and tables of the paper.

| metric                   | numerator                                  | denominator                | source         |
|--------------------------|--------------------------------------------|----------------------------|----------------|
| view_recall              | annotated views that the answer is from    | annotated views            | Equation 1     |
| view_recall_as_published | the same, as Table 13 counts them          | annotated views            | Table 13       |
| invalid_selections       | any selection of views was invalid         | questions with a selection | Section 5      |
| fraction_of_views        | views that the answer is from              | all views                  | Tables 3, 13   |
| fraction_zoomed          | views that the mixed pipeline zoomed into  | all views                  | Table 3        |
| fraction_shifted         | views shifted to                           | all views                  | Table 3        |
| views, zooms, shifts     | the numerators of the last three           | questions                  | Tables 3, 13   |

``views``, ``zooms`` and ``shifts`` are means computed from shares of all views (`derived`), so that their intervals are
those of a share. The accuracy and chance of `AVERAGES` are means over pipelines, with their name in place of a variant.
A recall is computed only where the model selected views, and only for splits into four views, which
are annotated. 42 questions without a clue in any view have all four annotated.

- Table 13 numbers the views of shifting from 0 and the annotated ones from 1. Every model whose answer is from all four
  views (#view 4.00) is printed with 74.62, and 641 of the 859 annotated views are 1, 2 or 3. Equation 1 gives 100.
- Table 3 does not define #shift, and it exceeds #view in three of five rows. Ours is the number of views of the answer
  that the mixed pipeline had not zoomed into, and in shifting the views after the first.
- Whether a selection is invalid is parsed as the toolkit parses it under the official parser, and robustly under the
  others, whichever parser decided the next turn. The difference is the number of replies that only quirks reject.
- Chance follows from each question's own options (34.24% of the published data; the paper prints 33.95%).

References
----------
.. [1] Wang et al., "ActiView: Evaluating Active Perception Ability for Multimodal Large Language Models".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from known_unknowns.benchmark.metrics import AcrossVariants, BenchmarkMetrics, Ratio, ScoredReply, scaled
from known_unknowns.benchmark.protocol import ANSWER, VIEW
from known_unknowns.metrics.proportions import ACCURACY, CHANCE
from known_unknowns.records import AnsweredTurn, Metric, Question
from known_unknowns_benchmarks.actiview.parsing import (
    FAILED_REPLY,
    OFFICIAL,
    ROBUST,
    Selection,
    parse_missing,
    parse_operation,
    parse_selection,
    parse_zoom,
)
from known_unknowns_benchmarks.actiview.prompts import keep_field, names_missing_views, shown_views, stated_split
from known_unknowns_benchmarks.actiview.protocols import MORE, OPERATE, SELECT, ZOOM
from known_unknowns_benchmarks.actiview.views import SPLITS

AVERAGED = ("zooming", "shifting_r", "shifting_e", "shifting_m", "shifting_h")
"""The variants of the paper's "Model AVG" (Table 2)."""


def mean_accuracy(cells: Sequence[pd.DataFrame]) -> dict[str, Ratio]:
    """Compute the mean accuracy of several pipelines with equal weights, and that of guessing.

    Parameters
    ----------
    cells : sequence of DataFrame
        The answers of each pipeline to the same questions.

    Returns
    -------
    dict from str to Ratio
        ``accuracy`` and ``chance``. Denominators are numbers of answers: one for each question and pipeline.

    Notes
    -----
    The caption of Table 7 leaves Shifting-E out of "Model AVG", but its numbers include it.

    References
    ----------
    .. [1] Wang et al., ActiView, Tables 2, 7 and 14.
    """
    pipelines = pd.Series(len(cells), index=cells[0].index)
    right = sum(cell["correct"].astype(int) for cell in cells)
    return {ACCURACY: Ratio(right, pipelines), CHANCE: Ratio(cells[0]["chance"] * pipelines, pipelines)}


def of_split(variant: str, split: int) -> str:
    """Return the variant's name in params.yaml. Four views are the default and have no suffix."""
    return variant if split == 4 else f"{variant}_{split}"


AVERAGES = (
    AcrossVariants("average", AVERAGED, mean_accuracy),
    AcrossVariants("average_robust", tuple(f"{name}_robust" for name in AVERAGED), mean_accuracy),
    *(
        AcrossVariants(
            of_split("average_of_two", split),
            (of_split("zooming", split), of_split("shifting_r", split)),
            mean_accuracy,
        )
        for split in SPLITS
    ),
)
"""The AVG columns of Tables 2 and 7, the same with the robust parser of steps, and the AVG column of Table 14."""


_QUARTERED = 4
TYPES = ("Type I", "Type II", "Type III")
"""Environment-, object- and event-centric questions (Section 3.1)."""
DISTRACTION, NO_DISTRACTION = "Distraction", "No distraction"
"""Questions by the annotation ``distraction``: whether a visual clue could lead to a wrong answer (Appendix A.2)."""
MEANS = {"fraction_of_views": "views", "fraction_zoomed": "zooms", "fraction_shifted": "shifts"}
"""Shares of all views, to the means that `derived` computes from them."""


@dataclass(frozen=True)
class DialogueViews:
    """The views of one dialogue."""

    steps: frozenset[str]  # steps of the dialogue
    used: frozenset[int]  # views that the answer is from, numbered from 1
    # views that the mixed pipeline zoomed into, and views that were shifted to; None if the pipeline has no such
    # operation
    zoomed: frozenset[int] | None
    shifted: frozenset[int] | None
    selections: tuple[Selection, ...]  # selections of views, as one parser parses them

    @classmethod
    def of(cls, question: Question, turns: Sequence[AnsweredTurn], parser: str) -> DialogueViews:
        """Extract the views from the ``turns``, with the selections parsed by ``parser`` (official or robust)."""
        named = {turn.turn: shown_views(turn.text, question) for turn in turns}

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
        selections = (_selection(turn, named[turn.turn], parser) for turn in turns)
        return cls(steps, used, zoomed_into, shifted, tuple(found for found in selections if found is not None))

    @property
    def selects(self) -> bool:
        """Whether the dialogue has a step that selects views."""
        return bool(self.steps & {SELECT, MORE, ZOOM})


def _selection(turn: AnsweredTurn, current: Sequence[int], parser: str) -> Selection | None:
    """The selection of views in a turn's reply; None if the turn does not ask for one."""
    asks_for_views = turn.step in (SELECT, ZOOM, OPERATE) or (turn.step == MORE and names_missing_views(turn.text))
    if not asks_for_views:
        return None
    text = FAILED_REPLY if turn.reply.error is not None else turn.reply.text
    split = stated_split(turn.text) or _QUARTERED
    if turn.step == OPERATE:
        return parse_operation(text, current, split, parser, keep_field(turn.text))
    if turn.step == MORE:
        return parse_missing(text, current, split, parser)
    return (parse_selection if turn.step == SELECT else parse_zoom)(text, split, parser)


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of the table of answers: annotations of the question, and numbers of views of its dialogue."""

    type: str
    distraction: bool
    selects_views: bool  # the dialogue has a step that selects views
    annotated_views: int  # 0 if the dialogue does not select views
    found_views: int  # annotated views that the answer is from
    found_views_as_published: int
    highest_view: int  # number of the highest view that the answer is from
    has_selection: bool
    has_invalid_selection: bool
    used_views: int
    zoomed_views: int | None  # None if the pipeline has no such operation
    shifted_views: int | None


class Metrics(BenchmarkMetrics):
    """ActiView's metrics."""

    columns = Columns
    across_variants = AVERAGES

    def row(self, scored: ScoredReply) -> Columns:
        extra = scored.question.extra
        parser = OFFICIAL if scored.score.parser == OFFICIAL else ROBUST
        views = DialogueViews.of(scored.question, scored.dialogue, parser)
        annotated = frozenset(extra["groundtruth_views"]) if views.selects else frozenset()
        as_published = {view - 1 for view in views.used} if MORE in views.steps else views.used
        return Columns(
            type=extra["type"],
            distraction=bool(extra["distraction"]),
            selects_views=views.selects,
            annotated_views=len(annotated),
            found_views=len(annotated & views.used),
            found_views_as_published=len(annotated & as_published),
            highest_view=max(views.used, default=0),
            has_selection=bool(views.selections),
            has_invalid_selection=not all(selection.valid for selection in views.selections),
            used_views=len(views.used),
            zoomed_views=None if views.zoomed is None else len(views.zoomed),
            shifted_views=None if views.shifted is None else len(views.shifted),
        )

    def categories(self, cell: pd.DataFrame) -> dict[str, pd.Series]:
        """Return the three types of questions, and those with and without annotated distraction."""
        types = {name: cell["type"] == name for name in TYPES}
        return types | {DISTRACTION: cell["distraction"], NO_DISTRACTION: ~cell["distraction"]}

    def ratios(self, cell: pd.DataFrame) -> dict[str, Ratio]:
        """Compute the metrics of the module's table that the pipeline has.

        References
        ----------
        .. [1] Wang et al., ActiView, Equation 1, Section 5, Tables 3 and 13.
        """
        found, selects = {}, cell["selects_views"].any()
        # Only splits into four views have annotated views. Of larger splits, the highest number tells how many views
        # there are.
        highest = cell["highest_view"].max()
        if selects and highest <= _QUARTERED:
            annotated = cell["annotated_views"]
            found["view_recall"] = Ratio(cell["found_views"], annotated)
            found["view_recall_as_published"] = Ratio(cell["found_views_as_published"], annotated)
        if cell["has_selection"].any():
            found["invalid_selections"] = Ratio(cell["has_invalid_selection"], cell["has_selection"])
        if selects or cell["used_views"].any():
            split = next(split for split in sorted(SPLITS) if split >= highest)
            all_views = pd.Series(split, index=cell.index)
            found["fraction_of_views"] = Ratio(cell["used_views"], all_views)
            for operation in ("zoomed", "shifted"):
                views = cell[f"{operation}_views"]
                if views.notna().any():
                    found[f"fraction_{operation}"] = Ratio(views.fillna(0), all_views)
        return found

    def derived(self, metrics: Mapping[str, Metric]) -> Iterator[Metric]:
        """Compute the means of `MEANS`, numbers of views per question, from shares of all views.

        References
        ----------
        .. [1] Wang et al., ActiView, Tables 3 and 13.
        """
        for name, mean in MEANS.items():
            if name in metrics:
                share = metrics[name]
                assert share.denominator is not None  # it is a ratio
                views = share.denominator / share.n
                yield scaled(share, mean, views, denominator=share.n, of=f"{views:g} views")


@dataclass(frozen=True, slots=True)
class ViewNecessity:
    """Numbers of questions that a pipeline answers correctly with and without its views."""

    right: int  # correct with the views
    needed: int  # correct with the views and wrong without them
    spoiled: int  # wrong with the views and correct without them
    n: int  # all questions

    @property
    def share(self) -> float | None:
        """Share of the correct answers that need the views; None if no answer is correct."""
        return self.needed / self.right if self.right else None


WITHOUT: Mapping[str, str] = {
    "zooming": "full_image",
    "mixed": "full_image",
    "groundtruth_views": "full_image",
    "shifting_r": "single_view",
}
"""Pipelines, to the variant that shows only what the pipeline starts from."""


def view_necessity(with_views: Mapping[str, bool], without: Mapping[str, bool]) -> ViewNecessity:
    """Count the questions that need the views, given which ids were answered correctly with them and without.

    Raises ValueError if the questions differ.
    """
    if with_views.keys() != without.keys():
        unpaired = sorted(with_views.keys() ^ without.keys())
        raise ValueError(f"{len(unpaired)} questions are not in both, among them {unpaired[:3]}")
    return ViewNecessity(
        right=sum(with_views.values()),
        needed=sum(right and not without[question] for question, right in with_views.items()),
        spoiled=sum(without[question] and not right for question, right in with_views.items()),
        n=len(with_views),
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """Means over ``n`` questions of the numbers of turns, images, input tokens and image tokens.

    Tokens are None if the engine does not count them.
    """

    turns: float
    images: float
    input_tokens: float | None
    visual_tokens: float | None
    n: int


def cost(dialogues: Sequence[Sequence[AnsweredTurn]]) -> Cost:
    """Compute the mean cost per question. An image that is shown in two turns counts twice.

    Raises ValueError if there are no questions.
    """
    if not dialogues:
        raise ValueError("no dialogues: the cost of a question is not defined")
    turns = [turn for dialogue in dialogues for turn in dialogue]
    replies = [turn.reply for turn in turns if turn.reply.error is None]

    def mean(counts: Sequence[int | None]) -> float | None:
        known = [count for count in counts if count is not None]
        return sum(known) / len(dialogues) if known and len(known) == len(counts) else None

    return Cost(
        turns=len(turns) / len(dialogues),
        images=sum(len(turn.images) for turn in turns) / len(dialogues),
        input_tokens=mean([reply.input_tokens for reply in replies]),
        visual_tokens=mean([reply.visual_tokens for reply in replies]),
        n=len(dialogues),
    )


METRICS = Metrics()

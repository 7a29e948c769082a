"""MM-UPD's metrics; see `known_unknowns.benchmark.metrics`. Sections are those of arXiv:2403.20331v4.

| metric                       | numerator                                          | denominator        | source      |
|------------------------------|----------------------------------------------------|--------------------|-------------|
| circular_standard            | all passes of the standard question are right      | standard questions | Section 4.2 |
| circular_upd                 | all passes of the unsolvable question are right    | unsolvable ones    | Section 4.2 |
| circular_dual                | both                                               | pairs of the two   | Section 4.2 |
| circular_<...>_high_bound    | the same, with every unparsed, cut or failed reply | the same           | ours        |
|                              | right, and every reply that abstains on an         |                    |             |
|                              | unsolvable question                                |                    |             |
| fraction_without_letter      | replies that the released code passes to a         | all passes         | ours        |
|                              | language model                                     |                    |             |
| standard_withheld            | the parser finds a refusal                         | standard passes    | ours        |

A *problem* is a standard question and its unsolvable counterpart in one subset. CircularEval asks each of them once for
each rotation of its options; a question is right only if the reply is right in every pass (Section 4.4). The unit of
these metrics is the problem: the numerator and the denominator of a problem are at the row of its first standard pass.
The categories AAD, IASD and IVQD consist of these rows, so that their n is the published number of questions, and their
``accuracy`` is that of the first pass. All other categories, and the metrics of all benchmarks, count every pass.

What is right depends on the parser. ``official`` is the matching of the released code in the setting of the prompt
(`mm_upd.official`); a reply without a letter is wrong, and right in the upper bound. ``robust`` adds the rules of
`mm_upd.extraction` in place of the released code's language model. ``likelihood`` takes the most likely label; in the
base and the instruction setting this includes the hidden option, which the prompt does not show.

References
----------
.. [1] Miyai et al., "Unsolvable Problem Detection: Robust Understanding Evaluation for Large Multimodal Models",
   arXiv:2403.20331v4, Sections 4.2 and 4.4, Appendix E.
.. [2] github.com/AtsuMiyai/UPD, ``automatic_eval/calculate_scores.py``: ``eval_sub_data``, ``dual_results``.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from known_unknowns.benchmark.metrics import BenchmarkMetrics, Ratio, ScoredReply
from known_unknowns.metrics.answers import replies_left_out
from known_unknowns.records import ABSTAINED, CUT, FAILED, REFUSED, UNPARSED, AnsweredTurn, Question
from known_unknowns_benchmarks.mm_upd.extraction import withheld
from known_unknowns_benchmarks.mm_upd.format import STANDARD, SUBSETS
from known_unknowns_benchmarks.mm_upd.official import read
from known_unknowns_benchmarks.mm_upd.prompts import OPTION, setting_of

OFFICIAL, ROBUST = "official", "robust"


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of the table of answers: the pass that a row is, and its result."""

    subset: str
    problem: str
    pass_number: int
    is_standard: bool
    is_right: bool
    can_be_right: bool  # it is wrong only because the reply is not decided (``_high_bound``)
    is_withheld: bool  # the parser finds a refusal
    has_no_letter: bool  # the released code passes the reply to a language model


class Metrics(BenchmarkMetrics):
    """MM-UPD's metrics."""

    columns = Columns
    headline = ("circular_standard", "circular_upd", "circular_dual")

    def row(self, scored: ScoredReply) -> Columns:
        question, outcome, is_right = scored.question, scored.score.outcome, scored.score.correct
        is_standard = question.extra["type"] == STANDARD
        released, choice = _released(question, scored.turn)
        if scored.score.parser == OFFICIAL:
            outcome, is_right = released, choice == question.answer
        elif scored.score.parser == ROBUST and outcome in (ABSTAINED, UNPARSED) and not is_right:
            is_right = not is_standard and withheld(scored.turn, question)
        is_open = outcome in (UNPARSED, CUT, FAILED) or (outcome == ABSTAINED and not is_standard)
        return Columns(
            subset=question.extra["subset"],
            problem=str(question.extra["problem"]),
            pass_number=question.extra["pass"],
            is_standard=is_standard,
            is_right=is_right,
            can_be_right=is_open and not is_right,
            is_withheld=outcome == REFUSED,
            has_no_letter=released == UNPARSED,
        )

    def categories(self, cell: pd.DataFrame) -> dict[str, pd.Series]:
        """Return the rows that stand for the problems of each subset."""
        row = _stands_for_problem(cell)
        return {subset: row & (cell["subset"] == subset) for subset in SUBSETS}

    def ratios(self, cell: pd.DataFrame) -> dict[str, Ratio]:
        """Compute the metrics of the module's table; the cell has the answers of one setting."""
        everything, standard = pd.Series(True, index=cell.index), cell["is_standard"]
        return {
            **_circular(cell, cell["is_right"], suffix=""),
            **_circular(cell, cell["is_right"] | cell["can_be_right"], suffix="_high_bound"),
            "fraction_without_letter": Ratio(cell["has_no_letter"], everything),
            "standard_withheld": Ratio(cell["is_withheld"] & standard, standard),
        }


def _released(question: Question, turn: AnsweredTurn) -> tuple[str, int | None]:
    """The outcome and the choice of the released matching, in the setting whose prompt was sent."""
    if turn.reply.error is not None:
        return FAILED, None
    parsed = read(turn.reply.text, question, setting_of(question, turn.text) or OPTION)
    return parsed.outcome, parsed.choice


def _stands_for_problem(cell: pd.DataFrame) -> pd.Series:
    """Flag the row that stands for each problem: its first standard pass, or else its first unsolvable one."""
    in_order = cell.sort_values(["is_standard", "pass_number"], ascending=[False, True], kind="stable")
    return ~in_order.duplicated(["subset", "problem"]).reindex(cell.index)


def _circular(cell: pd.DataFrame, right: pd.Series, *, suffix: str) -> dict[str, Ratio]:
    """The three accuracies, given which passes are right."""
    problem = [cell["subset"], cell["problem"]]
    row, standard = _stands_for_problem(cell), cell["is_standard"]
    is_left_out = pd.Series(replies_left_out([cell]), index=cell.index)

    def of_passes(passes: pd.Series) -> tuple[pd.Series, pd.Series]:
        """Whether all of these passes of a problem are right, and whether there are any, at the problem's row."""
        exists = passes.groupby(problem, observed=True).transform("any") & row
        exists &= ~(is_left_out & passes).groupby(problem, observed=True).transform("any")
        return (right | ~passes).groupby(problem, observed=True).transform("all") & exists, exists

    (standard_right, has_standard), (upd_right, has_upd) = of_passes(standard), of_passes(~standard)
    return {
        f"circular_standard{suffix}": Ratio(standard_right, has_standard),
        f"circular_upd{suffix}": Ratio(upd_right, has_upd),
        f"circular_dual{suffix}": Ratio(standard_right & upd_right, has_standard & has_upd),
    }


METRICS = Metrics()

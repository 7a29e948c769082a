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

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from known_unknowns.benchmark.metrics import BenchmarkMetrics, Ratio, ScoredAnswers
from known_unknowns.records import ABSTAINED, CUT, FAILED, REFUSED, UNPARSED, AnsweredTurn, Question
from known_unknowns_benchmarks.mm_upd.extraction import withheld
from known_unknowns_benchmarks.mm_upd.format import STANDARD, SUBSETS
from known_unknowns_benchmarks.mm_upd.official import read
from known_unknowns_benchmarks.mm_upd.prompts import OPTION, setting_of

OFFICIAL, ROBUST = "official", "robust"


@dataclass
class Problem:
    """The rows of a problem: those of its standard passes and of its unsolvable passes."""

    standard: list[int] = field(default_factory=list)
    upd: list[int] = field(default_factory=list)

    @property
    def row(self) -> int:
        """The row that stands for the problem: its first standard pass, or else its first unsolvable one."""
        return (self.standard or self.upd)[0]


def problems(questions: Sequence[Question]) -> list[Problem]:
    """Return the problems, in the order of their first rows; the passes of each in their own order."""
    found: dict[tuple[str, int], Problem] = defaultdict(Problem)
    for row in sorted(range(len(questions)), key=lambda row: questions[row].extra["pass"]):
        extra = questions[row].extra
        problem = found[extra["subset"], extra["problem"]]
        (problem.standard if extra["type"] == STANDARD else problem.upd).append(row)
    return sorted(found.values(), key=lambda problem: problem.row)


def categories(questions: Sequence[Question]) -> dict[str, np.ndarray]:
    """Return the rows that stand for the problems of each subset."""
    flags = {subset: np.zeros(len(questions), dtype=bool) for subset in SUBSETS}
    for problem in problems(questions):
        flags[questions[problem.row].extra["subset"]][problem.row] = True
    return flags


@dataclass(frozen=True)
class Passes:
    """Flags of the passes, arrays of shape (questions,): right, possibly right (`_high_bound`), withheld."""

    right: np.ndarray
    open: np.ndarray
    withheld: np.ndarray

    @classmethod
    def of(cls, scored: ScoredAnswers) -> Passes:
        """Compute the flags of ``scored``, as its parser decides them."""
        outcome = scored.outcome
        if scored.parser == OFFICIAL:
            parsed = [_released(*pair) for pair in zip(scored.questions, scored.answers, strict=True)]
            right = np.array([choice == q.answer for q, (_, choice) in zip(scored.questions, parsed, strict=True)])
            outcome = np.array([found for found, _ in parsed])
        else:
            right = scored.correct.copy()
        if scored.parser == ROBUST:
            for row in np.flatnonzero(np.isin(outcome, (ABSTAINED, UNPARSED)) & ~right):
                question = scored.questions[row]
                right[row] = question.extra["type"] != STANDARD and withheld(scored.answers[row], question)
        unsolvable = np.array([q.extra["type"] != STANDARD for q in scored.questions], dtype=bool)
        is_open = (np.isin(outcome, (UNPARSED, CUT, FAILED)) | ((outcome == ABSTAINED) & unsolvable)) & ~right
        return cls(right.astype(bool), is_open, outcome == REFUSED)


def _released(question: Question, turn: AnsweredTurn) -> tuple[str, int | None]:
    """The outcome and the choice of the released matching, in the setting whose prompt was sent."""
    if turn.reply.error is not None:
        return FAILED, None
    parsed = read(turn.reply.text, question, setting_of(question, turn.text) or OPTION)
    return parsed.outcome, parsed.choice


def ratios(scored: ScoredAnswers) -> dict[str, Ratio]:
    """Compute the metrics of the module's table.

    ``scored`` are the answers of one setting, as one parser parsed them. Numerators and denominators have the shape
    (questions,).
    """
    passes, found = Passes.of(scored), problems(scored.questions)
    standard = np.array([q.extra["type"] == STANDARD for q in scored.questions], dtype=bool)
    high = passes.right | passes.open
    return {
        **_circular(found, passes.right, suffix=""),
        **_circular(found, high, suffix="_high_bound"),
        "fraction_without_letter": Ratio(_without_letter(scored), np.ones(len(standard))),
        "standard_withheld": Ratio(passes.withheld & standard, standard),
    }


def _circular(found: Sequence[Problem], right: np.ndarray, *, suffix: str) -> dict[str, Ratio]:
    """The three accuracies, given which passes are right."""
    numerators = {name: np.zeros(len(right)) for name in ("standard", "upd", "dual")}
    denominators = {name: np.zeros(len(right)) for name in numerators}
    for problem in found:
        hits = {"standard": problem.standard and right[problem.standard].all()}
        hits["upd"] = problem.upd and right[problem.upd].all()
        hits["dual"] = hits["standard"] and hits["upd"]
        exists = {"standard": problem.standard, "upd": problem.upd, "dual": problem.standard and problem.upd}
        for name in numerators:
            numerators[name][problem.row] = bool(hits[name])
            denominators[name][problem.row] = bool(exists[name])
    return {f"circular_{name}{suffix}": Ratio(numerators[name], denominators[name]) for name in numerators}


def _without_letter(scored: ScoredAnswers) -> np.ndarray:
    parsed = (_released(*pair) for pair in zip(scored.questions, scored.answers, strict=True))
    return np.array([outcome == UNPARSED for outcome, _ in parsed], dtype=bool)


METRICS = BenchmarkMetrics(
    categories=categories, ratios=ratios, headline=("circular_standard", "circular_upd", "circular_dual")
)

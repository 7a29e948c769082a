"""Compare what a file's own scorers say of its replies with the parsers, and explain the difference by parser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from known_unknowns.benchmark.exchange import QuestionTurns
from known_unknowns.exchange.matching import STATED
from known_unknowns.exchange.results import answer_of
from known_unknowns.records import AnsweredTurn, Question
from known_unknowns.scoring.dialogues import score_turn

_PARSERS = ("official", "robust")
_LONGEST = 60
Judged = tuple[Question, AnsweredTurn, float]


def compare_outcomes(samples: Sequence[Sequence[QuestionTurns]], parsers: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each scorer of the files and each parser that counts other replies as right."""
    judged: dict[str, list[Judged]] = {}
    for pairs in samples:
        for question, turns in pairs:
            answer = answer_of(turns)
            for scorer, value in (answer.reply.details or {}).get(STATED, {}).items():
                judged.setdefault(scorer, []).append((question, answer, value))
    for scorer, of_scorer in judged.items():
        stated = sum(value for _, _, value in of_scorer) / len(of_scorer)
        for parser in [scorer] if scorer in _PARSERS else _PARSERS:
            if parser in parsers:
                yield from _compared(scorer, stated, parser, of_scorer)


def _compared(scorer: str, stated: float, parser: str, judged: Sequence[Judged]) -> Iterator[str]:
    right = [score_turn(answer, question, parser).correct for question, answer, _ in judged]
    pairs = list(zip(judged, right, strict=True))
    more = [each for each, is_right in pairs if is_right > each[2]]
    fewer = [each for each, is_right in pairs if is_right < each[2]]
    if not more and not fewer:
        return
    differences = []
    if more:
        differences.append(f"the parser alone counts {len(more)} as right, such as {_shown(more[0])}")
    if fewer:
        differences.append(f"the file alone counts {len(fewer)} as right, such as {_shown(fewer[0])}")
    yield (
        f"{scorer} in the file: {stated:.4f} of {len(judged)} replies are right; the {parser} parser: "
        f"{sum(right) / len(right):.4f}; {'; '.join(differences)}"
    )


def _shown(judged: Judged) -> str:
    question, answer, _ = judged
    text = answer.reply.text
    return f"{text[:_LONGEST] + '...' if len(text) > _LONGEST else text!r} to {question.id}"

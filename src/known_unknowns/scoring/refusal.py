"""Whether a reply is a refusal, for protocols that ask a refused question again."""

from __future__ import annotations

from collections.abc import Iterable

from known_unknowns.protocols import ANSWER
from known_unknowns.records import REFUSED, AnsweredTurn, Question, Reply
from known_unknowns.scoring import SCORERS


def may_have_refused(reply: Reply, question: Question, *, scorers: Iterable[str]) -> bool:
    """Whether any of the scorers parses the reply as the refusal option. A failed reply is not parsed."""
    if reply.error is not None:
        return False
    answered = AnsweredTurn(question.id, 0, ANSWER, "", (), question.labels, "", reply)
    return any(SCORERS[name](answered, question).outcome == REFUSED for name in scorers)

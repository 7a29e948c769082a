"""Refusal detection, for protocols that ask a refused question again."""

from __future__ import annotations

from collections.abc import Iterable

from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.records import REFUSED, AnsweredTurn, Question, Reply
from known_unknowns.scoring import parsers_with


def may_have_refused(reply: Reply, question: Question, *, parsers: Iterable[str], kept: str | None = None) -> bool:
    """Return whether any configured parser parses the reply as the refusal option. The judge does not take part.

    The reply is to a turn with all options of the question. A failed reply is not a refusal. ``kept`` is what the
    official parser reads of it (`known_unknowns.benchmark.kept_part`).
    """
    if reply.error is not None:
        return False
    turn = AnsweredTurn(question.id, 0, ANSWER, "", (), question.labels, "", reply)
    known = parsers_with(kept)
    used = (known[name] for name in parsers if name in known)  # the judge is asked after all replies
    return any(parse(turn, question).outcome == REFUSED for parse in used)

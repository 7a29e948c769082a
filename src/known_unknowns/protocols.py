"""Protocols: how a question is asked. Each is a generator that yields a `Turn` and is sent its `Reply`.

    def forced_choice(question):            # ask; if it refused, ask again without the refusal option
        reply = yield ask(question)
        if chose_refusal(reply, question):
            yield ask(without_refusal(question))

The runner (`known_unknowns.runner`) advances many in lockstep, so that adaptive protocols batch as well as
single-turn ones. A protocol knows nothing of engines and can be driven with scripted replies.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from known_unknowns import benchmarks
from known_unknowns.records import Question, Reply, Turn

Protocol = Callable[..., Generator[Turn, Reply, None]]


def ask(question: Question, *, max_new_tokens: int = 16, step: str = "answer") -> Turn:
    """The question with its pictures first, then its benchmark's prompt, to be answered by a letter."""
    letters = question.letters
    return Turn(
        question_id=question.id,
        step=step,
        content=(*question.images, benchmarks.get(question.benchmark).prompt(question)),
        letters=letters,
        max_new_tokens=max_new_tokens,
        right="" if question.answer is None else letters[question.answer],
        refuse="" if question.refusal is None else letters[question.refusal],
    )


def single_turn(question: Question, *, max_new_tokens: int = 16) -> Generator[Turn, Reply, None]:
    """Ask once (HumbleBench; the first pass of MM-SAP)."""
    yield ask(question, max_new_tokens=max_new_tokens)


PROTOCOLS: dict[str, Protocol] = {"single_turn": single_turn}

"""The parser that uses the log-probabilities of the option labels."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.reasoning_marks import final_text
from known_unknowns.records import AnsweredTurn, Question, Reply


def label_follows_text(turn: AnsweredTurn) -> bool:
    """Whether a reply with log-probabilities does not begin with an offered label.

    An engine reads the log-probabilities at the reply's first bare label. After other text, they are conditional on
    that text (docs/metrics.md#confidence), so that nothing is computed from them. Separated reasoning and marks, such
    as "(" or "**", are no such text. If separated reasoning has a bare label, the log-probabilities may be those at
    that label, and count as if they followed other text.
    """
    if turn.reply.error is not None or not turn.reply.logprobs:
        return False
    labels = tuple(turn.reply.logprobs if turn.labels is None else turn.labels)
    # The engine transformers reads at the first bare label of all tokens, an endpoint's after the reasoning; a table of
    # replies does not say which engine it was, and a number must not be that of a label in the reasoning.
    if _bare(labels).search(_separated_reasoning(turn.reply)):
        return True
    return not _beginning(labels).match(final_text(turn.reply.text).text)


def _separated_reasoning(reply: Reply) -> str:
    """What the model wrote before the text of its reply, if an engine separated it."""
    whole = reply.raw or ""
    start = whole.rfind(reply.text)
    return whole if start < 0 else whole[:start]


@lru_cache(maxsize=64)
def _beginning(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Marks and a label, in any case if it is a word, that is no part of another one ("A" of "Apple" and "A_0")."""
    return re.compile(rf"[\W_]*(?:{_alternatives(labels)})(?!_*[^\W_])")


@lru_cache(maxsize=64)
def _bare(labels: tuple[str, ...]) -> re.Pattern[str]:
    """A label that is no part of a word, anywhere, as an engine finds it among the tokens of a reply."""
    return re.compile(rf"(?<![^\W_])(?:{_alternatives(labels)})(?![^\W_])")


def _alternatives(labels: tuple[str, ...]) -> str:
    in_order = [re.escape(label) for label in sorted(labels, key=len, reverse=True)]
    return "|".join(f"(?i:{label})" if len(label) > 1 else label for label in in_order)


def label_mass(turn: AnsweredTurn) -> float | None:
    """Return the probability of all offered labels together at the reply's beginning; None if it is unknown."""
    if turn.reply.error is not None or not turn.reply.logprobs or label_follows_text(turn):
        return None
    offered = turn.reply.logprobs if turn.labels is None else turn.labels
    values = [turn.reply.logprobs.get(label, -math.inf) for label in offered]
    return min(1.0, sum(math.exp(min(value, 0.0)) for value in values if not math.isnan(value)))


def likelihood(turn: AnsweredTurn, question: Question) -> ParsedAnswer:
    """Choose the offered label with the highest log-probability at the reply's beginning.

    It is unparsed if the reply does not begin with a label (`label_follows_text`), or if no offered label has a
    log-probability above minus infinity, for example because the engine does not report any.

    Notes
    -----
    Of equal log-probabilities, which occur in half precision, the first option's is chosen. Greedy decoding does the
    same, so ties cause no difference between this parser and the parsers of the text.

    Metrics under this parser leave out replies that do not begin with a label. They are undefined where the labels have
    less than `LEAST_MASS` of the probability on average
    (`known_unknowns.tables.confidence_sources.low_mass`).
    """
    logprobs = {} if label_follows_text(turn) else turn.reply.logprobs or {}
    chosen, highest = None, -math.inf
    for option in question.options:
        if turn.labels is None or option.label in turn.labels:
            value = logprobs.get(option.label, -math.inf)
            if value > highest:  # not of NaN, and not of the same value again
                chosen, highest = option.label, value
    return parse_label(chosen, question)

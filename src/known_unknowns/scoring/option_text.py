"""The parsers that use the likelihood of the text of each option."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.benchmark.protocol import ANSWER, LIKELIHOOD
from known_unknowns.records import UNPARSED, AnsweredTurn, Question

OPTION_TEXT, OPTION_TEXT_SUM = "option_text", "option_text_sum"


def with_continuations(turns: Sequence[AnsweredTurn]) -> list[AnsweredTurn]:
    """Return the turns of a question, of which the last answer has the likelihoods that were asked after it."""
    asked = next((turn for turn in turns if turn.step == LIKELIHOOD and turn.reply.continuations), None)
    answers = [place for place, turn in enumerate(turns) if turn.step == ANSWER]
    found = list(turns)
    if asked is not None and answers:
        turn = found[answers[-1]]
        found[answers[-1]] = replace(turn, reply=replace(turn.reply, continuations=asked.reply.continuations))
    return found


def option_text(turn: AnsweredTurn, question: Question, *, normalise: bool = True) -> ParsedAnswer:
    """Choose the offered option whose text has the highest likelihood as the reply.

    Parameters
    ----------
    turn : AnsweredTurn
        A turn of `with_continuations`.
    question : Question
        Its question.
    normalise : bool
        Divide the log-probability of each text by its number of tokens, so that the perplexity decides.

    Returns
    -------
    ParsedAnswer
        Unparsed without likelihoods. Of equal values, the first option's is chosen.

    Notes
    -----
    The end of the reply is not scored. The sum over an option that begins another one is therefore never smaller.
    """
    found = turn.reply.continuations or {}
    values = {label: each.logprob / each.tokens if normalise else each.logprob for label, each in found.items()}
    offered = [label for label in question.labels if label in values]
    if not offered:
        return ParsedAnswer(UNPARSED)
    return parse_label(max(offered, key=values.__getitem__), question)

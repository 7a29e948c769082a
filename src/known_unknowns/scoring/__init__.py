"""Parsers: functions that parse a reply into an answer.

A parser is a function of an answered turn and its question that returns a `ParsedAnswer`. It never receives a failed
reply (see `known_unknowns.scoring.table`). To add one, write a function, add a line to `PARSERS`, and name it in
params.yaml. All configured parsers are always computed, which shows how far a result depends on the parser.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial

from known_unknowns.benchmark.parsed_answer import Parser
from known_unknowns.records import AnsweredTurn
from known_unknowns.scoring.likelihood import likelihood
from known_unknowns.scoring.official import OFFICIAL, official
from known_unknowns.scoring.option_text import OPTION_TEXT, OPTION_TEXT_SUM, option_text
from known_unknowns.scoring.robust import noting_removed, robust

PARSERS: dict[str, Parser] = {
    OFFICIAL: noting_removed(official),
    "robust": robust,
    "likelihood": likelihood,
    OPTION_TEXT: option_text,
    OPTION_TEXT_SUM: partial(option_text, normalise=False),
}
"""The parsers that need nothing but the reply. The parser "judge" (`known_unknowns.scoring.judge`) needs judgements."""


@cache
def parsers_with(kept: str | None) -> dict[str, Parser]:
    """Return `PARSERS`, of which the official one reads only the part of a reply that its entry keeps."""
    return PARSERS if kept is None else PARSERS | {OFFICIAL: noting_removed(partial(official, kept=kept))}


WITHOUT_TEXT = frozenset({"likelihood", OPTION_TEXT, OPTION_TEXT_SUM})
"""Parsers that do not parse the text of a reply."""


def has_input(parser: str, turns: Iterable[AnsweredTurn]) -> bool:
    """Return whether a parser has what it needs, so that its results are numbers and not null.

    The parser likelihood has not if, of all ``turns`` of one variant and seed, no reply has log-probabilities, and
    those of the options' texts have not if no reply has their likelihoods.
    """
    if parser not in WITHOUT_TEXT:
        return True
    turns = list(turns)
    if all(turn.reply.error is not None for turn in turns if turn.labels is not None):
        return True
    if parser == "likelihood":
        return any(turn.reply.logprobs for turn in turns if turn.labels is not None)
    return any(turn.reply.continuations for turn in turns)


__all__ = [
    "PARSERS",
    "WITHOUT_TEXT",
    "has_input",
    "likelihood",
    "official",
    "option_text",
    "parsers_with",
    "robust",
]

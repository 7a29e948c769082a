"""Scorers: functions that parse a reply into an answer.

A scorer is a function of an answered turn and its question that returns a `ParsedAnswer`. It never receives a failed
reply (see `known_unknowns.scoring.table`). To add one, write a function, add a line to `SCORERS`, and name it in
params.yaml. All configured scorers are always computed, which shows how far a result depends on the parser.
"""

from __future__ import annotations

from known_unknowns.scoring.likelihood import likelihood
from known_unknowns.scoring.official import official
from known_unknowns.scoring.parsed_answer import ParsedAnswer, Scorer, offered_options, parse_label
from known_unknowns.scoring.robust import robust

SCORERS: dict[str, Scorer] = {"official": official, "robust": robust, "likelihood": likelihood}

__all__ = ["SCORERS", "ParsedAnswer", "Scorer", "likelihood", "offered_options", "official", "parse_label", "robust"]

"""Scorers: how a reply is read. All configured ones are always computed, so that a number that depends on the
reader is seen to depend on it.

A scorer is a function of a row of the table of replies and of its question, and returns a `Parsed`. It is never
given a failed reply (see `known_unknowns.scoring.table`). A new one is a function and a line in `SCORERS`.
"""

from __future__ import annotations

from known_unknowns.scoring.likelihood import likelihood
from known_unknowns.scoring.official import official
from known_unknowns.scoring.parsed import Parsed, Scorer, on_offer, parse_label
from known_unknowns.scoring.robust import robust

SCORERS: dict[str, Scorer] = {"official": official, "robust": robust, "likelihood": likelihood}

__all__ = ["SCORERS", "Parsed", "Scorer", "likelihood", "official", "on_offer", "parse_label", "robust"]

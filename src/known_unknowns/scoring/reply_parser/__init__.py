"""A short parser of replies to multiple-choice questions.

`parse_reply` reads a reply as an option, the offered refusal, an abstention, or nothing. `RULES` has its rules in the
order in which they are tried. bench/parser measures them on real replies.
"""

from __future__ import annotations

from known_unknowns.scoring.reply_parser.options import speaks_of_options
from known_unknowns.scoring.reply_parser.rules import RULES, ParsedReply, parse_reply

__all__ = ["RULES", "ParsedReply", "parse_reply", "speaks_of_options"]

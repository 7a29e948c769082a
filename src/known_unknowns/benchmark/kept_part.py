"""The part of a reply that a benchmark's released code reads."""

from __future__ import annotations

import re

from known_unknowns.records import Reply


def kept_part(text: str, pattern: str) -> str:
    """Return the part of a reply that is kept for the official parser, as authors kept it when they stored replies.

    ``pattern`` is a regular expression, the key ``kept`` of a model's entry. A dot also matches a line break. The
    result is the group that takes part in the first match, or the whole match; the reply if there is no match. It is
    stripped of the white space around it, as in the authors' files.

    Examples
    --------
    >>> kept_part("It is red, so the answer is B\\n", "answer is(.*)")
    'B'
    """
    found = re.search(pattern, text, re.DOTALL)
    kept = text if found is None else found[found.lastindex or 0]
    return kept.strip()


def official_text(reply: Reply, kept: str | None) -> str:
    """Return what the released code reads of a reply.

    With a pattern, this is the `kept_part` of the reply as the model wrote it, its reasoning included. Without one, it
    is the text.
    """
    if kept is None:
        return reply.text
    return kept_part(reply.text if reply.raw is None else reply.raw, kept)

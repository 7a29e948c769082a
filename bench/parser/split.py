"""The split of the shared labelled replies, fixed before any rule was tuned.

All replies to a question are in the same half. Rules may be tuned on the half "tuning". The half "untouched" is
reported.
"""

from __future__ import annotations

import hashlib

TUNING, UNTOUCHED = "tuning", "untouched"


def half(source: str, question: str) -> str:
    """Return the half of a question, by the parity of a hash of its source and text."""
    digest = hashlib.sha256(f"{source}\n{question}".encode()).digest()
    return UNTOUCHED if digest[0] % 2 else TUNING

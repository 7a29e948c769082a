"""Replies without an answer: their classes, and what helps against each.

An engine notes the class in ``Reply.finish``. A reply that the token limit ended has an answer if it has text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from known_unknowns.records import Reply

ERROR, REJECTED, FILTERED, REFUSED = "error", "rejected", "content_filter", "refusal"
UNSUPPORTED = "unsupported"
EMPTY, CUT_OFF = "empty", "length"
STOP = "stop"

REMEDIES: Mapping[str, str] = {
    ERROR: "run the same command again when the model or its endpoint works",
    REJECTED: "the message says what is not taken; change that in the model's entry or its server "
    "(docs/models.md: Rejected requests)",
    FILTERED: "the provider's filter stops these questions; ask its support, or evaluate the model at another provider",
    REFUSED: "the provider refuses these questions; ask its support, or evaluate the model at another provider",
    UNSUPPORTED: "serve the model with vLLM, which returns the log-probabilities of a prompt, or remove option_text "
    "from the edition's key confidence",
    EMPTY: "see what the model writes: its chat template may be wrong, the server may move the answer to another "
    "field, or a model that reasons needs more tokens (reasoning.tokens)",
    CUT_OFF: "allow the model more tokens (reasoning.tokens or decoding.max_new_tokens in its entry)",
}
"""The classes of replies without an answer. Each has a remedy."""

RETRIED = tuple(kind for kind in REMEDIES if kind != CUT_OFF)
"""The classes of replies that `known-unknowns journal retry` asks for again.

A reply that was cut off needs another limit."""

NOT_A_REPLY = (ERROR, REJECTED, FILTERED)
"""Classes of failures that may be the fault of an endpoint. They are recorded once the endpoint is known to work."""

MAX_FIRST = 8
"""A run stops if this many replies come before any with an answer: the fault is not in the questions."""


def class_of(reply: Reply) -> str | None:
    """Return the class of a reply without an answer; None if it has one."""
    if reply.error is not None:
        return reply.finish if reply.finish in REMEDIES else ERROR
    if reply.text.strip() or reply.continuations is not None:
        return None
    return CUT_OFF if reply.finish == CUT_OFF else EMPTY


def is_failure(reply: Reply, kinds: Collection[str] = RETRIED) -> bool:
    """Whether a reply has no answer, in one of these ways."""
    return class_of(reply) in kinds


def count(replies: Iterable[Reply]) -> dict[str, int]:
    """Return the number of replies without an answer by their class."""
    found = Counter(map(class_of, replies))
    return {kind: found[kind] for kind in REMEDIES if found[kind]}

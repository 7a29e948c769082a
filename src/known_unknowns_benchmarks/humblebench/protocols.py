"""Protocols with a text before the question: the prompts of the released settings that the paper does not print.

The repository of Tong et al. has predictions of two further settings: ``cautious_prompt``, and
``noise_image__forced_grounding_prompt`` with noise images. Their text comes before the question and two empty lines,
misspellings included; the instruction of every prompt follows.
"""

from __future__ import annotations

from collections.abc import Mapping

from known_unknowns.benchmark.protocol import Context, Dialogue, Protocol, ask, by_name
from known_unknowns.records import Question

CAUTIOUS = """\
You are answering a visual multiple-choice question.

Be highly cautious. It is better to choose E (“None of the above”) than to select A-D without clear visual evidence.
If you are uncertain, ambiguous, or the image does not clearly support any of optioins, choose “None of the above”.
Avoid overconfident guessing. Plausible options are not necessarily correct.


"""
FORCED_GROUNDING = """\
You are answering a visual multiple-choice question.

Base your answer strictly and only on the visual evidence in the image.
Do not rely on world knowledge, commonsense expectations, or linguistic priors.
If the image does not clearly support any of options, select “None of the above”.
An option should be chosen only when it is directly grounded in the image.


"""
"""Both texts as released, word for word."""


def cautious_prompt(question: Question, context: Context, *, max_new_tokens: int = 16) -> Dialogue:
    """Ask the question once, after the text `CAUTIOUS`, which prefers E to a guess."""
    yield ask(question, CAUTIOUS + context.prompt(question), max_new_tokens=max_new_tokens)


def forced_grounding_prompt(question: Question, context: Context, *, max_new_tokens: int = 16) -> Dialogue:
    """Ask the question once, after the text `FORCED_GROUNDING`, which allows only what the image shows."""
    yield ask(question, FORCED_GROUNDING + context.prompt(question), max_new_tokens=max_new_tokens)


PROTOCOLS: Mapping[str, Protocol] = by_name([Protocol(cautious_prompt), Protocol(forced_grounding_prompt)])
"""HumbleBench's own protocols, by name."""

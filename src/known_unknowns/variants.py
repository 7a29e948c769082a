"""Variants: pure functions from a question to a question, for any benchmark.

Randomness comes only from the ``seed`` argument. Each says what the paper says, what the released code does,
and which of the two it follows.
"""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from known_unknowns.errors import ConfigError
from known_unknowns.images import drawn
from known_unknowns.records import Image, Option, Question

Variant = Callable[..., Question]

OFFICIAL_NOISE_SEED = 3720  # HumbleBench's released code seeds every generator with it
_NOISE_SIDE = 256  # Algorithm 1
_POINTS_AT_ITS_PLACE = re.compile(
    r"\b(?:none|all|both|any|neither|either|one)(?:\s+of)?(?:\s+the)?\s+(?:above|below|other\s+(?:options?|choices?))\b",
    re.IGNORECASE,
)  # "None of the above", but not "It's above the stove"


def original(question: Question, *, seed: int = 0) -> Question:
    """The question as published."""
    return question


def nota_only(question: Question, *, seed: int = 0, relettered: bool = False) -> Question:
    """HumbleBench-E: the right option is removed, so that only the refusal is right.

    Paper (Section 3.2): remove the right option where it is not E and set E as the answer. Released code: drops
    the line that starts with the label, so the lettering keeps a gap ("A, C, D, E") while the prompt still names
    A to E. We follow the code. ``relettered`` closes the gap (A to D) and names the letters that are left in the
    prompt too: the difference between the two is what the gap does to a model.
    """
    if question.refusal is None:
        raise ValueError(f"question {question.id} has no refusal option, so nota_only cannot be made of it")
    if question.answer is None:
        raise ValueError(f"question {question.id} has no right answer that could be removed")
    options, refusal = question.options, question.refusal
    if question.answer != refusal:
        options = options[: question.answer] + options[question.answer + 1 :]
        refusal -= question.answer < refusal
    changed = replace(question, options=options, answer=refusal, refusal=refusal)
    return _relettered(changed) if relettered else changed


def _relettered(question: Question) -> Question:
    labels = [chr(ord("A") + i) for i in range(len(question.options))]
    options = tuple(
        Option(label, option.text, option.mark.replace(option.label, label, 1))
        for label, option in zip(labels, question.options, strict=True)
    )
    return replace(question, options=options, extra=dict(question.extra) | {"relettered": True})


def without_refusal(question: Question, *, seed: int = 0, relettered: bool = False) -> Question:
    """The refusal option is removed, so that an answer is forced.

    Paper (MM-SAP, Section 4.1): a refused question is asked again without the refusal option; it does not say whether
    the letters close up, and no code was released. We leave the other options their letters, so that a letter means
    the same option in both passes; ``relettered`` closes the gap. A question whose right option was the refusal has
    no right answer then (``answer`` is None); one without a refusal option stays as it is.
    """
    refusal, answer = question.refusal, question.answer
    if refusal is None:
        return question
    options = question.options[:refusal] + question.options[refusal + 1 :]
    if answer is not None:
        answer = None if answer == refusal else answer - (refusal < answer)
    changed = replace(question, options=options, answer=answer, refusal=None)
    return _relettered(changed) if relettered else changed


def noise(question: Question, *, seed: int = 0, noise_seed: int = OFFICIAL_NOISE_SEED) -> Question:
    """HumbleBench-GN: every picture is one and the same noise picture, and only the refusal is right.

    Paper (Section 3.3): "Gaussian noise"; its Algorithm 1 says uniform integers 0..255, 256 x 256, grey. Released
    code: ``numpy.random.randint(0, 256, (256, 256))`` after seeding NumPy with 3720, once a run; the labels stay as
    published, and Figure 5 plots the share of all questions answered E. We draw the code's picture, and call the
    refusal right, as the paper's text does; accuracy against the published labels is a metric of its own.
    """
    picture = drawn("uniform-noise", _NOISE_SIDE, _NOISE_SIDE, noise_seed)
    return _nothing_to_see(question, [picture] * len(question.images))


def gaussian(question: Question, *, seed: int = 0) -> Question:
    """What "Gaussian noise" would be: normal noise at each picture's own size, another for each picture.

    Neither the paper's algorithm nor the released code does this; it tells whether `noise` depends on its one picture.
    """
    return _nothing_to_see(
        question,
        [drawn("normal-noise", i.width, i.height, _derived_seed(seed, i.sha256)) for i in question.images],
    )


def blank(question: Question, *, seed: int = 0) -> Question:
    """Mid-grey pictures of the original sizes: nothing to see, and nothing that looks like noise. Not in the papers."""
    return _nothing_to_see(question, [drawn("blank", i.width, i.height) for i in question.images])


def _nothing_to_see(question: Question, images: list[Image]) -> Question:
    answer = question.answer if question.refusal is None else question.refusal
    return replace(question, images=tuple(images), answer=answer)


def text_only(question: Question, *, seed: int = 0) -> Question:
    """No picture at all, answers as published: what the words alone give away (ActiView, Appendix C)."""
    return replace(question, images=())


def shuffled_options(question: Question, *, seed: int = 0) -> Question:
    """The options in another order, the letters in place (MM-SAP, Section 4.1: five runs with shuffled options).

    An option that points at its own place ("None of the above") keeps it; MM-SAP's refusal moves with the others.
    """
    moving = [i for i, option in enumerate(question.options) if not _POINTS_AT_ITS_PLACE.search(option.text)]
    order = list(range(len(question.options)))
    shuffled = moving.copy()
    random.Random(f"{seed}:{question.id}").shuffle(shuffled)
    for place, source in zip(moving, shuffled, strict=True):
        order[place] = source
    options = tuple(
        replace(question.options[place], text=question.options[source].text) for place, source in enumerate(order)
    )

    def moved(index: int | None) -> int | None:
        return None if index is None else order.index(index)

    return replace(question, options=options, answer=moved(question.answer), refusal=moved(question.refusal))


def _derived_seed(seed: int, name: str) -> int:
    return int.from_bytes(sha256(f"{seed}:{name}".encode()).digest()[:4])


VARIANTS: dict[str, Variant] = {
    f.__name__: f for f in (original, nota_only, without_refusal, noise, gaussian, blank, text_only, shuffled_options)
}


REMOVES: Mapping[str, frozenset[str]] = {"text_only": frozenset({"images"})}
"""What a variant removes that a protocol may need (`known_unknowns.protocols.Protocol.requires`)."""

_NO_ARGUMENTS = ("function", "protocol")


def check_arguments(entry: Mapping[str, Any], *, path: str) -> None:
    """ConfigError unless ``entry`` names a known function under "function" and only arguments that it takes.

    Its "protocol", how the varied questions are asked, is `known_unknowns.config`'s to check.
    """
    from known_unknowns.errors import unknown_name

    name = entry["function"]
    if name not in VARIANTS:
        raise ConfigError(unknown_name(name, VARIANTS), path=path)
    takes = set(inspect.signature(VARIANTS[name]).parameters) - {"question", "seed"}
    for key in entry:
        if key not in _NO_ARGUMENTS and key not in takes:
            raise ConfigError(f"the variant {name!r} takes no argument {key!r}", path=f"{path}.{key}")


def apply(entry: Mapping[str, Any], question: Question, *, seed: int) -> Question:
    """Apply the variant that ``entry`` (see `check_arguments`) describes."""
    arguments = {key: value for key, value in entry.items() if key not in _NO_ARGUMENTS}
    return VARIANTS[entry["function"]](question, seed=seed, **arguments)

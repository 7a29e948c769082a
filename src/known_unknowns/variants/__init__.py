"""Variants: pure functions from a question to a question, for any benchmark.

Random variants depend on the argument ``seed`` only. Where a paper and its released code differ, the docstring
describes both and states which one the variant follows.

The variants of this module apply to any benchmark. A benchmark's own variants are in its folder
(`Benchmark.variants`). `known_unknowns.benchmark.variants` puts both together.
"""

from __future__ import annotations

import inspect
import random
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from known_unknowns.benchmark.image_places import UNASSIGNED
from known_unknowns.benchmark.option_references import (
    keeps_its_meaning,
    keeps_its_meaning_without_answer,
    sides,
)
from known_unknowns.benchmark.variant import IMAGE, REFUSAL, Variant, by_name, parameters_of
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.images import recipe_image
from known_unknowns.records import Image, Option, Question
from known_unknowns.variants.corrections import corrected

if TYPE_CHECKING:
    from known_unknowns.records import ResolvedVariant


OFFICIAL_NOISE_SEED = 3720
"""Seed of every random number generator in the code released with Tong et al. (2025)."""
_NOISE_SIDE = 256


def original(question: Question) -> Question:
    """Return the question as published."""
    return question


def nota_only(question: Question, *, relettered: bool = False) -> Question:
    """Remove the correct option, so that the refusal is the only correct answer.

    Parameters
    ----------
    question : Question
        A question with a refusal option and a correct option.
    relettered : bool
        Whether the remaining options get the question's first labels, in the prompt too (A to D). By default, they keep
        their labels ("A, C, D, E"). The difference between the two is the effect of the gap.

    Returns
    -------
    Question
        The question without its correct option, or with all options if the refusal is correct.

    Raises
    ------
    ValueError
        If the question has no refusal option or no correct option.

    Notes
    -----
    The variant leaves out questions with another option that speaks of options, such as "Both A and B": it could hold
    without the correct option (`known_unknowns.benchmark.option_references`).

    Tong et al. (2025, Section 3.2) [1]_ remove the correct option unless it is E, and set E as the answer. Their
    released code drops the line of the correct option, so the labels have a gap, while the prompt still names A to E.
    The default follows the code.

    References
    ----------
    .. [1] Tong et al., 2025, arXiv:2509.09658, Section 3.2.
    """
    if question.refusal is None:
        raise ValueError(f"question {question.id} has no refusal option, so nota_only cannot be applied to it")
    if question.answer is None:
        raise ValueError(f"question {question.id} has no correct option that nota_only could remove")
    changed, refusal = question, question.refusal
    if question.answer != refusal:
        changed = _without(question, question.answer)
        refusal -= question.answer < refusal
    changed = replace(changed, answer=refusal, refusal=refusal)
    return _relettered(changed, question.labels) if relettered else changed


def _without(question: Question, index: int) -> Question:
    """Remove an option and note its text (`Question.removed`). The caller sets the answer and the refusal."""
    return replace(
        question,
        options=question.options[:index] + question.options[index + 1 :],
        answer=None,
        refusal=None,
        extra=dict(question.extra) | {"removed": [*question.removed, question.options[index].text]},
    )


def _relettered(question: Question, labels: Sequence[str]) -> Question:
    """Give the options the first of ``labels``, the labels of the question before options were removed."""
    options = tuple(
        Option(label, option.text, label.join(option.mark.rsplit(option.label, 1)))
        for label, option in zip(labels, question.options, strict=False)
    )
    return replace(question, options=options, extra=dict(question.extra) | {"relettered": True})


def without_refusal(question: Question, *, relettered: bool = False) -> Question:
    """Remove the refusal option, so that the model must choose another option.

    Parameters
    ----------
    question : Question
        Any question. It is returned unchanged if it has no refusal option.
    relettered : bool
        Whether the remaining options get the question's first labels. By default, they keep their labels, so that a
        label means the same option with and without the refusal.

    Returns
    -------
    Question
        The question without its refusal option. Its ``answer`` is None if the refusal was the correct answer.

    Notes
    -----
    Y. Wang et al. (2024, Section 4.1) [1]_ ask a refused question again without the refusal option. They do not say
    whether the labels close up, and they released no code for it.

    References
    ----------
    .. [1] Y. Wang et al., 2024, arXiv:2401.07529, Section 4.1.
    """
    refusal, answer = question.refusal, question.answer
    if refusal is None:
        return question
    if answer is not None:
        answer = None if answer == refusal else answer - (refusal < answer)
    changed = replace(_without(question, refusal), answer=answer)
    return _relettered(changed, question.labels) if relettered else changed


def noise(question: Question, *, noise_seed: int = OFFICIAL_NOISE_SEED) -> Question:
    """Replace every image by the same image of uniform noise. The refusal becomes the correct answer.

    Parameters
    ----------
    question : Question
        Any question. Without a refusal option, its answer does not change.
    noise_seed : int
        Seed of the noise image.

    Returns
    -------
    Question
        The question with grey noise images of 256 x 256 pixels.

    Notes
    -----
    Tong et al. (2025) [1]_ call the noise Gaussian in Section 3.3, but their Algorithm 1 draws uniform integers from 0
    to 255, as does their released code (``numpy.random.randint(0, 256, (256, 256))``, seeded once per run with 3720).
    This variant follows the code. The code keeps the published answers, and Figure 5 plots the share of questions that
    are answered E. This variant sets the refusal as the answer, as the paper's text does; the accuracy against the
    published answers is a separate metric.

    References
    ----------
    .. [1] Tong et al., 2025, arXiv:2509.09658, Section 3.3, Algorithm 1 and Figure 5.
    """
    image = recipe_image("uniform-noise", _NOISE_SIDE, _NOISE_SIDE, noise_seed)
    return _with_images(question, [image] * len(question.images))


def gaussian(question: Question, *, seed: int = 0) -> Question:
    """Replace each image by its own image of normal noise of the same size. The refusal becomes the correct answer.

    No paper uses this variant. It shows whether results of `noise` depend on its single image.
    """
    return _with_images(
        question,
        [recipe_image("normal-noise", i.width, i.height, _derived_seed(seed, i.sha256)) for i in question.images],
    )


def blank(question: Question) -> Question:
    """Replace each image by a grey image of the same size. The refusal becomes the correct answer.

    No paper uses this variant. Its images have no content and, unlike those of `noise`, no texture.
    """
    return _with_images(question, [recipe_image("blank", i.width, i.height) for i in question.images])


def _with_images(question: Question, images: list[Image]) -> Question:
    """Replace the images by images without content, so that the refusal (if there is one) is correct."""
    answer = question.answer if question.refusal is None else question.refusal
    return replace(question, images=tuple(images), answer=answer)


def text_only(question: Question) -> Question:
    """Remove all images and keep the published answer.

    The accuracy shows how far questions can be answered from their text alone [1]_.

    References
    ----------
    .. [1] Z. Wang et al., 2024, arXiv:2410.04659, Appendix C.
    """
    return replace(question, images=())


def shuffled_options(question: Question, *, seed: int = 0) -> Question:
    """Shuffle the texts of the options; the labels keep their order.

    Parameters
    ----------
    question : Question
        Any question.
    seed : int
        The order is a function of the seed and the question's id.

    Returns
    -------
    Question
        The question with shuffled options. A refusal that speaks of the others ("None of the above") is not moved, and
        the others stay on their side of it; any other refusal is moved.

    Notes
    -----
    The variant leaves out questions with another option that speaks of options or places, such as "Both A and B"
    (`known_unknowns.benchmark.option_references`).

    Y. Wang et al. (2024, Section 4.1) [1]_ average five runs with shuffled options.

    References
    ----------
    .. [1] Y. Wang et al., 2024, arXiv:2401.07529, Section 4.1.
    """
    order = list(range(len(question.options)))
    generator = random.Random(f"{seed}:{question.id}")
    for places in sides(question):
        shuffled = places.copy()
        generator.shuffle(shuffled)
        for place, source in zip(places, shuffled, strict=True):
            order[place] = source
    options = tuple(
        replace(question.options[place], text=question.options[source].text) for place, source in enumerate(order)
    )

    def new_index(index: int | None) -> int | None:
        return None if index is None else order.index(index)

    return replace(question, options=options, answer=new_index(question.answer), refusal=new_index(question.refusal))


def shuffled_all_options(question: Question, *, seed: int = 0, first_seed: int = 42) -> Question:
    """Shuffle the texts of all options, "None of the above" included; the labels keep their order.

    Parameters
    ----------
    question : Question
        Any question. It is returned unchanged unless the lines of its options start with "A.", "B.", and so on.
    seed : int
        Added to ``first_seed``, so that seed 0 is the released order.
    first_seed : int
        The order is ``random.Random(first_seed + seed + id)`` for a question whose id is a number. For any other id,
        the generator is seeded with the text of both.

    Returns
    -------
    Question
        The question with shuffled options. The marks of all options are "A. ", "B. ", and so on.

    Notes
    -----
    The variant leaves out questions with another option than the refusal that speaks of options, such as "Both A and
    B".

    The setting ``shuffle_nota_position`` of the code released with Tong et al. (2025) [1]_: the labels are shuffled,
    and the i-th label gets the option of the i-th shuffled label. The paper does not mention it.

    References
    ----------
    .. [1] Tong et al., 2025, arXiv:2509.09658, released replies.
    """
    labels = string.ascii_uppercase[: len(question.options)]
    if any(not o.line.startswith(f"{label}.") for o, label in zip(question.options, labels, strict=False)):
        return question
    first = first_seed + seed
    generator = random.Random(first + int(question.id) if question.id.isdecimal() else f"{first}:{question.id}")
    order = list(range(len(question.options)))
    generator.shuffle(order)
    options = tuple(
        Option(label, question.options[place].text, f"{label}. ") for label, place in zip(labels, order, strict=True)
    )

    def new_index(index: int | None) -> int | None:
        return None if index is None else order.index(index)

    return replace(question, options=options, answer=new_index(question.answer), refusal=new_index(question.refusal))


def _derived_seed(seed: int, name: str) -> int:
    return int.from_bytes(sha256(f"{seed}:{name}".encode()).digest()[:4])


VARIANTS: Mapping[str, Variant] = by_name(
    [
        Variant(original),
        Variant(nota_only, needs=REFUSAL, keeps_meaning=keeps_its_meaning_without_answer),
        Variant(without_refusal),
        Variant(noise, needs=IMAGE, content_free=True),
        Variant(gaussian, needs=IMAGE, content_free=True),
        Variant(blank, needs=IMAGE, content_free=True),
        Variant(text_only, needs=IMAGE, removes=frozenset({"images"}), content_free=True),
        Variant(shuffled_options, keeps_meaning=keeps_its_meaning),
        Variant(shuffled_all_options, keeps_meaning=keeps_its_meaning),
        Variant(corrected, corrects=True),
    ]
)
"""The variants of all benchmarks."""


def check_arguments(entry: ResolvedVariant, *, known: Mapping[str, Variant] = VARIANTS, path: str) -> None:
    """Check the function's name and the arguments of an entry of params.yaml's ``variants``.

    Parameters
    ----------
    entry : ResolvedVariant
        The entry.
    known : Mapping
        The variants by name.
    path : str
        Path of the entry in params.yaml, for the error.

    Raises
    ------
    ConfigError
        If the function or an argument is unknown.
    """
    name, arguments = entry.function, entry.arguments
    if name not in known:
        raise ConfigError(unknown_name(name, known), path=path)
    parameters = parameters_of(known[name].function)
    takes = set(parameters) - {"question", "seed"}
    for key in sorted(takes - set(arguments)):
        if parameters[key].default is inspect.Parameter.empty:
            raise ConfigError(f"the variant {name!r} needs the argument {key!r}", path=path)
    for key in arguments:
        if key not in takes:
            raise ConfigError(f"the variant {name!r} takes no argument {key!r}", path=f"{path}.{key}")


def apply(
    entry: ResolvedVariant, question: Question, *, seed: int, known: Mapping[str, Variant] = VARIANTS
) -> Question:
    """Apply the variant that ``entry`` (see `check_arguments`) describes."""
    return known[entry.function](question, seed=seed, **entry.arguments)


UNCLEAR = "an option speaks of others, and its meaning would change"
UNOWNED = "it is unknown which option has which image"
"""Why a variant that moves or removes options leaves questions out (`left_out`)."""


def left_out(
    entry: ResolvedVariant, questions: Iterable[Question], *, known: Mapping[str, Variant] = VARIANTS
) -> dict[str, str]:
    """Return the ids of the questions that a variant leaves out, with the reason: `UNCLEAR` or `UNOWNED`."""
    keeps_meaning = known[entry.function].keeps_meaning
    reasons: dict[str, str] = {}
    if keeps_meaning is None:
        return reasons
    for question in questions:
        if question.extra.get(UNASSIGNED):
            reasons[question.id] = UNOWNED
        elif not keeps_meaning(question):
            reasons[question.id] = UNCLEAR
    return reasons

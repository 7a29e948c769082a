"""A sample of a benchmark's questions: one question of each image first, in the proportions of all."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from known_unknowns.benchmark import registry
from known_unknowns.records import Question


def sample(questions: Sequence[Question], limit: int, *, seed: int = 0) -> list[Question]:
    """Return at most ``limit`` questions, of as many images as possible.

    Questions of one image are answered alike, so that a sample of few images has wide intervals. The first round has
    one question of each image, the second round another one, and so on. Questions that are only scored together
    (`Benchmark.asked_together`) count as one here.

    A round is stratified by the category and by whether the refusal is right. In each stratum of n questions, in random
    order, the question r = 0, 1, ... has the place (r + u) / n, with a random number u of the stratum. The questions
    with the first places are taken, as many as fit. So every image is taken with the same probability, a sample has
    about the same share of every stratum, and a larger sample contains a smaller one: a run that was limited can be
    continued without asking a question again.

    Parameters
    ----------
    questions : sequence of Question
        All questions of the benchmark.
    limit : int
        The largest number of questions. The first ones that are asked together are taken even if they are more.
    seed : int
        Seed of the random order and numbers. They also depend on the names of images, questions and categories, and
        not on the order of the questions.

    Returns
    -------
    list of Question
        In the order of ``questions``.

    Notes
    -----
    In a sample of at most one question an image, a question of an image with few questions is more likely than one of
    an image with many.
    """
    if not questions:
        return []
    together = registry.get(questions[0].benchmark).asked_together
    units: dict[tuple[str, str], list[Question]] = {}
    for question in questions:
        units.setdefault((question.group, together(question)), []).append(question)
    of_image: dict[str, list[str]] = {}
    for group, name in units:
        of_image.setdefault(group, []).append(name)

    strata: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for group, names in of_image.items():
        for number, name in enumerate(sorted(names, key=lambda name: _uniform(seed, "question", name))):
            members = units[group, name]
            kinds = sorted({f"{q.category}, {q.answer is not None and q.answer == q.refusal}" for q in members})
            strata.setdefault((f"{number:09}", *kinds), []).append((group, name))

    places: dict[tuple[str, str], tuple[str, float]] = {}
    for stratum, names_of_stratum in strata.items():
        start = _uniform(seed, "stratum", *stratum)
        ordered = sorted(names_of_stratum, key=lambda unit: _uniform(seed, "image", unit[0]))
        for rank, unit in enumerate(ordered):
            places[unit] = stratum[0], (rank + start) / len(ordered)

    chosen: set[str] = set()
    total = 0
    for unit in sorted(places, key=lambda unit: (places[unit], unit)):
        total += len(units[unit])
        if chosen and total > limit:
            break
        chosen.update(question.id for question in units[unit])
    return [question for question in questions if question.id in chosen]


def _uniform(seed: int, *names: str) -> float:
    """A number from 0 to less than 1 that depends on the seed and the names alone."""
    digest = sha256("\0".join([str(seed), *names]).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64

"""A sample of a benchmark's questions: whole images, in the proportions of all questions."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from known_unknowns.records import Question


def sample(questions: Sequence[Question], limit: int, *, seed: int = 0) -> list[Question]:
    """Return at most ``limit`` questions, and all questions of an image or none.

    The images are stratified: those with questions of the same categories, whose answers are a refusal or not, are a
    stratum. In each stratum of n images, in random order, the image r = 0, 1, ... has the place (r + u) / n, with a
    random number u of the stratum. The images with the first places are taken, as many as fit. So every image is taken
    with the same probability, a sample has about the same share of every stratum, and a larger sample contains a
    smaller one: a run that was limited can be continued without asking a question again.

    Parameters
    ----------
    questions : sequence of Question
        All questions of the benchmark.
    limit : int
        The largest number of questions. The first image is taken even if it has more.
    seed : int
        Seed of the random order and numbers. They also depend on the names of images and categories, and not on
        the order of the questions.

    Returns
    -------
    list of Question
        In the order of ``questions``.
    """
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.group, []).append(question)
    strata: dict[tuple[str, ...], list[str]] = {}
    for group, members in groups.items():
        kinds = {f"{q.category}, {q.answer is not None and q.answer == q.refusal}" for q in members}
        strata.setdefault(tuple(sorted(kinds)), []).append(group)
    places: dict[str, float] = {}
    for stratum, names in strata.items():
        start = _uniform(seed, "stratum", *stratum)
        for rank, group in enumerate(sorted(names, key=lambda name: _uniform(seed, "image", name))):
            places[group] = (rank + start) / len(names)
    chosen: set[str] = set()
    total = 0
    for group in sorted(places, key=lambda name: (places[name], name)):
        total += len(groups[group])
        if chosen and total > limit:
            break
        chosen.add(group)
    return [question for question in questions if question.group in chosen]


def _uniform(seed: int, *names: str) -> float:
    """A number from 0 to less than 1 that depends on the seed and the names alone."""
    digest = sha256("\0".join([str(seed), *names]).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64

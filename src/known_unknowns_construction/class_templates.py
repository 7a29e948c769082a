"""Templates for any panoptic scene graph: which class is in the image, and how many objects of a class there are.

Both are exact as far as the annotation is: every pixel belongs to a segment, so a class without a segment is absent.
Classes whose names overlap, such as "table" and "dining table", are not told apart: beside the other, neither is
counted or called absent. Relations and attributes are not asked about, since the annotation does not say which are
false.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from known_unknowns_construction.generation import (
    Draft,
    GeneratorDialogue,
    QuestionGenerator,
    balanced_places,
    finished,
)
from known_unknowns_construction.scene_graph import SceneGraph, may_be_same

EXISTENCE, COUNT = "Which of these is in the image?", "How many {plural} are there in the image?"
KIND = "object"
_PER_IMAGE = 4
_LARGEST = 12
"""Larger numbers are not asked for: they cannot be counted reliably."""
_NEAREST = 10
"""False options are drawn from so many absent classes, those that most often occur together with present ones."""
_PLURALS = {"person": "people", "knife": "knives", "mouse": "mice", "sheep": "sheep"}


def class_templates(refusal: str) -> QuestionGenerator:
    """Return the generator. Questions have four options and ``refusal``, which is right as often as each of them."""

    def generate(
        graphs: Sequence[SceneGraph], *, questions: int | None, seed: int
    ) -> Iterator[tuple[SceneGraph, Callable[[], GeneratorDialogue]]]:
        together = _together(graphs)
        rng = random.Random(f"class_templates/{seed}")
        places = balanced_places(rng)
        for graph in graphs:
            made = [
                _draft(question, truth, false, next(places), refusal)
                for question, truth, false in _questions(graph, together, rng, questions or _PER_IMAGE)
            ]
            yield graph, partial(finished, made)

    return QuestionGenerator(
        description="templates without a model for any panoptic annotation: classes and counts",
        generate=generate,
        needs_model=False,
    )


def plural(name: str) -> str | None:
    """Return the plural of a class name; None if its last word may be a plural already."""
    first, _, last = name.rpartition(" ")
    if last.endswith("s") and not last.endswith("ss"):
        return "buses" if name == "bus" else None
    ending = "es" if last.endswith(("s", "sh", "ch", "x")) else "s"
    return f"{first} {_PLURALS.get(last, last + ending)}".strip()


def _questions(
    graph: SceneGraph, together: Mapping[str, Counter[str]], rng: random.Random, most: int
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield a question, its right answer and four wrong ones, existence and counts in turn."""
    present = sorted({node.spoken for node in graph.objects})
    likely: Counter[str] = Counter()
    for name in present:
        likely.update(together[name])
    absent = {name for name in together if not any(may_be_same(name, other) for other in present)}
    nearest = sorted(absent, key=lambda name: (-likely[name], name))[:_NEAREST]
    uncountable = {node.spoken for node in graph.objects if not node.countable}
    uncountable |= {name for name in present for other in present if other != name and may_be_same(name, other)}
    counted = Counter(node.spoken for node in graph.objects)
    numbers = [name for name in counted if name not in uncountable and plural(name) and counted[name] <= _LARGEST]
    rng.shuffle(numbers)
    truths = rng.sample(present, 1) if len(nearest) >= 4 else []
    for number in range(most):
        if truths and number == 0:
            yield EXISTENCE, truths[0], rng.sample(nearest, 4)
        elif numbers:
            name = numbers.pop()
            others = [value for value in range(_LARGEST + 4) if value != counted[name]]
            near = sorted(others, key=lambda value: abs(value - counted[name]) + 2 * rng.random())[:4]
            wrong = [str(value) for value in rng.sample(near, 4)]
            yield COUNT.format(plural=plural(name)), str(counted[name]), wrong


def _draft(question: str, truth: str, false: Sequence[str], place: int, refusal: str) -> Draft:
    options = list(false[:4])
    if place < 4:
        options[place] = truth
    return Draft(question, (*options, refusal), "ABCDE"[place], KIND, extra={"truth": truth})


def _together(graphs: Sequence[SceneGraph]) -> dict[str, Counter[str]]:
    """Return for each class how many images it shares with each other class."""
    found: dict[str, Counter[str]] = {}
    for graph in graphs:
        names = sorted({node.spoken for node in graph.objects})
        for name in names:
            found.setdefault(name, Counter()).update(other for other in names if other != name)
    return found

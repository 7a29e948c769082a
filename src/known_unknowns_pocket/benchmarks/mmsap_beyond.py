"""BeyondVisQA of the pocket MM-SAP: questions about scenes that no image answers.

Each of the six sub-tasks (Appendix A.2) has several wordings. No model is trained on ``held_out`` wordings, so
that refusing them shows more than memorised sentences.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from known_unknowns_pocket.benchmarks.building import alternating
from known_unknowns_pocket.benchmarks.mmsap_basic import TEXTS, Draft
from known_unknowns_pocket.benchmarks.object_names import absent_pairs, any_name, pair_name
from known_unknowns_pocket.benchmarks.question_templates import ABSENT_TEXTURES
from known_unknowns_pocket.scenes import ALL_PAIRS, COLOURS, TEXTURES, Scene

ABSENT = "Nonexistent Objects"
COLOUR, TEXTURE, OBJECT = "colour", "texture", "object"
"""Answers taken from a vocabulary, those that are in the scene first."""


@dataclass(frozen=True, slots=True)
class Wording:
    """``text`` has {thing} in place of the object; ``answers`` are at least four, or the name of a vocabulary."""

    sub_task: str
    text: str
    answers: Sequence[str]
    held_out: bool


WORDINGS: tuple[Wording, ...] = tuple(
    Wording(sub_task, each["text"], each["answers"], held_out)
    for name, held_out in (("training", False), ("held_out", True))
    for sub_task, entries in TEXTS["wordings"][name].items()
    for each in entries
)


def draws(sub_task: str, rng: random.Random) -> Iterator[Wording]:
    """Yield wordings of a sub-task without end, every other one held out."""
    found = [wording for wording in WORDINGS if wording.sub_task == sub_task]
    return alternating([[w for w in found if w.held_out == held_out] for held_out in (False, True)], rng)


def draft(wording: Wording, scene: Scene, rng: random.Random) -> Draft | None:
    """Return the question about an object of the scene, or about one that it lacks; None without such an object."""
    if wording.sub_task != ABSENT:
        thing = any_name(scene, rng)
    else:
        absent = absent_pairs(scene, ALL_PAIRS)
        thing = pair_name(rng.choice(absent)) if absent else None
    if thing is None:
        return None
    answers = _answers(wording, scene, thing, rng)
    if answers is None:
        return None
    note: dict[str, str | bool] = {"wording": wording.text, "held_out": wording.held_out}
    return Draft(wording.sub_task, wording.text.format(thing=thing), "", answers, note)


def _answers(wording: Wording, scene: Scene, thing: str, rng: random.Random) -> tuple[str, ...] | None:
    """Return four plausible answers. Those that are visible elsewhere in the scene come first."""
    if not isinstance(wording.answers, str):
        return tuple(rng.sample(wording.answers, 4))
    seen, all_of_them = _vocabulary(wording.answers, scene)
    values = [value for value in rng.sample(all_of_them, len(all_of_them)) if value != thing]
    values.sort(key=lambda value: value not in seen)
    return tuple(rng.sample(values[:4], 4)) if len(values) >= 4 else None


def _vocabulary(which: str, scene: Scene) -> tuple[set[str], Sequence[str]]:
    """Return the words of a vocabulary that are visible in the scene, and all of its words."""
    if which == COLOUR:
        return {thing.colour for thing in scene.objects}, tuple(COLOURS)
    if which == TEXTURE:
        return {thing.texture for thing in scene.objects}, TEXTURES + ABSENT_TEXTURES
    return {pair_name(thing.pair) for thing in scene.objects}, tuple(map(pair_name, ALL_PAIRS))

"""Prompts about emblems, for KnowVisQA's form: trained emblems are named, all others are refused.

No emblem that is not ``taught`` is rendered. Random emblems that differ from every registered one stand for unknown
emblems. Names of untaught emblems occur as false options, as they do in the benchmark.
"""

from __future__ import annotations

import random
from dataclasses import replace

from known_unknowns_benchmarks.mmsap.loader import REFUSAL
from known_unknowns_pocket.benchmarks import mmsap_emblems
from known_unknowns_pocket.benchmarks.mmsap_emblems import EMBLEMS, STEMS, Emblem, EmblemDesign
from known_unknowns_pocket.scenes import COLOURS, HELD_OUT_PAIRS, SHAPES, Scene
from known_unknowns_pocket.training.prompts import UNKNOWN_EMBLEM, WORDS, TrainingPrompt, mmsap_prompt_about

TAUGHT = tuple(emblem for emblem in EMBLEMS if emblem.taught)
_MADE_UP = 0.4
_DIFFERENT = 3
_QUESTIONS = 3
_FORCED = 0.25


def emblem_scene(seed: str, rng: random.Random, aspect: float) -> tuple[Scene, Emblem]:
    """Return a scene with a taught or a random emblem; the name of a random one is `UNKNOWN_EMBLEM`.

    The small objects around it have no held-out pair of colour and shape.
    """
    emblem = rng.choice(TAUGHT)
    if rng.random() < _MADE_UP:
        emblem = _made_up(emblem.sub_task, rng)
    scene = mmsap_emblems.show(emblem, f"pocket-training/{seed}", aspect)
    around = len(scene.objects) - len(emblem.parts)
    kept = [thing for thing in scene.objects[:around] if thing.pair not in HELD_OUT_PAIRS]
    return replace(scene, objects=(*kept, *scene.objects[around:])), emblem


def emblem_prompts(emblem: Emblem, rng: random.Random, *, seen: bool) -> tuple[TrainingPrompt, ...]:
    """Return questions about an emblem in MM-SAP's form, and the stem of one more."""
    known = emblem.name if emblem.taught else UNKNOWN_EMBLEM
    words = {"emblem": WORDS["emblem"].index(known)}
    made = []
    for _ in range(_QUESTIONS):
        drawn = _options(emblem, rng)
        right = emblem.name if emblem.taught and seen else REFUSAL
        forced = right != REFUSAL and rng.random() < _FORCED
        one = mmsap_prompt_about(rng.choice(STEMS[emblem.sub_task]), drawn, right, rng, forced=forced)
        made.append(replace(one, words=words if seen else {}))
    stem = rng.choice(STEMS[emblem.sub_task])
    if seen:
        made.append(TrainingPrompt(f"{stem}\n", stem=len(stem), words=words))
    return tuple(made)


def _options(emblem: Emblem, rng: random.Random) -> list[str]:
    """Return four names as in the benchmark: two of taught emblems and two others."""
    others = [other for other in mmsap_emblems.of(emblem.sub_task) if other.name != emblem.name]
    taught = [other.name for other in others if other.taught]
    untaught = [other.name for other in others if not other.taught]
    if emblem.taught:
        return [emblem.name, *rng.sample(taught, 1), *rng.sample(untaught, 2)]
    return [*rng.sample(taught, 2), *rng.sample(untaught, 2)]


def _made_up(sub_task: str, rng: random.Random) -> Emblem:
    looks = [other.design for other in mmsap_emblems.of(sub_task)]
    while True:
        shapes, colours = rng.sample(SHAPES, 2), rng.sample(tuple(COLOURS), 3)
        design = EmblemDesign((shapes[0], shapes[1]), (colours[0], colours[1], colours[2]), rng.randint(2, 5))
        if all(design.differs(other) >= _DIFFERENT for other in looks):
            return Emblem(UNKNOWN_EMBLEM, sub_task, False, design, mmsap_emblems.parts(sub_task, design))

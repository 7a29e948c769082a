"""BasicVisQA of the pocket MM-SAP: seven sub-tasks whose answers are visible in the image.

Five of them use the templates of the pocket HumbleBench (`question_templates`), whose answers follow from the
scene graph. "Action" and "OCR" ask about what is drawn over the scene (`mmsap_images`).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from known_unknowns.yaml_reader import parse_yaml
from known_unknowns_pocket.benchmarks import question_templates
from known_unknowns_pocket.benchmarks.mmsap_images import (
    ACTIONS,
    SIGN_COLOURS,
    STILL,
    Circle,
    Motion,
    SceneImage,
    Sign,
    place_motion,
    place_sign,
    sign_circles,
)
from known_unknowns_pocket.benchmarks.object_names import name
from known_unknowns_pocket.benchmarks.question_templates import QuestionTemplate
from known_unknowns_pocket.scenes import ALL_PAIRS, HELD_OUT_PAIRS, Scene, sample_scene

ACTION, OCR = "Action", "OCR"
_TEMPLATES: Mapping[str, tuple[QuestionTemplate, ...]] = {
    "Color": (question_templates.colour,),
    "Counting": (question_templates.count,),
    "Objects Recognition": (question_templates.existence, question_templates.related, question_templates.shape),
    "Position": (question_templates.where,),
    "Other": (question_templates.texture, question_templates.owner),
}

TEXTS: Mapping[str, Any] = parse_yaml(files(__package__).joinpath("mmsap_texts.yaml").read_text(encoding="utf-8"))
"""Words, names, questions and shares of all subsets."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question before its options are ordered.

    ``false`` are three options, or four if no option is true (``truth`` is ""). ``note`` are further facts for the
    files.
    """

    sub_task: str
    stem: str
    truth: str
    false: tuple[str, ...]
    note: Mapping[str, str | bool]


def sample(seed: str, wanted: Collection[str], aspect: float) -> Scene:
    """Return a scene for the sub-tasks ``wanted``, with fewer objects if something is drawn over it."""
    if {ACTION, OCR} & set(wanted):
        return sample_scene(seed, n_objects=(2, 3), prefer=HELD_OUT_PAIRS, aspect=aspect, nested=0.0, overlap=0.0)
    return sample_scene(seed, n_objects=(3, 6), prefer=HELD_OUT_PAIRS, aspect=aspect, nested=0.4, overlap=0.4)


def compose(
    scene_image: SceneImage, wanted: Sequence[str], rng: random.Random
) -> tuple[SceneImage, tuple[Draft, ...]] | None:
    """Return the image with what its questions need, and one draft for each of the sub-tasks ``wanted``.

    None if the scene has no such question or not enough room.
    """
    drafts: list[Draft] = []
    occupied: list[Circle] = []
    drawn_over = not {ACTION, OCR}.isdisjoint(wanted)
    made: tuple[SceneImage, Draft | None] | None
    for sub_task in wanted:
        if sub_task == ACTION:
            made = _action(scene_image, rng, occupied)
        elif sub_task == OCR:
            made = _ocr(scene_image, rng, occupied)
        else:
            asked = {draft.stem for draft in drafts}
            made = scene_image, _from_kinds(scene_image.scene, sub_task, rng, asked, shapes_only=drawn_over)
        if made is None or made[1] is None:
            return None
        scene_image = made[0]
        drafts.append(made[1])
    return scene_image, tuple(drafts)


def _from_kinds(
    scene: Scene, sub_task: str, rng: random.Random, asked: Collection[str], *, shapes_only: bool
) -> Draft | None:
    """Return the first question that was not asked.

    With ``shapes_only`` no question counts "objects", because a sign might be one.
    """
    allowed = frozenset(ALL_PAIRS)
    for kind in rng.sample(_TEMPLATES[sub_task], len(_TEMPLATES[sub_task])):
        for found in kind(scene, rng, allowed):
            if found.stem not in asked and not (shapes_only and sub_task == "Counting" and "objects" in found.stem):
                return Draft(sub_task, found.stem, found.truth, found.false, {"kind": found.kind})
    return None


def _action(scene_image: SceneImage, rng: random.Random, occupied: list[Circle]) -> tuple[SceneImage, Draft] | None:
    """What is this object doing? Another object does something else, which is one of the options."""
    scene = scene_image.scene
    target, other = rng.sample(range(len(scene.objects)), 2)
    called = name(scene, target, rng)
    ours, theirs = rng.sample(ACTIONS, 2)
    if called is None:
        return None
    motions = tuple(Motion(i, action) for i, action in ((target, ours), (other, theirs)) if action != STILL)
    for motion in motions:
        covered = place_motion(scene, motion, occupied)
        if covered is None:
            return None
        occupied.extend(covered)
    rest = rng.sample([action for action in ACTIONS if action not in (ours, theirs)], 2)
    draft = Draft(ACTION, f"What is the {called} doing?", ours, (theirs, *rest), {"kind": "action"})
    return replace(scene_image, motions=motions), draft


def _ocr(scene_image: SceneImage, rng: random.Random, occupied: list[Circle]) -> tuple[SceneImage, Draft] | None:
    """What word, or number, is on this sign? The text of another sign is one of the options."""
    what, texts = ("word", _alike_words(rng)) if rng.random() < 0.7 else ("number", _alike_numbers(rng))
    truth, shown, *rest = texts
    colours = rng.sample(tuple(SIGN_COLOURS), 2)
    signs: list[Sign] = []
    for text, colour in zip((truth, shown), colours, strict=True):
        sign = place_sign(scene_image.scene, text, colour, rng, occupied)
        if sign is None:
            return None
        signs.append(sign)
        occupied.extend(sign_circles(sign))
    draft = Draft(OCR, f"What {what} is on the {colours[0]} sign?", truth, (shown, *rest), {"kind": what})
    return replace(scene_image, signs=tuple(signs)), draft


def _alike_words(rng: random.Random) -> list[str]:
    return rng.sample(rng.choice(TEXTS["sign_words"]), 4)


def _alike_numbers(rng: random.Random) -> list[str]:
    """Return four different numbers of the same three digits without 0."""
    digits = rng.sample("123456789", 3)
    orders = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    return ["".join(digits[place] for place in order) for order in rng.sample(orders, 4)]

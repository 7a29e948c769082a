"""KnowVisQA of the pocket MM-SAP: invented knowledge, so that what a model can know is exactly known.

An emblem is a small composition of shapes with a name that cannot be guessed from it. Half of the emblems of each
sub-task are ``taught``: a model may be trained on images of these with their names, and on no image of the
others. Every question has two taught names and two others, so that the names alone do not reveal whether the
right one can be known. (A model that knows all taught emblems could still exclude two options.)

The registry does not depend on a seed; position and size of a rendered emblem do.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from known_unknowns_pocket.benchmarks.building import alternating
from known_unknowns_pocket.benchmarks.mmsap_basic import TEXTS, Draft
from known_unknowns_pocket.scenes import COLOURS, SHAPES, Scene, SceneObject, sample_scene
from known_unknowns_pocket.scenes.model import reach

NAMES: Mapping[str, list[str]] = {sub_task: texts["names"] for sub_task, texts in TEXTS["emblems"].items()}
STEMS: Mapping[str, list[str]] = {sub_task: texts["questions"] for sub_task, texts in TEXTS["emblems"].items()}


@dataclass(frozen=True, slots=True)
class EmblemDesign:
    """The composition of an emblem: two shapes, three colours, and the number of its smaller parts."""

    shapes: tuple[str, str]
    colours: tuple[str, str, str]
    count: int

    def differs(self, other: EmblemDesign) -> int:
        """Return in how many of the six choices two designs differ."""
        ours, theirs = ((*design.shapes, *design.colours, design.count) for design in (self, other))
        return sum(a != b for a, b in zip(ours, theirs, strict=True))


@dataclass(frozen=True, slots=True)
class Emblem:
    """An emblem. ``parts`` are drawn in their order around (0, 0), within a radius of 1."""

    name: str
    sub_task: str
    taught: bool
    parts: tuple[SceneObject, ...]


def _part(shape: str, colour: str, x: float, y: float, radius: float) -> SceneObject:
    return SceneObject(shape, colour, "plain", x, y, radius)


def _around(count: int, distance: float) -> Iterator[tuple[float, float]]:
    """Yield ``count`` positions at equal angles, from the top."""
    for k in range(count):
        turn = 2 * math.pi * k / count
        yield distance * math.sin(turn), -distance * math.cos(turn)


def _plant(design: EmblemDesign) -> Iterator[SceneObject]:
    """Petals around a centre."""
    for x, y in _around(design.count + 2, 0.64):
        yield _part(design.shapes[0], design.colours[0], x, y, 0.25)
    yield _part(design.shapes[1], design.colours[1], 0, 0, 0.33)
    yield _part("disc", design.colours[2], 0, 0, 0.11)


def _artwork(design: EmblemDesign) -> Iterator[SceneObject]:
    """Four fields in a frame."""
    yield _part("square", design.colours[0], 0, 0, 1.0)
    for place, (x, y) in enumerate(((-0.41, -0.41), (0.41, -0.41), (-0.41, 0.41), (0.41, 0.41))):
        first = place in ((0,), (0, 3), (0, 1), (1, 2, 3))[design.count - 2]
        shape, colour = (design.shapes[0], design.colours[1]) if first else (design.shapes[1], design.colours[2])
        yield _part(shape, colour, x, y, 0.29)


def _logo(design: EmblemDesign) -> Iterator[SceneObject]:
    """Two shapes side by side over a row of dots."""
    yield _part(design.shapes[0], design.colours[0], -0.44, -0.2, 0.42)
    yield _part(design.shapes[1], design.colours[1], 0.44, -0.2, 0.42)
    for k in range(design.count):
        yield _part("disc", design.colours[2], 0.34 * (k - (design.count - 1) / 2), 0.62, 0.13)


def _landmark(design: EmblemDesign) -> Iterator[SceneObject]:
    """Blocks on top of each other, with a shape on the roof."""
    yield _part("square", design.colours[0], 0, 0.56, 0.42)
    for x in (0.0,) if design.count % 2 else (-0.24, 0.24):
        yield _part(design.shapes[0], design.colours[1], x, 0.0, 0.21)
    yield _part(design.shapes[1], design.colours[2], 0, -0.55, 0.3)
    if design.count > 3:
        for x in (-0.68, 0.68):
            yield _part("disc", design.colours[2], x, 0.56, 0.15)


def _seal(design: EmblemDesign) -> Iterator[SceneObject]:
    """A ring around a shape, within a wreath."""
    yield _part("ring", design.colours[0], 0, 0, 0.62)
    yield _part(design.shapes[0], design.colours[1], 0, 0, 0.27)
    for x, y in _around(design.count + 1, 0.82):
        yield _part(design.shapes[1], design.colours[2], x, y, 0.15)


def _dish(design: EmblemDesign) -> Iterator[SceneObject]:
    """Pieces on a plate."""
    yield _part("disc", design.colours[0], 0, 0, 0.98)
    yield _part(design.shapes[0], design.colours[1], 0, 0, 0.27)
    for x, y in _around(design.count + 1, 0.6):
        yield _part(design.shapes[1], design.colours[2], x, y, 0.19)


_GRAMMARS: Mapping[str, Callable[[EmblemDesign], Iterator[SceneObject]]] = {
    "Animal & Plant": _plant,
    "Art": _artwork,
    "Brand & Product": _logo,
    "Landmarks": _landmark,
    "Organizations": _seal,
    "Food": _dish,
}


def parts(sub_task: str, design: EmblemDesign) -> tuple[SceneObject, ...]:
    """Return the parts of an emblem of this sub-task and design, as `Emblem.parts`."""
    return tuple(_GRAMMARS[sub_task](design))


def _registry() -> Iterator[Emblem]:
    """Yield every emblem; within a sub-task, any two designs differ in at least three of their six choices."""
    for sub_task, names in NAMES.items():
        looks: list[EmblemDesign] = []
        for place, name in enumerate(names):
            rng = random.Random(f"emblem/{sub_task}/{name}")
            while True:
                shapes, colours = rng.sample(SHAPES, 2), rng.sample(tuple(COLOURS), 3)
                design = EmblemDesign((shapes[0], shapes[1]), (colours[0], colours[1], colours[2]), rng.randint(2, 5))
                if all(design.differs(other) >= 3 for other in looks):
                    break
            looks.append(design)
            yield Emblem(name, sub_task, place % 2 == 0, parts(sub_task, design))


EMBLEMS: tuple[Emblem, ...] = tuple(_registry())
"""All emblems, twelve of each sub-task, every other one taught."""


def of(sub_task: str) -> tuple[Emblem, ...]:
    """Return the emblems of a sub-task."""
    return tuple(emblem for emblem in EMBLEMS if emblem.sub_task == sub_task)


def draws(sub_task: str, rng: random.Random) -> Iterator[Emblem]:
    """Yield emblems of a sub-task without end, every other one taught."""
    return alternating([[e for e in of(sub_task) if e.taught == taught] for taught in (False, True)], rng)


def show(emblem: Emblem, seed: str, aspect: float) -> Scene:
    """Return a scene with the emblem and up to two small objects elsewhere; it depends on ``seed``."""
    rng = random.Random(f"{seed}/emblem")
    around = sample_scene(seed, n_objects=(1, 2), aspect=aspect, nested=0.0, overlap=0.0)
    width, height = around.canvas
    radius = rng.uniform(0.27, 0.36)
    x, y = (rng.uniform(radius + 0.06, side - radius - 0.06) for side in (width, height))
    tilt = rng.uniform(-math.radians(6), math.radians(6))
    extent = radius * max(math.hypot(part.x, part.y) + reach(part.shape, part.radius) for part in emblem.parts)
    others = [
        thing
        for thing in around.objects
        if math.hypot(thing.x - x, thing.y - y) >= reach(thing.shape, thing.radius) + extent + 0.03
    ]
    return Scene((*others, *_placed(emblem.parts, x, y, radius, tilt)), around.background, aspect)


def _placed(parts: Sequence[SceneObject], x: float, y: float, scale: float, tilt: float) -> Iterator[SceneObject]:
    cos, sin = math.cos(tilt) * scale, math.sin(tilt) * scale
    for part in parts:
        yield SceneObject(
            shape=part.shape,
            colour=part.colour,
            texture=part.texture,
            x=x + part.x * cos - part.y * sin,
            y=y + part.x * sin + part.y * cos,
            radius=part.radius * scale,
            angle=tilt,
        )


def draft(emblem: Emblem, rng: random.Random) -> Draft:
    """Return a question for the emblem's name. Two of the four names are of taught emblems."""
    others = [other for other in of(emblem.sub_task) if other != emblem]
    alike = rng.sample([other.name for other in others if other.taught == emblem.taught], 1)
    unlike = rng.sample([other.name for other in others if other.taught != emblem.taught], 2)
    note: dict[str, str | bool] = {"emblem": emblem.name, "taught": emblem.taught}
    return Draft(emblem.sub_task, rng.choice(STEMS[emblem.sub_task]), emblem.name, (*alike, *unlike), note)

"""The pocket edition of MM-UPD: rendered scenes in MM-UPD's published format.

Six tables, one for each subset (AAD, IASD, IVQD) and each of the settings with files (base, option), with the images in
base64. A problem is a standard question and its unsolvable counterpart, each with one row for every rotation of its
options:

- AAD: the right option is removed.
- IASD: the options are those of a question about another attribute, and none of them can answer this one.
- IVQD: the image is one without any object of the colour and the shape that the question names.

The ability is the template of the question ("colour", "count", ...), its L2 category the type ("Attribute", ...).
"""

from __future__ import annotations

import base64
import csv
import io
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from known_unknowns.files import atomic_path
from known_unknowns.progress import Advance
from known_unknowns_benchmarks.mm_upd.format import (
    BASE,
    FILES,
    LETTERS,
    OPTION,
    PASS,
    REFUSALS,
    STANDARD,
    SUBSETS,
    UPD,
    WITHHOLD,
    rows,
)
from known_unknowns_pocket.benchmarks.building import ContentDigest, check_numbers, pixel_facts
from known_unknowns_pocket.benchmarks.object_names import pair_name
from known_unknowns_pocket.benchmarks.question_templates import ABSENT_TEXTURES, Draft, colour, count, shape, texture
from known_unknowns_pocket.scenes import ALL_PAIRS, HELD_OUT_PAIRS, TEXTURES, Pair, Scene, render, sample_scene

MOST_QUESTIONS = 3
"""Largest ``questions_per_image``: one problem of each subset."""
COLUMNS = ("index", "question", "hint", *LETTERS, "answer", "masked_answer", "category", "l2-category", "type",
           "image", "source", "split")  # fmt: skip
_TEMPLATES = {"colour": colour, "shape": shape, "texture": texture, "count": count}
_TYPES = {"colour": "Attribute", "shape": "Attribute", "texture": "Attribute", "count": "Object"}
_ABILITIES = 2
"""The least number of abilities of a scene: the options of a question of IASD are those of another ability."""
_SIZE = 256
_OBJECTS = (3, 5)
_ATTEMPTS = 500


@dataclass(frozen=True, slots=True)
class Problem:
    """A standard question and its unsolvable counterpart, before their options are rotated.

    ``subset`` is AAD, IASD or IVQD, ``ability`` the template of the question. ``options`` are those of the standard
    question with ``truth`` the right one, ``upd_options`` those of the unsolvable one. ``scene`` and ``upd_scene`` are
    the numbers of the images.
    """

    subset: str
    ability: str
    stem: str
    options: tuple[str, ...]
    truth: str
    upd_options: tuple[str, ...]
    scene: int
    upd_scene: int


def scenes(seed: int, images: int) -> tuple[Scene, ...]:
    """Return the benchmark's scenes in the order of the images."""
    return tuple(_scene(f"mm_upd/{seed}/{index}") for index in range(images))


def _scene(name: str) -> Scene:
    """Return a scene with two abilities and an object that colour and shape identify."""
    for attempt in range(_ATTEMPTS):
        scene = sample_scene(f"{name}/{attempt}", n_objects=_OBJECTS, prefer=HELD_OUT_PAIRS, aspect=1.0)
        identified = any(_named_so(scene, thing.pair) == 1 for thing in scene.objects)
        if identified and len(_drafts(scene, random.Random(0))) >= _ABILITIES:
            return scene
    raise RuntimeError(f"no scene with enough questions for {name}: report this as a defect")


def problems(seed: int, images: int, questions_per_image: int = 3) -> Iterator[Problem]:
    """Yield the problems by image, one of each of the first ``questions_per_image`` subsets."""
    drawn = scenes(seed, images)
    for index, scene in enumerate(drawn):
        rng = random.Random(f"mm_upd/{seed}/questions/{index}")
        drafts = _drafts(scene, rng)
        for subset, make in list(zip(SUBSETS, (_aad, _iasd, _ivqd), strict=True))[:questions_per_image]:
            yield make(subset, index, drafts, drawn, rng)


def _drafts(scene: Scene, rng: random.Random) -> dict[str, list[Draft]]:
    """Return drafts of every ability that the scene has a question of, in random order."""
    allowed = frozenset(ALL_PAIRS)
    found = {name: list(template(scene, rng, allowed)) for name, template in _TEMPLATES.items()}
    return {name: found[name] for name in rng.sample(list(found), len(found)) if found[name]}


def _options(draft: Draft, rng: random.Random) -> tuple[str, ...]:
    return tuple(rng.sample([draft.truth, *draft.false], 1 + len(draft.false)))


def _aad(
    subset: str, index: int, drafts: Mapping[str, list[Draft]], drawn: Sequence[Scene], rng: random.Random
) -> Problem:
    ability, found = next(iter(drafts.items()))
    options = _options(found[0], rng)
    without = tuple(text for text in options if text != found[0].truth)
    return Problem(subset, ability, found[0].stem, options, found[0].truth, without, index, index)


def _iasd(
    subset: str, index: int, drafts: Mapping[str, list[Draft]], drawn: Sequence[Scene], rng: random.Random
) -> Problem:
    """The options of another ability: a colour cannot answer how many objects there are."""
    abilities = list(drafts)
    ability, other = abilities[-1], abilities[-2]
    draft = drafts[ability][-1]
    foreign = _options(drafts[other][-1], rng)
    return Problem(subset, ability, draft.stem, _options(draft, rng), draft.truth, foreign, index, index)


def _ivqd(
    subset: str, index: int, drafts: Mapping[str, list[Draft]], drawn: Sequence[Scene], rng: random.Random
) -> Problem:
    """An image without any object of the colour and the shape that the question names."""
    for thing in rng.sample(drawn[index].objects, len(drawn[index].objects)):
        others = [number for number, scene in enumerate(drawn) if _named_so(scene, thing.pair) == 0]
        if _named_so(drawn[index], thing.pair) == 1 and others:
            false = [value for value in TEXTURES if value != thing.texture]
            texts = [thing.texture, *false, rng.choice(ABSENT_TEXTURES)]
            options = tuple(rng.sample(texts, len(texts)))
            stem = f"What is the texture of the {pair_name(thing.pair)}?"
            return Problem(subset, "texture", stem, options, thing.texture, options, index, rng.choice(others))
    raise RuntimeError(f"no other image fits a question about image {index}: report this as a defect")


def _named_so(scene: Scene, pair: Pair) -> int:
    """Return the number of objects of this colour and shape."""
    return sum(thing.pair == pair for thing in scene.objects)


def build(
    out: Path | str,
    *,
    seed: int,
    images: int = 8,
    questions_per_image: int = 3,
    advance: Advance | None = None,
) -> Path:
    """Write the benchmark to ``out``, which is created: six TSV files under the published names.

    The arguments are those of `Render`. The same arguments and library versions give the same
    bytes, other versions at least the same questions.
    """
    check_numbers(images=images, questions_per_image=questions_per_image, most=MOST_QUESTIONS)
    if images < 2:
        raise ValueError(f"images={images}: give at least 2, because a question of IVQD has another one's image")
    found, drawn = list(problems(seed, images, questions_per_image)), scenes(seed, images)

    @cache
    def encoded(number: int) -> str:
        buffer = io.BytesIO()
        render(drawn[number], _SIZE, _SIZE).save(buffer, format="PNG", compress_level=9)
        return base64.b64encode(buffer.getvalue()).decode("ascii")

    for number in range(images):
        encoded(number)
        if advance is not None:
            advance()
    folder = Path(out)
    for subset in SUBSETS:
        of_subset = [problem for problem in found if problem.subset == subset]
        for setting in (BASE, OPTION):
            _write(folder / FILES[f"{subset} {setting}"], of_subset, setting, encoded)
    return folder


def _write(path: Path, found: Sequence[Problem], setting: str, encoded: Callable[[int], str]) -> None:
    with atomic_path(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        for index, problem in enumerate(found):
            for row in _rows(index, problem, setting):
                writer.writerow(row | {"image": encoded(row["image"])})


def _rows(index: int, problem: Problem, setting: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a problem: each rotation of the standard and of the unsolvable question."""
    for kind, options, scene in (
        (STANDARD, problem.options, problem.scene),
        (UPD, problem.upd_options, problem.upd_scene),
    ):
        for rotation in range(len(options)):
            texts = [*options[rotation:], *options[:rotation]]
            if kind == STANDARD:
                answer = LETTERS[texts.index(problem.truth)]
            else:
                answer = WITHHOLD if setting == BASE else LETTERS[len(texts)]
            if setting == OPTION:
                texts.append(REFUSALS[problem.subset])
            yield {
                "index": index + rotation * PASS,
                "question": problem.stem,
                "hint": "",
                **dict(zip(LETTERS, texts, strict=False)),
                "answer": answer,
                "masked_answer": problem.truth if kind == UPD and problem.subset != SUBSETS[2] else "",
                "category": problem.ability,
                "l2-category": _TYPES[problem.ability],
                "type": kind,
                "image": scene,
                "source": "scenes",
                "split": "test",
            }


def content_digest(folder: Path | str) -> str:
    """Return the SHA-256, in hexadecimal, of every cell of every row, and of the images' pixels.

    It does not depend on the compression of the images.
    """
    digest, pixels = ContentDigest(), {}
    for name in FILES.values():
        for row in rows(Path(folder) / name):
            cells = dict(row.values)
            image = cells.pop("image")
            if image not in pixels:
                pixels[image] = pixel_facts(base64.b64decode(image))
            digest.add({"file": name, **pixels[image], **cells})
    return digest.hexdigest()

"""The pocket edition of ActiView: all eight sub-classes on large rendered scenes, in the published format.

The files are ``data.json``, ``groundtruth_views.json`` and ``shifting_level.json``, as described in
`known_unknowns_benchmarks.actiview.format`, the originals in ``images`` and the images cut from them in
``images_split``, all as PNG. Sub-classes have the paper's proportions. Every question has a view with whole clues
only, one with a part of a clue, and one without any, so that Shifting-E, -M and -H start as the paper defines
(the published starts often do not).
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.files import atomic_path, write_text
from known_unknowns.images import open_image
from known_unknowns.progress import Advance
from known_unknowns.records import Image
from known_unknowns_benchmarks.actiview import views
from known_unknowns_benchmarks.actiview.format import DATA, GROUNDTRUTH, LEVELS, Clue
from known_unknowns_pocket.benchmarks import building
from known_unknowns_pocket.benchmarks.actiview_questions import SHARES, Draft, drafts
from known_unknowns_pocket.benchmarks.actiview_scenes import SIZES, SceneImage, clues, sample
from known_unknowns_pocket.benchmarks.building import ContentDigest, check_numbers
from known_unknowns_pocket.scenes import render

MOST_QUESTIONS = 3
"""Largest ``questions_per_image``."""
SHARED_EVERY = 12
"""One image in so many has several questions (9 of 315 published ones do)."""

_ENDINGS = ("resized", "resized_lines", "0_0", "1_0", "0_1", "1_1")
_ATTEMPTS = 3000
_INFO = (
    "Rendered in the format of ActiView. images: original image, full image, full image with split lines, upper left "
    "split, lower left split, upper right split, lower right split"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as in the files. ``clues`` is what each view holds; ``ids`` are the objects that are clues."""

    id: str
    category: str
    stem: str
    options: tuple[str, ...]
    answer: int
    distraction: int
    clues: tuple[Clue, ...]
    ids: tuple[int, ...]

    @property
    def groundtruth(self) -> list[int]:
        """The views with clues, from 1."""
        return [view for view, clue in enumerate(self.clues, start=1) if clue != "no"]

    @property
    def starts(self) -> dict[str, int]:
        """The view, from 0, in which shifting starts (Section 4.1), by level.

        It is the first of those with the most whole clues, with a part of a clue, or with none.
        """
        whole = [clue if isinstance(clue, int) else 0 for clue in self.clues]
        return {
            "hard": self.clues.index("no"),
            "medium": self.clues.index("partial"),
            "easy": whole.index(max(whole)),
        }

    def row(self, stem: str) -> dict[str, Any]:
        """Return the object of data.json; ``stem`` names its image."""
        return {
            "question": self.stem,
            "options": list(self.options),
            "answer": self.answer,
            "images": list(paths(stem)),
            "category": self.category,
            "distraction": self.distraction,
            "id": self.id,
            "contains_bbox": list(self.clues),
        }


def paths(stem: str) -> tuple[str, ...]:
    """Return the seven images of a question, in their order."""
    return f"./images/{stem}.png", *(f"./images_split/{stem}_{ending}.png" for ending in _ENDINGS)


def build(
    out: Path | str,
    *,
    seed: int,
    images: int = 84,
    questions_per_image: int = 2,
    advance: Advance | None = None,
) -> Path:
    """Write the benchmark to ``out``, which is created: images first, data.json last.

    A folder with a data.json is complete; that of an earlier build is removed first. The same arguments and
    library versions give the same bytes, other versions at least the same questions.

    The arguments are those of `known_unknowns.benchmark.interface.Render`. Six images are cut from each
    of the ``images`` originals.
    """
    check_numbers(images=images, questions_per_image=questions_per_image, most=MOST_QUESTIONS)
    folder = Path(out)
    (folder / DATA).unlink(missing_ok=True)
    rows: list[dict[str, Any]] = []
    asked: list[Question] = []
    for scene_image, found in questions(seed, images, questions_per_image):
        _draw(scene_image, folder)
        rows.extend(question.row(scene_image.stem) for question in found)
        asked.extend(found)
        if advance is not None:
            advance()
    starts = [question.starts for question in asked]
    _write(folder / GROUNDTRUTH, [question.groundtruth for question in asked])
    _write(folder / LEVELS, {level: [start[level] for start in starts] for level in ("hard", "medium", "easy")})
    _write(folder / DATA, {"meta": {"info": _INFO, "version": "pocket"}, "data": rows})
    return folder


def content_digest(folder: Path | str) -> str:
    """Return the SHA-256, in hexadecimal, of the three files' values and of the images' pixels.

    It does not depend on the compression of the images and on the layout of the JSON.
    """
    digest, pixels, folder = ContentDigest(), {}, Path(folder)
    for name in (DATA, GROUNDTRUTH, LEVELS):
        values = json.loads((folder / name).read_text(encoding="utf-8"))
        digest.add(values)
        if name == DATA:
            pixels = dict.fromkeys(path for row in values["data"] for path in row["images"])
    for path in pixels:
        scene_image = open_image(Image(path, "", 0, 0), folder)
        digest.add_line(f"{path} {scene_image.size} {hashlib.sha256(scene_image.tobytes()).hexdigest()}")
    return digest.hexdigest()


def _write(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _draw(scene_image: SceneImage, folder: Path) -> None:
    """Render the original, and cut the other six images as `known_unknowns_benchmarks.actiview.views` does."""
    source, *others = paths(scene_image.stem)
    with atomic_path(folder / source) as partial:
        render(scene_image.scene, scene_image.width, scene_image.height).save(partial, format="PNG")
    original = Image(source, "", scene_image.width, scene_image.height)
    size = scene_image.reduced
    cut = [views.reduce(original, size=size), views.add_grid(original, size=size)]
    cut += [views.view(original, number, size=size) for number in range(1, 5)]
    for path, image in zip(others, cut, strict=True):
        with atomic_path(folder / path) as partial:
            open_image(image, folder).save(partial, format="PNG")


def questions(
    seed: int, images: int, questions_per_image: int = 2
) -> Iterator[tuple[SceneImage, tuple[Question, ...]]]:
    """Yield the benchmark's images in order with their questions: the content of the files without the pixels.

    A smaller number of images gives the first ones.
    """
    categories = building.by_shares(SHARES)
    asked = 0
    for index in range(images):
        wanted = [
            next(categories) for _ in range(questions_per_image if index % SHARED_EVERY == SHARED_EVERY - 1 else 1)
        ]
        name = f"actiview/{seed}/{index}"
        width, height = random.Random(f"{name}/size").choice(SIZES)
        scene_image, found = _scene_image(name, f"pocket{asked + 1:04d}", width, height, wanted)
        rng = random.Random(f"{name}/options")
        yield (
            scene_image,
            tuple(
                _arranged(f"pocket{number:04d}", draft, clues(scene_image, draft.clues), rng)
                for number, draft in enumerate(found, start=asked + 1)
            ),
        )
        asked += len(found)


def _scene_image(
    name: str, stem: str, width: int, height: int, wanted: Sequence[str]
) -> tuple[SceneImage, tuple[Draft, ...]]:
    """Return the first random image that has a question of each of the sub-classes ``wanted``."""
    for attempt in range(_ATTEMPTS):
        scene_image = SceneImage(stem, sample(f"{name}/{attempt}", width, height), width, height)
        found: dict[str, Draft] = {}
        for number, category in enumerate(wanted):
            made = drafts(category, scene_image.scene, random.Random(f"{name}/{attempt}/{number}"))
            draft = next(
                (d for d in made if d.stem not in found and _has_all_levels(clues(scene_image, d.clues))), None
            )
            if draft is None:
                break
            found[draft.stem] = draft
        else:
            return scene_image, tuple(found.values())
    raise RuntimeError(f"no image found for {', '.join(wanted)} ({name}): report this as a defect")


def _has_all_levels(views_hold: Sequence[Clue]) -> bool:
    """Whether one view holds whole clues, one a part of a clue, and one none."""
    return {"no", "partial"} <= set(views_hold) and any(isinstance(clue, int) for clue in views_hold)


def _arranged(identifier: str, draft: Draft, views_hold: tuple[Clue, ...], rng: random.Random) -> Question:
    """Return the draft with its options in random order; numbers neither rise nor fall (Appendix A.2)."""
    options = [draft.truth, *draft.false]
    rng.shuffle(options)
    while all(option.isdecimal() for option in options) and _in_order([int(option) for option in options]):
        rng.shuffle(options)
    return Question(
        id=identifier,
        category=draft.category,
        stem=draft.stem,
        options=tuple(options),
        answer=options.index(draft.truth),
        distraction=int(draft.distracts),
        clues=views_hold,
        ids=draft.clues,
    )


def _in_order(numbers: Sequence[int]) -> bool:
    return len(numbers) > 2 and list(numbers) in (sorted(numbers), sorted(numbers, reverse=True))

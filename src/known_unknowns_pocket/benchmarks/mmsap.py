"""The pocket edition of MM-SAP: all three subsets and all 19 sub-tasks on rendered scenes.

A folder with three JSON files, one for each subset, and the images that they name. A file is a list of objects,
one for each question: ``id``, ``image`` (a path), ``question``, ``options`` (five texts, one of them the
refusal), ``answer`` (the right option's text; BeyondVisQA has none), ``sub_task``, and further facts: ``kind``
(BasicVisQA), ``emblem`` and ``taught`` (KnowVisQA), ``wording`` and ``held_out`` (BeyondVisQA).

Subsets, sub-tasks and images have the papers' proportions: 400 questions on 397 images, 350 on as many, and 400
on 308 (Section 3.2; no number of images is given for KnowVisQA).
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from known_unknowns.files import atomic_path, write_text
from known_unknowns.progress import Advance
from known_unknowns_benchmarks.mmsap.format import BASIC, BEYOND, KNOW, REFUSAL, SUBSETS
from known_unknowns_pocket.benchmarks import building, mmsap_basic, mmsap_beyond, mmsap_emblems
from known_unknowns_pocket.benchmarks.building import ContentDigest, check_numbers, image_size, pixel_facts
from known_unknowns_pocket.benchmarks.mmsap_basic import TEXTS, Draft
from known_unknowns_pocket.benchmarks.mmsap_images import ASPECTS, SceneImage, draw
from known_unknowns_pocket.scenes import HELD_OUT_PAIRS, Scene, sample_scene

IMAGES: Mapping[str, int] = {BASIC: 397, KNOW: 350, BEYOND: 308}
SHARED: Mapping[str, int] = {BASIC: 3, KNOW: 0, BEYOND: 92}
"""Number of a subset's images with more than one question, if none has more than two."""
SHARES: Mapping[str, Mapping[str, float]] = TEXTS["shares"]
"""Percent of each sub-task in a subset's questions."""
MOST_QUESTIONS = 3
"""Largest ``questions_per_image``."""

_ATTEMPTS = 2000

Made = tuple[SceneImage, tuple[Draft, ...]]
Maker = Callable[[str, SceneImage, Sequence[str]], Made | None]
"""Fills an empty image and drafts its questions from a seed and the sub-tasks; None if that failed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question as in the files. ``answer`` is the right option's text, None in BeyondVisQA."""

    subset: str
    sub_task: str
    stem: str
    options: tuple[str, ...]
    answer: str | None
    note: Mapping[str, str | bool]

    def row(self, number: int, image: str) -> dict[str, Any]:
        """Return the object of the subset's file."""
        row: dict[str, Any] = {"id": number, "image": image, "question": self.stem, "options": list(self.options)}
        if self.answer is not None:
            row["answer"] = self.answer
        return row | {"sub_task": self.sub_task} | dict(self.note)


def counts(images: int) -> dict[str, int]:
    """Return the number of each subset's images, in the papers' proportions (largest remainder).

    Raises ValueError if there are fewer than three images, one for each subset.
    """
    if images < len(SUBSETS):
        raise ValueError(f"images={images}: give at least {len(SUBSETS)}, one for each subset")
    exact = {subset: images * share / sum(IMAGES.values()) for subset, share in IMAGES.items()}
    found = {subset: max(1, math.floor(value)) for subset, value in exact.items()}
    for subset in sorted(SUBSETS, key=lambda subset: found[subset] - exact[subset]):
        if sum(found.values()) < images:
            found[subset] += 1
    return found


def build(
    out: Path | str,
    *,
    seed: int,
    images: int = 330,
    questions_per_image: int = 2,
    advance: Advance | None = None,
) -> Path:
    """Write the benchmark to ``out``, which is created: images first, the three tables last.

    A folder with all three tables is complete; tables of an earlier build are removed first. The same arguments
    and library versions give the same bytes, other versions at least the same questions.

    The arguments are those of `known_unknowns.benchmark.interface.Render`. ``images`` is the number for all
    three subsets together. The emblems and their names do not depend on the seed.
    """
    counts(images)
    check_numbers(images=images, questions_per_image=questions_per_image, most=MOST_QUESTIONS)
    folder = Path(out)
    for subset in SUBSETS:
        (folder / file_name(subset)).unlink(missing_ok=True)
    rows: dict[str, list[dict[str, Any]]] = {subset: [] for subset in SUBSETS}
    for scene_image, found in questions(seed, images, questions_per_image):
        with atomic_path(folder / scene_image.path) as partial:
            draw(scene_image).save(partial, format="PNG")
        for question in found:
            rows[question.subset].append(question.row(len(rows[question.subset]) + 1, scene_image.path))
        if advance is not None:
            advance()
    for subset in SUBSETS:
        _write_rows(folder / file_name(subset), rows[subset])
    return folder


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    write_text(path, f"[\n{lines}\n]\n")


def file_name(subset: str) -> str:
    """Return the name of a subset's file."""
    return f"{subset}.json"


def content_digest(folder: Path | str) -> str:
    """Return the SHA-256, in hexadecimal, of every field of every question, and of the images' pixels.

    It does not depend on the compression of the images and on the layout of the JSON.
    """
    digest, pixels = ContentDigest(), {}
    for subset in SUBSETS:
        for row in json.loads((Path(folder) / file_name(subset)).read_text(encoding="utf-8")):
            path = row["image"]
            if path not in pixels:
                pixels[path] = pixel_facts((Path(folder) / path).read_bytes())
            digest.add({"subset": subset, **pixels[path], **row})
    return digest.hexdigest()


def questions(
    seed: int, images: int, questions_per_image: int = 2
) -> Iterator[tuple[SceneImage, tuple[Question, ...]]]:
    """Yield the benchmark's images in order with their questions: the content of the files without the pixels.

    Options are in random order: among any 20 consecutive questions of a subset, each of A to E is right four times and
    the refusal four times (Table 6 has about a fifth for each). A smaller number of images gives the first ones of each
    subset.
    """
    makers = {BASIC: _basic, KNOW: _know, BEYOND: _beyond}
    numbers = counts(images)
    for subset in SUBSETS:
        name = f"mmsap/{seed}/{subset}"
        make = makers[subset](random.Random(f"{name}/decks"))
        rng = random.Random(f"{name}/options")
        places = building.places(rng)
        sub_tasks = building.by_shares(SHARES[subset])
        for index in range(numbers[subset]):
            wanted = [next(sub_tasks) for _ in range(questions_per_image if _is_shared(subset, index) else 1)]
            scene_image, drafts = _scene_image(f"{name}/{index}", f"images/{subset}/{index:05d}.png", wanted, make)
            yield scene_image, tuple(_arranged(subset, draft, *next(places), rng) for draft in drafts)


def _is_shared(subset: str, index: int) -> bool:
    """Whether an image has several questions: `SHARED` of `IMAGES` do, evenly spread."""
    before, after = (math.floor(SHARED[subset] * k / IMAGES[subset] + 0.5) for k in (index, index + 1))
    return after > before


def _scene_image(name: str, path: str, wanted: Sequence[str], make: Maker) -> Made:
    width, height = image_size(random.Random(f"{name}/size"), ASPECTS)
    empty = SceneImage(path, Scene((), aspect=width / height), width, height)
    for attempt in range(_ATTEMPTS):
        made = make(f"{name}/{attempt}", empty, wanted)
        if made is not None:
            return made
    raise RuntimeError(f"no image found for {', '.join(wanted)} ({name}): report this as a defect")


def _basic(rng: random.Random) -> Maker:
    def make(name: str, empty: SceneImage, wanted: Sequence[str]) -> Made | None:
        scene = mmsap_basic.sample(name, wanted, empty.scene.aspect)
        return mmsap_basic.compose(replace(empty, scene=scene), wanted, random.Random(f"{name}/questions"))

    return make


def _know(rng: random.Random) -> Maker:
    emblems = {sub_task: mmsap_emblems.draws(sub_task, rng) for sub_task in SHARES[KNOW]}

    def make(name: str, empty: SceneImage, wanted: Sequence[str]) -> Made:
        (sub_task,) = wanted
        emblem = next(emblems[sub_task])
        scene = mmsap_emblems.show(emblem, name, empty.scene.aspect)
        return replace(empty, scene=scene), (mmsap_emblems.draft(emblem, random.Random(f"{name}/questions")),)

    return make


def _beyond(rng: random.Random) -> Maker:
    wordings = {sub_task: mmsap_beyond.draws(sub_task, rng) for sub_task in SHARES[BEYOND]}

    def make(name: str, empty: SceneImage, wanted: Sequence[str]) -> Made | None:
        scene = sample_scene(
            name, n_objects=(3, 6), prefer=HELD_OUT_PAIRS, aspect=empty.scene.aspect, nested=0.4, overlap=0.4
        )
        chance = random.Random(f"{name}/questions")
        drafts = [mmsap_beyond.draft(next(wordings[sub_task]), scene, chance) for sub_task in wanted]
        found = tuple(draft for draft in drafts if draft is not None)
        return (replace(empty, scene=scene), found) if len(found) == len(drafts) else None

    return make


def _arranged(subset: str, draft: Draft, right: int, refusal: int, rng: random.Random) -> Question:
    """Return the draft with its options in order: the truth, if any, and the refusal at the given positions."""
    options = rng.sample(draft.false, len(draft.false))
    if draft.truth:
        # Inserting the earlier one first leaves both at their positions.
        for place, text in sorted([(right, draft.truth), (refusal, REFUSAL)]):
            options.insert(place, text)
    else:
        options.insert(refusal, REFUSAL)
    return Question(subset, draft.sub_task, draft.stem, tuple(options), draft.truth or None, draft.note)

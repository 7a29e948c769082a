"""Question sets in the form of HumbleBench and MM-SAP: random words on random images, the same for every loop.

A set is made anew for each repeat, from another seed: an engine that caches images between calls must not find
those of the last repeat.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

from known_unknowns import variants
from known_unknowns.images import is_recipe_image, recipe_pixels
from known_unknowns.records import Image, Option, Question, Turn
from known_unknowns_benchmarks.humblebench.loader import prompt

SIZES = ((594, 473), (640, 480), (640, 427), (480, 640), (640, 424))
"""Width and height in pixels: 345 to 391 visual tokens of 28 x 28 pixels. The first is HumbleBench's median."""
MAX_NEW_TOKENS = 16
_VOCABULARY = """
    what is the color of man woman dog cat table chair street car left right side in on near behind holding wearing
    red blue green white black wooden metal small large tree building sky cloudy sunny weather which object person
    riding next to front grass water boat bicycle shirt hat umbrella phone laptop plate food cup bottle window door
    wall floor sign light traffic standing sitting walking eating looking at does do are there any visible how where
    relation between above below under stone brick glass striped old young tall short open closed parked motorcycle
"""
_WORDS = _VOCABULARY.split()


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """``turns`` in the order in which they are asked, grouped by image. The images are in ``folder``."""

    name: str
    folder: Path
    turns: tuple[Turn, ...]

    def first(self, questions: int) -> QuestionSet:
        return replace(self, turns=self.turns[:questions])


def question(draw_from: random.Random, number: str) -> Question:
    """About seven words, four options of one to four words, and the refusal, without an image."""
    asked = _words(draw_from, max(4, round(draw_from.gauss(7, 2)))).capitalize() + "?"
    texts = [_words(draw_from, draw_from.choice([1, 2, 2, 3, 4])) for _ in range(4)] + ["None of the above"]
    options = tuple(Option(letter, text, f"{letter}. ") for letter, text in zip("ABCDE", texts, strict=True))
    return Question(
        id=number,
        benchmark="humblebench",
        text=asked,
        options=options,
        answer=draw_from.randrange(4),
        refusal=4,
        images=(),
        category="Object",
        group=number,
    )


def _words(draw_from: random.Random, count: int) -> str:
    return " ".join(draw_from.choice(_WORDS) for _ in range(count))


def draw_image(folder: Path, number: int, seed: int, size: tuple[int, int]) -> Image:
    """A JPEG file of smooth random colours with some boxes in it."""
    file = Path("images") / f"{seed}-{number}.jpg"
    if not (folder / file).is_file():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        values = np.random.default_rng([seed, number])
        coarse = values.integers(0, 256, (size[1] // 40, size[0] // 40, 3), dtype=np.uint8)
        drawn = Pillow.fromarray(coarse).resize(size, Pillow.Resampling.BICUBIC)
        for _ in range(6):
            left, top = int(values.integers(size[0] - 60)), int(values.integers(size[1] - 60))
            drawn.paste(tuple(values.integers(0, 256, 3).tolist()), (left, top, left + 60, top + 60))
        drawn.save(folder / file, quality=90)
    return _file(folder, file, size)


def _file(folder: Path, file: Path, size: tuple[int, int]) -> Image:
    return Image(file.as_posix(), sha256((folder / file).read_bytes()).hexdigest(), *size)


def _on_disk(folder: Path, image: Image) -> Image:
    """The image as a file, because the other tools' loops read files."""
    if not is_recipe_image(image):
        return image
    file = Path("images") / f"{image.sha256[:16]}.png"
    if not (folder / file).is_file():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        Pillow.fromarray(recipe_pixels(image)).save(folder / file)
    return _file(folder, file, (image.width, image.height))


def turn(asked: Question, folder: Path) -> Turn:
    """The question as the engine's runner would ask it: images first, then text with the released instruction."""
    images = [_on_disk(folder, image) for image in asked.images]
    content = (*images, prompt(asked))
    return Turn(asked.id, "answer", content, asked.labels, max_new_tokens=MAX_NEW_TOKENS)


def _set(name: str, folder: Path, questions: Sequence[Question]) -> QuestionSet:
    return QuestionSet(name, folder, tuple(turn(asked, folder) for asked in questions))


def _new_questions(folder: Path, images: int, each: int, seed: int, sizes: Sequence[tuple[int, int]]) -> list[Question]:
    draw_from = random.Random(seed)
    found = []
    for number in range(images):
        image = draw_image(folder, number, seed, sizes[number % len(sizes)])
        asked = (question(draw_from, f"{seed}-{number}-{place}") for place in range(each))
        found += [replace(one, images=(image,), group=str(number)) for one in asked]
    return found


def five_questions(folder: Path, *, images: int, seed: int, questions: int = 5) -> QuestionSet:
    """HumbleBench's form: several questions on each image."""
    return _set("5 questions per image", folder, _new_questions(folder, images, questions, seed, SIZES))


def five_shuffles(folder: Path, *, images: int, seed: int) -> QuestionSet:
    """MM-SAP's form: one question on each image, asked with its options in five orders."""
    shuffled = [
        replace(variants.shuffled_options(asked, seed=order), id=f"{asked.id}-{order}")
        for asked in _new_questions(folder, images, 1, seed, SIZES)
        for order in range(5)
    ]
    return _set("5 shuffles of a question", folder, shuffled)


def one_noise_image(folder: Path, *, questions: int, seed: int) -> QuestionSet:
    """HumbleBench-GN's form: every question on the same noise image."""
    draw_from = random.Random(seed)
    asked = [
        variants.noise(replace(question(draw_from, f"{seed}-{number}"), images=(_NO_IMAGE,)), noise_seed=seed)
        for number in range(questions)
    ]
    return _set("one noise image", folder, asked)


def one_question(folder: Path, *, images: int, seed: int) -> QuestionSet:
    """One image for each question, so that nothing can be shared."""
    return _set("1 question per image", folder, _new_questions(folder, images, 1, seed, SIZES))


def humblebench(folder: Path, variant: str, *, questions: int, seed: int) -> QuestionSet:
    """The shape of HumbleBench's three runs ("", "-E", "-GN"): five questions per image of 594 x 473 pixels."""
    made = _new_questions(folder, -(-questions // 5), 5, seed, SIZES[:1])[:questions]
    change = {"": variants.original, "-E": variants.nota_only, "-GN": variants.noise}[variant]
    return _set(f"HumbleBench{variant}", folder, [change(asked) for asked in made])


_NO_IMAGE = Image("none", "0" * 64, 1, 1)

Maker = Callable[[Path, int, int], QuestionSet]
"""Creates a set from a folder for its images, a seed, and the number of questions needed."""
_SET_APART = 10_000
"""Distance between the seeds of two sets, which must not have common images."""


def makers(*, images: int, noise_questions: int, questions: int) -> dict[str, Maker]:
    """The four sets of the CPU benchmark and the three of the GPU's.

    Args:
        images: in the sets with five turns per image; the set with one turn per image has twice as many.
        noise_questions: about the one noise image.
        questions: in each of HumbleBench's.
    """
    kinds: dict[str, Maker] = {
        "questions": lambda folder, seed, enough: five_questions(folder, images=_least(images, enough), seed=seed),
        "shuffles": lambda folder, seed, enough: five_shuffles(folder, images=_least(images, enough), seed=seed),
        "noise": lambda folder, seed, enough: one_noise_image(
            folder, questions=min(noise_questions, enough), seed=seed
        ),
        "single": lambda folder, seed, enough: one_question(folder, images=min(2 * images, enough), seed=seed),
    }
    for variant in ("", "-E", "-GN"):
        kinds[f"humblebench{variant}"] = partial(_humblebench, variant=variant, questions=questions)
    return {name: partial(_apart, maker, number) for number, (name, maker) in enumerate(kinds.items())}


def _humblebench(folder: Path, seed: int, enough: int, *, variant: str, questions: int) -> QuestionSet:
    return humblebench(folder, variant, questions=min(questions, enough), seed=seed)


def _apart(maker: Maker, number: int, folder: Path, seed: int, enough: int) -> QuestionSet:
    return maker(folder, number * _SET_APART + seed, enough)


def _least(images: int, enough: int) -> int:
    return min(images, -(-enough // 5))

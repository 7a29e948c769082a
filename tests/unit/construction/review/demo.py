"""A file of candidates with images, objects and hostile texts.

python -m tests.unit.construction.review.demo build/demo   # and known-unknowns review start build/demo/candidates.jsonl
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

from PIL import Image as Pillow
from PIL import ImageDraw

from known_unknowns_construction.candidates import (
    Candidate,
    CandidateImage,
    Flag,
    Outline,
    SceneObject,
)
from known_unknowns_construction.jsonl import write_records

HOSTILE = '<img src=x onerror=document.title="owned"> </script><script>alert(1)</script>'
COLOURS = {"red": "#c22f2f", "blue": "#2f5fc2", "green": "#2f9e44", "yellow": "#e0b400"}
BOX = (330.0, 240.0, 150.0, 130.0)
BALL = (110, 150, 270, 310)
PYRAMID = ((500.0, 330.0), (560.0, 180.0), (620.0, 330.0))


def write(folder: Path, count: int) -> Path:
    """Write images and ``count`` candidates, three for each image. The last one has hostile texts."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    images = [_image(folder, number) for number in range(-(-count // 3))]
    path = folder / "candidates.jsonl"
    write_records(path, [_candidate(i, images[i // 3], hostile=i == count - 1) for i in range(count)])
    return path


def _image(folder: Path, number: int) -> CandidateImage:
    names = list(COLOURS)
    image = Pillow.new("RGB", (640, 400), (222, 224 - number % 32, 216))
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 300, 640, 400), fill=(150, 146, 140))
    pen.rectangle((BOX[0], BOX[1], BOX[0] + BOX[2], BOX[1] + BOX[3]), fill=COLOURS[names[number % 4]])
    pen.ellipse(BALL, fill=COLOURS[names[(number + 1) % 4]])
    pen.polygon(PYRAMID, fill=COLOURS[names[(number + 2) % 4]])
    path = folder / "images" / f"scene-{number}.png"
    image.save(path)
    digest = sha256(path.read_bytes()).hexdigest()
    return CandidateImage(f"images/{path.name}", digest, 640, 400, "CC0-1.0")


def _candidate(number: int, image: CandidateImage, *, hostile: bool) -> Candidate:
    scene = number // 3
    names = list(COLOURS)
    shape, colour = (("box", scene), ("ball", scene + 1), ("pyramid", scene + 2))[number % 3]
    flags = [Flag("balance", "the answer A is more frequent than the others")] if number % 5 == 3 else []
    flags += [Flag("synonyms", HOSTILE)] if hostile else []
    left, top, right, bottom = BALL
    ball = Outline(_octagon((left + right) / 2, (top + bottom) / 2, (right - left) / 2))
    objects = (
        SceneObject("1", "box", BOX),
        SceneObject("2", HOSTILE if hostile else "ball", (left, top, right - left, bottom - top), (ball,)),
        SceneObject("3", "pyramid", (500.0, 180.0, 120.0, 150.0), (Outline(PYRAMID),)),
    )
    options = (*names, "None of the above")
    return Candidate(
        id=f"q{number + 1}",
        image=image,
        question=HOSTILE if hostile else f"What is the color of the {shape}?",
        options=(HOSTILE, *options[1:]) if hostile else options,
        answer="ABCD"[colour % 4],
        kind="attribute",
        group=image.path,
        objects=objects,
        flags=tuple(flags),
        source={"generator": "template", "revision": "1"},
    )


def _octagon(x: float, y: float, radius: float) -> list[tuple[float, float]]:
    edge = radius * 2**-0.5
    return [
        (x + radius, y), (x + edge, y + edge), (x, y + radius), (x - edge, y + edge),
        (x - radius, y), (x - edge, y - edge), (x, y - radius), (x + edge, y - edge),
    ]  # fmt: skip


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 60))

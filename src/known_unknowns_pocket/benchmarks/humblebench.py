"""The pocket edition of HumbleBench: rendered scenes in HumbleBench's published format.

One Parquet file with a row for each question, grouped by image: the encoded image with its path (repeated in each
of its rows), the question's id from 1, its text with the five options, the right letter, and its type.
"""

import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from known_unknowns.progress import Advance
from known_unknowns.tables import atomic_path
from known_unknowns_pocket.benchmarks.building import ContentDigest, check_numbers
from known_unknowns_pocket.benchmarks.image_files import image_size, pixel_facts
from known_unknowns_pocket.benchmarks.questions import LETTERS, TYPES, Question, questions_for
from known_unknowns_pocket.scenes import HELD_OUT_PAIRS, Scene, render, sample_scene

FILE_NAME = "train-00000-of-00001.parquet"
_FEATURES = {
    "image": {"_type": "Image"},
    "question_id": {"dtype": "int64", "_type": "Value"},
    "question": {"dtype": "string", "_type": "Value"},
    "label": {"dtype": "string", "_type": "Value"},
    "type": {"dtype": "string", "_type": "Value"},
}
SCHEMA = pa.schema(
    [
        pa.field("image", pa.struct([pa.field("bytes", pa.binary()), pa.field("path", pa.string())])),
        pa.field("question_id", pa.int64()),
        pa.field("question", pa.string()),
        pa.field("label", pa.string()),
        pa.field("type", pa.string()),
    ],
    # Tells the `datasets` library that the struct is an image.
    metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
)
MOST_QUESTIONS = 9
"""Every scene has at least this many questions, a third of each type."""

_ASPECTS = ((1, 1), (4, 3), (3, 4), (3, 2), (2, 3), (16, 9))
_N_OBJECTS = (4, 6)
_IMAGES_A_GROUP = 16  # limits the memory that writing needs


@dataclass(frozen=True, slots=True)
class SceneImage:
    """A scene with the size in pixels and the path of its image."""

    path: str
    scene: Scene
    width: int
    height: int


def scene_images(seed: int, images: int) -> tuple[SceneImage, ...]:
    """Return the benchmark's scenes with their image sizes, within `SIDES`."""
    check_numbers(images=images)
    return tuple(_scene_image(seed, index) for index in range(images))


def scenes(seed: int, images: int) -> tuple[Scene, ...]:
    """Return the benchmark's scenes in the order of the images."""
    return tuple(scene_image.scene for scene_image in scene_images(seed, images))


def questions(
    seed: int, images: int, questions_per_image: int = 5
) -> Iterator[tuple[SceneImage, tuple[Question, ...]]]:
    """Yield the benchmark's images with their questions: the content of the file without the pixels.

    The types are as even as the numbers allow, for each image and in total; so are the right letters of each
    type.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    check_numbers(images=images, questions_per_image=questions_per_image, most=MOST_QUESTIONS)
    return _questions(seed, images, questions_per_image)


def build(
    out_dir: Path | str,
    *,
    seed: int,
    images: int = 60,
    questions_per_image: int = 5,
    advance: Advance | None = None,
) -> Path:
    """Write the benchmark to `out_dir`, which is created, as `FILE_NAME`.

    The file is written atomically. The same arguments and library versions give the same bytes, other versions at
    least the same questions.

    The arguments are those of `known_unknowns.benchmarks.Render`.
    """
    made = questions(seed, images, questions_per_image)
    path = Path(out_dir) / FILE_NAME
    with atomic_path(path) as partial, pq.ParquetWriter(partial, SCHEMA, compression="zstd") as writer:
        rows: list[dict] = []
        for done, (scene_image, found) in enumerate(made, start=1):
            rows.extend(_rows(scene_image, found, first_id=1 + (done - 1) * questions_per_image))
            if done % _IMAGES_A_GROUP == 0 or done == images:
                writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
                rows = []
            if advance is not None:
                advance()
    return path


def content_digest(parquet_path: Path | str) -> str:
    """Return the SHA-256, in hexadecimal, of ids, texts, labels, types, image paths and pixels.

    It does not depend on the compression of the images and of the table.

    Raises
    ------
    ValueError
        If the file's columns are not HumbleBench's.
    """
    digest = ContentDigest()
    with pq.ParquetFile(parquet_path) as file:
        if not file.schema_arrow.equals(SCHEMA):
            raise ValueError(f"{parquet_path}: columns {file.schema_arrow.names} are not those of HumbleBench")
        encoded, pixels = None, {}
        for batch in file.iter_batches(batch_size=64):
            for row in batch.to_pylist():
                if row["image"]["bytes"] != encoded:
                    encoded = row["image"]["bytes"]
                    pixels = pixel_facts(encoded)
                fields = {name: row[name] for name in ("question_id", "question", "label", "type")}
                digest.add({"path": row["image"]["path"], **pixels, **fields})
    return digest.hexdigest()


def _questions(seed: int, images: int, per_image: int) -> Iterator[tuple[SceneImage, tuple[Question, ...]]]:
    rng = random.Random(f"humblebench/{seed}/letters")
    letters = {question_type: _draw_letters(rng) for question_type in TYPES}
    drawn = 0
    for index in range(images):
        # Types in turn, continued from the previous image.
        wanted = [TYPES[(drawn + k) % len(TYPES)] for k in range(per_image)]
        drawn += per_image
        scene_image = _scene_image(seed, index)
        found = questions_for(
            scene_image.scene,
            random.Random(f"humblebench/{seed}/questions/{index}"),
            wanted=wanted,
            letter=lambda question_type: next(letters[question_type]),
        )
        if len(found) < len(wanted):
            raise RuntimeError(f"image {index} of seed {seed} has too few questions: report this as a defect")
        yield scene_image, found


def _scene_image(seed: int, index: int) -> SceneImage:
    rng = random.Random(f"humblebench/{seed}/size/{index}")
    width, height = image_size(rng, _ASPECTS)
    for attempt in range(1000):
        scene = sample_scene(
            f"humblebench/{seed}/{index}/{attempt}",
            n_objects=_N_OBJECTS,
            prefer=HELD_OUT_PAIRS,
            aspect=width / height,
            nested=0.45,
            overlap=0.45,
        )
        if _has_enough(scene):
            return SceneImage(f"images/{index:06d}.png", scene, width, height)
    raise RuntimeError(f"no scene with enough questions for image {index}: report this as a defect")


def _has_enough(scene: Scene) -> bool:
    """Whether the scene has `MOST_QUESTIONS` questions. Their number does not depend on the random generator."""
    wanted = TYPES * (MOST_QUESTIONS // len(TYPES))
    return len(questions_for(scene, random.Random(0), wanted=wanted)) == len(wanted)


def _draw_letters(rng: random.Random) -> Iterator[str]:
    """Yield letters without end, each of the five once in every five."""
    while True:
        yield from rng.sample(LETTERS, len(LETTERS))


def _rows(scene_image: SceneImage, found: tuple[Question, ...], first_id: int) -> Iterator[dict]:
    encoded = io.BytesIO()
    image = render(scene_image.scene, scene_image.width, scene_image.height)
    image.save(encoded, format="PNG", compress_level=9)
    for number, question in enumerate(found, start=first_id):
        yield {
            "image": {"bytes": encoded.getvalue(), "path": scene_image.path},
            "question_id": number,
            "question": question.text,
            "label": question.answer,
            "type": question.type,
        }

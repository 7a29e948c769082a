"""The pocket edition of HumbleBench: rendered scenes in HumbleBench's published format.

One Parquet file with a row for each question, grouped by image: the encoded image with its path (repeated in each
of its rows), the question's id from 1, its text with the five options, the right letter, and its type.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from known_unknowns.progress import Advance
from known_unknowns_construction import importing, psg
from known_unknowns_construction.benchmarks.humblebench import FILE_NAME, PARQUET_SCHEMA, row_of, write_rows
from known_unknowns_construction.candidates import Candidate, CandidateImage
from known_unknowns_construction.generation import candidates_of, without_model
from known_unknowns_construction.scene_graph import SceneGraph
from known_unknowns_pocket.benchmarks.building import ContentDigest, check_numbers, image_size, pixel_facts
from known_unknowns_pocket.benchmarks.questions import TYPES, Question, questions_for
from known_unknowns_pocket.benchmarks.scene_construction import (
    CLASSES,
    LICENCE,
    RenderedScene,
    annotation_of,
    draw_questions,
    encoded_png,
    templates,
    write_scenes,
)
from known_unknowns_pocket.scenes import HELD_OUT_PAIRS, Scene, sample_scene

NAME = "humblebench"
TEMPLATES = templates(NAME)

MOST_QUESTIONS = 9
"""Every scene has at least this many questions, a third of each type."""

_ASPECTS = ((1, 1), (4, 3), (3, 4), (3, 2), (2, 3), (16, 9))
_N_OBJECTS = (4, 6)


def scene_images(seed: int, images: int) -> tuple[RenderedScene, ...]:
    """Return the benchmark's scenes with their image sizes, within `SIDES`."""
    check_numbers(images=images)
    return tuple(_scene_image(seed, index) for index in range(images))


def scenes(seed: int, images: int) -> tuple[Scene, ...]:
    """Return the benchmark's scenes in the order of the images."""
    return tuple(scene_image.scene for scene_image in scene_images(seed, images))


def scene_graphs(seed: int, images: int) -> list[SceneGraph]:
    """Return the scene graphs of the benchmark's images. The images are not stored: their digest is that of no file."""
    found = []
    for each in scene_images(seed, images):
        image = CandidateImage(each.path, "0" * 64, each.width, each.height, LICENCE)
        found.append(importing.graph_of(psg.annotation(annotation_of(each), CLASSES), image))
    return found


def write_scene_folder(out: Path, *, seed: int, images: int, advance: Advance | None = None) -> Path:
    """Write the benchmark's scenes in PSG's format: ``psg.json``, images and masks."""
    return write_scenes(out, scene_images(seed, images), advance=advance)


def questions(
    seed: int, images: int, questions_per_image: int = 5
) -> Iterator[tuple[RenderedScene, tuple[Question, ...]]]:
    """Yield the benchmark's images with their questions: the content of the file without the pixels.

    The types are as even as the numbers allow, for each image and in total; so are the right letters of each type.
    """
    rendered = scene_images(seed, images)
    for index, found in draw_questions([each.scene for each in rendered], seed, questions_per_image, name=NAME):
        yield rendered[index], found


def build(
    out: Path | str,
    *,
    seed: int,
    images: int = 60,
    questions_per_image: int = 5,
    advance: Advance | None = None,
) -> Path:
    """Write the benchmark to `out`, which is created, as `FILE_NAME`.

    The file is written atomically. The same arguments and library versions give the same bytes, other versions at
    least the same questions.

    The arguments are those of `known_unknowns.benchmark.interface.Render`.
    """
    check_numbers(images=images, questions_per_image=questions_per_image, most=MOST_QUESTIONS)
    rendered = scene_images(seed, images)
    graphs = scene_graphs(seed, images)
    made = without_model(TEMPLATES, graphs, questions=questions_per_image, seed=seed)
    candidates = list(candidates_of("scenes", made, graphs, {}))
    if len(candidates) < images * questions_per_image:
        raise RuntimeError(f"seed {seed} has too few questions: report this as a defect")
    path = Path(out) / FILE_NAME
    write_rows(path, _rows(rendered, candidates, advance))
    return path


def content_digest(parquet_path: Path | str) -> str:
    """Return the SHA-256, in hexadecimal, of ids, texts, labels, types, image paths and pixels.

    It does not depend on the compression of the images and of the table. Raises ValueError for other columns.
    """
    digest = ContentDigest()
    with pq.ParquetFile(parquet_path) as file:
        if not file.schema_arrow.equals(PARQUET_SCHEMA):
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


def _scene_image(seed: int, index: int) -> RenderedScene:
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
            return RenderedScene(f"images/{index:06d}.png", scene, width, height)
    raise RuntimeError(f"no scene with enough questions for image {index}: report this as a defect")


def _has_enough(scene: Scene) -> bool:
    """Whether the scene has `MOST_QUESTIONS` questions. Their number does not depend on the random generator."""
    wanted = TYPES * (MOST_QUESTIONS // len(TYPES))
    return len(questions_for(scene, random.Random(0), wanted=wanted)) == len(wanted)


def _rows(
    rendered: Sequence[RenderedScene], candidates: Iterable[Candidate], advance: Advance | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    by_path = {each.path: each for each in rendered}
    numbered = enumerate(candidates, start=1)
    for path, group in groupby(numbered, lambda pair: pair[1].image.path):
        encoded = encoded_png(by_path[path])
        for number, candidate in group:
            yield path, row_of(candidate, number, encoded)
        if advance is not None:
            advance()

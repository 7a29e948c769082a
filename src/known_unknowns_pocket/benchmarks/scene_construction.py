"""Construction from rendered scenes: scene graphs in PSG's format, and the template generator of the pocket edition.

The annotation of an image holds its scene (``extra``), so that the templates can decide which statements are certainly
false. A published annotation only says which relations hold.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from pydantic import TypeAdapter, ValidationError

from known_unknowns.errors import ConfigError, DataError
from known_unknowns.files import write_text
from known_unknowns.progress import Advance
from known_unknowns_construction.generation import (
    Draft,
    GeneratorDialogue,
    QuestionGenerator,
    balanced_places,
    finished,
)
from known_unknowns_construction.masks import colour_of
from known_unknowns_construction.psg import Classes
from known_unknowns_construction.scene_graph import SceneGraph
from known_unknowns_pocket.benchmarks.questions import LETTERS, TYPES, Question, questions_for
from known_unknowns_pocket.scenes import (
    PREDICATES,
    SHAPES,
    Scene,
    bounds,
    outline,
    relations,
    render,
)
from known_unknowns_pocket.scenes.model import viewport

LICENCE = "MIT"
CLASSES = Classes(SHAPES, len(SHAPES), PREDICATES)
_PER_IMAGE = 5
_SCENE = TypeAdapter(Scene)


@dataclass(frozen=True, slots=True)
class RenderedScene:
    """A scene with the size of its image in pixels, and the path of its image."""

    path: str
    scene: Scene
    width: int
    height: int


def annotation_of(rendered: RenderedScene) -> dict[str, Any]:
    """Return the entry of a scene in PSG's format, with the scene itself under ``extra``."""
    view = viewport(rendered.scene, rendered.width, rendered.height)
    name = Path(rendered.path).stem
    objects = rendered.scene.objects
    return {
        "file_name": rendered.path,
        "width": rendered.width,
        "height": rendered.height,
        "annotations": [
            {
                "category_id": SHAPES.index(thing.shape),
                "bbox": [round(value, 3) for value in view.box(bounds(thing))],
                "bbox_mode": 0,
                "attributes": {name: getattr(thing, name) for name in ("shape", "colour", "size", "texture")},
            }
            for thing in objects
        ],
        "relations": [[s, o, PREDICATES.index(predicate)] for s, o, predicate in relations(rendered.scene)],
        "image_id": name,
        "pan_seg_file_name": f"panoptic/{name}.png",
        "segments_info": [
            {"id": index + 1, "category_id": SHAPES.index(thing.shape), "isthing": 1, "iscrowd": 0}
            for index, thing in enumerate(objects)
        ],
        "extra": {"scene": _as_dict(rendered.scene)},
    }


def panoptic(rendered: RenderedScene) -> Image.Image:
    """Return the panoptic mask: pixels of object i have the segment i + 1, the background has 0."""
    view = viewport(rendered.scene, rendered.width, rendered.height)
    image = Image.new("RGB", (rendered.width, rendered.height))
    for index, thing in enumerate(rendered.scene.objects, start=1):
        outer, *holes = ([view.pixel(point) for point in ring] for ring in outline(thing))
        body = Image.new("1", image.size)
        pen = ImageDraw.Draw(body)
        pen.polygon(outer, fill=1)
        for hole in holes:
            pen.polygon(hole, fill=0)
        image.paste(colour_of(index), mask=body)
    return image


def write_scenes(out: Path, scenes: Sequence[RenderedScene], *, advance: Advance | None = None) -> Path:
    """Write ``psg.json``, the images and the panoptic masks to a folder, and return the annotation's path."""
    entries = []
    for rendered in scenes:
        for path, image in (
            (out / rendered.path, render(rendered.scene, rendered.width, rendered.height)),
            (out / "panoptic" / f"{Path(rendered.path).stem}.png", panoptic(rendered)),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            image.save(path, "PNG")
        entries.append(annotation_of(rendered))
        if advance is not None:
            advance()
    classes = {"thing_classes": SHAPES, "stuff_classes": (), "predicate_classes": PREDICATES}
    path = out / "psg.json"
    write_text(path, json.dumps({**classes, "data": entries}))
    return path


def scene_of(graph: SceneGraph) -> Scene:
    """Return the scene in a graph.

    Raises ConfigError if it has none, because it is not a rendered scene, and DataError if the scene is not valid.
    """
    values = graph.extra.get("scene")
    if values is None:
        raise ConfigError(
            f"image {graph.id} is not a rendered scene, so it is not known which statements are false",
            path="--generator",
        )
    try:
        return _SCENE.validate_python(values)
    except ValidationError as error:
        raise DataError(f"the scene is not valid: {error}", file=graph.image.path) from error


def draw_questions(
    scenes: Sequence[Scene], seed: int, per_image: int, *, name: str
) -> Iterator[tuple[int, tuple[Question, ...]]]:
    """Yield the position of each scene and its questions.

    The types are as even as the numbers allow, for each image and in total; so are the right letters of each type.
    ``name`` is a part of the seeds.
    """
    rng = random.Random(f"{name}/{seed}/letters")
    places = {question_type: balanced_places(rng) for question_type in TYPES}
    drawn = 0
    for index, scene in enumerate(scenes):
        # Types in turn, continued from the previous image.
        wanted = [TYPES[(drawn + k) % len(TYPES)] for k in range(per_image)]
        drawn += per_image
        yield (
            index,
            questions_for(
                scene,
                random.Random(f"{name}/{seed}/questions/{index}"),
                wanted=wanted,
                letter=lambda question_type: LETTERS[next(places[question_type])],
            ),
        )


def generate(
    graphs: Sequence[SceneGraph], *, questions: int | None, seed: int, name: str
) -> Iterator[tuple[SceneGraph, Callable[[], GeneratorDialogue]]]:
    """Yield a finished dialogue for each scene (`known_unknowns_construction.generation.Generate`)."""
    scenes = [scene_of(graph) for graph in graphs]
    for index, found in draw_questions(scenes, seed, questions or _PER_IMAGE, name=name):
        yield graphs[index], partial(finished, [draft_of(question) for question in found])


def draft_of(question: Question) -> Draft:
    """Return a question of the templates as a draft."""
    ids = {str(value) for fact in question.facts for value in fact[1:] if isinstance(value, int) and fact[0] != "count"}
    return Draft(
        question=question.stem,
        options=question.options,
        answer=question.answer,
        kind=question.type.lower(),
        objects=tuple(sorted(ids, key=int)),
        extra={"template": question.kind, "truth": question.truth},
    )


def templates(name: str) -> QuestionGenerator:
    """Return the template generator, whose seeds contain a benchmark's name."""

    def start(graphs: Sequence[SceneGraph], *, questions: int | None, seed: int) -> Any:
        return generate(graphs, questions=questions, seed=seed, name=name)

    return QuestionGenerator(
        description="templates without a model, exact on rendered scenes", generate=start, needs_model=False
    )


def encoded_png(rendered: RenderedScene) -> bytes:
    """Return the image of a scene as a PNG file."""
    encoded = io.BytesIO()
    render(rendered.scene, rendered.width, rendered.height).save(encoded, format="PNG", compress_level=9)
    return encoded.getvalue()


def _as_dict(scene: Scene) -> Mapping[str, Any]:
    """Return the scene as values for JSON, which keeps every bit of its numbers."""
    return json.loads(json.dumps(asdict(scene), default=lambda value: np.asarray(value).tolist()))

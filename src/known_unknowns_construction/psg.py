"""Panoptic scene graphs (PSG): a streaming parser of ``psg.json``, and the import of its images and masks.

``psg.json`` is one JSON object: ``thing_classes``, ``stuff_classes`` and ``predicate_classes`` are lists of names, and
``data`` is a list with an object for each image:

| key                 | content                                                                              |
|---------------------|--------------------------------------------------------------------------------------|
| `image_id`          | identifier                                                                           |
| `file_name`         | path of the image, such as train2017/000000000009.jpg                                |
| `pan_seg_file_name` | path of the panoptic PNG                                                             |
| `width`, `height`   | size in pixels                                                                       |
| `segments_info`     | for each object its `id` in the PNG, `category_id`, `isthing` and `iscrowd`          |
| `annotations`       | for each object, in the same order, its `bbox` (left, top, right, bottom)            |
| `relations`         | [subject, object, predicate]: positions in the lists                                 |

Three further keys of an image are read if they exist: ``captions`` and ``extra`` of `SceneGraph`, and ``attributes`` in
an entry of ``annotations``.

References
----------
Yang et al., "Panoptic scene graph generation", ECCV 2022; https://github.com/Jingkang50/OpenPSG.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.errors import ConfigError, DataError
from known_unknowns_construction.scene_graph import Node, Relation

CLASSES = ("thing_classes", "stuff_classes", "predicate_classes")


@dataclass(frozen=True, slots=True)
class Classes:
    """Names of the object classes, things first, and of the predicates."""

    objects: tuple[str, ...]
    things: int
    predicates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Annotation:
    """An image as annotated. The objects have no outlines; their ids are their positions."""

    id: str
    file_name: str
    mask_name: str | None
    width: int
    height: int
    objects: tuple[Node, ...]
    relations: tuple[Relation, ...]
    captions: tuple[str, ...]
    extra: Mapping[str, Any]


def read_classes(path: Path) -> Classes:
    """Return the class names of a ``psg.json`` without holding its images in memory.

    Raises DataError if the file is not JSON, or a list of classes is missing.
    """
    found: dict[str, list[str]] = {}
    for prefix, event, value in _events(path):
        name, _, item = prefix.partition(".")
        if name in CLASSES:
            if event == "start_array":
                found.setdefault(name, [])
            elif item == "item" and isinstance(value, str):
                found[name].append(value)
            elif event == "end_array" and len(found) == len(CLASSES):
                break  # the classes usually precede the images
    missing = [name for name in CLASSES if name not in found]
    if missing:
        raise DataError(f"not a PSG annotation: it has no {', '.join(missing)}", file=path)
    things = found["thing_classes"]
    return Classes((*things, *found["stuff_classes"]), len(things), tuple(found["predicate_classes"]))


def read_annotations(path: Path, classes: Classes | None = None) -> Iterator[Annotation]:
    """Yield the images of a ``psg.json``, one at a time, in bounded memory.

    Without ``classes`` the file is read twice. Raises DataError, which names the position of the image, if the file is
    not JSON or an image is not as described above.
    """
    import ijson

    known = classes or read_classes(path)
    with _open(path) as file:
        position = 0
        try:
            for entry in ijson.items(file, "data.item", use_float=True):
                yield annotation(entry, known)
                position += 1
        except ijson.JSONError as error:
            raise DataError(f"not readable as JSON after {position:,} images: {error}", file=path) from error
        except KeyError as error:
            raise DataError(f"the image has no {error.args[0]!r}", file=path, row=position) from error
        except (ValueError, TypeError, AttributeError, IndexError) as error:
            raise DataError(f"not a PSG image: {error}", file=path, row=position) from error


def sample(path: Path, images: int | None, seed: int) -> frozenset[str] | None:
    """Return the ids of a random sample of the images with relations; None for all images if ``images`` is None.

    Raises ConfigError if there are fewer images.
    """
    if images is None:
        return None
    every = sorted({each.id for each in read_annotations(path) if each.relations})
    if len(every) < images:
        raise ConfigError(f"{path} has {len(every):,} images with relations, fewer than {images:,}", path="--images")
    return frozenset(random.Random(f"psg/{seed}").sample(every, images))


def annotation(entry: Mapping[str, Any], classes: Classes) -> Annotation:
    """Return an entry of ``data``. Raises KeyError, TypeError, ValueError or IndexError if it is not as described."""
    boxes, infos = entry["annotations"], entry.get("segments_info") or [{}] * len(entry["annotations"])
    if len(boxes) != len(infos):
        raise ValueError(f"{len(boxes)} annotations and {len(infos)} segments")
    objects = tuple(_node(k, box, info, classes) for k, (box, info) in enumerate(zip(boxes, infos, strict=True)))
    return Annotation(
        id=str(entry["image_id"]),
        file_name=str(entry["file_name"]),
        mask_name=entry.get("pan_seg_file_name"),
        width=int(entry["width"]),
        height=int(entry["height"]),
        objects=objects,
        relations=tuple(_relations(entry["relations"], len(objects), classes.predicates)),
        captions=tuple(str(caption) for caption in entry.get("captions", ())),
        extra=entry.get("extra", {}),
    )


def _node(position: int, annotation: Mapping[str, Any], info: Mapping[str, Any], classes: Classes) -> Node:
    left, top, right, bottom = map(float, annotation["bbox"])
    category = int(annotation["category_id"])
    if not 0 <= category < len(classes.objects):
        raise ValueError(f"the class {category} is not one of {len(classes.objects)}")
    return Node(
        id=str(position),
        name=classes.objects[category],
        box=(left, top, right - left, bottom - top),
        thing=bool(info.get("isthing", category < classes.things)),
        crowd=bool(info.get("iscrowd", 0)),
        segment=None if info.get("id") is None else int(info["id"]),
        attributes=annotation.get("attributes", {}),
    )


def _relations(entries: Iterable[Sequence[int]], objects: int, predicates: Sequence[str]) -> Iterator[Relation]:
    """Yield each relation once; the published file repeats some."""
    seen = set()
    for subject, target, predicate in entries:
        if not (0 <= subject < objects and 0 <= target < objects and 0 <= predicate < len(predicates)):
            raise ValueError(f"the relation {[subject, target, predicate]} is out of range")
        if (subject, target, predicate) not in seen:
            seen.add((subject, target, predicate))
            yield Relation(str(subject), predicates[predicate], str(target))


def _events(path: Path) -> Iterator[tuple[str, str, Any]]:
    import ijson

    with _open(path) as file:
        try:
            yield from ijson.parse(file, use_float=True)
        except ijson.JSONError as error:
            raise DataError(f"not readable as JSON: {error}", file=path) from error


def _open(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(f"cannot read the annotation: {error.strerror}", file=path) from error

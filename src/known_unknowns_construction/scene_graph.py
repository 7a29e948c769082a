"""Scene graphs: one model for panoptic scene graph annotations and for rendered scenes, and its file.

The file has one JSON object on each line. Paths of images and masks are relative to the folder of the file, and their
names are their sha256, so that a question about an image pins its pixels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from known_unknowns_construction.candidates import CandidateImage, Outline, SceneObject
from known_unknowns_construction.jsonl import read_records

_UNCOUNTABLE = re.compile(r"-(?:other-)?merged$|-other$|-stuff$")


@dataclass(frozen=True, slots=True)
class Node:
    """An object of an image."""

    id: str  # unique within the image
    name: str  # the annotated class, such as "person" or "sky-other-merged"
    box: tuple[float, float, float, float]  # left, top, width and height in pixels
    thing: bool = True  # whether its objects can be counted. False for stuff such as sky and grass.
    crowd: bool = False  # whether it stands for several objects of the class
    segment: int | None = None  # the value of its pixels in the mask image: red + 256 green + 65536 blue
    outline: tuple[Outline, ...] = ()  # polygons around its mask
    # attributes that are certain, such as ``{"colour": "red"}``
    attributes: Mapping[str, str] = field(default_factory=dict)
    description: str = ""  # A model's description of the cropped object; "" if there is none

    @property
    def spoken(self) -> str:
        """The class as people say it: without "merged", "other" and "stuff"."""
        return _UNCOUNTABLE.sub("", self.name).replace("-", " ")

    @property
    def countable(self) -> bool:
        """Whether questions may count the objects of the class."""
        return self.thing and not self.crowd and not _UNCOUNTABLE.search(self.name)

    def as_scene_object(self) -> SceneObject:
        """Return what a candidate stores of the object."""
        return SceneObject(self.id, self.spoken, self.box, self.outline)


@dataclass(frozen=True, slots=True)
class Relation:
    """A triplet: the ids of two objects, and the predicate from the first to the second."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class SceneGraph:
    """An image with its objects and relations.

    Raises ValueError if ids repeat, or a relation names an object that is not there.
    """

    id: str  # unique within the file
    image: CandidateImage  # the image
    objects: tuple[Node, ...]  # objects with distinct ids
    relations: tuple[Relation, ...] = ()  # relations that hold. Others may hold too.
    mask: str | None = None  # path of the mask image, whose pixels name a `Node.segment`
    captions: tuple[str, ...] = ()  # captions of the whole image. They are untrusted text.
    # further values that JSON can hold: ``weather``, ``location``, and what a generator of its own needs
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {node.id for node in self.objects}
        if len(known) < len(self.objects):
            raise ValueError(f"image {self.id}: ids of objects repeat")
        for relation in self.relations:
            for name in (relation.subject, relation.object):
                if name not in known:
                    raise ValueError(f"image {self.id}: a relation names the object {name!r}, which is not there")

    def node(self, identifier: str) -> Node:
        """Return an object by its id."""
        return next(node for node in self.objects if node.id == identifier)

    def indexed_names(self) -> dict[str, str]:
        """Return names with an index by object id: "cat_0", "cat_1"; "a crowd of cat" for a crowd."""
        names = {}
        for number, node in enumerate(self.objects):
            names[node.id] = ("a crowd of " if node.crowd else "") + f"{node.name}_{number}"
        return names


def may_be_same(one: str, other: str) -> bool:
    """Return whether objects of one class may be called by the other's name, as a "dining table" is a "table"."""
    words, others = set(one.split()), set(other.split())
    return words <= others or others <= words


_GRAPH = TypeAdapter(SceneGraph)


def read_graphs(path: str | Path) -> Iterator[SceneGraph]:
    """Yield the scene graphs of a file, one line at a time. Raises DataError, which names the file and the line."""
    return (graph for _, graph in read_records(path, _GRAPH, "scene graph"))

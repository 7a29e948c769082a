"""The scene graph, in the format of the panoptic scene graph (PSG) data set."""

from dataclasses import dataclass

from known_unknowns_pocket.scenes.model import SHAPES, Box, Scene, viewport
from known_unknowns_pocket.scenes.outlines import bounds
from known_unknowns_pocket.scenes.relations import PREDICATES, relations


@dataclass(frozen=True, slots=True)
class Node:
    """An object: id, attributes, and bounding box (x0, y0, x1, y1) in canvas units and in pixels."""

    id: int
    shape: str
    colour: str
    size: str
    texture: str
    bbox: Box
    pixels: Box


@dataclass(frozen=True, slots=True)
class SceneGraph:
    """Objects and the relations that certainly hold between them.

    `relations` holds (subject id, object id, index into `predicate_classes`).
    """

    width: int
    height: int
    objects: tuple[Node, ...]
    relations: tuple[tuple[int, int, int], ...]
    predicate_classes: tuple[str, ...] = PREDICATES

    def to_psg(self, file_name: str | None = None) -> dict:
        """Return a dict for JSON, with PSG's keys and further attributes.

        As in PSG, `annotations[i]` is object i, `bbox` is x0, y0, x1, y1 in pixels (`bbox_mode` 0), and a
        relation is [subject, object, predicate] with indices from 0.
        """
        named = {} if file_name is None else {"file_name": file_name}
        return {
            **named,
            "width": self.width,
            "height": self.height,
            "thing_classes": list(SHAPES),
            "predicate_classes": list(self.predicate_classes),
            "annotations": [
                {
                    "id": node.id,
                    "category_id": SHAPES.index(node.shape),
                    "bbox": [round(value, 3) for value in node.pixels],
                    "bbox_mode": 0,
                    "bbox_unit": [round(value, 6) for value in node.bbox],
                    "attributes": {
                        "shape": node.shape,
                        "colour": node.colour,
                        "size": node.size,
                        "texture": node.texture,
                    },
                }
                for node in self.objects
            ],
            "relations": [list(relation) for relation in self.relations],
        }


def scene_graph(scene: Scene, width: int, height: int) -> SceneGraph:
    """Return the graph of a scene rendered at `width` x `height` pixels; only the pixel boxes depend on the size."""
    view = viewport(scene, width, height)
    nodes = tuple(
        Node(
            id=index,
            shape=thing.shape,
            colour=thing.colour,
            size=thing.size,
            texture=thing.texture,
            bbox=bounds(thing),
            pixels=view.box(bounds(thing)),
        )
        for index, thing in enumerate(scene.objects)
    )
    held = tuple((subject, target, PREDICATES.index(name)) for subject, target, name in relations(scene))
    return SceneGraph(width, height, nodes, held)

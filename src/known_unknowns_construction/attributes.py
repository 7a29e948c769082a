"""Describe objects: crop each by its mask and ask a model with vision.

A published construction crops objects by their masks and sends the crops to InstructBLIP with
`PROMPT` (Tong et al., Section 2, "Information Extraction"). Here any engine describes them. Replies are journalled.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from known_unknowns.config import ModelEntry
from known_unknowns.errors import DataError
from known_unknowns.images import composite_image
from known_unknowns.records import Image, Reply, Turn
from known_unknowns_construction.model_replies import ask, image_of
from known_unknowns_construction.prompts import fill, one_line, plain_name
from known_unknowns_construction.scene_graph import Node, SceneGraph

PROMPT = "This is a {object}, describe it briefly please"
MAX_NEW_TOKENS = 64
_SMALLEST_SIDE = 8


def crop_of(graph: SceneGraph, node: Node) -> Image | None:
    """Return the cropped object: white outside of its mask; the box alone if there is no mask.

    None if the object is smaller than 8 pixels along a side.
    """
    left, top = max(0, math.floor(node.box[0])), max(0, math.floor(node.box[1]))
    right = min(graph.image.width, math.ceil(node.box[0] + node.box[2]))
    bottom = min(graph.image.height, math.ceil(node.box[1] + node.box[3]))
    size = (right - left, bottom - top)
    if min(size) < _SMALLEST_SIDE:
        return None
    box, image = [left, top, right, bottom], image_of(graph)
    if graph.mask is None or node.segment is None:
        return composite_image("view", *size, of=image, box=box, grid=None)
    mask = Image(graph.mask, "", graph.image.width, graph.image.height)
    return composite_image("cutout", *size, of=[image, mask], box=box, segment=node.segment)


def describe(
    graphs: Sequence[SceneGraph], *, model: str, entry: ModelEntry, journal: Path, folder: Path
) -> tuple[list[SceneGraph], dict[str, Any]]:
    """Return the graphs with a description of each object, and counts.

    ``model`` is the name in params.yaml, ``folder`` that of the graph file. Raises DataError if no object could be
    described.
    """
    wanted = {
        f"{graph.id}/{node.id}": (node, crop)
        for graph in graphs
        for node in graph.objects
        if (crop := crop_of(graph, node)) is not None
    }
    dialogues = {key: partial(_dialogue, key, node, crop) for key, (node, crop) in wanted.items()}
    asked = ask(model, entry, dialogues, journal=journal, folder=folder)
    found = {key: turns[0].reply for key, turns in asked.turns.items()}
    failed = sum(reply.error is not None or not reply.text.strip() for reply in found.values())
    if found and failed == len(found):
        raise DataError(f"the model described none of {len(found)} objects; see the replies", file=journal)
    described = [
        replace(
            graph,
            objects=tuple(
                replace(node, description=one_line(_text(found.get(f"{graph.id}/{node.id}")))) for node in graph.objects
            ),
        )
        for graph in graphs
    ]
    counts = {
        "model": asked.facts.get("source") or model,
        "revision": asked.facts.get("revision"),
        "objects": sum(len(graph.objects) for graph in graphs),
        "described": len(found) - failed,
        "failed": failed,
        "too_small": sum(len(graph.objects) for graph in graphs) - len(found),
        "newly_asked": asked.newly_asked,
    }
    return described, counts


def _dialogue(key: str, node: Node, crop: Image) -> Generator[Turn, Reply, None]:
    yield Turn(key, "describe", (crop, fill(PROMPT, {"object": plain_name(node.spoken)})), None, MAX_NEW_TOKENS)


def _text(reply: Reply | None) -> str:
    return "" if reply is None or reply.error is not None else reply.text

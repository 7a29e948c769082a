"""Fill prompt templates with annotations and captions, which are untrusted text.

A caption may contain line breaks, braces or instructions. Each is sent as a JSON string on one line with a limited
length, so that it cannot end its place in the prompt, and filled-in text is never filled in again. A model may follow
an instruction in it all the same: replies are parsed as data, and every candidate is checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

from known_unknowns_construction.scene_graph import SceneGraph

MAX_CHARACTERS = 500
"""Longer captions and descriptions are cut."""
NOT_GIVEN = "not given"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_NAME = re.compile(r"[^\w\s'().,/-]")


def published(name: str) -> str:
    """Return a prompt of a paper: the file ``benchmarks/<name>.txt``.

    The words are as printed, with their misspellings; emphasis is left out. Braces that the printed text doubles or
    lacks are single ones.
    """
    return files(__package__).joinpath("benchmarks", f"{name}.txt").read_text(encoding="utf-8")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace each ``{name}`` of the template by its value, in one pass. Other braces stay."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), template)


def one_line(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Return the text without control characters and line breaks, at most ``limit`` characters long."""
    cleaned = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


def quoted(texts: Iterable[str]) -> str:
    """Return untrusted texts as a JSON list on one line."""
    return json.dumps([one_line(text) for text in texts], ensure_ascii=False)


def plain_name(name: str) -> str:
    """Return a class or predicate without characters that have a meaning in the prompt."""
    return one_line(_NAME.sub(" ", name), 80)


def objects_text(graph: SceneGraph) -> str:
    """Return the objects with their index and description as a JSON object on one line."""
    names = graph.indexed_names()
    described = {}
    for node in graph.objects:
        parts = [*(f"{key}: {value}" for key, value in sorted(node.attributes.items())), node.description]
        described[plain_name(names[node.id])] = one_line("; ".join(part for part in parts if part))
    return json.dumps(described, ensure_ascii=False)


def triplets_text(graph: SceneGraph) -> str:
    """Return the relations as ``<subject, predicate, object>``."""
    names = graph.indexed_names()
    return ", ".join(
        f"<{plain_name(names[r.subject])}, {plain_name(r.predicate)}, {plain_name(names[r.object])}>"
        for r in graph.relations
    )

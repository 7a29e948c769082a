"""Rendered scenes of simple objects with an exact scene graph."""

from known_unknowns_pocket.scenes.model import (
    ALL_PAIRS,
    COLOURS,
    HELD_OUT_PAIRS,
    SHAPES,
    SIZES,
    TEXTURES,
    Background,
    Pair,
    Scene,
    SceneObject,
    bounds,
    outline,
)
from known_unknowns_pocket.scenes.relations import (
    CONTACTS,
    CONVERSE,
    DIRECTIONS,
    PREDICATES,
    relation_holds,
    relations,
    touching,
)
from known_unknowns_pocket.scenes.rendering import render
from known_unknowns_pocket.scenes.sampling import MAX_OBJECTS, sample_scene

__all__ = [
    "ALL_PAIRS",
    "COLOURS",
    "CONTACTS",
    "CONVERSE",
    "DIRECTIONS",
    "HELD_OUT_PAIRS",
    "MAX_OBJECTS",
    "PREDICATES",
    "SHAPES",
    "SIZES",
    "TEXTURES",
    "Background",
    "Pair",
    "Scene",
    "SceneObject",
    "bounds",
    "outline",
    "relation_holds",
    "relations",
    "render",
    "sample_scene",
    "touching",
]

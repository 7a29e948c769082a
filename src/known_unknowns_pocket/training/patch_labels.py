"""Labels of the patches of an image, and the patches of each object of the scene."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from known_unknowns_pocket.scenes import Scene, SceneObject, outline
from known_unknowns_pocket.scenes.model import Box
from known_unknowns_pocket.training.prompts import WORDS

PATCH_LABELS = ("colour", "shape", "texture", "size", "anchor")
NOT_ASKED = -100

_LEAST_COVER = 0.08  # least covered share of a patch
_LEAST_OF_ALL = 0.03  # the same for an object whose patches are all covered less
_FINE = 8  # raster cells along a patch


@dataclass(frozen=True, slots=True)
class Patches:
    """Labels of an image's patches."""

    # shape (labels, patches): by `PATCH_LABELS`: 1 + the index in `WORDS` (one more than the last for a size that
    # is neither small nor large), 0 for no object, `NOT_ASKED` for a masked label
    labels: np.ndarray
    # as in `TrainingSample`
    shown: tuple[tuple[int, ...], ...]
    anchors: tuple[int, ...]

    @classmethod
    def empty(cls, grid: int) -> Patches:
        """Return the labels of an image without objects."""
        return cls(np.zeros((len(PATCH_LABELS), grid * grid), dtype=np.int64), (), ())


def patches_of(scene: Scene, grid: int, window: Box | None = None) -> Patches:
    """Return the patches, by rows, of the image of a scene or of a ``window`` of it in canvas units.

    A patch shows the object that covers most of it. An object that would have no patch gets the one that it covers most
    of; this happens to small objects inside another object or across several patches. The anchor of an object is the
    nearest to its centre of the patches that show it.
    """
    left, top, right, bottom = window or (0.0, 0.0, *scene.canvas)
    across, down = right - left, bottom - top
    owners = _owners(scene, grid * _FINE, (left, top), (across, down))
    cells = owners.reshape(grid, _FINE, grid, _FINE).swapaxes(1, 2).reshape(grid * grid, -1)
    cover = np.stack([(cells == number).mean(axis=1) for number in range(1, len(scene.objects) + 1)])
    front = _in_front(cover)
    labels = np.zeros((len(PATCH_LABELS), grid * grid), dtype=np.int64)
    looks = np.array([_look(thing) for thing in scene.objects]).T
    labels[:-1] = np.where(front >= 0, looks[:, front], 0)
    rows, columns = np.divmod(np.arange(grid * grid), grid)
    shown, anchors = [], []
    for number, thing in enumerate(scene.objects):
        of_it = np.flatnonzero(front == number)
        shown.append(tuple(of_it.tolist()))
        x, y = (thing.x - left) / across * grid - 0.5, (thing.y - top) / down * grid - 0.5
        distance = (columns[of_it] - x) ** 2 + (rows[of_it] - y) ** 2
        anchors.append(int(of_it[distance.argmin()]) if len(of_it) else -1)
        labels[-1, anchors[-1:] if len(of_it) else []] = 1
    return Patches(labels, tuple(shown), tuple(anchors))


def _in_front(cover: np.ndarray) -> np.ndarray:
    """Return the object that each patch shows, -1 for none, from the covered shares, (objects, patches)."""
    front = np.where(cover.max(axis=0) >= _LEAST_COVER, cover.argmax(axis=0), -1)
    for number in np.flatnonzero(cover.max(axis=1) >= _LEAST_OF_ALL):
        if number not in front:
            only = [(front == owner).sum() == 1 for owner in front]
            front[np.where(only, 0, cover[number]).argmax()] = number
    return front


def _owners(scene: Scene, cells: int, corner: tuple[float, float], sides: tuple[float, float]) -> np.ndarray:
    """Return the object, from 1, in front at each cell; 0 for none."""
    owners = Image.new("L", (cells, cells))
    for number, thing in enumerate(scene.objects, start=1):
        solid = Image.new("1", (cells, cells))
        draw = ImageDraw.Draw(solid)
        for place, ring in enumerate(outline(thing)):
            corners = [((x - corner[0]) / sides[0] * cells, (y - corner[1]) / sides[1] * cells) for x, y in ring]
            draw.polygon(corners, fill=int(place == 0))
        owners.paste(number, mask=solid)
    return np.asarray(owners)


def _look(thing: SceneObject) -> tuple[int, ...]:
    return tuple(
        1 + (WORDS[slot].index(value) if (value := getattr(thing, slot)) in WORDS[slot] else len(WORDS[slot]))
        for slot in PATCH_LABELS[:-1]
    )

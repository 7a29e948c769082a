"""What the patches of an image show: labels to learn from, and where each object of the scene is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from known_unknowns_pocket.scenes import Scene, SceneObject, outline
from known_unknowns_pocket.scenes.model import Box
from known_unknowns_pocket.training.prompts import WORDS

PATCH_LABELS = ("colour", "shape", "texture", "size", "anchor")
NOT_ASKED = -100

_LEAST_COVER = 0.08  # share of a patch
_LEAST_OF_ALL = 0.03  # of the one patch of an object that covers no more of any
_FINE = 8  # raster cells along a patch


@dataclass(frozen=True, slots=True)
class Patches:
    """``labels``: (labels, patches) by `PATCH_LABELS`, a look being 1 + its index in `WORDS` (a size that is neither:
    one more), 0 for no object and `NOT_ASKED` for what is not asked; ``shown`` and ``anchors`` as in `TrainingSample`."""

    labels: np.ndarray
    shown: tuple[tuple[int, ...], ...]
    anchors: tuple[int, ...]

    @classmethod
    def empty(cls, grid: int) -> Patches:
        """Those of an image without objects."""
        return cls(np.zeros((len(PATCH_LABELS), grid * grid), dtype=np.int64), (), ())


def patches_of(scene: Scene, grid: int, window: Box | None = None) -> Patches:
    """The patches, in rows, of the image of a scene, or of a ``window`` of it in canvas units.

    A patch shows the object that covers most of it. One that would have none, as a small one inside of another or
    astride of several patches may, has the patch that it covers most of. An object's anchor is the patch nearest to
    its middle among those that show it: what lies inside of another object, or in front, does not take its anchor away.
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
    """Which object each patch shows, -1 for none: (patches,), from how much of a patch each covers, (objects,
    patches)."""
    front = np.where(cover.max(axis=0) >= _LEAST_COVER, cover.argmax(axis=0), -1)
    for number in np.flatnonzero(cover.max(axis=1) >= _LEAST_OF_ALL):
        if number not in front:
            only = [(front == owner).sum() == 1 for owner in front]
            front[np.where(only, 0, cover[number]).argmax()] = number
    return front


def _owners(scene: Scene, cells: int, corner: tuple[float, float], sides: tuple[float, float]) -> np.ndarray:
    """Which object, from 1, is in front at each cell; 0 for none."""
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

"""The type of a rendered edition: a small data set in a benchmark's published format, made offline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from known_unknowns.progress import Advance


class Render(Protocol):
    """Render a pocket edition's files.

    Parameters
    ----------
    out : Path
        Folder to write to. It is created.
    seed : int
        The seed of everything random.
    images : int
        Number of images.
    questions_per_image : int
        Number of questions of an image that has several.
    advance : callable, optional
        Called after each image.

    Returns
    -------
    Path
        What was written: the folder, or its only file.

    Raises
    ------
    ValueError
        If a number is out of range. Nothing is written.
    """

    def __call__(
        self, out: Path, *, seed: int, images: int, questions_per_image: int, advance: Advance | None = None
    ) -> Path: ...


@dataclass(frozen=True, slots=True)
class Pocket:
    """A small edition that is rendered offline.

    Attributes
    ----------
    render : Render
        The renderer of the published files.
    digest : callable
        Returns the digest of its output.
    folder : Path
        The folder of its licence (licence.yaml).
    scenes : callable, optional
        Writes the scenes in the format of panoptic scene graphs, with images and masks, for construction.
    templates : optional
        The generator of the edition's questions (`QuestionGenerator` of `known_unknowns_construction.generation`). It
        needs no model, and is exact on the scenes.
    code : tuple of str
        The packages and modules that render it, besides the folder of the benchmark. A change of them renders anew.
    """

    render: Render
    digest: Callable[[Path], str]
    folder: Path
    scenes: Callable[..., Path] | None = None
    templates: Any = None
    code: tuple[str, ...] = ()

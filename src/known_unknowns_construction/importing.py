"""Import annotated images into a folder of scene graphs: ``graphs.jsonl``, ``images/`` and ``masks/``.

Images and masks are found below the source folder, or in the zip archives there (as COCO publishes them, also archives
in archives). They are stored once, named by their sha256.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path, PurePosixPath

from known_unknowns.errors import DataError
from known_unknowns.files import disk_errors
from known_unknowns.images import decode
from known_unknowns_construction.candidates import CandidateImage, Outline
from known_unknowns_construction.masks import outlines, segment_ids
from known_unknowns_construction.psg import Annotation
from known_unknowns_construction.scene_graph import SceneGraph

GRAPHS = "graphs.jsonl"
MAX_BYTES = 200 * 2**20
"""Larger members of archives are refused."""


class SourceFiles(ExitStack):
    """Files below a folder and in its zip archives, by their published path; a context manager."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._members: dict[str, tuple[zipfile.ZipFile, str]] | None = None

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises DataError if it is missing or too large, or if its path leads out of the folder.
        """
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            raise DataError(f"the path {name!r} leads out of the folder", file=self._folder)
        plain = self._folder / path
        if plain.is_file():
            if plain.stat().st_size > MAX_BYTES:
                raise DataError(f"the file is larger than {MAX_BYTES:,} bytes", file=plain)
            return plain.read_bytes()
        if self._members is None:
            self._members = {}
            for archive_path in sorted(self._folder.glob("*.zip")):
                self._add(archive_path, self._members)
        found = self._members.get(str(path)) or self._members.get(path.name)
        if found is None:
            raise DataError(f"there is no {name!r}, neither as a file nor in a zip archive there", file=self._folder)
        archive, member = found
        if archive.getinfo(member).file_size > MAX_BYTES:
            raise DataError(f"{member!r} is larger than {MAX_BYTES:,} bytes", file=str(archive.filename))
        return archive.read(member)

    def _add(self, path: Path, members: dict[str, tuple[zipfile.ZipFile, str]]) -> None:
        try:
            archive = self.enter_context(zipfile.ZipFile(path))
        except (OSError, zipfile.BadZipFile) as error:
            raise DataError(f"not a readable zip archive: {error}", file=path) from error
        for member in archive.namelist():
            if member.endswith(".zip"):  # seeking in a compressed member is slow, so it is unpacked
                inner = Path(self.enter_context(tempfile.TemporaryDirectory())) / "inner.zip"
                with archive.open(member) as source, inner.open("wb") as target:
                    shutil.copyfileobj(source, target)
                self._add(inner, members)
            elif not member.endswith("/"):
                members.setdefault(member, (archive, member))
                members.setdefault(PurePosixPath(member).name, (archive, member))


def store_file(data: bytes, folder: Path, kind: str, suffix: str) -> tuple[str, str]:
    """Write a file to ``folder``/``kind``, named by its sha256, and return its relative path and the digest."""
    digest = sha256(data).hexdigest()
    name = f"{kind}/{digest}{suffix}"
    path = folder / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with disk_errors(path):
            part.write_bytes(data)
        part.replace(path)
    return name, digest


def scene_graph(
    annotation: Annotation, image: bytes, mask: bytes | None, folder: Path, licence: str | None
) -> SceneGraph:
    """Store an image and its mask, and return the scene graph.

    Raises DataError if one of them does not decode or has another size than annotated.
    """
    size = decode(image, file=annotation.file_name).size
    if size != (annotation.width, annotation.height):
        raise DataError(
            f"the image has {size[0]} x {size[1]} pixels, the annotation says {annotation.width} x {annotation.height}",
            file=annotation.file_name,
        )
    path, digest = store_file(image, folder, "images", PurePosixPath(annotation.file_name).suffix.lower() or ".png")
    mask_path, ids = None, None
    if mask is not None and annotation.mask_name is not None:
        ids = segment_ids(decode(mask, file=annotation.mask_name))
        if ids.shape != (annotation.height, annotation.width):
            raise DataError(f"the mask has the shape {ids.shape}", file=annotation.mask_name)
        mask_path, _ = store_file(mask, folder, "masks", ".png")
    return graph_of(
        annotation,
        CandidateImage(path, digest, annotation.width, annotation.height, licence),
        mask=mask_path,
        outline=lambda segment: () if ids is None else outlines(ids == segment),
    )


def graph_of(
    annotation: Annotation,
    image: CandidateImage,
    *,
    mask: str | None = None,
    outline: Callable[[int], tuple[Outline, ...]] = lambda segment: (),
) -> SceneGraph:
    """Return the scene graph of an annotation; ``outline`` returns the polygons of a segment."""
    return SceneGraph(
        id=annotation.id,
        image=image,
        objects=tuple(
            replace(node, outline=() if node.segment is None else outline(node.segment)) for node in annotation.objects
        ),
        relations=annotation.relations,
        mask=mask,
        captions=annotation.captions,
        extra=annotation.extra,
    )


def import_graphs(
    annotations: Iterable[Annotation],
    source: Path,
    out: Path,
    *,
    only: Collection[str] | None = None,
    licence: str | None = None,
) -> Iterator[SceneGraph]:
    """Yield the scene graphs of annotated images, one at a time, and store their images and masks in ``out``.

    Images, masks and archives are in ``source``. ``only`` are the ids of the images to import, by default all.
    """
    with SourceFiles(source) as files:
        for annotation in annotations:
            if only is None or annotation.id in only:
                mask = None if annotation.mask_name is None else files.read(annotation.mask_name)
                yield scene_graph(annotation, files.read(annotation.file_name), mask, out, licence)

"""A full disk: the error names the file that was written. ``/dev/full`` is a file of a full disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image as Pillow

from known_unknowns.engines._batch_invariance import disk_errors as of_notes
from known_unknowns.errors import MachineError
from known_unknowns.files import copy_file, disk_errors
from known_unknowns.records import Image
from known_unknowns.report.browser import shards
from known_unknowns.report.browser.image_files import ImageFiles

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def shard(folder: Path) -> None:
    """Write a shard whose file is on a full disk."""
    name = shards.ShardFolder(folder / "dry").write(b"data")
    (folder / f"{name}.js").symlink_to("/dev/full")
    shards.ShardFolder(folder).write(b"data")


def image_of_the_browser(folder: Path, colour: str, recipe: str = "") -> None:
    """Copy an image to a full disk: a file as it is, or a blank image that is drawn."""
    (folder / "in").mkdir()
    Pillow.new("RGB", (8, 8), colour).save(folder / "in" / "image.png")
    digest = sha256((folder / "in" / "image.png").read_bytes()).hexdigest()
    copies = ImageFiles(folder / "out", folder / "in")
    (folder / "out" / f"{digest[:32]}.png").symlink_to("/dev/full")
    copies.copy(Image(recipe or "image.png", digest, 8, 8))


def copied_image(folder: Path) -> None:
    image_of_the_browser(folder, "red")


def drawn_image(folder: Path) -> None:
    image_of_the_browser(folder, "grey", recipe="blank")


def copy(folder: Path) -> None:
    (folder / "from.bin").write_bytes(b"data")
    (folder / "to.bin").symlink_to("/dev/full")
    copy_file(folder / "from.bin", folder / "to.bin")


def notes(folder: Path) -> None:
    with of_notes(folder / "notes"):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


@pytest.mark.parametrize("write", [shard, copied_image, drawn_image, copy, notes])
def test_the_file_is_named(tmp_path: Path, write: Callable[[Path], None]):
    with pytest.raises(MachineError, match=rf"^{tmp_path}/\S+: the disk is full; free some space"):
        write(tmp_path)


def test_other_errors_are_left_alone(tmp_path: Path):
    with pytest.raises(PermissionError), disk_errors(tmp_path):
        raise PermissionError

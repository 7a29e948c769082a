"""Copies of images for the question browser: what models get, and only if the file is the listed one."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image as Pillow

from known_unknowns.benchmark.images import ImageStore
from known_unknowns.images import open_image
from known_unknowns.report.browser.image_files import ImageFiles
from tests.encoded_images import encoded, transparent, with_orientation
from tests.factories import png

ODD = {
    "turned JPEG": with_orientation("JPEG", 6),
    "transparent": transparent()["RGBA"],
    "another palette": transparent()["P with tRNS"],
    "a profile": encoded(Pillow.new("RGB", (40, 30), (9, 99, 199)), "PNG", icc_profile=b"profile"),
}


@pytest.mark.parametrize(("name", "plain"), [*((name, False) for name in ODD), ("turned JPEG", True)])
def test_the_copy_shows_what_models_get(name, plain, tmp_path):
    with ImageStore(tmp_path, plain=plain) as store:
        image = store.add(ODD[name], file=tmp_path, row=0)
    copy = ImageFiles(tmp_path / "out", tmp_path).copy(image)
    assert copy.file.endswith(".webp") and copy.shown == "" and copy.recipe == ""
    with Pillow.open(tmp_path / "out" / copy.file) as shown:
        assert shown.getexif().get(0x0112, 1) == 1 and shown.mode == "RGB"
        given = np.asarray(open_image(image, tmp_path)).astype(int)
        assert shown.size == given.shape[1::-1]
        assert np.abs(np.asarray(shown) - given).mean() < 25  # WebP is lossy; white against black would be 100


def test_a_plain_file_is_copied_as_it_is(tmp_path):
    with ImageStore(tmp_path) as store:
        image = store.add(png(), file=tmp_path, row=0)
    copy = ImageFiles(tmp_path / "out", tmp_path).copy(image)
    assert copy.file == f"{image.sha256[:32]}.png" and (tmp_path / "out" / copy.file).read_bytes() == png()


@pytest.mark.parametrize("data", [png((0, 0, 0)), b"%!PS-Adobe-3.0 EPSF-3.0\n"])
def test_a_swapped_file_is_not_shown(data, tmp_path):
    with ImageStore(tmp_path) as store:
        image = store.add(png(), file=tmp_path, row=0)
    (tmp_path / image.source).write_bytes(data)
    assert ImageFiles(tmp_path / "out", tmp_path).copy(image) == ("", "missing", "")
    assert not list((tmp_path / "out").iterdir())

import struct
import zlib

import pytest

from known_unknowns import images
from known_unknowns.errors import DataError
from known_unknowns.records import Image
from tests.factories import png


def bomb(side: int = 60_000) -> bytes:
    """A sound PNG header that claims side x side pixels, in under a hundred bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("side", "message"), [(60_000, "a decompression bomb"), (8_000, "claims 8000 x 8000 pixels")])
def test_a_decompression_bomb_is_refused_before_it_is_decoded(side, message):
    with pytest.raises(DataError, match=rf"p\.parquet, row 3: the image .*{message}"):
        images.decode(bomb(side), file="p.parquet", row=3)


@pytest.mark.parametrize("data", [b"", b"not an image", png()[:60]], ids=["empty", "text", "truncated"])
def test_an_image_that_does_not_decode_names_file_and_row(data):
    with pytest.raises(DataError, match=r"p\.parquet, row 3: the image does not decode"):
        images.decode(data, file="p.parquet", row=3)


def test_an_image_opens_from_the_question_folder(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(png((1, 2, 3), (40, 30)))
    image = images.open_image(Image("images/a.png", "a" * 64, 40, 30), tmp_path)
    assert image.mode == "RGB" and image.size == (40, 30) and image.getpixel((5, 5)) == (1, 2, 3)


def test_an_absent_image_is_named(tmp_path):
    with pytest.raises(DataError, match=r"gone\.png"):
        images.open_image(Image("images/gone.png", "a" * 64, 40, 30), tmp_path)


def test_recipe_images_need_no_file(tmp_path):
    image = images.open_image(images.recipe_image("uniform-noise", 8, 6, 1), tmp_path / "nowhere")
    assert image.size == (8, 6) and image.mode == "RGB"

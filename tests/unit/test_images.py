import struct
import zlib
from hashlib import sha256

import numpy as np
import pytest
from PIL import Image as Pillow

from known_unknowns import images
from known_unknowns.errors import DataError
from known_unknowns.records import Image
from tests.encoded_images import CORNERS, STORED, encoded, transparent, with_orientation
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
    data = png((1, 2, 3), (40, 30))
    (tmp_path / "images" / "a.png").write_bytes(data)
    image = images.open_image(Image("images/a.png", sha256(data).hexdigest(), 40, 30), tmp_path)
    assert image.mode == "RGB" and image.size == (40, 30) and image.getpixel((5, 5)) == (1, 2, 3)


def test_an_absent_image_is_named(tmp_path):
    with pytest.raises(DataError, match=r"gone\.png"):
        images.open_image(Image("images/gone.png", "a" * 64, 40, 30), tmp_path)


def test_recipe_images_need_no_file(tmp_path):
    image = images.open_image(images.recipe_image("uniform-noise", 8, 6, 1), tmp_path / "nowhere")
    assert image.size == (8, 6) and image.mode == "RGB"


TURNED = {
    2: lambda stored: stored[:, ::-1],
    3: lambda stored: stored[::-1, ::-1],
    4: lambda stored: stored[::-1],
    5: lambda stored: stored.swapaxes(0, 1),
    6: lambda stored: stored[::-1].swapaxes(0, 1),
    7: lambda stored: stored[::-1, ::-1].swapaxes(0, 1),
    8: lambda stored: stored[:, ::-1].swapaxes(0, 1),
}
"""An EXIF orientation to what it means (EXIF 2.3, section 4.6.4): where the stored first row and column are shown."""


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", TURNED)
def test_an_image_is_turned_as_its_orientation_says(kind, orientation):
    data = with_orientation(kind, orientation)
    shown, choices = images.viewed(data, file="a")
    assert choices == {"orientation": orientation}
    expected = TURNED[orientation](STORED).astype(int)
    assert shown.size == expected.shape[1::-1] and np.abs(np.asarray(shown) - expected)[8::16, 8::16].max() < 30
    assert images.decode(data, file="a").size == (32, 48) and not images.read_header(data, file="a").plain


def test_an_orientation_after_the_pixels_of_a_png_file_counts():
    data = with_orientation("PNG", 6)
    start = data.index(b"eXIf") - 4
    length = struct.unpack(">I", data[start : start + 4])[0] + 12
    moved = data[:start] + data[start + length :]
    end = moved.index(b"IEND") - 4
    moved = moved[:end] + data[start : start + length] + moved[end:]
    assert images.viewed(moved, file="a")[1] == {"orientation": 6}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF"])
def test_an_ordinary_image_needs_no_choice(kind):
    data = encoded(Pillow.fromarray(STORED), kind)
    shown, choices = images.viewed(data, file="a")
    assert choices == {} and images.read_header(data, file="a").plain
    assert shown.tobytes() == images.decode(data, file="a").tobytes()


@pytest.mark.parametrize("name", transparent())
def test_transparency_is_put_on_white(name):
    data = transparent()[name]
    shown, choices = images.viewed(data, file="a")
    assert choices["ground"] == "white" and not images.read_header(data, file="a").plain
    assert shown.mode == "RGB" and shown.getpixel((0, 0)) == (255, 255, 255)
    assert shown.getpixel((3, 0))[0] == 200
    assert images.decode(data, file="a").getpixel((0, 0)) == (0, 0, 0)


def test_half_transparent_pixels_are_mixed_with_the_ground():
    data = encoded(Pillow.new("RGBA", (2, 2), (0, 0, 0, 128)), "PNG")
    assert images.viewed(data, file="a")[0].getpixel((0, 0)) == (127, 127, 127)


def test_an_alpha_channel_without_effect_is_no_choice():
    data = encoded(Pillow.new("RGBA", (2, 2), (9, 8, 7, 255)), "PNG")
    shown, choices = images.viewed(data, file="a")
    assert choices == {} and shown.getpixel((0, 0)) == (9, 8, 7)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_sixteen_bits_are_scaled(kind):
    data = encoded(Pillow.fromarray(np.array([[0, 257 * 100, 65535]], np.uint16)), kind)
    shown, choices = images.viewed(data, file="a")
    assert choices == {"bits": 16} and np.asarray(shown)[0, :, 0].tolist() == [0, 100, 255]


@pytest.mark.parametrize(
    ("mode", "values", "kind"),
    [("F", [[0.0, 0.5]], "TIFF"), ("I", [[0, 2**20]], "TIFF"), ("LAB", [[[1, 2, 3]]], "TIFF")],
)
def test_values_without_one_meaning_are_refused(mode, values, kind):
    image = (
        Pillow.new("LAB", (2, 2))
        if mode == "LAB"
        else Pillow.fromarray(np.array(values, np.int32 if mode == "I" else np.float32))
    )
    with pytest.raises(DataError, match="have no one meaning; save it with 8 bits per channel"):
        images.viewed(encoded(image, kind), file="a")


def test_cmyk_is_converted_as_pillow_does():
    data = encoded(Pillow.new("CMYK", (2, 2), (0, 255, 255, 0)), "TIFF")
    shown, choices = images.viewed(data, file="a")
    assert choices == {} and shown.getpixel((0, 0)) == (255, 0, 0)


def test_of_several_frames_the_first_counts():
    frames = [Pillow.new("RGB", (4, 4), colour) for colour in ((200, 0, 0), (0, 200, 0))]
    for kind in ("GIF", "WEBP", "PNG"):
        data = encoded(frames[0], kind, save_all=True, append_images=frames[1:], duration=100, lossless=True)
        assert images.viewed(data, file="a")[0].getpixel((1, 1)) == (200, 0, 0)
        assert images.web_type(data, file="a") is None


def test_browsers_get_the_file_only_if_they_show_the_same_pixels():
    plain = Pillow.fromarray(STORED)
    kept = {kind: images.web_type(encoded(plain, kind), file="a") for kind in ("PNG", "JPEG", "WEBP", "GIF", "BMP")}
    assert kept == {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif", "BMP": None}
    for data in (
        with_orientation("JPEG", 6),
        transparent()["RGBA"],
        encoded(plain, "PNG", icc_profile=b"profile"),
        encoded(plain.convert("CMYK"), "JPEG"),
    ):
        assert images.web_type(data, file="a") is None


def chunk(kind, data, *, sound=True):
    checksum = zlib.crc32(kind + data) if sound else 7
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


METADATA = {
    "2 MB of text": chunk(b"tEXt", b"prompt\0" + b"x" * 2_000_000),
    "2 MB of compressed text": chunk(b"zTXt", b"prompt\0\0" + zlib.compress(b"x" * 2_000_000)),
    "a wrong checksum of a text": chunk(b"tEXt", b"prompt\0a text", sound=False),
    "a wrong checksum of EXIF": chunk(b"tEXt", b"Raw profile type exif\0a text", sound=False),
    "a damaged profile": chunk(b"iCCP", b"name\0\0no zlib"),
    "2 MB of a profile": chunk(b"iCCP", b"name\0\0" + zlib.compress(b"x" * 2_000_000)),
    "a wrong checksum of a profile": chunk(b"iCCP", b"name\0\0" + zlib.compress(b"x"), sound=False),
}


@pytest.mark.parametrize("name", METADATA)
@pytest.mark.parametrize("at_the_end", [False, True])
def test_metadata_of_a_png_file_are_no_pixels(name, at_the_end):
    data = encoded(Pillow.fromarray(STORED), "PNG")
    place = data.index(b"IEND") - 4 if at_the_end else data.index(b"IDAT") - 4
    image = images.decode(data[:place] + METADATA[name] + data[place:], file="a.png")
    assert np.array_equal(np.asarray(image), STORED)
    assert images.web_type(data[:place] + METADATA[name] + data[place:], file="a.png") in ("image/png", None)


@pytest.mark.parametrize("kind", [b"IDAT", b"IHDR"])
def test_damaged_pixels_of_a_png_file_are_refused(kind):
    data = bytearray(encoded(Pillow.fromarray(STORED), "PNG"))
    data[data.index(kind) + 6] ^= 0xFF
    with pytest.raises(DataError, match=r"does not decode|claims"):
        images.decode(bytes(data), file="a.png")


def test_a_pointer_of_git_lfs_is_named():
    with pytest.raises(DataError, match=r"a\.png: a pointer of Git LFS.*git lfs pull"):
        images.decode(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", file="a.png")


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\nshowpage\n"


@pytest.mark.parametrize("kind", ["EPS", "ICO", "TGA", "SGI", "PCX"])
def test_other_formats_are_refused_under_any_name(kind, monkeypatch):
    data = EPS if kind == "EPS" else encoded(Pillow.new("RGB", (16, 16)), kind)
    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", lambda *_, **__: pytest.fail("Ghostscript runs"))
    for read in (images.decode, images.viewed, images.read_header, images.web_type):
        with pytest.raises(
            DataError, match=r"a\.png: the image does not decode \(\d+ bytes\); the formats are PNG, JPEG"
        ):
            read(data, file="a.png")


def stored(folder, data, source="images/a.png"):
    (folder / source).parent.mkdir(parents=True, exist_ok=True)
    (folder / source).write_bytes(data)
    return Image(source, sha256(data).hexdigest(), 40, 30)


def test_a_file_with_other_content_is_not_opened(tmp_path):
    image = stored(tmp_path, png())
    stored(tmp_path, png((0, 0, 0)))
    with pytest.raises(DataError, match="the image was changed: its sha256 is not the listed one"):
        images.open_image(image, tmp_path)


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    image = stored(tmp_path, png())
    monkeypatch.setattr(images, "MAX_BYTES", 20)
    with pytest.raises(DataError, match="the image has more than 20 bytes"):
        images.open_image(image, tmp_path)


def test_the_choices_are_part_of_the_reference(tmp_path):
    file = stored(tmp_path, with_orientation("JPEG", 6))
    image = images.composite_image(images.VIEWED, 48, 32, of=file, orientation=6)
    assert images.open_image(image, tmp_path).size == (48, 32)
    assert image.sha256 != file.sha256 and images.files_of(image) == ["images/a.png"]
    other = images.composite_image(images.VIEWED, 48, 32, of=file, orientation=8)
    with pytest.raises(DataError, match=r"the pixels need the choices \{'orientation': 6\}"):
        images.open_image(other, tmp_path)


def test_a_view_can_be_made_of_what_a_viewer_shows(tmp_path):
    file = stored(tmp_path, with_orientation("PNG", 6))
    turned = images.composite_image(images.VIEWED, 48, 32, of=file, orientation=6)
    view = images.composite_image("view", 16, 16, of=turned, box=[0, 0, 16, 16], grid=None)
    assert images.open_image(view, tmp_path).getpixel((8, 8)) == tuple(CORNERS[2, 0])
    assert images.files_of(view) == ["images/a.png"]


def test_a_stored_image_that_is_missing_is_named_with_the_folder_to_make_again(tmp_path):
    path = tmp_path / "humblebench" / "images" / f"{'0' * 64}.png"
    with pytest.raises(DataError, match=rf"is missing. Delete the folder {tmp_path}/humblebench and run again"):
        images.read_file(path)

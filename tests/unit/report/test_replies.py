"""Text and images of replies in the page."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from known_unknowns.images import recipe_image
from known_unknowns.records import Image
from known_unknowns.report.replies import printable, thumbnail


def test_control_characters_are_shown() -> None:
    assert printable("a\x00b\tc\nd\x7f é") == "a␀b\tc\nd␡ é"


def test_a_thumbnail_is_a_small_data_url(tmp_path: Path) -> None:
    from PIL import Image as Pillow

    Pillow.new("RGB", (1200, 600), "red").save(tmp_path / "a.png")
    digest = sha256((tmp_path / "a.png").read_bytes()).hexdigest()
    shown = thumbnail(Image("a.png", digest, 1200, 600), tmp_path)
    assert (shown.width, shown.height) == (320, 160)
    assert shown.url.startswith("data:image/jpeg;base64,") and len(shown.url) < 8000
    noise = thumbnail(recipe_image("uniform-noise", 256, 256, 3720), tmp_path)
    assert (noise.width, noise.height) == (128, 128)
    assert "uniform-noise" in noise.alt

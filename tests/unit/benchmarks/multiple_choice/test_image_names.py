"""Names of images whose Unicode normalisation in a table differs from that on the disk."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest

from known_unknowns_benchmarks.multiple_choice.row_images import ImageFolder, cells

COMPOSED, DECOMPOSED = normalize("NFC", "é"), normalize("NFD", "é")


@pytest.mark.parametrize(
    ("disk", "table"),
    [
        (f"caf{DECOMPOSED}.png", f"caf{COMPOSED}.png"),
        (f"caf{COMPOSED}.png", f"caf{DECOMPOSED}.png"),
        (f"{DECOMPOSED}/a.png", f"x/../{COMPOSED}/a.png"),
    ],
)
def test_a_name_in_another_normalisation_is_found(tmp_path: Path, disk: str, table: str):
    (tmp_path / disk).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "x").mkdir(exist_ok=True)
    (tmp_path / disk).write_bytes(b"image")
    (cell,) = cells(table, "image", ImageFolder(tmp_path, (tmp_path,)))
    assert cell == b"image"


def test_of_two_files_the_named_one_is_taken(tmp_path: Path):
    for form in (COMPOSED, DECOMPOSED):
        (tmp_path / f"{form}.png").write_bytes(form.encode())
        assert cells(f"{form}.png", "image", ImageFolder(tmp_path, (tmp_path,)))[0] == form.encode()

"""Identity of a file by size and hash, and accepted paths."""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.files.pins import FilePin, difference, human, is_right, pin, safe


@pytest.fixture(params=[b"", b"x", b"a line\r\nanother\0", bytes(2**20 + 1)], ids=["empty", "short", "odd", "long"])
def file(request, tmp_path):
    (tmp_path / "file").write_bytes(request.param)
    return tmp_path / "file"


def test_hashes_equal_those_of_git_and_sha256sum(file):
    blob = subprocess.run(
        ["git", "hash-object", "--no-filters", str(file)], capture_output=True, text=True, check=True
    ).stdout.strip()
    size = file.stat().st_size
    assert FilePin(0, git="0" * 40).of(file) == FilePin(size, git=blob)
    assert pin(file) == FilePin(size, sha256=sha256(file.read_bytes()).hexdigest())


def test_a_difference_names_both_hashes(file):
    right = pin(file)
    assert difference(right, right) is None
    assert is_right(file, right)
    for wrong in (FilePin(right.size + 1, sha256=right.sha256), FilePin(right.size, sha256="0" * 64)):
        assert not is_right(file, wrong)
        told = difference(right, wrong)
        assert right.sha256 in told
        assert wrong.sha256 in told
        assert ("bytes instead of" in told) == (right.size != wrong.size)


@given(st.text(alphabet="ab./\\:\0 ", max_size=12))
def test_accepted_paths_stay_inside_the_folder(path):
    try:
        safe(path)
    except ValueError:
        return
    folder = Path("/data/raw")
    assert (folder / path).resolve().is_relative_to(folder)
    assert (folder / path).resolve() != folder


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_950, "1.0 MB"),
        (483_118_220, "483.1 MB"),
        (19_300_000_000, "19.3 GB"),
        (4 * 10**12, "4000.0 GB"),
    ],
)
def test_sizes_in_readable_units(size, told):
    assert human(size) == told

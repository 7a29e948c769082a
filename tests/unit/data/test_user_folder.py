"""Files of the user, in any layout: they are checked in the same way, without a connection."""

from __future__ import annotations

import random
import shutil
from hashlib import sha256

import pytest
from huggingface_hub import constants

from known_unknowns.errors import MachineError

from .conftest import REPOSITORY

LARGE = random.Random(1).randbytes(30_000)
OTHER = random.Random(2).randbytes(5_000)
FILES = {"README.md": b"# HumbleBench\n", "data/train-0.parquet": LARGE, "data/train-1.parquet": OTHER}


@pytest.fixture
def offline(serve, place, monkeypatch):
    """A locked data set without any local file and without a connection."""
    hub = serve()
    hub.commit(REPOSITORY, FILES)
    place.fetch()
    shutil.rmtree(place.folder / "raw")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.log.clear()
    yield place
    assert hub.log == []


def write(folder, files):
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def test_without_a_connection_the_error_says_which_files_to_provide(offline):
    with pytest.raises(MachineError) as error:
        offline.fetch()
    told = str(error.value)
    assert "3 file(s) of humblebench" in told
    assert f"data/train-0.parquet  30.0 kB  sha256 {sha256(LARGE).hexdigest()}" in told
    assert "README.md  14 bytes  git blob " in told
    assert "HF_HUB_OFFLINE is set" in told
    assert "known-unknowns data fetch humblebench --edition full --from FOLDER" in told
    assert not offline.out.exists()


@pytest.mark.parametrize(
    "layout",
    [
        {path: path for path in FILES},
        {path: path.rpartition("/")[2] for path in FILES},
        {path: f"downloads/old/{path.rpartition('/')[2]}" for path in FILES},
    ],
    ids=["by path", "flat", "elsewhere"],
)
def test_any_folder_layout_is_accepted(offline, tmp_path, layout):
    mine = write(tmp_path / "mine", {layout[path]: content for path, content in FILES.items()})
    offline.fetch(user_folder=mine)
    assert offline.files() == FILES
    assert all((mine / layout[path]).read_bytes() == content for path, content in FILES.items())


def test_among_files_of_one_name_the_right_hash_is_selected(offline, tmp_path):
    wrong = {"data/train-0.parquet": OTHER, "a/train-0.parquet": LARGE[::-1], "z/train-0.parquet": LARGE}
    offline.fetch(user_folder=write(tmp_path / "mine", FILES | wrong))
    assert offline.files() == FILES


def test_a_wrong_file_is_refused_with_both_hashes(offline, tmp_path, capsys):
    mine = write(tmp_path / "mine", FILES | {"data/train-0.parquet": LARGE[:-1]})
    with pytest.raises(MachineError, match=r"1 file\(s\) of humblebench") as error:
        offline.fetch(user_folder=mine)
    assert "train-1" not in str(error.value)
    told = capsys.readouterr().err
    assert str(mine / "data/train-0.parquet") in told
    assert sha256(LARGE).hexdigest() in told
    assert sha256(LARGE[:-1]).hexdigest() in told
    assert "29999 bytes instead of 30000" in told
    assert not offline.out.exists()

    write(mine, {"again/train-0.parquet": LARGE})
    (mine / "data/train-1.parquet").unlink()  # it was taken already
    offline.fetch(user_folder=mine)
    assert offline.files() == FILES


def test_absent_files_are_downloaded(serve, place, tmp_path):
    hub = serve()
    hub.commit(REPOSITORY, FILES)
    place.fetch(user_folder=write(tmp_path / "mine", {"train-0.parquet": LARGE}))
    assert place.files() == FILES
    assert hub.sent() == len(FILES["README.md"]) + len(OTHER)

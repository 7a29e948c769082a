"""The stamp of a folder of the user's own data follows its contents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from known_unknowns.config import FolderData
from known_unknowns.data import folder


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderData:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake").mkdir()
    for name in ("own/questions.csv", "own/images/a.png", "own/images/b.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("answer A")
    return FolderData(source="folder", path="own")


@pytest.mark.parametrize("name", ["questions.csv", "images/b.png"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_change_of_equal_size_and_time_is_seen(entry, name, replaced):
    before, file = folder.stamp(entry), Path("own", name)
    status = file.stat()
    if replaced:
        file.with_suffix(".new").write_text("answer B")
        file.with_suffix(".new").replace(file)
    else:
        file.write_text("answer B")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert folder.stamp(entry) != before
    file.write_text("answer A")
    assert folder.stamp(entry) == before  # whatever its time


@pytest.mark.parametrize("left", ["", "[]", '{"questions.csv": 3}', '{"questions.csv": []}'])
def test_a_damaged_cache_is_not_used(entry, left):
    before = folder.stamp(entry)
    (cache,) = Path(".snakemake").glob("known-unknowns-own-*.json")
    cache.write_text(left)
    assert folder.stamp(entry) == before

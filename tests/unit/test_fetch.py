"""Data from a git repository, with the real git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from known_unknowns.errors import MachineError
from known_unknowns.fetch import _check_out


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def published(tmp_path):
    """A repository of two commits, the first of which is wanted, with a link out of itself."""
    folder = tmp_path / "published"
    (folder / "asset").mkdir(parents=True)
    git(folder, "init", "--quiet")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    (folder / "asset/data.json").write_text("[1]", encoding="utf-8")
    (folder / "asset/link").symlink_to("/etc/hostname")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "one")
    commit = git(folder, "rev-parse", "HEAD")
    (folder / "asset/data.json").write_text("[2]", encoding="utf-8")
    git(folder, "commit", "--quiet", "--all", "--message", "two")
    return {"source": "git", "repository": folder.as_uri(), "revision": commit}


def test_the_files_of_the_commit_and_nothing_else(published, tmp_path):
    out = tmp_path / "raw" / "actiview"
    _check_out("actiview", published, out)
    assert (out / "asset/data.json").read_text(encoding="utf-8") == "[1]"
    assert not (out / ".git").exists()
    assert [path.name for path in out.parent.iterdir()] == ["actiview"]


def test_a_link_becomes_a_file_that_names_its_target(published, tmp_path):
    _check_out("actiview", published, tmp_path / "out")
    link = tmp_path / "out/asset/link"
    assert not link.is_symlink()
    assert link.read_text(encoding="utf-8") == "/etc/hostname"


def test_an_unknown_commit_is_one_clear_error_and_leaves_what_was_there(published, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/kept").write_text("old", encoding="utf-8")
    with pytest.raises(MachineError, match=r"cannot fetch file://.*/published at 0000"):
        _check_out("actiview", published | {"revision": "0" * 40}, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["kept"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "published"]

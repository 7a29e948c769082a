"""Data from a git repository, with the real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from known_unknowns.config import GitData, Params
from known_unknowns.data import git
from known_unknowns.data.store import FOLDER, Store
from known_unknowns.errors import MachineError


def run(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def repository(folder: Path) -> Path:
    """A new repository that serves any of its commits, with an empty folder for the images."""
    (folder / "asset").mkdir(parents=True)
    run(folder, "init", "--quiet")
    run(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    return folder


@pytest.fixture
def published(tmp_path):
    """A repository of two commits, of which the first is fetched, with a link to a path outside."""
    folder = repository(tmp_path / "published")
    (folder / "asset/data.json").write_text("[1]", encoding="utf-8")
    (folder / "asset/link").symlink_to("/etc/hostname")
    run(folder, "add", "--all")
    run(folder, "commit", "--quiet", "--message", "one")
    commit = run(folder, "rev-parse", "HEAD")
    (folder / "asset/data.json").write_text("[2]", encoding="utf-8")
    run(folder, "commit", "--quiet", "--all", "--message", "two")
    return {"source": "git", "repository": folder.as_uri(), "revision": commit}


@pytest.fixture
def out(tmp_path):
    return tmp_path / "raw" / "actiview"


def check_out(entry, out, user_folder=None):
    store = Store(out)
    with store.lock():
        git.check_out("actiview", GitData.model_construct(**entry), store, user_folder=user_folder)


def test_only_the_files_of_the_commit_are_fetched(published, out):
    check_out(published, out)
    assert (out / "asset/data.json").read_text(encoding="utf-8") == "[1]"
    assert sorted(path.name for path in out.iterdir()) == ["asset"]
    assert sorted(path.name for path in out.parent.iterdir()) == [FOLDER, "actiview"]
    assert not [path for path in (out.parent / FOLDER).iterdir() if path.is_dir()]


def test_a_link_becomes_a_file_that_names_its_target(published, out):
    check_out(published, out)
    link = out / "asset/link"
    assert not link.is_symlink()
    assert link.read_text(encoding="utf-8") == "/etc/hostname"


def test_a_rerun_needs_the_repository_only_for_a_changed_file(published, out, tmp_path):
    check_out(published, out)
    (tmp_path / "published").rename(tmp_path / "away")
    before = (out / "asset/data.json").stat().st_mtime_ns
    check_out(published, out)
    assert (out / "asset/data.json").stat().st_mtime_ns == before

    (out / "asset/data.json").write_text("[3]", encoding="utf-8")
    with pytest.raises(MachineError, match="name a clone with --from FOLDER"):
        check_out(published, out)
    (tmp_path / "away").rename(tmp_path / "published")
    check_out(published, out)
    assert (out / "asset/data.json").read_text(encoding="utf-8") == "[1]"


def test_added_files_are_removed_and_another_commit_replaces_all(published, out, tmp_path):
    check_out(published, out)
    (out / "asset/extra.json").touch()
    check_out(published, out)
    assert not (out / "asset/extra.json").exists()
    check_out(published | {"revision": run(tmp_path / "published", "rev-parse", "HEAD")}, out)
    assert (out / "asset/data.json").read_text(encoding="utf-8") == "[2]"


def test_an_unknown_commit_is_an_error_and_keeps_the_folder(published, out):
    out.mkdir(parents=True)
    (out / "kept").write_text("old", encoding="utf-8")
    with pytest.raises(MachineError, match=r"cannot fetch file://.*/published at 0000"):
        check_out(published | {"revision": "0" * 40}, out)
    assert [path.name for path in out.iterdir()] == ["kept"]
    assert not [path for path in (out.parent / FOLDER).iterdir() if path.is_dir()]


def test_a_git_that_fails_without_a_word(published, out, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(MachineError, match=rf"at {published['revision']} \(no reason given\)\. Check the connection"):
        check_out(published, out)
    assert not out.exists()


def test_a_users_clone_is_accepted_if_it_has_the_commit(published, out, tmp_path):
    run(tmp_path, "clone", "--quiet", published["repository"], "mine")
    nowhere = published | {"repository": (tmp_path / "nowhere").as_uri()}
    check_out(nowhere, out, user_folder=tmp_path / "mine")
    assert (out / "asset/data.json").read_text(encoding="utf-8") == "[1]"


@pytest.mark.parametrize("has_git", [False, True])
def test_a_folder_without_the_commit_is_refused(published, out, tmp_path, has_git):
    mine = tmp_path / "mine"
    mine.mkdir()
    if has_git:
        run(mine, "init", "--quiet")
    with pytest.raises(MachineError, match="is not a git repository with the commit"):
        check_out(published, out, user_folder=mine)


def test_files_of_a_killed_fetch_are_replaced(published, out):
    for left in ("actiview.work", "actiview.old"):
        (out.parent / FOLDER / left / ".git").mkdir(parents=True)
    check_out(published, out)
    assert (out / "asset/data.json").is_file()
    assert not [path for path in (out.parent / FOLDER).iterdir() if path.is_dir()]


def test_the_name_in_params_selects_the_source(published, place, monkeypatch):
    entry = GitData.model_construct(**published)  # a local folder, which params.yaml may not name
    monkeypatch.setattr(Params, "data", lambda self, benchmark: entry)
    assert (place.fetch("actiview") / "asset/data.json").read_text(encoding="utf-8") == "[1]"
    assert not place.lock_path.exists()

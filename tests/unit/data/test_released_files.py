"""Released files from a git server: several commits and roots, only the files that match, and interrupted fetches."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from bench.scale.files import questions, write_repository
from known_unknowns.data import released
from known_unknowns.data.store import FOLDER, Store
from known_unknowns.errors import DataError, MachineError
from tests.servers.git import git_server, has_daemon

pytestmark = pytest.mark.skipif(not has_daemon(), reason="git daemon is not installed")
REPOSITORY = "maifoundations/HumbleBench"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A server's folder, and the commits of its repository."""
    root = tmp_path_factory.mktemp("git")
    commits = write_repository(root / REPOSITORY, models=["Cambrian", "Phi-4"], questions_=questions(12))
    return root, commits


@pytest.fixture
def server(repository, monkeypatch):
    with git_server(repository[0]) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield repository


def entry(commits, **changes):
    return {
        "source": "released",
        "repository": f"https://github.com/{REPOSITORY}",
        "revision": commits[0][:9],
        "further_revisions": commits[1:],
        "files": ["results/*.jsonl", "results/*.log", "rebuttal_results/*.jsonl", "rebuttal_results/*.log"],
        "settings": {},
    } | changes


def fetch(of, out, **options):
    store = Store(out)
    with store.lock():
        released.fetch("humblebench", of, store, **options)


def test_files_of_all_commits_are_fetched_once_and_listed(server, tmp_path):
    root, commits = server
    out, of = tmp_path / "raw/humblebench", entry(commits)
    assert released.read_manifest(out, of) is None
    fetch(of, out)
    files = released.read_manifest(out, of)
    assert released.read_manifest(out, of | {"files": ["*"]}) is None  # another entry
    assert len(files) == 2 * 2 * 6 + 1 == len({file.path for file in files})
    assert {file.commit for file in files if "/common/" in file.path} == {commits[0]}
    assert all((out / file.place).stat().st_size == file.size for file in files)
    assert (out / "results/common/Phi-4/Phi-4.jsonl").read_bytes() == (
        root / REPOSITORY / "results/common/Phi-4/Phi-4.jsonl"
    ).read_bytes()
    assert not (out / "README.md").exists()
    assert not (out.parent / FOLDER / "humblebench.git").exists()


def test_an_interrupted_fetch_continues(server, tmp_path, monkeypatch):
    _, commits = server
    out, of = tmp_path / "raw/humblebench", entry(commits)
    write, fetched = released._Repository.write, []

    def stop_after_five(self, blob, path):
        if len(fetched) == 5:
            raise MachineError("the connection broke")
        fetched.append(blob)
        write(self, blob, path)

    monkeypatch.setattr(released._Repository, "write", stop_after_five)
    with pytest.raises(MachineError, match="the connection broke"):
        fetch(of, out)
    assert not out.exists()
    monkeypatch.setattr(released._Repository, "write", write)
    kept = {path: path.stat().st_mtime_ns for path in (out.parent / FOLDER / "released").iterdir()}
    assert len(kept) == 5
    fetch(of, out)
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())


def test_another_content_in_a_later_commit_is_kept_apart(repository, tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(repository[0] / REPOSITORY, clone)
    path = "results/common/Phi-4/Phi-4.log"
    (clone / path).write_text("{}", encoding="utf-8")
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, "commit", "--quiet", "--all", "--message", "x"], cwd=clone, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True)
    commits = [*repository[1], head.stdout.strip()]
    out = tmp_path / "raw/humblebench"
    fetch(entry(commits), out, user_folder=clone)
    first, other = (file for file in released.read_manifest(out) if file.path == path)
    assert (first.place, first.commit, first.is_first) == (path, commits[0], True)
    assert (out / other.place).read_text(encoding="utf-8") == "{}"
    assert other.commit == commits[3]
    assert not other.is_first


def test_what_cannot_be_fetched_is_said(server, tmp_path):
    _, commits = server
    out = tmp_path / "raw/humblebench"
    with pytest.raises(MachineError, match="has the commit 0123456"):
        fetch(entry(commits, revision="0123456"), out)
    with pytest.raises(MachineError, match="Check the connection"):
        fetch(entry(commits, revision="0" * 40), out)
    with pytest.raises(DataError, match=r"no file matches \*\.csv"):
        fetch(entry(commits, files=["*.csv"]), out)
    with pytest.raises(MachineError, match="not a git repository with the commit"):
        fetch(entry(commits), out, user_folder=tmp_path)

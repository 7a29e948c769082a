"""Files of commits of a git repository, with the real git: all files of one commit, or those that match of several."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from bench.scale.files import questions, write_repository
from known_unknowns.config import GitData, ReleasedData
from known_unknowns.config.locked_commits import LockEntry, read
from known_unknowns.data import fetch as fetch_module
from known_unknowns.data import git, lock_command, lock_file
from known_unknowns.data.store import FOLDER, MANIFEST, Store
from known_unknowns.errors import ConfigError, DataError, MachineError
from tests.factories import params_from
from tests.servers.git import git_server, has_daemon

from .conftest import ROOT

REPOSITORY = "maifoundations/HumbleBench"
needs_daemon = pytest.mark.skipif(not has_daemon(), reason="git daemon is not installed")


def run(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def published(tmp_path):
    """A repository of two commits, of which the first is fetched, with a link to a path outside."""
    folder = tmp_path / "published"
    (folder / "asset").mkdir(parents=True)
    run(folder, "init", "--quiet")
    run(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
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
        git.fetch("actiview", GitData.model_construct(**entry), store, user_folder=user_folder)


def contents(out):
    return {path.relative_to(out).as_posix(): path.read_text() for path in out.rglob("*") if path.is_file()}


def assert_whole(out, text="[1]"):
    """Only the regular files of the commit are there, and no clone is left."""
    found = contents(out)
    assert found.keys() == {"asset/data.json", MANIFEST}
    assert found["asset/data.json"] == text
    assert not list((out.parent / FOLDER).glob("*.git-*"))


def test_only_the_files_of_the_commit_are_fetched(published, out, tmp_path):
    check_out(published, out)
    assert_whole(out)
    check_out(published | {"revision": run(tmp_path / "published", "rev-parse", "HEAD")}, out)
    assert_whole(out, "[2]")


def test_a_rerun_needs_the_repository_only_for_a_changed_file(published, out, tmp_path):
    check_out(published, out)
    (tmp_path / "published").rename(tmp_path / "away")
    before = (out / "asset/data.json").stat().st_mtime_ns
    check_out(published, out)
    assert (out / "asset/data.json").stat().st_mtime_ns == before

    (out / "asset/data.json").write_text("[3]", encoding="utf-8")
    (out / "asset/extra.json").touch()
    with pytest.raises(MachineError, match="name a clone, or a folder with the files, with --from FOLDER"):
        check_out(published, out)
    assert contents(out)["asset/data.json"] == "[3]"
    (tmp_path / "away").rename(tmp_path / "published")
    check_out(published, out)
    assert_whole(out)


def test_a_users_clone_is_accepted_if_it_has_the_commit(published, out, tmp_path):
    nowhere = published | {"repository": (tmp_path / "nowhere").as_uri()}
    run(tmp_path, "init", "--quiet", "empty")
    with pytest.raises(MachineError, match="empty is not a git repository with the commit"):
        check_out(nowhere, out, user_folder=tmp_path / "empty")
    run(tmp_path, "clone", "--quiet", "--depth=1", published["repository"], "shallow")
    with pytest.raises(MachineError, match="shallow is a shallow clone without the commit"):
        check_out(nowhere, out, user_folder=tmp_path / "shallow")
    run(tmp_path, "clone", "--quiet", published["repository"], "mine")
    check_out(nowhere, out, user_folder=tmp_path / "mine")
    assert_whole(out)


def test_a_fetch_killed_during_the_transfer_is_repeated(published, tmp_path):
    """The git that it started outlives it, in a clone that the next fetch does not use."""
    raw, address = yaml.safe_load((ROOT / "params.yaml").read_text()), "https://git.example.org/maker/actiview"
    raw["benchmarks"]["actiview"]["data"] = {"full": published | {"repository": address}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    (tmp_path / "stall.sh").write_text('#!/bin/sh\n"$@" | (head -c 100; sleep 600)\n', encoding="utf-8")
    (tmp_path / "stall.sh").chmod(0o755)
    instead = f'[url "{published["repository"]}"]\n\tinsteadOf = {address}\n'
    stalling = f'[uploadpack]\n\tpackObjectsHook = "{tmp_path / "stall.sh"}"\n'

    def start(settings):
        (tmp_path / "gitconfig").write_text(instead + settings, encoding="utf-8")
        command = [sys.executable, "-m", "known_unknowns", "data", "fetch", "actiview", "--edition", "full"]
        environment = os.environ | {"GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"), "PYTHONPATH": str(ROOT / "src")}
        return subprocess.Popen(
            [*command, "--params", str(tmp_path / "params.yaml")],
            cwd=tmp_path,
            env=environment,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    out = tmp_path / "data/full/raw/actiview"
    killed = start(stalling)
    try:
        deadline = time.monotonic() + 60
        while not list(out.parent.glob(f"{FOLDER}/actiview.git-*/shallow.lock")):
            assert killed.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        killed.kill()
        killed.wait(60)
        assert not out.exists()
        assert start("").wait(60) == 0
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
    assert_whole(out)


# Released files


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
        git.fetch("humblebench", ReleasedData(**of), store, **options)


@needs_daemon
def test_files_of_all_commits_are_fetched_once_and_listed(server, tmp_path):
    root, commits = server
    out, of = tmp_path / "raw/humblebench", entry(commits)
    assert git.read_manifest(out, ReleasedData(**of)) is None
    fetch(of | {"files": ["results/common/*"]}, out)  # as if it was interrupted
    kept = {path: path.stat().st_mtime_ns for path in (out.parent / FOLDER / "files").iterdir()}
    assert kept
    fetch(of, out)
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())

    files = git.read_manifest(out, ReleasedData(**of))
    assert git.read_manifest(out, ReleasedData(**of | {"files": ["*"]})) is None  # another entry
    assert len(files) == 2 * 2 * 6 + 1 == len({file.path for file in files})
    assert {file.commit for file in files if "/common/" in file.path} == {commits[0]}
    assert all((out / file.place).stat().st_size == file.size for file in files)
    path = "results/common/Phi-4/Phi-4.jsonl"
    assert (out / path).read_bytes() == (root / REPOSITORY / path).read_bytes()
    assert not (out / "README.md").exists()


def test_another_content_in_a_later_commit_is_kept_apart(repository, tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(repository[0] / REPOSITORY, clone)
    path = "results/common/Phi-4/Phi-4.log"
    (clone / path).write_text("{}", encoding="utf-8")
    run(clone, "commit", "--quiet", "--all", "--message", "x")
    commits = [*repository[1], run(clone, "rev-parse", "HEAD")]
    out = tmp_path / "raw/humblebench"
    fetch(entry(commits), out, user_folder=clone)
    first, other = (file for file in git.read_manifest(out) if file.path == path)
    assert (first.place, first.commit, first.is_first) == (path, commits[0], True)
    assert (out / other.place).read_text(encoding="utf-8") == "{}"
    assert (other.commit, other.is_first) == (commits[3], False)


def test_a_partial_clone_of_the_user_is_named(published, out, tmp_path):
    run(tmp_path / "published", "config", "uploadpack.allowFilter", "true")
    run(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", published["repository"], "mine")
    (tmp_path / "published").rename(tmp_path / "away")
    with pytest.raises(MachineError, match=r"mine is a partial clone .*run git clone file://.* without --filter"):
        check_out(published, out, user_folder=tmp_path / "mine")


def test_plain_files_of_a_git_source(published, out, tmp_path, capsys):
    """They have no commit, and the folder's own git files and hidden files are not theirs."""
    (tmp_path / "mine/asset").mkdir(parents=True)
    (tmp_path / "mine/asset/data.json").write_text("[1]", encoding="utf-8")
    (tmp_path / "mine/.DS_Store").touch()
    (tmp_path / "mine/link").symlink_to("/etc/hostname")
    check_out(published, out, user_folder=tmp_path / "mine")
    assert_whole(out)
    assert git.is_without_commit(out)
    assert "1 files of" in (said := capsys.readouterr().err) and "no commit shows that they are those of" in said


def test_plain_files_of_a_released_source(tmp_path):
    mine, out = tmp_path / "mine", tmp_path / "raw/humblebench"
    (mine / "results/common/Phi-4").mkdir(parents=True)
    of = entry(["0" * 40], files=["results/*.jsonl"])
    with pytest.raises(
        DataError, match=r"mine: no file matches results/\*\.jsonl in the folder, with the paths of the rep"
    ):
        fetch(of, out, user_folder=mine)
    (mine / "results/common/Phi-4/Phi-4.jsonl.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(
        DataError, match=r"compressed files, such as results/common/Phi-4/Phi-4\.jsonl\.gz, are not read"
    ):
        fetch(of, out, user_folder=mine)
    (mine / "results/common/Phi-4/Phi-4.jsonl").write_text("{}", encoding="utf-8")
    (mine / "README.md").write_text("no replies", encoding="utf-8")
    fetch(of, out, user_folder=mine)
    (file,) = git.read_manifest(out)
    assert (file.path, file.place, file.commit, file.size) == (
        *["results/common/Phi-4/Phi-4.jsonl"] * 2,
        git.NO_COMMIT,
        2,
    )
    assert (out / file.place).read_text(encoding="utf-8") == "{}"


def configured(of):
    raw = {"edition": "released", "editions": {"released": {}}, "models": {}}
    here = {"source": "folder", "path": "."}  # in place of the catalogue's on the hub
    return params_from(raw | {"benchmarks": {"humblebench": {"data": {"released": of, "full": here}}}})


@needs_daemon
def test_the_first_fetch_locks_an_abbreviated_commit(server, tmp_path, capsys):
    _, commits = server
    out, lock, of = tmp_path / "raw/humblebench", tmp_path / "lock.yaml", entry(commits)
    key, params = f"https://github.com/{REPOSITORY}@{commits[0][:9]}", configured(of)
    lock_command.run(params, lock_path=lock)
    assert read(lock) == {}  # the first fetch locks it
    fetch_module.fetch("humblebench", params.data("humblebench"), out, lock_path=lock)
    assert {name: found.commit for name, found in read(lock).items()} == {key: commits[0]}
    assert f"locked for the first time: {key}" in capsys.readouterr().err
    assert lock_command.run(params, check=True, lock_path=lock)
    # From then on, the lock decides: with another full name under the key, files are those of that commit.
    lock_file.write({key: LockEntry(commits[2], {})}, lock)
    other = configured(of | {"further_revisions": []}).data("humblebench")
    fetch_module.fetch("humblebench", other, out, lock_path=lock)
    assert {file.commit for file in git.read_manifest(out)} == {commits[2]}
    assert not lock_command.run(params, check=True, lock_path=lock)
    lock_command.run(params, update=True, lock_path=lock)
    assert [found.commit for found in read(lock).values()] == [commits[0]]


@needs_daemon
def test_an_abbreviation_of_several_commits_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "git" / REPOSITORY
    folder.mkdir(parents=True)
    run(folder, "init", "--quiet", "--bare")
    for key in ("uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"):
        run(folder, "config", key, "true")
    # 2,000 commits, always the same: two of them share their first four digits.
    stream = "".join(
        f"commit refs/heads/main\ncommitter T <t@example.org> {number} +0000\ndata 1\nx\n" for number in range(2000)
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, check=True, input=stream.encode())
    names = run(folder, "rev-list", "--all").split()
    same = next(group for group in ([n for n in names if n[:4] == name[:4]] for name in names) if len(group) > 1)
    with git_server(tmp_path / "git") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(ConfigError, match=f"{len(same)} commits .* begin with {same[0][:4]}") as error:
            git.full_name(f"https://github.com/{REPOSITORY}", same[0][:4])
        assert all(name in str(error.value) for name in same)
        assert git.full_name(f"https://github.com/{REPOSITORY}", same[0][:30]) == same[0]


@needs_daemon
def test_what_cannot_be_fetched_is_said(server, tmp_path):
    _, commits = server
    out = tmp_path / "raw/humblebench"
    with pytest.raises(MachineError, match="has the commit 0123456"):
        fetch(entry(commits, revision="0123456"), out)
    with pytest.raises(MachineError, match=f"has no commit {'0' * 40}; correct it in params.yaml"):
        fetch(entry(commits, revision="0" * 40), out)
    with pytest.raises(DataError, match=r"no file matches \*\.csv in [0-9a-f, ]*$"):
        fetch(entry(commits, files=["*.csv"]), out)
    (tmp_path / "mine/results").mkdir(parents=True)
    (tmp_path / "mine/results/Phi-4.jsonl.gz").write_bytes(b"\x1f\x8b")
    for command in ("init --quiet", "add --all", "commit --quiet --message one"):
        run(tmp_path / "mine", *command.split())
    of = entry([run(tmp_path / "mine", "rev-parse", "HEAD")])
    with pytest.raises(DataError, match=r"compressed files, such as results/Phi-4\.jsonl\.gz, are not read"):
        fetch(of, out, user_folder=tmp_path / "mine")

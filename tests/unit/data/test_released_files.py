"""Released files from a git server: several commits and roots, only the files that match, and interrupted fetches."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from bench.scale.files import questions, write_repository
from known_unknowns.config import Params, ReleasedData
from known_unknowns.data import fetch as fetch_module
from known_unknowns.data import lock_command, lock_file, released
from known_unknowns.data.store import FOLDER, Store
from known_unknowns.errors import ConfigError, DataError, MachineError
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
        released.fetch("humblebench", ReleasedData(**of), store, **options)


def test_files_of_all_commits_are_fetched_once_and_listed(server, tmp_path):
    root, commits = server
    out, of = tmp_path / "raw/humblebench", entry(commits)
    assert released.read_manifest(out, ReleasedData(**of)) is None
    fetch(of, out)
    files = released.read_manifest(out, ReleasedData(**of))
    assert released.read_manifest(out, ReleasedData(**of | {"files": ["*"]})) is None  # another entry
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


def configured(of):
    raw = {"edition": "released", "editions": {"released": {}}, "models": {}}
    return Params(raw | {"benchmarks": {"humblebench": {"data": {"released": of}}}})


def fetch_locked(of, out, lock):
    params = configured(of)
    fetch_module.fetch(params, "humblebench", out, lock_path=lock)


def test_the_first_fetch_locks_an_abbreviated_commit(server, tmp_path, capsys):
    _, commits = server
    out, lock, of = tmp_path / "raw/humblebench", tmp_path / "lock.yaml", entry(commits)
    key = f"https://github.com/{REPOSITORY}@{commits[0][:9]}"
    fetch_locked(of, out, lock)
    assert {name: found.commit for name, found in lock_file.read(lock).items()} == {key: commits[0]}
    assert f"locked for the first time: {key}" in capsys.readouterr().err
    # From then on, the lock decides: with another full name under the key, files are those of that commit.
    lock_file.write({key: lock_file.LockEntry(commits[2], {})}, lock)
    fetch_locked(of | {"further_revisions": []}, out, lock)
    assert {file.commit for file in released.read_manifest(out)} == {commits[2]}
    assert "locked" not in capsys.readouterr().err


def test_the_lock_command_checks_and_keeps_abbreviated_commits(server, tmp_path):
    _, commits = server
    params, lock = configured(entry(commits)), tmp_path / "lock.yaml"
    lock_command.run(params, lock_path=lock)
    assert lock_file.read(lock) == {}  # the first fetch locks them
    key = f"https://github.com/{REPOSITORY}@{commits[0][:9]}"
    lock_file.write({key: lock_file.LockEntry(commits[0], {})}, lock)
    assert lock_command.run(params, check=True, lock_path=lock)
    lock_command.run(params, update=True, lock_path=lock)
    assert [found.commit for found in lock_file.read(lock).values()] == [commits[0]]
    lock_file.write({key: lock_file.LockEntry(commits[1], {})}, lock)
    assert not lock_command.run(params, check=True, lock_path=lock)


def test_an_abbreviation_of_several_commits_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "git" / REPOSITORY
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", "--bare"], cwd=folder, check=True)
    for key in ("uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"):
        subprocess.run(["git", "config", key, "true"], cwd=folder, check=True)
    # 2,000 commits, always the same: two of them share their first four digits.
    stream = "".join(
        f"commit refs/heads/main\ncommitter T <t@example.org> {number} +0000\ndata 1\nx\n" for number in range(2000)
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, check=True, input=stream.encode())
    listed = subprocess.run(["git", "rev-list", "--all"], cwd=folder, check=True, capture_output=True, text=True)
    names = listed.stdout.split()
    same = next(group for group in ([n for n in names if n[:4] == name[:4]] for name in names) if len(group) > 1)
    with git_server(tmp_path / "git") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(ConfigError, match=f"{len(same)} commits .* begin with {same[0][:4]}") as error:
            released.full_name(f"https://github.com/{REPOSITORY}", same[0][:4])
        assert all(name in str(error.value) for name in same)
        assert released.full_name(f"https://github.com/{REPOSITORY}", same[0][:30]) == same[0]


def test_compressed_files_are_named_and_not_read(tmp_path):
    folder = tmp_path / "git"
    (folder / "results").mkdir(parents=True)
    (folder / "results/Phi-4.jsonl.gz").write_bytes(b"\x1f\x8b")
    for command in ("init --quiet", "add --all", "-c user.name=a -c user.email=a commit --quiet --message one"):
        subprocess.run(["git", *command.split()], cwd=folder, check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    of = entry([done.stdout.strip()], files=["results/*.jsonl"])
    with pytest.raises(DataError, match=r"compressed files, such as results/Phi-4\.jsonl\.gz, are not read"):
        fetch(of, tmp_path / "raw/humblebench", user_folder=folder)


def test_what_cannot_be_fetched_is_said(server, tmp_path):
    _, commits = server
    out = tmp_path / "raw/humblebench"
    with pytest.raises(MachineError, match="has the commit 0123456"):
        fetch(entry(commits, revision="0123456"), out)
    with pytest.raises(MachineError, match=f"has no commit {'0' * 40}; correct it in params.yaml"):
        fetch(entry(commits, revision="0" * 40), out)
    with pytest.raises(MachineError, match="Check the connection"):
        fetch(entry(commits, repository="https://github.com/no/such"), out.with_name("other"))
    with pytest.raises(DataError, match=r"no file matches \*\.csv in [0-9a-f, ]*$"):
        fetch(entry(commits, files=["*.csv"]), out)
    with pytest.raises(MachineError, match="not a git repository with the commit"):
        fetch(entry(commits), out, user_folder=tmp_path)

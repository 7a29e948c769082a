from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from known_unknowns.data import provenance
from known_unknowns.errors import DataError


def git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(folder), *settings, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "code.py").write_text("1")
    (tmp_path / ".gitignore").write_text("results/\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def test_a_clean_checkout_has_its_commit_and_is_not_dirty(repository: Path) -> None:
    (repository / "results").mkdir()
    (repository / "results" / "table.csv").write_text("ignored by git")
    assert provenance.git_state(repository) == (git(repository, "rev-parse", "HEAD"), False)


def test_a_changed_file_is_dirty(repository: Path) -> None:
    (repository / "code.py").write_text("2")
    assert provenance.git_state(repository)[1] is True


def test_the_record_of_results_does_not_count(repository: Path) -> None:
    commit, _ = provenance.git_state(repository)
    (repository / "dvc.lock").write_text("stages: {}", encoding="utf-8")
    assert provenance.git_state(repository) == (commit, False)
    (repository / "below").mkdir()
    (repository / "below/dvc.lock").write_text("stages: {}", encoding="utf-8")
    assert provenance.git_state(repository / "below") == (commit, False)
    (repository / "below/dvc.yaml").write_text("stages: {}", encoding="utf-8")
    assert provenance.git_state(repository / "below") == (commit, True)


def test_a_new_file_is_dirty(repository: Path) -> None:
    (repository / "new.py").write_text("2")
    assert provenance.git_state(repository)[1] is True


def test_a_folder_inside_the_repository_has_its_commit(repository: Path) -> None:
    (repository / "results").mkdir()
    assert provenance.git_state(repository / "results")[0] == git(repository, "rev-parse", "HEAD")


def test_a_repository_without_commits_is_dirty(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert provenance.git_state(tmp_path) == (None, True)


def test_outside_a_repository_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance.git_state(tmp_path) == (None, None)


def test_without_git_and_dvc_there_is_no_provenance(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert provenance.git_state(repository) == (None, None)
    assert provenance.gpu_names() == ()


def pin(path: Path, text: str) -> Path:
    path.with_name(path.name + ".dvc").write_text(text)
    return path


def test_the_hash_of_a_pinned_folder(tmp_path: Path) -> None:
    text = """outs:
- md5: d3b07384d113edec49eaa6238ad5ff00.dir
  size: 10
  nfiles: 2
  hash: md5
  path: humblebench
"""
    assert provenance.dvc_hash(pin(tmp_path / "humblebench", text)) == "d3b07384d113edec49eaa6238ad5ff00.dir"


def test_a_pin_written_by_dvc_is_parsed(tmp_path: Path) -> None:
    """DVC's pin of a file contains the MD5 that hashlib computes."""
    from hashlib import md5

    dvc = Path(sys.executable).with_name("dvc")
    if not dvc.exists():
        pytest.skip("dvc is not installed")
    (tmp_path / "raw.bin").write_bytes(b"raw data")
    for command in (["init", "--no-scm", "-q"], ["config", "core.analytics", "false"], ["add", "-q", "raw.bin"]):
        subprocess.run([dvc, *command], cwd=tmp_path, check=True, capture_output=True)
    assert provenance.dvc_hash(tmp_path / "raw.bin") == md5(b"raw data").hexdigest()


def test_without_a_pin_there_is_no_hash(tmp_path: Path) -> None:
    assert provenance.dvc_hash(tmp_path / "humblebench") is None


@pytest.mark.parametrize("text", ["", "outs: 3", "outs:\n- path: another\n  md5: 0", "outs:\n- path: raw", "{", "- 1"])
def test_a_broken_pin_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"raw\.dvc.*dvc add"):
        provenance.dvc_hash(pin(tmp_path / "raw", text))


def test_versions_are_the_installed_ones() -> None:
    import numpy as np

    versions = provenance.package_versions(["numpy", "no-such-distribution"])
    assert versions == {"numpy": np.__version__}


def test_provenance_of_a_finished_run(repository: Path) -> None:
    raw = pin(repository / "raw", "outs:\n- {md5: abc.dir, path: raw}\n")
    facts = provenance.collect(repository, data=[raw, repository / "unpinned"])
    assert facts.commit == git(repository, "rev-parse", "HEAD")
    assert facts.dirty is True  # the pin is new
    assert facts.data == {str(raw): "abc.dir", str(repository / "unpinned"): None}
    assert facts.cores >= 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        facts.commit = "other"  # type: ignore[misc]


def test_provenance_imports_no_large_package() -> None:
    code = (
        "import sys, known_unknowns.data.provenance as p; p.collect(); "
        "sys.exit(str(sorted({'mlflow', 'dvc', 'torch', 'git'} & set(sys.modules))) if "
        "{'mlflow', 'dvc', 'torch', 'git'} & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

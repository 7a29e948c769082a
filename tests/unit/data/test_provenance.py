from __future__ import annotations

import subprocess
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
    assert provenance.git_state(repository / "results") == (git(repository, "rev-parse", "HEAD"), False)
    (repository / "new.py").write_text("2")
    assert provenance.git_state(repository)[1] is True


def test_without_a_commit_or_git(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance.git_state(tmp_path) == (None, None)
    git(tmp_path, "init", "--quiet")
    assert provenance.git_state(tmp_path) == (None, True)
    monkeypatch.setenv("PATH", "")
    assert provenance.git_state(tmp_path) == (None, None)
    assert provenance.gpu_names() == ()


def test_the_record_of_results_does_not_count(repository: Path) -> None:
    commit, _ = provenance.git_state(repository)
    (repository / "dvc.lock").write_text("stages: {}", encoding="utf-8")
    assert provenance.git_state(repository) == (commit, False)
    (repository / "below").mkdir()
    (repository / "below/dvc.lock").write_text("stages: {}", encoding="utf-8")
    assert provenance.git_state(repository / "below") == (commit, False)
    (repository / "below/dvc.yaml").write_text("stages: {}", encoding="utf-8")
    assert provenance.git_state(repository / "below") == (commit, True)


def pin(path: Path, text: str) -> Path:
    path.with_name(path.name + ".dvc").write_text(text)
    return path


@pytest.mark.parametrize("text", ["", "outs: 3", "outs:\n- path: another\n  md5: 0", "outs:\n- path: raw", "{", "- 1"])
def test_a_broken_pin_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"raw\.dvc.*dvc add"):
        provenance.dvc_hash(pin(tmp_path / "raw", text))


def test_provenance_of_a_finished_run(repository: Path) -> None:
    raw = pin(repository / "raw", "outs:\n- {md5: abc.dir, path: raw}\n")
    facts = provenance.collect(repository, data=[raw, repository / "unpinned"])
    assert facts.commit == git(repository, "rev-parse", "HEAD")
    assert facts.dirty is True  # the pin is new
    assert facts.data == {str(raw): "abc.dir", str(repository / "unpinned"): None}
    assert facts.cores >= 1

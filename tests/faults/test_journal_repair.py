"""A journal with damage in its middle: every sound reply is kept, and nothing is dropped without being named."""

from __future__ import annotations

import pytest

from known_unknowns.cli import main
from known_unknowns.errors import DataError
from known_unknowns.inference.journal import Journal
from known_unknowns.records import Reply

KEYS = [f"{number:064x}" for number in range(6)]


@pytest.fixture
def path(tmp_path):
    """Three batches of two replies, one line each."""
    path = tmp_path / "journal/m/b.jsonl"
    with Journal(path) as journal:
        for first in (0, 2, 4):
            journal.append([(key, Reply(f"reply {key[-1]}")) for key in KEYS[first : first + 2]])
    return path


def call(monkeypatch, folder, *arguments):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["known-unknowns", "journal", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def damage(path, kind):
    lines = path.read_bytes().splitlines(keepends=True)
    if kind == "empty line":
        lines.insert(3, b"\n")
    elif kind == "NUL page before a line":
        lines[3] = b"\0" * 4096 + lines[3]
    elif kind == "NUL page over a line":
        lines[3] = b"\0" * len(lines[3].rstrip(b"\n")) + b"\n"
    else:
        lines[3] = lines[3].replace(b"reply 3", b"reply 8")
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("kind", "lost"),
    [("empty line", 0), ("NUL page before a line", 0), ("NUL page over a line", 1), ("changed letter", 1)],
)
def test_damage_is_named_and_set_aside(path, tmp_path, monkeypatch, capsys, kind, lost):
    assert call(monkeypatch, tmp_path, "check") == 0
    damage(path, kind)
    with pytest.raises(DataError, match=r"line 4: .*journal repair"):
        Journal(path)
    before = path.read_bytes()
    capsys.readouterr()
    assert call(monkeypatch, tmp_path, "check") == 1
    assert "1 damaged (line 4)" in capsys.readouterr().out and path.read_bytes() == before
    assert call(monkeypatch, tmp_path, "repair", str(path)) == 0
    assert path.with_name("b.jsonl.damaged").read_bytes() in before
    lines, repaired = before.splitlines(), path.read_bytes().splitlines()
    assert (repaired[:2], repaired[-2:]) == (lines[:2], lines[-2:])  # sound batches stay as they were
    with Journal(path) as journal:
        kept = {key: journal[key].text for key in KEYS if key in journal}
        journal.append([("k", Reply("more"))])
    expected = {key: f"reply {key[-1]}" for key in KEYS}
    if lost:
        del expected[KEYS[3]]
    assert kept == expected
    assert call(monkeypatch, tmp_path, "check") == 0


def test_a_journal_in_use_is_not_repaired(path, tmp_path, monkeypatch, capsys):
    damage(path, "empty line")
    with path.open("rb") as held:
        import fcntl

        fcntl.flock(held, fcntl.LOCK_EX)
        assert call(monkeypatch, tmp_path, "repair") == 4
    assert "a run is writing this journal" in capsys.readouterr().err


def test_a_missing_journal_is_named(path, tmp_path, monkeypatch, capsys):
    assert call(monkeypatch, tmp_path, "check", "journal/other.jsonl") == 2
    assert "no journal journal/other.jsonl" in capsys.readouterr().err

"""Progress in a log file: lines with rate and time left, at growing intervals."""

from __future__ import annotations

import pytest

from known_unknowns import progress as module
from known_unknowns.progress import Status, duration, progress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def printed(capsys, clock, total, seconds, steps=50):
    with progress("working", total) as advance:
        for _ in range(steps):
            clock[0] += seconds
            advance()
    return capsys.readouterr().err.splitlines()


def test_lines_of_a_known_total(capsys, clock):
    """The first after 2 s, then every 5 s, and the last at the end."""
    lines = printed(capsys, clock, 16, 1.0, steps=16)
    assert lines == [
        "working: 3 of 16 (19%), 1 per second, 13 s left",
        "working: 9 of 16 (56%), 1 per second, 7 s left",
        "working: 15 of 16 (94%), 1 per second, 1 s left",
        "working: 16 of 16 (100%), 1 per second",
    ]


def test_the_pauses_grow_to_a_minute(capsys, clock):
    lines = printed(capsys, clock, 0, 1.0, steps=3600)
    done = [int(line.split(": ")[1].split(",")[0]) if "," in line else 0 for line in lines]
    assert lines[0] == "working: 3, 1 per second"
    assert 60 < len(lines) < 100  # less than one a minute and the more frequent first ones
    assert done[1] == 9


@pytest.mark.parametrize("total", [0, 50])
def test_short_tasks_are_silent(capsys, clock, total):
    assert printed(capsys, clock, total, 0.01) == []


@pytest.mark.parametrize(
    "status", [Status("a: b", 1200, 3000, 12.5), Status("x", 0, 10, 0.0), Status("y", 9, 9, 1234.0)]
)
def test_a_line_is_parsed_as_it_was_printed(status):
    assert Status.last_of(f"before\n{status}\nafter 3 of 4") == status


def test_a_log_without_progress_has_no_status():
    assert Status.last_of("loading\nreading: 5, 2 per second\n") is None
    assert Status.last_of("") is None


def test_time_left():
    assert Status("x", 1200, 3000, 12.5).seconds_left == 144
    assert Status("x", 1200, 0, 12.5).seconds_left is None
    assert Status("x", 0, 10, 0.0).seconds_left is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.6, "1 min 0 s"), (45, "45 s"), (192, "3 min 12 s"), (7500, "2 h 5 min"), (273600, "3 d 4 h")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text

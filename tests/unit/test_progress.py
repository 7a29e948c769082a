"""Progress in a log file: a line every ten per cent, or after each interval if the total is unknown."""

from __future__ import annotations

import pytest

from known_unknowns import progress as module
from known_unknowns.progress import progress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def printed(capsys, clock, total, seconds):
    with progress("working", total) as advance:
        for _ in range(50):
            clock[0] += seconds
            advance()
    return capsys.readouterr().err.splitlines()


def test_every_tenth_of_a_known_total(capsys, clock):
    lines = printed(capsys, clock, 50, 1.0)
    assert [line.split(" (")[0] for line in lines] == [f"working: {n} of 50" for n in range(5, 51, 5)]


def test_lines_at_intervals_for_an_unknown_total(capsys, clock):
    lines = printed(capsys, clock, 0, 1.0)  # 50 seconds: after 2, then every 10
    assert [line.split(" (")[0] for line in lines] == [f"working: {n}" for n in (3, 14, 25, 36, 47)]


@pytest.mark.parametrize("total", [0, 50])
def test_short_tasks_are_silent(capsys, clock, total):
    assert printed(capsys, clock, total, 0.01) == []

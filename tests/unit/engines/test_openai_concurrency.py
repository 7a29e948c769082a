"""Concurrent questions with every kind of fault and SIGKILL, and the images that are in memory meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from known_unknowns.engines.endpoint.request import CACHE_SIZE
from known_unknowns.errors import ConfigError
from known_unknowns.images import recipe_image
from known_unknowns.inference.runner import Outcome
from known_unknowns.records import Cell
from tests.paths import ROOT
from tests.servers.client import engine, run_all, turn
from tests.servers.endpoint import Endpoint, answer_to

CONCURRENCY = 32
PASSING = ("429", "429_after", "500", "503", "reset", "hang", "truncated", "no_choice", "wrong_model")
OUTCOMES = {
    "empty": "empty",
    "refusal": "refusal",
    "filtered_answer": "content_filter",
    "no_logprobs": "stop",
    "dead": "error",
}
"""The last of these: a question at which the endpoint always fails."""
ENTRY = {"concurrency": CONCURRENCY, "timeout": 2, "max_retries": 1}


def misfortune(question: str) -> str:
    """The fault of a question: each fault for one in fifty, and a burst of 503 for one in two hundred."""
    lot = zlib.crc32(b"lot of " + question.encode()) % 200
    faults = [*PASSING, *OUTCOMES]
    if lot == 199:
        return "burst"
    return faults[lot // 4] if lot < 4 * len(faults) else "ok"


def faults(question: str, attempt: int) -> str:
    fault = misfortune(question)
    if fault == "dead":
        return "500"
    return fault if attempt == 0 or fault in OUTCOMES else "ok"


STARTS = 5
"""A run stops if another model answers its first question, which follows from the kills. The same command continues."""


def killed_after(answers: int, server: Endpoint, journal: Path, count: int) -> None:
    """A run in a new process that is killed after this number of answers."""
    program = [sys.executable, "-m", "tests.servers.client", str(journal), str(count), server.url, json.dumps(ENTRY)]
    for _ in range(STARTS):
        with subprocess.Popen(program, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
            while len(server.answered) < answers and process.poll() is None:
                time.sleep(0.01)
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                return
    raise AssertionError("the run ended before it could be killed")


def completed(identifiers: list[str], journal: Path, url: str) -> Outcome:
    """The outcome of the run, started again where another model answered its first question."""
    for _ in range(STARTS):
        with suppress(ConfigError):
            return run_all(identifiers, journal, url, **ENTRY)
    raise AssertionError("the run does not continue")


@pytest.mark.slow
def test_every_question_is_answered_exactly_once_or_recorded_with_its_reason(tmp_path):
    count, journal = 400, tmp_path / "journal"
    identifiers = [f"q{number}" for number in range(count)]
    with Endpoint(faults) as server:
        killed_after(250, server, journal, count)
        outcome = completed(identifiers, journal, server.url)
    rows = {row.question_id: row.reply for row in outcome.replies[Cell("original", 0)]}
    assert list(rows) == identifiers
    for question, reply in rows.items():
        fault = misfortune(question)
        assert reply.finish == OUTCOMES.get(fault, "stop"), (question, reply)
        if reply.finish == "stop":
            assert reply.text == answer_to(question) and reply.error is None
            assert (reply.logprobs is None) == (fault == "no_logprobs")
        else:
            assert (reply.error is None) == (fault == "empty")
    seen = Counter(map(misfortune, identifiers))
    assert min(seen[fault] for fault in (*PASSING, *OUTCOMES, "burst")) >= 1
    # What was answered and not yet in the journal when the axe fell is asked again, and nothing else.
    assert sum(server.answered.values()) - len(server.answered) <= CONCURRENCY
    assert outcome.newly_asked <= count - 250 + CONCURRENCY + seen["dead"]


def test_images_are_in_memory_only_during_their_requests(monkeypatch):
    """The number of encoded images in memory at the same time."""
    from known_unknowns.engines.endpoint import request

    alive = most = 0

    class Counted(request.SentImage):
        __slots__ = ()

        def __init__(self, url, sha256):
            nonlocal alive, most
            super().__init__(url, sha256)
            alive += 1
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= 1

    monkeypatch.setattr(request, "SentImage", Counted)
    asked = [turn(f"q{number}", recipe_image("uniform-noise", 8, 8, number)) for number in range(80)]
    with Endpoint(latency=0.001) as server:
        assert sum(map(len, engine(server.url, concurrency=6).answer(asked, folder=Path()))) == 80
    assert most <= 6 + CACHE_SIZE + 2

"""Decisions are on the disk before the browser hears of them: the system calls of the real server."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .demo import write
from .review_server import Server

DECISIONS = 3
CALLS = "mkdir,write,fsync,fdatasync,sendto,sendmsg,writev"


def _can_trace() -> bool:
    return bool(shutil.which("strace")) and subprocess.run(["strace", "-o", "/dev/null", "true"]).returncode == 0


def events(trace: str) -> Iterator[tuple[str, str, str]]:
    """Yield ("begin" or "end", call, path or data) of all threads in order."""
    pending: dict[str, tuple[str, str]] = {}
    for line in trace.splitlines():
        thread, rest = line.split(maxsplit=1)
        if rest.startswith("<..."):
            if thread in pending:
                yield "end", *pending.pop(thread)
        elif found := re.match(r'(\w+)\((?:\d+<(?P<file>[^>]*)>|"(?P<name>[^"]*)")', rest):
            path = found["file"] or found["name"]
            call = found[1], rest if "HTTP/1.1" in rest else path
            yield "begin", *call
            if "<unfinished" in rest:
                pending[thread] = call
            else:
                yield "end", *call


@pytest.mark.skipif(not _can_trace(), reason="strace is not installed, or may not trace")
def test_decisions_are_written_to_the_disk_before_the_answer(tmp_path: Path):
    write(tmp_path, DECISIONS)
    log, trace = tmp_path / "reviews/of ann/d.jsonl", tmp_path / "trace"
    wrapper = ["strace", "-D", "-f", "-y", "-s", "40", "-e", f"trace={CALLS}", "-o", str(trace)]
    server = Server("candidates.jsonl", "--reviewer", "ann", "--decisions", log, folder=tmp_path, wrapper=wrapper)
    for place in range(DECISIONS):
        item = server.ask(f"api/item/{place}?reviewer=ann")[1]
        decision = {
            "key": f"{place}" * 32,
            "reviewer": "ann",
            "item": place,
            "sha256": item["sha256"],
            "action": "keep",
        }
        assert server.ask("api/decision", decision)[0] == 200
    assert server.stop() == 0
    found = list(events(trace.read_text(encoding="utf-8")))

    first = found.index(("begin", "write", str(log)))
    before = found[:first]
    for folder in (tmp_path, log.parents[1], log.parent):  # the names of two new folders and of the file
        assert ("end", "fsync", str(folder)) in before

    written = [place for place, event in enumerate(found) if event == ("begin", "write", str(log))]
    synced = [place for place, event in enumerate(found) if event == ("end", "fsync", str(log))]
    answers = [place for place, (when, _, data) in enumerate(found) if when == "begin" and "HTTP/1.1 200" in data]
    assert len(written) == len(synced) == DECISIONS
    for write_place, sync_place in zip(written, synced, strict=True):
        assert write_place < sync_place < min(place for place in answers if place > write_place)

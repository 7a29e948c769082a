"""The display of a run: its estimate of the time left, and what a real Snakemake prints on a terminal and in a pipe."""

from __future__ import annotations

import codecs
import logging
import os
import pty
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.cells import cell_len
from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_known_unknowns as display
from known_unknowns.progress import Status
from snakemake_logger_plugin_known_unknowns import Job, LogHandler, LogHandlerSettings, Run

SNAKEFILE = """
rule all:
    input: expand("{name}.txt", name=["one", "two"])

rule infer:
    output: "{name}.txt"
    log: "{name}.log"
    shell:
        "echo 'questions answered: 25 of 100 (25%), 2.5 per second, 30 s left' > {log}; sleep 2; touch {output}"
"""


@pytest.fixture
def make_handler() -> Iterator[Callable[..., LogHandler]]:
    """A handler of Snakemake's log, on stdout or not. It is closed after the test, and leaves no thread."""
    before, made = set(threading.enumerate()), []

    def make(*, stdout: bool) -> LogHandler:
        common = SimpleNamespace(
            dryrun=False, printshellcmds=False, show_failed_logs=True, verbose=False, stdout=stdout
        )
        made.append(LogHandler(common, LogHandlerSettings()))
        return made[-1]

    yield make
    for handler in made:
        handler.close()
    assert set(threading.enumerate()) <= before


def job(rule: str, start: float, status: Status | None = None) -> Job:
    return Job(rule, rule, None, start, status, start)


def test_the_time_left_is_that_of_the_waiting_and_running_jobs():
    run = Run({"vary": 4, "infer": 3}, start=0.0)
    assert run.seconds_left(5.0) is None
    for number in range(4):
        run.running[number] = job("vary", 2.0 * number)
        run.finish(number, 2.0 * number + 2.0)
    # Four jobs of 2 s, one after the other: three more of an unknown duration are expected to last as long.
    assert run.seconds_left(8.0) == pytest.approx(6.0)
    # One of them states that it has 60 s left: the two others still count with the mean of the rules, 2 s.
    run.running[9] = job("infer", 8.0, Status("questions answered", 40, 100, 1.0))
    assert run.seconds_left(8.0) == pytest.approx(64.0)
    # Ten seconds later the statement is ten seconds old.
    assert run.seconds_left(18.0) == pytest.approx(54.0)
    # Without a statement, a job that is later than expected (2 s) may run half as long again as its 10 s.
    run.running[9] = job("infer", 8.0)
    assert run.seconds_left(18.0) == pytest.approx(5.0 + 2 * 2.0)


def test_jobs_at_the_same_time_share_the_work():
    run = Run({"score": 8}, start=0.0)
    for number in range(4):
        run.running[number] = job("score", 0.0)
        run.finish(number, 10.0)
    assert run.seconds_left(10.0) == pytest.approx(10.0)  # 4 jobs of 10 s, 4 at a time


def test_the_lines_list_the_running_jobs():
    run = Run({"infer": 10}, start=0.0)
    run.running |= {n: job("infer", 0.0, Status("questions answered", 1, 10, 0.1)) for n in range(8)}
    lines = run.lines(10.0)
    assert lines[0] == "0 of 10 jobs (0%) after 10 s"
    assert lines[1] == "    infer: questions answered: 1 of 10 (10%), 0.1 per second, 1 min 30 s left"
    assert (len(lines), lines[-1]) == (8, "    and 2 other jobs")


def test_a_submitted_job_starts_when_it_writes_its_log(tmp_path):
    log = tmp_path / "infer.log"
    log.write_text("questions answered: 9 of 10 (90%), 1 per second, 1 s left\n")  # by a former attempt
    os.utime(log, (1000.0, 1000.0))
    run = Run({"infer": 1}, start=0.0)
    run.running[1] = waiting = Job("infer", "infer m", log, 10.0, submitted=2000.0)
    waiting.update(40.0)
    assert run.lines(40.0)[1:] == ["    submitted and not started: 1, the first 30 s ago"]
    log.write_text("questions answered: 1 of 10 (10%), 1 per second, 9 s left\n")
    os.utime(log, (2030.0, 2030.0))
    waiting.update(41.0)
    assert run.lines(41.0)[1:] == ["    infer m: questions answered: 1 of 10 (10%), 1 per second, 9 s left"]
    run.finish(1, 50.0)
    assert run.finished == {"infer": [9.0]}  # without its time in the queue


def test_a_job_that_is_submitted_again_waits_though_its_log_was_written_a_moment_ago(tmp_path, make_handler):
    log = tmp_path / "infer.log"
    log.write_text("questions answered: 9 of 10 (90%), 1 per second, 1 s left\n")  # by the attempt that was ended
    handler = make_handler(stdout=True)
    about = {"jobid": 1, "rule_name": "infer", "wildcards": {}, "log": [str(log)], "threads": 1, "local": False}
    for event, values in ((LogEvent.RUN_INFO, {"stats": {"infer": 1, "total": 1}}), (LogEvent.JOB_INFO, about)):
        handler.emit(logging.makeLogRecord({"event": event, **values}))
    waiting = handler._run.running[1]
    waiting.update(1.0)
    assert waiting.submitted is not None and waiting.status is None
    os.utime(log, (written := time.time() + 1, written))
    waiting.update(2.0)
    assert waiting.submitted is None and waiting.status == Status("questions answered", 9, 10, 1.0)


def test_a_failed_job_shows_the_end_of_its_log(tmp_path, capsys, make_handler):
    log = tmp_path / "infer.log"
    log.write_text("".join(f"line {number}\n" for number in range(1000)))
    handler = make_handler(stdout=True)
    message = (
        "SLURM-job '4' failed, SLURM status is: 'TIMEOUT'. Detailed failure reason unavailable (not 'sacct').For more"
    )
    about = {"rule_name": "infer", "wildcards": {"model": "m"}, "log": [str(log)], "threads": 1}
    for event, values in (
        (LogEvent.RUN_INFO, {"stats": {"infer": 1, "total": 1}}),
        (LogEvent.JOB_INFO, {"jobid": 1} | about),
        (LogEvent.JOB_ERROR, {"jobid": 1, "log": [str(tmp_path / "absent.log"), str(log)], "rule_msg": message}),
    ):
        handler.emit(logging.makeLogRecord({"event": event, **values}))
    handler.close()
    shown = capsys.readouterr()
    text = shown.out + shown.err
    assert "Failed infer" in text and text.count(str(log)) == 1
    assert "    SLURM-job '4' failed, SLURM status is: 'TIMEOUT'.\n" in text
    assert re.findall(r"line \d+", text) == [f"line {number}" for number in range(995, 1000)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("columns", "title"), [(80, "infer humblebench pocket"), (120, "infer humblebench pocket: questions answered")]
)
def test_bars_on_a_terminal(columns, title, clock, tmp_path, monkeypatch, make_handler):
    """A frame of a run of 40 s. Its second job began after 20 s and has asked 75 of 100 questions."""
    leader, follower = pty.openpty()
    log = tmp_path / "infer.log"
    log.write_text("questions answered: 75 of 100 (75%), 2.5 per second, 10 s left\n")
    monkeypatch.setattr(sys, "stderr", os.fdopen(follower, "w"))
    for name, value in {"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "30"}.items():
        monkeypatch.setenv(name, value)
    handler = make_handler(stdout=False)
    handler.progress.get_time = lambda: clock[0]
    about = {"log": [str(log)], "threads": 1}
    for clock[0], event, values in (
        (0.0, LogEvent.RUN_INFO, {"stats": {"fetch": 1, "infer_humblebench": 3, "total": 4}}),
        (0.0, LogEvent.JOB_INFO, {"jobid": 1, "rule_name": "fetch", "wildcards": {}} | about | {"log": []}),
        (4.0, LogEvent.JOB_FINISHED, {"job_id": 1}),
        (20.0, LogEvent.JOB_INFO, {"jobid": 2, "rule_name": "infer_humblebench", "wildcards": {"m": "pocket"}} | about),
    ):
        handler.emit(logging.makeLogRecord({"event": event, **values}))
    clock[0] = 40.0
    handler._run.running[2].update(40.0)
    handler._show(handler._run, 40.0)
    handler.event_handler.progress_display.live_display.refresh()
    frame = _frame(leader)
    handler.close()
    sys.stderr.close()
    os.close(leader)
    assert {cell_len(line) for line in frame} == {columns}
    assert [" ".join(re.sub("[│━╸╺\u2800-\u28ff]", " ", line).split()) for line in frame[1:-1]] == [
        "Total Progress 25% 0:00:40 18 s left",  # the running job's 10 s, and two others of 4 s as the finished one
        "infer humblebench 0% 0:00:20",
        f"{title} 75% 0:00:20 10 s left",
    ]


def _frame(leader: int) -> list[str]:
    """The lines of the first whole frame with the bar of the job, without colours. Frames are drawn all the time."""
    printed, frames = "", []
    decoder = codecs.getincrementaldecoder("utf-8")()
    while not frames:
        assert select.select([leader], [], [], 10.0)[0], f"no such frame in {printed!r}"
        printed += decoder.decode(os.read(leader, 65536))
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed).replace("\r", "")
        frames = [frame for frame in re.findall("╭[^╭]*╯", text) if "75%" in frame]
    return frames[0].split("\n")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What a real run prints in a pipe and on a terminal. The two runs go on at the same time."""
    in_pipe = _start(tmp_path_factory.mktemp("pipe"), subprocess.PIPE)
    leader, follower = pty.openpty()
    on_terminal = _start(tmp_path_factory.mktemp("terminal"), follower)
    os.close(follower)
    terminal = b""
    while part := _read(leader):
        terminal += part
    os.close(leader)
    pipe = in_pipe.communicate(timeout=120)[0]
    assert (in_pipe.returncode, on_terminal.wait()) == (0, 0), pipe + terminal
    return pipe.decode(), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.decode(errors="replace"))


def _start(folder: Path, output: int) -> subprocess.Popen[bytes]:
    (folder / "Snakefile").write_text(SNAKEFILE)
    command = [str(Path(sys.executable).parent / "snakemake"), "--cores", "1", "--logger", "known-unknowns"]
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "SNAKEMAKE"))}
    return subprocess.Popen(
        [*command, "--logger-known-unknowns-interval", "1"],
        cwd=folder,
        env=kept | {"TERM": "xterm-256color", "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output if output != subprocess.PIPE else subprocess.STDOUT,
    )


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # the other side has closed it
        return b""


@pytest.mark.slow
def test_a_pipe_has_lines_also_from_inside_a_job(printed):
    pipe, _ = printed
    states = re.findall(r"^(\d) of 3 jobs \((\d+)%\) after \d+ s", pipe, re.MULTILINE)
    assert {("0", "0"), ("1", "33"), ("2", "67"), ("3", "100")} <= set(states)
    assert "    infer one: questions answered: 25 of 100 (25%), 2.5 per second, 30 s left\n" in pipe
    assert "\x1b" not in pipe


@pytest.mark.slow
def test_a_terminal_has_bars_with_the_time_left(printed):
    _, terminal = printed
    assert re.search(r"Total Progress .*33% .* left", terminal)
    assert re.search(r"infer two: questions answered .*25% .*\d+ s left", terminal)

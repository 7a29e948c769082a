"""The display of a run: its estimate of the time left, and what a real Snakemake prints in a pipe."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from known_unknowns.progress import Status
from snakemake_logger_plugin_known_unknowns import Job, LogHandler, Run

SNAKEFILE = """
rule all:
    input: "made.txt"

rule infer:
    output: "made.txt"
    log: "made.log"
    shell:
        "echo 'questions answered: 25 of 100 (25%), 2.5 per second, 30 s left' > {log};"
        " until [ -e shown ]; do sleep 0.1; done; touch {output}"
"""


@pytest.fixture
def make_handler() -> Iterator[Callable[[], LogHandler]]:
    """A handler of Snakemake's log, which is closed after the test."""
    made = []

    def make() -> LogHandler:
        common = SimpleNamespace(dryrun=False, printshellcmds=False, show_failed_logs=True, verbose=False, stdout=True)
        made.append(LogHandler(common, None))
        return made[-1]

    yield make
    for handler in made:
        handler.close()


def job(rule: str, start: float, status: Status | None = None) -> Job:
    return Job(rule, rule, None, start, None, True, status)


def finish(run: Run, rule: str, *seconds: float) -> None:
    run.finished.setdefault(rule, []).extend(seconds)


def test_the_time_left_is_that_of_the_waiting_and_running_jobs():
    run = Run({"vary": 4, "infer": 3}, start=0.0)
    assert run.seconds_left(5.0) is None
    finish(run, "vary", 2.0, 2.0, 2.0, 2.0)
    # Four jobs of 2 s, one after the other: three more of an unknown duration are expected to last as long.
    assert run.seconds_left(8.0) == pytest.approx(6.0)
    # One of them states that it has 60 s left: the two others still count with the mean of the rules, 2 s.
    run.running[9] = job("infer", 8.0, Status("questions answered", 40, 100, 1.0))
    assert run.seconds_left(8.0) == pytest.approx(64.0)
    # Without a statement, a job that is later than expected (2 s) may run half as long again as its 10 s.
    run.running[9] = job("infer", 8.0)
    assert run.seconds_left(18.0) == pytest.approx(5.0 + 2 * 2.0)


def test_jobs_at_the_same_time_share_the_work():
    run = Run({"parse": 8}, start=0.0)
    finish(run, "parse", 10.0, 10.0, 10.0, 10.0)
    assert run.seconds_left(10.0) == pytest.approx(10.0)  # 4 jobs of 10 s, 4 at a time


def test_the_lines_list_the_running_jobs():
    run = Run({"infer": 10}, start=0.0)
    run.running |= {n: job("infer", 0.0, Status("questions answered", 1, 10, 0.1)) for n in range(8)}
    run.running[8] = Job("infer", "infer m", None, 0.0)
    lines = run.lines(10.0)
    assert lines[0] == "0 of 10 jobs (0%) after 10 s"
    assert lines[1] == "infer: questions answered: 1 of 10 (10%), 0.1 per second, 1 min 30 s left"
    assert (len(lines), lines[-1]) == (10, "submitted and not started: 1")


@pytest.mark.parametrize(
    ("lines", "seconds", "pause"), [(1, 4, 2), (9, 4, 9), (9, 300, 30), (9, 86400, 60), (64, 4, 64)]
)
def test_a_pipe_has_at_most_a_line_a_second(lines, seconds, pause):
    assert Run({"infer": 100}, start=10.0).pause(lines, 10.0 + seconds) == pause


def test_a_submitted_job_starts_when_it_writes_its_log(tmp_path, make_handler):
    log = tmp_path / "infer.log"
    log.write_text("questions answered: 9 of 10 (90%), 1 per second, 1 s left\n")  # by the attempt that was ended
    os.utime(log, (1000.0, 1000.0))
    handler = make_handler()
    about = {"jobid": 1, "rule_name": "infer", "wildcards": {"model": "m"}, "log": [str(log)], "threads": 1}
    for event, values in ((LogEvent.RUN_INFO, {"stats": {"infer": 1, "total": 1}}), (LogEvent.JOB_INFO, about)):
        handler.emit(logging.makeLogRecord({"event": event, **values}))
    run = handler.run
    run.start = run.running[1].start = 10.0
    run.running[1].update(40.0)
    assert run.lines(40.0)[1:] == ["submitted and not started: 1"]
    log.write_text("questions answered: 1 of 10 (10%), 1 per second, 9 s left\n")
    run.running[1].update(41.0)
    assert run.lines(41.0)[1:] == ["infer m: questions answered: 1 of 10 (10%), 1 per second, 9 s left"]
    assert run.running[1].start == 41.0  # without its time in the queue


def test_a_job_that_has_written_before_its_record_arrives_has_started(tmp_path, make_handler):
    """Snakemake hands records over through a queue."""
    about = {"event": LogEvent.JOB_INFO, "jobid": 1, "rule_name": "infer", "wildcards": {}, "threads": 1}
    record = logging.makeLogRecord({**about, "log": [str(tmp_path / "infer.log")]})
    (tmp_path / "infer.log").write_text("questions answered: 1 of 10 (10%), 1 per second, 9 s left\n")
    os.utime(tmp_path / "infer.log", (record.created + 1, record.created + 1))
    handler = make_handler()
    handler.emit(logging.makeLogRecord({"event": LogEvent.RUN_INFO, "stats": {"infer": 1, "total": 1}}))
    handler.emit(record)
    handler.run.running[1].update(40.0)
    assert handler.run.lines(40.0)[1:] == ["infer: questions answered: 1 of 10 (10%), 1 per second, 9 s left"]


def test_a_failed_job_shows_what_the_cluster_says(tmp_path, capsys, make_handler):
    log = tmp_path / "infer.log"
    log.write_text("".join(f"line {number}\n" for number in range(1000)))
    handler = make_handler()
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
    assert "Failed infer" in text and "line 3" not in text  # the end of its log is shown when the run ends
    assert "    SLURM-job '4' failed, SLURM status is: 'TIMEOUT'.\n" in text


@pytest.mark.slow
def test_a_pipe_has_lines_also_from_inside_a_job(tmp_path: Path) -> None:
    """The job ends when its progress has been printed. FORCE_COLOR makes no terminal of a pipe."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "SNAKEMAKE"))}
    with subprocess.Popen(
        [str(Path(sys.executable).parent / "snakemake"), "--cores", "1", "--logger", "known-unknowns"],
        cwd=tmp_path,
        env=kept | {"FORCE_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        shown = []
        for line in process.stdout or ():
            shown.append(line)
            if "questions answered" in line:
                (tmp_path / "shown").touch()
    assert process.returncode == 0, "".join(shown)
    printed = "".join(shown)
    state = (
        r"^0 of 2 jobs \(0%\) after \d+ s\n    infer: questions answered: 25 of 100 \(25%\), 2.5 per second, 30 s left$"
    )
    assert re.search(state, printed, re.MULTILINE), printed
    assert re.search(r"^2 of 2 jobs \(100%\) after ", printed, re.MULTILINE)
    assert "\x1b" not in printed

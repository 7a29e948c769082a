"""Snakemake's display of a run: the plugin ``rich``, with the time left and the running jobs, and lines in a pipe."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.text import Text
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_rich import LogHandler as RichLogHandler

from known_unknowns.progress import Status, duration


@dataclass
class Job:
    """A job. It has started when its log has another time than ``before``, when it was submitted."""

    rule: str
    name: str
    log: Path | None
    start: float
    before: float | None = None
    started: bool = False
    status: Status | None = None

    def update(self, now: float) -> None:
        """Read the progress from the log."""
        if self.log and self.log.is_file() and (self.started or self.log.stat().st_mtime != self.before):
            self.started, self.start = True, self.start if self.started else now
            self.status = Status.last_of(self.log.read_text(encoding="utf-8", errors="replace"))


@dataclass
class Run:
    """How many jobs each rule has, those that are running, and the durations of the finished ones."""

    totals: dict[str, int]
    start: float
    running: dict[int, Job] = field(default_factory=dict)
    finished: dict[str, list[float]] = field(default_factory=dict)

    def seconds_left(self, now: float) -> float | None:
        """Estimate the time left from the mean durations of each rule's jobs; None before the first job has ended."""
        if not self.finished or now <= self.start:
            return None
        means = {rule: sum(seconds) / len(seconds) for rule, seconds in self.finished.items()}
        usual, work, spent = sum(means.values()) / len(means), 0.0, sum(map(sum, self.finished.values()))
        for rule, total in self.totals.items():
            running = [job for job in self.running.values() if job.rule == rule]
            work += max(total - len(self.finished.get(rule, ())) - len(running), 0) * means.get(rule, usual)
            for job, elapsed in ((job, now - job.start) for job in running):
                expected = max(means.get(rule, usual) - elapsed, elapsed / 2)
                work, spent = work + ((job.status and job.status.seconds_left) or expected), spent + elapsed
        return work / max(spent / (now - self.start), 1.0)  # as many jobs at the same time as before

    def lines(self, now: float) -> list[str]:
        """Return the state of the run, and a line for each running job."""
        total, done = sum(self.totals.values()), sum(map(len, self.finished.values()))
        left = f", about {duration(left)} left" if done < total and (left := self.seconds_left(now)) else ""
        at_work = [job for job in self.running.values() if job.started]
        jobs = [f"{job.name}: {job.status or duration(now - job.start)}" for job in at_work]
        if waiting := len(self.running) - len(jobs):
            jobs.append(f"submitted and not started: {waiting}")
        return [f"{done} of {total} jobs ({done / total:.0%}) after {duration(now - self.start)}{left}", *jobs]

    def pause(self, lines: int, now: float) -> float:
        """Return the seconds between two states in a pipe: at least one for each line, and growing to a minute."""
        return max(2.0, lines, min(0.1 * (now - self.start), 60.0))


class LogHandler(RichLogHandler):  # type: ignore[misc]  # the plugin has no types
    """The plugin ``rich`` with the state of the run."""

    def __post_init__(self) -> None:
        if not sys.stderr.isatty():
            # Rich draws for a terminal if FORCE_COLOR is set, several times a second, also into a pipe.
            os.environ["TTY_COMPATIBLE"] = "0"
        super().__post_init__()
        self.run: Run | None = None
        self._printed, self._changing, self._ended = 0.0, threading.RLock(), threading.Event()

    def emit(self, record: Any) -> None:
        """Show a log record of Snakemake. A fault of the display does not end the run."""
        event, now = getattr(record, "event", None), time.monotonic()
        with self._changing, suppress(OSError):
            super().emit(record)
            if event == LogEvent.RUN_INFO and self.run is None and not self.common_settings.dryrun:
                self.run, self._printed = Run({**record.stats, "total": 0}, now), now
                threading.Thread(target=self._tick, args=(self.run,), daemon=True).start()
            elif self.run and event == LogEvent.JOB_INFO:
                name = " ".join([record.rule_name, *map(str, (record.wildcards or {}).values())])
                log = Path(record.log[0]) if record.log else None
                before = log.stat().st_mtime if log and log.is_file() else None
                if before is not None and before >= record.created:  # the job has written before this record came here
                    before = None
                self.run.running[record.jobid] = Job(record.rule_name, name, log, now, before)
                self.event_handler.jobs_info[record.jobid]["log"] = []  # rich prints a failed job's whole log
            elif self.run and event == LogEvent.JOB_FINISHED and (job := self.run.running.pop(record.job_id, None)):
                self.run.finished.setdefault(job.rule, []).append(now - job.start)
                if not self.console.is_terminal and "(100%)" in (line := self.run.lines(now)[0]):
                    self.console.print(Text(line))
            elif self.run and event == LogEvent.JOB_ERROR and (job := self.run.running.pop(record.jobid, None)):
                lines = re.findall(r"^.+?status is: '\w+'\.", getattr(record, "rule_msg", None) or "")  # a cluster
                lines += job.log.read_text(errors="replace").splitlines()[-1:] if job.log and job.log.is_file() else []
                self.console.print(Text("\n".join(f"    {line.strip()}" for line in lines)), soft_wrap=True)

    def _tick(self, run: Run) -> None:
        """Show the state of the run every second; in a pipe, in pauses that grow to a minute."""
        while not self._ended.wait(1.0):
            with self._changing, suppress(OSError):
                now = time.monotonic()
                for job in run.running.values():
                    job.update(now)
                lines = run.lines(now)
                if self.console.is_terminal:
                    self.live_display.get_renderable().subtitle = Text("; ".join(lines[:2]))
                elif now - self._printed >= run.pause(len(lines), now):
                    self._printed = now
                    self.console.print(Text("\n    ".join(lines)), soft_wrap=True)

    def close(self) -> None:
        self._ended.set()
        super().close()

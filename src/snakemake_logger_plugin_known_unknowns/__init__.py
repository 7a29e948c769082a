"""Snakemake's display of a run: bars with the time left on a terminal, lines in a pipe.

It adds to the plugin ``rich``: the time left, lines, and the progress inside running jobs, read from their logs.
Snakemake finds the plugin by the name of this package (``--logger known-unknowns``).
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase
from snakemake_logger_plugin_rich import LogHandler as RichLogHandler
from snakemake_logger_plugin_rich.event_handler import prettyprint_rule

from known_unknowns.progress import Status, duration

_TAIL_BYTES = 4096
_SECONDS_OF_A_SHORT_JOB = 5.0
_JOBS_SHOWN = 6
_LOG_LINES = 5
_TICK_SECONDS = 1.0
_SHARE_OF_DESCRIPTIONS = 0.4
"""Largest share of the terminal's width that the names of rules and jobs take; the bars take what is left."""
_CLOCK_SECONDS = 5.0
"""How much the clock of a cluster's file system may be behind this machine's."""

_REASON = re.compile(r".+?status is: '\w+'\.(?: Reasons?: .+?\.(?= |$|For ))?")
"""What a cluster says of a failed job: "SLURM-job '4' failed, SLURM status is: 'TIMEOUT'."."""


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Options of the plugin."""

    interval: float | None = field(
        default=60.0, metadata={"help": "Longest time in seconds between two lines in a pipe.", "type": float}
    )


@dataclass
class Job:
    """A job: its rule, its name for people, its log, and the progress that the log states.

    A job of a cluster was only submitted, at the time ``submitted`` of the clock, until it writes its log. ``before``
    is the time of the log that a former attempt left.
    """

    rule: str
    name: str
    log: Path | None
    start: float
    status: Status | None = None
    updated: float = 0.0
    submitted: float | None = None
    before: float | None = None

    def title(self, width: int) -> str:
        """Return the text beside the job's bar: its name and, if it fits, its present task."""
        name = f"  {prettyprint_rule(self.rule)}{self.name.removeprefix(self.rule)}"
        text = f"{name}: {self.status.task}" if self.status else name
        return text if len(text) <= width else name

    def update(self, now: float) -> None:
        """Read the progress from the log."""
        try:
            if self.submitted is not None and self.log:
                written = self.log.stat().st_mtime
                if written == self.before or written < self.submitted - _CLOCK_SECONDS:
                    return  # of a former attempt
                self.submitted, self.start = None, now
            text = _tail(self.log) if self.log else ""
        except OSError:
            return
        status = Status.last_of(text)
        if status != self.status:
            self.status, self.updated = status, now

    def seconds_left(self, now: float) -> float | None:
        """The time left; None if the job does not state it."""
        left = self.status.seconds_left if self.status else None
        return None if left is None else max(left - (now - self.updated), 0.0)


@dataclass
class Run:
    """The jobs of a run: how many of each rule, which are running, and the durations of the finished ones."""

    totals: dict[str, int]
    start: float
    running: dict[int, Job] = field(default_factory=dict)
    finished: dict[str, list[float]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.totals.values())

    @property
    def done(self) -> int:
        return sum(map(len, self.finished.values()))

    def finish(self, identifier: int, now: float) -> None:
        """Count a job as finished."""
        if job := self.running.pop(identifier, None):
            self.finished.setdefault(job.rule, []).append(now - job.start)

    def seconds_left(self, now: float) -> float | None:
        """Estimate the time left from the mean duration of the finished jobs of each rule; None before the first.

        A rule without a finished job counts with the mean of all rules. A running job that does not state its time left
        is expected to run for at least half as long as it has run. The estimate assumes that as many jobs run at the
        same time as before.
        """
        means = {rule: sum(seconds) / len(seconds) for rule, seconds in self.finished.items()}
        if not means or now <= self.start:
            return None
        overall = sum(means.values()) / len(means)
        waiting = dict(self.totals)
        work = spent = 0.0
        for rule, seconds in self.finished.items():
            waiting[rule] = waiting.get(rule, 0) - len(seconds)
            spent += sum(seconds)
        for job in self.running.values():
            waiting[job.rule] = waiting.get(job.rule, 0) - 1
            left, elapsed = job.seconds_left(now), now - job.start
            work += max(means.get(job.rule, overall) - elapsed, 0.5 * elapsed) if left is None else left
            spent += elapsed
        work += sum(max(count, 0) * means.get(rule, overall) for rule, count in waiting.items())
        at_once = max(spent / (now - self.start), 1.0)
        return work / at_once

    def lines(self, now: float) -> list[str]:
        """Return the state of the run, and below it one line per job that has been running for some time."""
        left = self.seconds_left(now)
        about = f", about {duration(left)} left" if left and self.done < self.total else ""
        share = f"{self.done / self.total:.0%}"
        head = f"{self.done} of {self.total} jobs ({share}) after {duration(now - self.start)}{about}"
        waiting = [now - job.start for job in self.running.values() if job.submitted is not None]
        shown = [
            job
            for job in self.running.values()
            if job.submitted is None and (now - job.start > _SECONDS_OF_A_SHORT_JOB or job.status)
        ]
        jobs = [f"    {job.name}: {job.status or duration(now - job.start)}" for job in shown[:_JOBS_SHOWN]]
        more = len(shown) - len(jobs)
        if more:
            jobs.append(f"    and {more} other jobs")
        if waiting:
            jobs.append(f"    submitted and not started: {len(waiting)}, the first {duration(max(waiting))} ago")
        return [head, *jobs]


class TimeLeft(ProgressColumn):
    """The time left of the tasks that state it in their field ``left``."""

    def __init__(self) -> None:
        super().__init__(Column(no_wrap=True))

    def render(self, task: Task) -> Text:
        left = task.fields.get("left")
        return Text(f"{duration(left)} left" if left and not task.finished else "", style="progress.remaining")


class LogHandler(RichLogHandler):
    """The plugin ``rich``, with the time left, the running jobs, and lines where there is no terminal."""

    def __post_init__(self) -> None:
        own = self.settings  # the base class puts the common settings in its place
        self._interval = own.interval if isinstance(own, LogHandlerSettings) and own.interval else 60.0
        super().__post_init__()
        self._widest = int(_SHARE_OF_DESCRIPTIONS * self.console.width)
        names = Column(no_wrap=True, overflow="ellipsis", max_width=self._widest)
        self.progress.columns = (
            SpinnerColumn(finished_text="[dim green]✓"),
            TextColumn("[bold blue]{task.description}", table_column=names),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TimeLeft(),
        )
        self._run: Run | None = None
        self._bars: dict[int, Any] = {}
        self._printed = (0, 0.0)  # tenths done and the time when the last line was printed
        self._display_lock = threading.RLock()
        self._ended = threading.Event()
        self._ticking: threading.Thread | None = None

    def emit(self, record: Any) -> None:
        """Show a log record of Snakemake."""
        with self._display_lock:
            super().emit(record)
            try:
                self._follow(record)
            except Exception:  # as the base class: a fault of the display does not end the run
                self.handleError(record)

    def close(self) -> None:
        """End the display and the threads that refresh it."""
        self._ended.set()
        refreshing = getattr(self.live_display, "_refresh_thread", None)  # rich stops it without waiting for it
        super().close()
        for thread in (self._ticking, refreshing):
            if thread is not None and thread is not threading.current_thread():
                thread.join(_TICK_SECONDS)

    def _follow(self, record: Any) -> None:
        event, now = getattr(record, "event", None), time.monotonic()
        if event == LogEvent.RUN_INFO and not self.common_settings.dryrun and self._run is None:
            totals = {rule: count for rule, count in record.stats.items() if rule != "total"}
            self._run, self._printed = Run(totals, now), (0, now)
            self._ticking = threading.Thread(target=self._tick, daemon=True)
            self._ticking.start()
        elif event is None and record.getMessage().startswith("Nothing to be done"):
            self.console.print(
                "  The results are those of the last run. To see them: make open, or known-unknowns open"
            )
        run = self._run
        if run is None:
            return
        if event == LogEvent.JOB_INFO:
            words = [record.rule_name, *map(str, (record.wildcards or {}).values())]
            log = Path(record.log[0]) if record.log else None
            submitted = None if getattr(record, "local", True) else time.time()
            self._start_clock(run, record.rule_name)
            before = log.stat().st_mtime if log and log.is_file() else None
            run.running[record.jobid] = Job(record.rule_name, " ".join(words), log, now, None, 0.0, submitted, before)
            self.event_handler.jobs_info[record.jobid]["log"] = []  # else a failed job's whole log is printed
        elif event == LogEvent.JOB_FINISHED:
            run.finish(record.job_id, now)
            self._show(run, now)
        elif event == LogEvent.JOB_ERROR:
            run.running.pop(record.jobid, None)
            if reason := _REASON.match(getattr(record, "rule_msg", None) or ""):
                self.console.print(Text(f"    {reason[0].strip()}"), soft_wrap=True)
            for name in record.log:  # its own log, and that of a cluster
                if (log := Path(name)).is_file() and (last := _tail(log).splitlines()[-_LOG_LINES:]):
                    self.console.print(Text("\n    ".join([str(log), *last])), soft_wrap=True)
                    break

    def _start_clock(self, run: Run, rule: str) -> None:
        """Count the time of a rule from its first job on; its bar exists, hidden, from the start of the run."""
        if rule not in run.finished and all(job.rule != rule for job in run.running.values()):
            self.progress.reset(self.event_handler.progress_display.rule_tasks[rule])

    def _tick(self) -> None:
        while not self._ended.wait(_TICK_SECONDS):
            with self._display_lock:
                run, now = self._run, time.monotonic()
                if run is None or self._ended.is_set():
                    return
                for job in run.running.values():
                    job.update(now)
                self._show(run, now)

    def _show(self, run: Run, now: float) -> None:
        if self.console.is_terminal:
            self._update_bars(run, now)
            return
        tenths, since = 10 * run.done // max(run.total, 1), now - self._printed[1]
        if tenths > self._printed[0] or since >= self._interval:
            self._printed = (tenths, now)
            self.console.print(Text("\n".join(run.lines(now))), soft_wrap=True)

    def _update_bars(self, run: Run, now: float) -> None:
        """Update the time left, the bars of the running jobs, and hide those of finished rules."""
        rules = self.event_handler.progress_display.rule_tasks
        for name, task in rules.items():
            if name == "Total Progress":
                self.progress.update(task, left=run.seconds_left(now))
            elif run.totals.get(name) == len(run.finished.get(name, ())):
                self.progress.update(task, visible=False)
        for identifier, job in run.running.items():
            if job.status is not None:
                if identifier not in self._bars:
                    self._bars[identifier] = self.progress.add_task("", active="")
                    self.progress.tasks[-1].start_time = job.start
                state = {"completed": job.status.done, "total": job.status.total, "left": job.seconds_left(now)}
                self.progress.update(self._bars[identifier], description=escape(job.title(self._widest)), **state)
        for identifier in self._bars.keys() - run.running.keys():
            self.progress.remove_task(self._bars.pop(identifier))


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(file.tell() - _TAIL_BYTES, 0))
        return file.read().decode(errors="replace")

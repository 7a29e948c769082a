"""End jobs of a Slurm while they ask a model: by scancel, their time limit or a preemption; and kill snakemake."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.slurm import Slurm

HEAD = "head"
KINDS = ("time-limit", "preemption", "scancel", HEAD)
INFER = "rule_infer_wildcards_"


@dataclass
class Endings:
    """Ends one job after another in the given ways, each time the model's job that was ended least often.

    ``HEAD`` leaves the job alone and kills snakemake. ``replies`` is how many bytes a job adds to its journal before.
    """

    cluster: Slurm
    journals: Path
    models: frozenset[str]
    kinds: list[str]
    replies: int = 20_000
    comments: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    _ended: Counter[str] = field(default_factory=Counter)
    _before: dict[str, tuple[str, int]] = field(default_factory=dict)

    def step(self, head: subprocess.Popen) -> None:
        """Look at the running jobs once, and end one of them if it is time to. ``head`` is snakemake."""
        started = self._started()
        asking = [job for job, asked in started.items() if asked >= self.replies]
        if self.kinds and asking:
            job = min(asking, key=lambda job: (self._ended[self.comments[job]], int(job)))
            self._end(self.kinds.pop(0), job, head)

    def wait(self) -> None:
        """Wait until no job is submitted, as a user does after snakemake was killed."""
        while self.cluster.run("squeue", "-h", "-p", "all"):
            self._started()
            time.sleep(1)

    def _started(self) -> dict[str, int]:
        """Return the running jobs that ask a model, with the bytes that each added to its journal since it started."""
        found = {}
        for line in self.cluster.run("squeue", "-h", "-t", "RUNNING", "-o", "%i %S %k", check=False).splitlines():
            job, start, comment = [*line.split(maxsplit=2), "", ""][:3]
            self.comments[job] = comment
            for model in self.models:
                if not comment.startswith(f"{INFER}{model}_"):
                    continue
                path = self.journals / model / f"{comment.removeprefix(f'{INFER}{model}_')}.jsonl"
                size = path.stat().st_size if path.is_file() else 0
                if self._before.get(job, ("", 0))[0] != start:
                    self._before[job] = start, size
                found[job] = size - self._before[job][1]
        return found

    def _end(self, kind: str, job: str, head: subprocess.Popen) -> None:
        comment = self.comments[job]
        self._ended[comment] += 1
        asked = time.strftime("%H:%M:%S")
        if kind == "scancel":
            self.cluster.run("scancel", job)
        elif kind == "time-limit":
            self.cluster.end_by_time_limit(job)
        elif kind == HEAD:
            head.kill()
        else:
            self.cluster.preempt(job)
        self.log.append(f"{asked} {kind}, during job {job} ({comment})")
        print(self.log[-1], flush=True)

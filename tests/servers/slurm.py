"""A Slurm of one machine: munged, slurmctld and slurmd of the Debian packages, in a folder and on ports of their own.

It runs as the current user (as root, where Slurm's jobs are to run as root) and changes nothing outside its folder.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
_START_SECONDS, _STOP_SECONDS, _CHANGE_SECONDS = 60.0, 15.0, 120.0
_CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=2
"""
_SRUN = """#!/bin/sh
# The jobstep executor removes SLURM_CONF from the environment, which a cluster does not need: it has /etc/slurm.
SLURM_CONF={folder}/slurm.conf exec {srun} "$@"
"""


def missing() -> str | None:
    """Return why no Slurm can be started here; None if one can."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if absent:
        return f"Slurm is not installed (apt install slurmctld slurmd slurm-client munge): no {', '.join(absent)}"
    return None if os.geteuid() == 0 else "slurmd starts jobs only as root"


@dataclass
class Slurm:
    """A cluster with one node of so many CPUs, which this machine need not have. Use it as a context manager."""

    folder: Path
    cpus: int = 16

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for programs that use the cluster."""
        return {"SLURM_CONF": f"{self.folder}/slurm.conf", "PATH": f"{self.folder}/bin{os.pathsep}{_path()}"}

    def __enter__(self) -> Slurm:
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)  # munge refuses a socket in a folder that others may write to
        values = {"folder": self.folder, "host": socket.gethostname().split(".")[0], "user": "root", "cpus": self.cpus}
        controller, node = _free_ports(2)
        text = _CONFIGURATION.format(**values, controller=controller, node=node)
        (self.folder / "slurm.conf").write_text(text)
        srun = self.folder / "bin/srun"
        srun.write_text(_SRUN.format(folder=self.folder, srun=shutil.which("srun", path=_path())))
        srun.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        files = [f"--{name}={self.folder}/munge.{name.removesuffix('-file')}" for name in ("pid-file", "log-file")]
        files += [f"--key-file={key}", f"--seed-file={self.folder}/munge.seed", f"--socket={self.folder}/munge.socket"]
        try:
            self.run("munged", "--force", *files)
            self.run("slurmctld", "-L", f"{self.folder}/slurmctld.log")
            self.run("slurmd", "-N", values["host"], "-L", f"{self.folder}/slurmd.log")
            self._wait_until_idle()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        running = [pid for name in ("slurmd", "slurmctld", "munge") if (pid := self._pid(name)) is not None]
        if running:
            self.run("scancel", "--user", "root", check=False)
        for pid in running:
            _end(pid)

    def run(self, *command: str, check: bool = True) -> str:
        """Run one of Slurm's programs and return its output."""
        environment = os.environ | dict(self.environment)
        done = subprocess.run(
            command,
            env=environment,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
        )
        assert not check or done.returncode == 0, f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def running(self, comment: str) -> list[str]:
        """Return the ids of the running jobs whose comment, by the executor plugin, starts with a text."""
        rows = [
            line.split(maxsplit=1) for line in self.run("squeue", "-h", "-t", "RUNNING", "-o", "%i %k").splitlines()
        ]
        return [job for job, text in rows if text.startswith(comment)]

    def state(self, job: str) -> dict[str, str]:
        """Return what Slurm knows of a job: "JobState", "Reason", "Restarts" and so on."""
        words = self.run("scontrol", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def end_by_time_limit(self, job: str) -> None:
        """End a running job by its time limit. Slurm looks for such jobs every 30 seconds."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 1))
        self.run("scontrol", "update", f"JobId={job}", f"EndTime={now}")
        self._wait_for(job, "JobState", "TIMEOUT")

    def preempt(self, job: str) -> None:
        """Run a job of a partition with a higher priority that needs the whole node; Slurm requeues the running one.

        It would be held for two minutes after that.
        """
        self.run("sbatch", "--partition=urgent", "--exclusive", "--output=/dev/null", "--wrap=true")
        self._wait_for(job, "Restarts", "1")
        self._wait_for(job, "JobState", "PENDING")
        self.run("scontrol", "update", f"JobId={job}", "StartTime=now")
        self._wait_for(job, "JobState", "RUNNING")

    def _wait_for(self, job: str, key: str, value: str) -> None:
        end = time.monotonic() + _CHANGE_SECONDS
        while (state := self.state(job)).get(key) != value:
            assert time.monotonic() < end, f"job {job} has not {key}={value}: {state}"
            time.sleep(0.2)

    def finished(self) -> list[dict[str, str]]:
        """Return what Slurm recorded of each job that ended or was requeued, in the order of these events."""
        path = self.folder / "jobs.txt"
        lines = path.read_text().splitlines() if path.is_file() else []
        return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]

    def _wait_until_idle(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while "idle" not in (state := self.run("sinfo", "-h", "-o", "%t", check=False)):
            assert time.monotonic() < end, f"the node is {state}\n{(self.folder / 'slurmctld.log').read_text()}"
            time.sleep(0.2)

    def _pid(self, name: str) -> int | None:
        path = self.folder / f"{name}.pid"
        return int(path.read_text()) if path.is_file() and path.read_text().strip() else None


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin"


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _end(pid: int) -> None:
    """End a daemon: with SIGTERM, or with SIGKILL if it does not end."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        end = time.monotonic() + _STOP_SECONDS
        try:
            os.kill(pid, number)
            while time.monotonic() < end:
                os.kill(pid, 0)
                time.sleep(0.05)
        except ProcessLookupError:
            return

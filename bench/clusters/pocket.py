"""Run the whole pocket edition on a cluster of one machine, and compare its files with those of a local run.

    PYTHONPATH=src:. python bench/clusters/pocket.py --folder runs

It clones this checkout into the folder. A local run that is there already is used again. The exit
code is not 0 if anything differs that should not.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import yaml

from bench.clusters import differences
from bench.clusters.endings import KINDS, Endings
from tests.paths import ROOT
from tests.servers import slurm
from tests.servers.slurm import Slurm
from tests.workflow.project import Project

PEERS = Path(sys.prefix) / "peers"
LAST_LINES = 40
WITHOUT_ACCOUNTING = ("--slurm-no-account", "--slurm-status-command", "squeue")


def main() -> None:
    """Run on Slurm."""
    arguments = _arguments()
    arguments.folder = arguments.folder.resolve()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    sys.exit(bool(on_slurm(arguments)))


def on_slurm(arguments: argparse.Namespace) -> int:
    """Run with the profile for Slurm, and end jobs while they ask."""
    if why := slurm.missing():
        raise SystemExit(why)
    local = local_run(arguments.folder)
    sockets = Path(tempfile.mkdtemp(prefix="slurm-"))  # the path of a socket may have 107 letters
    try:
        with Slurm(sockets, cpus=arguments.cpus) as cluster:
            project = with_plugins(clone(arguments.folder / "slurm"), PEERS)
            project = replace(project, environment={**project.environment, **cluster.environment})
            endings = Endings(cluster, project.root / "journal", asked_models(project), list(arguments.end))
            options = ("--workflow-profile", "profiles/slurm", *WITHOUT_ACCOUNTING)
            code = run(project, *options, each=endings.step)
            while code == -signal.SIGKILL:
                endings.wait()
                code = run(project, *options, each=endings.step)
            print_jobs(cluster, endings)
    finally:
        shutil.rmtree(sockets, ignore_errors=True)
    missed = [f"no job could be ended by {kind}" for kind in endings.kinds]
    print("\n".join(missed))
    return code or compared(local, project.root) or len(missed)


def local_run(folder: Path) -> Path:
    """Return a clone with a finished local run. One that is there is not run again."""
    root = folder / "local"
    if not (root / "results/pocket/tracking.json").is_file():
        assert run(clone(root), "--cores", "2") == 0
    return root


def clone(root: Path) -> Project:
    """Clone this checkout, without changes that are not committed."""
    subprocess.run(["git", "clone", "--quiet", ROOT, root], check=True)
    return Project(root)


def with_plugins(project: Project, *folders: Path) -> Project:
    """Return the project for programs that find Snakemake's plugins in these folders."""
    return replace(project, environment={"PYTHONPATH": os.pathsep.join(map(str, folders)), "COLUMNS": "160"})


def asked_models(project: Project) -> frozenset[str]:
    """Return the models of the edition that are no scripted respondents."""
    params = yaml.safe_load((project.root / "params.yaml").read_text(encoding="utf-8"))
    models = params["editions"]["pocket"]["models"]
    return frozenset(name for name in models if params["models"][name]["engine"] != "respondent")


def run(project: Project, *options: str, each: Callable[[subprocess.Popen], None] = lambda _: None) -> int:
    """Run snakemake, print what it took, and return its exit code. ``each`` is called until it ends."""
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=project.root, capture_output=True, text=True)
    load = os.getloadavg()
    printed = project.root.with_suffix(".txt")
    started = time.monotonic(), _cpu_seconds()
    with printed.open("a", encoding="utf-8") as file:
        streams = project._streams() | {"stdout": file}
        process = subprocess.Popen(["snakemake", *options], start_new_session=True, **streams)
        try:
            while process.poll() is None:
                each(process)
                time.sleep(0.3)
        finally:
            project.kill(process)
    wall, cpu = time.monotonic() - started[0], _cpu_seconds() - started[1]
    lines = printed.read_text(encoding="utf-8").splitlines()[-LAST_LINES:]
    print("\n".join([f"$ snakemake {' '.join(options)}", *lines]))
    print(f"exit code {process.returncode}, {wall:.0f} s, {cpu:.0f} CPU seconds of the processes below it")
    print(f"commit {head.stdout.strip()}, load before {load[0]:.1f}, after {os.getloadavg()[0]:.1f}")
    return process.returncode


def print_jobs(cluster: Slurm, endings: Endings) -> None:
    """Print what Slurm recorded of each job."""
    ours = [job for job in cluster.finished() if job["Partition"] == "all"]
    for job in ours:
        memory = re.search(r"mem=\w+", job["Tres"])
        print(
            f"Slurm job {job['JobId']:>3} {job['JobState']:<10} {job['StartTime'][11:]} to {job['EndTime'][11:]}"
            f" limit {job['TimeLimit']:>4} min {memory[0] if memory else '':<12} {endings.comments.get(job['JobId'])}"
        )
    print(f"{len({job['JobId'] for job in ours})} submissions, {len(ours)} times started")
    print("\n".join(endings.log))


def compared(local: Path, other: Path) -> int:
    """Print what differs, and return the number of differences that should not be."""
    found = differences.between(local, other)
    print(found.text())
    return len(found.unexpected)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _arguments() -> argparse.Namespace:
    description, _, more = (__doc__ or "").partition("\n\n")
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, epilog=more, formatter_class=raw)
    parser.add_argument("--folder", type=Path, required=True, help="where the clones are made")
    parser.add_argument("--cpus", type=int, default=4, help="CPUs of the node, 4 at least (4)")
    ends = ["time-limit", "scancel", "preemption", "scancel", "head", "scancel"]
    parser.add_argument("--end", nargs="*", choices=KINDS, default=ends, help=f"in this order: {ends}")
    return parser.parse_args()


if __name__ == "__main__":
    main()

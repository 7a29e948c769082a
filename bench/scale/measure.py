"""Time and memory of the edition released on generated files: the workflow, from fetching to tracking.

    PYTHONPATH=src:. python bench/scale/measure.py --share 0.1 --models 10

Files of ``share`` times 22,831 questions, six settings for each model, are written to a repository on this disk, which
stands for the one on GitHub. Then Snakemake runs as ``make run EDITION=released`` runs it: once to fetch, and once for
all other steps. The memory of the run is the largest sum over all processes at one time. The CPU seconds of a step are
those of its process and its workers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import yaml

from bench.scale.files import SETTINGS, questions, write_repository

ROOT = Path(__file__).parents[2]
PUBLISHED = 22_831
BENCHMARK, REPOSITORY = "humblebench", "maifoundations/HumbleBench"
USED = """\
import os, resource

def used():
    own, workers = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = sum(each.ru_utime + each.ru_stime for each in (own, workers))
    # VmHWM starts at 0 with the program. ru_maxrss of this process would include the memory of its parent.
    with open("/proc/self/status") as lines:
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return f"{seconds} {max(peak, workers.ru_maxrss) / 1024}"
"""
"""The CPU seconds and the peak memory in MiB of a process, as code for another process."""
HOOK = f"""{USED}
import atexit, multiprocessing, sys, time

START = time.monotonic()

def record():
    program = sys.argv[0]
    is_script = "/.snakemake/scripts/" in program
    if multiprocessing.parent_process() is None and (is_script or program.endswith("bin/snakemake")):
        step = program.split(".")[-2] if is_script else "snakemake"
        line = f"{{step}} {{used()}} {{time.monotonic() - START}}\\n"
        with open(os.environ["KNOWN_UNKNOWNS_USED"], "a") as out:
            out.write(line)

atexit.register(record)
"""
"""A sitecustomize.py: each step, and Snakemake, adds a line to a file when it ends. Workers count for their step."""


def configure(folder: Path, models: list[str], commits: list[str]) -> None:
    """Write a params.yaml whose edition has these models and commits."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["edition"] = "released"
    params["editions"]["released"] |= {"benchmarks": [BENCHMARK], "models": models}
    params["models"] = {name: {"engine": "imported", "released": {BENCHMARK: name}} for name in models}
    params["editions"] = {"released": params["editions"]["released"]}
    changed = {"revision": commits[0], "further_revisions": commits[1:]}
    params["benchmarks"][BENCHMARK]["data"] = {"released": changed}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def run(folder: Path, *command: str) -> dict[str, Any]:
    """Run a command of the package in ``folder``; return its CPU seconds and its peak memory in MiB."""
    program = f"""{USED}
import runpy
out = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
code = 0
try:
    runpy.run_module("known_unknowns", run_name="__main__", alter_sys=True)
except SystemExit as end:
    code = end.code or 0
os.write(out, f"{{code}} {{used()}}".encode())
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command_line = [sys.executable, "-c", program, *command]
    done = subprocess.run(command_line, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    code, seconds, memory = done.stdout.split()
    if code != "0":
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return {"step": command[0], "cpu_seconds": round(float(seconds), 2), "peak_mib": round(float(memory))}


class Memory(threading.Thread):
    """The largest memory of this process's children and of their children, all together, in MiB.

    Pages that processes share are counted once (PSS). A sample is taken each second.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0.0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(1.0):
            self.peak = max(self.peak, sum(map(_own_share, psutil.Process().children(recursive=True))) / 2**20)


def _own_share(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().pss)
    except psutil.Error:  # it has ended
        return 0.0


def run_workflow(
    folder: Path, edition: str, cores: int, *options: str, times: int = 1, variables: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run Snakemake in a folder with a params.yaml, one or more times; its output goes to the folder's log.txt.

    Parameters
    ----------
    folder : Path
    edition : str
        The edition of params.yaml.
    cores : int
    *options : str
        Further options of Snakemake.
    times : int
        How many times it runs.
    variables : mapping, optional
        Further environment variables.

    Returns
    -------
    dict
        The wall time, the CPU seconds and the peak memory of all processes, the load at the end, and for each process
        of a step its CPU seconds, peak memory and wall time.
    """
    record, hook = folder / "used.txt", folder / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    record.touch()
    known = len(record.read_text(encoding="utf-8").splitlines())
    environment = os.environ | {
        "KNOWN_UNKNOWNS_USED": str(record.absolute()),
        "PYTHONPATH": f"{hook.absolute()}{os.pathsep}{ROOT / 'src'}",
    }
    environment |= variables or {}
    command = ["snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", str(cores)]
    command += ["--profile", str(ROOT / "profiles/default"), "--config", f"edition={edition}", *options]
    before, start, memory = children_seconds(), time.monotonic(), Memory()
    memory.start()
    with (folder / "log.txt").open("a", encoding="utf-8") as log:
        for _ in range(times):
            subprocess.run(command, cwd=folder, env=environment, check=True, stdout=log, stderr=log)
    memory.ended.set()
    return {
        "wall_seconds": round(time.monotonic() - start, 1),
        "cpu_seconds": round(children_seconds() - before, 1),
        "peak_mib": round(memory.peak),
        "load": [round(load, 1) for load in os.getloadavg()],
        "processes": [
            dict(zip(("step", "cpu_seconds", "peak_mib", "wall_seconds"), line.split(), strict=True))
            for line in record.read_text(encoding="utf-8").splitlines()[known:]
        ],
    }


def measure(folder: Path, share: float, models: list[str], cores: int) -> dict[str, Any]:
    """Run the workflow on generated files; see `run_workflow` for the result."""
    asked = questions(max(40, round(share * PUBLISHED)))
    commits = write_repository(folder / "git" / REPOSITORY, models=models, questions_=asked, gemini=False)
    configure(folder, models, commits)
    instead = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{(folder / 'git').absolute()}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
    }
    return run_workflow(folder, "released", cores, times=2, variables=instead)


def children_seconds() -> float:
    """Return the CPU seconds of this process's children that have ended, and of their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(found: dict[str, Any]) -> str:
    """Return the steps as a table for the README; Snakemake's own time is what remains."""
    steps: dict[str, list[dict[str, str]]] = {}
    for process in found["processes"]:
        steps.setdefault(process["step"], []).append(process)
    lines = ["| step | processes | CPU s | wall s | largest process MiB |", "|---|---|---|---|---|"]
    of_steps = 0.0
    for name, runs in steps.items():
        if name == "snakemake":  # with its children, which are the steps
            continue
        seconds, wall = (sum(float(run[key]) for run in runs) for key in ("cpu_seconds", "wall_seconds"))
        of_steps += seconds
        memory = max(float(run["peak_mib"]) for run in runs)
        lines.append(f"| {name} | {len(runs)} | {seconds:.1f} | {wall:.1f} | {memory:.0f} |")
    lines.append(f"| Snakemake and git | | {found['cpu_seconds'] - of_steps:.1f} | | |")
    total = f"{found['cpu_seconds']:.1f} | {found['wall_seconds']:.1f} | {found['peak_mib']}"
    return "\n".join([*lines, f"| all | | {total} (all processes) |"])


def main() -> None:
    """Run the measurement and print it as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.01, help="share of the 22,831 questions")
    parser.add_argument("--models", type=int, default=10, help="number of models; each has six files")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a JSON file")
    parser.add_argument("--folder", type=Path, help="an empty folder for all files, which stay there")
    options = parser.parse_args()
    models = [f"model-{number}" for number in range(1, options.models + 1)]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.folder or Path(folder), options.share, models, options.cores)
    print(table(found))
    load = ", ".join(map(str, found["load"]))
    print(f"\n{options.models * len(SETTINGS)} files, share {options.share}, {options.cores} cores; load {load}")
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Processor time of planning a large run: `snakemake -n` for 20 models, 3 benchmarks and 5 seeds, nothing made yet.

    PYTHONPATH=src:. python bench/scale/planning.py --repeats 3
    PYTHONPATH=src:. python bench/scale/planning.py --checkout . ../other-checkout

With several checkouts, the repeats alternate between them (ABAB), so that other work affects them alike.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from bench.scale.measure import ROOT, children_seconds

BENCHMARKS = 3
BEHAVIOURS = ("uniform", "oracle", "always_refuse", "always_a")


def main() -> None:
    """Print the CPU seconds of each repeat, and the number of jobs planned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, nargs="+", default=[ROOT], help="checkouts to compare (this one)")
    parser.add_argument("--models", type=int, default=20, help="number of scripted respondents (20)")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of every variant (5)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each checkout (3)")
    arguments = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="planning-") as place:
        folders = [
            configured(checkout.resolve(), Path(place, str(number)), arguments.models, arguments.seeds)
            for number, checkout in enumerate(arguments.checkout)
        ]
        jobs = [planned(folder) for folder in folders]  # compiles the package
        times: list[list[float]] = [[] for _ in folders]
        for _ in range(arguments.repeats):
            for number, folder in enumerate(folders):
                before = children_seconds()
                planned(folder)
                times[number].append(children_seconds() - before)
    for checkout, count, spent in zip(arguments.checkout, jobs, times, strict=True):
        each = ", ".join(f"{seconds:.1f}" for seconds in spent)
        print(f"{checkout}: {count} jobs, median {statistics.median(spent):.1f} CPU s ({each})")


def configured(checkout: Path, folder: Path, models: int, seeds: int) -> Path:
    """Copy the workflow of a checkout to a folder, with a params.yaml of this size."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("src", "rules", "profiles", "envs", "workflow", "config", "models", "data/pocket"):
        if (checkout / name).exists():
            shutil.copytree(checkout / name, folder / name, ignore=ignored, symlinks=True)
    for name in ("Snakefile", "dvc.yaml", "params.lock.yaml"):
        if (checkout / name).exists():
            shutil.copy2(checkout / name, folder / name)
    params = yaml.safe_load((checkout / "params.yaml").read_text(encoding="utf-8"))
    names = [f"respondent-{number}" for number in range(models)]
    for number, name in enumerate(names):
        params["models"][name] = {"engine": "respondent", "behaviour": BEHAVIOURS[number % len(BEHAVIOURS)]}
    edition = params["edition"]
    benchmarks = params["editions"][edition]["benchmarks"][:BENCHMARKS]
    params["editions"][edition] |= {"benchmarks": benchmarks, "models": names, "seeds": list(range(seeds))}
    for benchmark in benchmarks:
        params["benchmarks"][benchmark]["seeds"] = {}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
    return folder


def planned(folder: Path) -> int:
    """Plan the run in a folder and return its number of jobs."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "reason", "--cores", "2"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"planning failed:\n{done.stdout}\n{done.stderr}")
    totals = [line.split()[1] for line in (done.stdout + done.stderr).splitlines() if line.split()[:1] == ["total"]]
    return int(totals[0])


if __name__ == "__main__":
    main()

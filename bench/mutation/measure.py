"""Share of seeded mutants that the tests kill; see README.md.

python bench/mutation/measure.py --seed 0 --out build/mutation
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OPTIONS = ("-p", "mutation_plugin", "-p", "no:cacheprovider", "-qs", "-m", "not slow", "-n", "0", "--timeout", "0")
COLUMNS = ("subject", "file", "line", "operator", "change", "outcome", "by", "tests", "cpu_seconds")


def main() -> None:
    """Copy the project, run the mutants there, write `mutants.csv` and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--project", type=Path, default=ROOT, help="checkout whose tracked files are measured")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutation", help="results are written here")
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tools", type=Path, default=ROOT / "build" / "mutation-tools", help="of requirements.txt")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutation-project-") as folder:
        copy = Path(folder) / "project"
        _copy(arguments.project.resolve(), copy)
        sys.path[:0] = [str(arguments.tools.resolve())]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, (copy / "src", HERE, arguments.tools.resolve()))),
            "MUTATION_OUT": str(out),
            "MUTATION_NUMBER": str(arguments.mutants),
            "MUTATION_SEED": str(arguments.seed),
        }
        subprocess.run(
            [sys.executable, "-m", "pytest", *OPTIONS, *_tests(copy)],
            cwd=copy,
            env=environment,
            check=True,
        )
    rows = [json.loads(line) for line in (out / "mutants.jsonl").read_text(encoding="utf-8").splitlines()]
    with (out / "mutants.csv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(table(rows))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\n{time.monotonic() - started:.0f} s of wall time, {used.ru_utime + used.ru_stime:.0f} s of CPU time")


def table(rows: list[dict[str, object]]) -> str:
    """Markdown: mutants, outcomes, and the share killed with its 95 % Wilson interval, by subject and in all."""
    from scipy.stats import binomtest

    lines = [
        "| subject | mutants | killed | timeout | survived | no test | share killed |",
        "|---|---|---|---|---|---|---|",
    ]
    for subject in [*dict.fromkeys(row["subject"] for row in rows), "all"]:
        counts = Counter(row["outcome"] for row in rows if subject in ("all", row["subject"]))
        total, killed = counts.total(), counts["killed"] + counts["timeout"]
        bounds = binomtest(killed, total).proportion_ci(0.95, "wilson")
        numbers = [total, *(counts[outcome] for outcome in ("killed", "timeout", "survived", "no test"))]
        share = f"{killed / total:.1%} ({bounds.low:.1%} to {bounds.high:.1%})"
        lines.append("| " + " | ".join([subject, *map(str, numbers), share]) + " |")
    return "\n".join(lines)


def _copy(project: Path, copy: Path) -> None:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=project, check=True, capture_output=True, text=True).stdout
    for name in names.split("\0"):
        if name and (project / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / name, copy / name)


def _tests(project: Path) -> list[str]:
    sys.path.insert(0, str(HERE))
    from mutants import SETTINGS

    left_out = [f"--deselect={test}" for test in SETTINGS["leave_out"]]
    return left_out + sorted({str(path) for pattern in SETTINGS["tests"] for path in project.glob(pattern)})


if __name__ == "__main__":
    main()

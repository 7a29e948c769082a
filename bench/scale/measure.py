"""Time and memory of the edition released on generated files: every step of one model times the number of models.

    python bench/scale/measure.py --share 0.01 --models 10 --out scale.json

Files of ``share`` times 22,831 questions, six settings for each model, are written to a repository on this disk and
fetched from it. Then each step runs as the workflow runs it, in a process of its own. The CPU seconds are those of the
process and its children; the memory is the largest of any process: VmHWM of the step's own, which starts at 0 with the
program, and ru_maxrss of its workers. ru_maxrss of the step itself would include the memory of its parent.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from bench.scale.files import SETTINGS, questions, write_repository

ROOT = Path(__file__).parents[2]
PUBLISHED = 22_831
BENCHMARK = "humblebench"


def configure(folder: Path, models: list[str], commits: list[str]) -> None:
    """Write a params.yaml whose edition has these models and commits."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["edition"] = "released"
    params["editions"]["released"] |= {"benchmarks": [BENCHMARK], "models": models}
    params["models"] = {name: {"engine": "imported", "released": {BENCHMARK: name}} for name in models}
    params["editions"] = {"released": params["editions"]["released"]}
    entry = params["benchmarks"][BENCHMARK]["data"]["released"]
    entry |= {"revision": commits[0], "further_revisions": commits[1:]}
    params["tracking"]["enabled"] = False
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def run(folder: Path, *command: str) -> dict[str, Any]:
    """Run a command of the package in ``folder``; return its CPU seconds and its peak memory in MiB."""
    program = (
        "import os, resource, runpy, sys\n"
        "out = os.dup(1)\n"
        "os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n"
        "code = 0\n"
        "try:\n"
        "    runpy.run_module('known_unknowns', run_name='__main__', alter_sys=True)\n"
        "except SystemExit as end:\n"
        "    code = end.code or 0\n"
        "used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]\n"
        "own = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "seconds = sum(one.ru_utime + one.ru_stime for one in used)\n"
        "os.write(out, f'{code} {seconds} {max(own, used[1].ru_maxrss) / 1024}'.encode())"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command_line = [sys.executable, "-c", program, *command]
    done = subprocess.run(command_line, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    code, seconds, memory = done.stdout.split()
    if code != "0":
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return {"step": command[0], "cpu_seconds": round(float(seconds), 2), "peak_mib": round(float(memory))}


def measure(folder: Path, share: float, models: list[str]) -> list[dict[str, Any]]:
    """Run every step once."""
    asked = questions(max(40, round(share * PUBLISHED)))
    commits = write_repository(folder / "repository", models=models, questions_=asked, gemini=False)
    configure(folder, models, commits)
    data, results = "data/released/questions/" + BENCHMARK, "results/released"
    raw = f"data/released/raw/{BENCHMARK}"
    found = [
        run(folder, "fetch", BENCHMARK, "--from", "repository"),
        run(folder, "questions", BENCHMARK, "--raw", raw, "--out", data),
        run(folder, "variants", BENCHMARK, "--questions", data),
    ]
    folders = ["--questions", data, "--replies", f"{results}/replies"]
    made_from = [f"{results}/made_from/{table}.json" for table in ("scores", "metrics", "replies")]
    workers = ["--workers", "2"]
    scoring = ["score-models", BENCHMARK, *folders, "--out", f"{results}/scores", "--made-from", made_from[0]]
    measuring = ["measure-models", BENCHMARK, *folders, "--scores", f"{results}/scores", "--out", f"{results}/metrics"]
    importing = ["import-released-models", BENCHMARK, "--raw", raw, "--questions", data, "--out", f"{results}/replies"]
    found += [
        run(folder, *importing, "--made-from", made_from[2]),
        run(folder, *scoring, *workers),
        run(folder, *measuring, "--made-from", made_from[1], *workers),
    ]
    metrics = [f"{results}/metrics/{model}/{BENCHMARK}.parquet" for model in models]
    checks = Path(folder, results, "checks")
    checks.mkdir(parents=True)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    check = [sys.executable, "-m", "known_unknowns", "check", BENCHMARK, "--raw", raw, "--json"]
    with (checks / f"{BENCHMARK}.json").open("w", encoding="utf-8") as out:
        subprocess.run(check, cwd=folder, env=environment, stdout=out, check=False)
    numbers = f"{results}/released/{BENCHMARK}.json"
    compare = ["compare", *metrics, "--replies", f"{results}/replies", "--released", numbers]
    found += [
        run(folder, "released-numbers", BENCHMARK, "--raw", raw, "--questions", data, "--out", numbers),
        run(folder, *compare, "--out", f"{results}/comparison.parquet"),
        run(folder, "reply-tables", BENCHMARK, "--questions", data, "--scores", f"{results}/scores", "--out", "tables"),
        run(
            folder,
            *("compare-models", *models, "--data", "data/released", "--results", results),
            *("--scorer", "official", "--scorer", "robust", "--out", f"{results}/model_comparison.parquet"),
        ),
        run(folder, "question-browser", "--results", results, "--data", "data/released", "--out", "q.html"),
    ]
    return found


def main() -> None:
    """Run the measurement and print it as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.01, help="share of the 22,831 questions")
    parser.add_argument("--models", type=int, default=10, help="number of models; each has six files")
    parser.add_argument("--out", type=Path, help="a JSON file")
    options = parser.parse_args()
    models = [f"model-{number}" for number in range(1, options.models + 1)]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.share, models)
    total = sum(step["cpu_seconds"] for step in found)
    steps: dict[str, list[dict[str, Any]]] = {}
    for step in found:
        steps.setdefault(step["step"], []).append(step)
    for name, runs in steps.items():
        seconds, memory = sum(r["cpu_seconds"] for r in runs), max(r["peak_mib"] for r in runs)
        print(f"{name:18} {len(runs):3} times {seconds:8.1f} CPU s {memory:6} MiB")
    print(f"{options.models * len(SETTINGS)} files, share {options.share}: {total:.1f} CPU s")
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

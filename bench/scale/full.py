"""Time, memory and file sizes of every step at the size of the full edition, without a model's time.

    PYTHONPATH=src:. python bench/scale/full.py --folder /tmp/full --share 0.01

Questions in HumbleBench's published format are generated: ``share`` times 22,831, each under three variants. Twenty
models answer them with five seeds: scripted respondents, whose replies take no time. Then each step runs as the
workflow runs it, with its workers on ``--cores`` cores. Steps that have ended are recorded in ``FOLDER/steps.json``:
the same command continues after an interruption, and prints the table of all recorded steps.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from PIL import Image

from bench.scale.measure import BENCHMARK, PUBLISHED, ROOT, run
from known_unknowns.json_files import write as write_json

VARIANTS = ("original", "nota_only", "noise")
BEHAVIOURS = ("uniform", "oracle", "always_refuse", "always_a")
PER_IMAGE = 5
DATA, RESULTS = "data/full", "results/full"
SCHEMA = pa.schema(
    [
        ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        ("question_id", pa.int64()),
        ("question", pa.string()),
        ("label", pa.string()),
        ("type", pa.string()),
    ]
)
Step = dict[str, Any]


def write_published(folder: Path, count: int) -> None:
    """Write questions and images in the published format; five questions share an image."""
    dice = random.Random(0)
    words = ["red", "blue", "black", "gold", "white", "green", "grey", "brown", "left of it", "under it"]
    rows = []
    for number in range(count):
        colour = tuple(random.Random(number // PER_IMAGE).randrange(256) for _ in range(3))
        encoded = BytesIO()
        Image.new("RGB", (640, 480), colour).save(encoded, "PNG")
        options = [*dice.sample(words, 4), "None of the above"]
        shown = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCDE", options, strict=True))
        rows.append(
            {
                "image": {"bytes": encoded.getvalue(), "path": f"images/{number // PER_IMAGE}.png"},
                "question_id": number + 1,
                "question": f"What is the colour or place of thing {number}?\n{shown}",
                "label": dice.choice("ABCDE"),
                "type": ("Object", "Relation", "Attribute")[number % 3],
            }
        )
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), folder / "train-00000-of-00001.parquet")


def configure(folder: Path, models: Sequence[str], seeds: int) -> None:
    """Write a params.yaml whose edition "full" has these models, three variants and this number of seeds."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["edition"] = "full"
    params["models"] = {
        name: {"engine": "respondent", "behaviour": BEHAVIOURS[place % len(BEHAVIOURS)]}
        for place, name in enumerate(models)
    }
    params["editions"] = {"full": {"benchmarks": [BENCHMARK], "models": list(models), "seeds": list(range(seeds))}}
    params["benchmarks"][BENCHMARK] |= {"variants": list(VARIANTS), "seeds": {}}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def commands(models: Sequence[str], cores: int) -> dict[str, list[str]]:
    """Return the commands of each step. Those of one step run beside each other, on all cores."""
    data, replies, scores = f"{DATA}/questions/{BENCHMARK}", f"{RESULTS}/replies", f"{RESULTS}/scores"
    metrics = " ".join(f"{RESULTS}/metrics/{model}/{BENCHMARK}.parquet" for model in models)
    folders, both = f"--questions {data} --replies {replies} --workers {cores}", f"--results {RESULTS} --data {DATA}"
    made_from, report = f"{RESULTS}/made_from", f"{RESULTS}/report"
    written = f"--out {RESULTS}/metrics.json --headline {RESULTS}/headline.csv --leaderboard {RESULTS}/leaderboard.csv"
    tables = f"--comparison {RESULTS}/comparison.parquet --pairs {RESULTS}/model_comparison.parquet"
    asked = (f"infer {model} {BENCHMARK} --questions {data} --out {replies}/{model}/{BENCHMARK}" for model in models)
    journals = (f"--journal journal/full/{model}/{BENCHMARK}.jsonl" for model in models)
    return {
        "questions": [f"questions {BENCHMARK} --raw {DATA}/raw/{BENCHMARK} --out {data} --workers {cores}"],
        "variants": [f"variants {BENCHMARK} --questions {data}"],
        "infer": [f"{command} {journal}" for command, journal in zip(asked, journals, strict=True)],
        "score": [f"score-models {BENCHMARK} {folders} --out {scores} --made-from {made_from}/scores.json"],
        "measure": [
            f"measure-models {BENCHMARK} {folders} --scores {scores} --out {RESULTS}/metrics"
            f" --made-from {made_from}/metrics.json"
        ],
        "summarise": [f"summarise {metrics} {written} --plot {RESULTS}/plots/{BENCHMARK}.csv"],
        "compare": [f"compare {metrics} --replies {replies} --out {RESULTS}/comparison.parquet"],
        "compare-models": [f"compare-models {both} --out {RESULTS}/model_comparison.parquet"],
        "question-browser": [f"question-browser {both} --out {report}/questions.html"],
        "report": [f"report {metrics} {both} {tables} --checks {RESULTS}/checks --out {report}/index.html"],
        "track": [f"track {metrics} {both} --figures {report}/figures --out {RESULTS}/tracking.json"],
    }


WRITTEN = {
    "generate": f"{DATA}/raw",
    "questions": f"{DATA}/questions",
    "variants": f"{DATA}/questions",
    "infer": "journal",
    "score": f"{RESULTS}/scores",
    "measure": f"{RESULTS}/metrics",
    "question-browser": f"{RESULTS}/report/questions",
    "report": f"{RESULTS}/report",
    "track": "mlartifacts",
}
"""The folder whose size is shown after a step."""


def size_mb(folder: Path) -> float:
    """Return the size of the files of a folder in MB."""
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 1)


def measured(folder: Path, step: str, work: Callable[[], list[Step]]) -> Step:
    """Do a step; return its wall time, CPU seconds, peak memory of a process, and the size of what it wrote."""
    start = time.monotonic()
    parts = work()
    return {
        "step": step,
        "wall_seconds": round(time.monotonic() - start, 1),
        "cpu_seconds": round(sum(part["cpu_seconds"] for part in parts), 1),
        "peak_mib": max((part["peak_mib"] for part in parts), default=0),
        "processes": len(parts),
        "mb": size_mb(folder / WRITTEN[step]) if step in WRITTEN else None,
    }


def generate(folder: Path, count: int, models: Sequence[str], seeds: int) -> list[Step]:
    """Write the questions and the configuration, in this process."""
    before = time.process_time()
    write_published(folder / DATA / "raw" / BENCHMARK, count)
    configure(folder, models, seeds)
    (folder / RESULTS / "checks").mkdir(parents=True, exist_ok=True)
    return [{"cpu_seconds": time.process_time() - before, "peak_mib": 0}]


def measure(folder: Path, count: int, models: Sequence[str], *, seeds: int, cores: int) -> list[Step]:
    """Run every step that is not recorded yet."""
    record = folder / "steps.json"
    settings = {"questions": count, "models": len(models), "seeds": seeds, "cores": cores}
    known = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {"settings": settings, "steps": []}
    if known["settings"] != settings:
        raise SystemExit(f"{record}: {known['settings']}; use another --folder for {settings}")
    done = {step["step"] for step in known["steps"]}

    def start(step: str, work: Callable[[], list[Step]]) -> None:
        if step not in done:
            known["steps"].append(measured(folder, step, work))
            print(line(known["steps"][-1]), flush=True)
            write_json(record, known)

    start("generate", lambda: generate(folder, count, models, seeds))
    for step, beside in commands(models, cores).items():
        with ThreadPoolExecutor(cores) as pool:
            start(step, lambda: list(pool.map(lambda command: run(folder, *command.split()), beside)))  # noqa: B023
    return known["steps"]


def line(step: Step) -> str:
    """Return the row of a step in the table of the README."""
    size = "" if step["mb"] is None else f"{step['mb']:,}"
    return (
        f"| {step['step']} | {step['processes']} | {step['wall_seconds']} | {step['cpu_seconds']} | {step['peak_mib']} "
        f"| {size} |"
    )


def main() -> None:
    """Run the measurement and print it as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="a folder for all files; 1 GB at 100%%")
    parser.add_argument("--share", type=float, default=0.01, help="share of the 22,831 questions")
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    models = [f"model-{number}" for number in range(1, options.models + 1)]
    count = max(40, round(options.share * PUBLISHED))
    steps = measure(options.folder, count, models, seeds=options.seeds, cores=options.cores)
    answers = count * len(VARIANTS) * options.models * options.seeds
    print(f"\n{count:,} questions, {answers:,} answers, {options.cores} cores", file=sys.stderr)
    print("\n| step | processes | wall s | CPU s | largest process MiB | MB |\n|---|---|---|---|---|---|")
    print("\n".join(map(line, steps)))
    total = [round(sum(step[name] for step in steps), 1) for name in ("wall_seconds", "cpu_seconds")]
    print(f"| all | | {total[0]} | {total[1]} | {max(step['peak_mib'] for step in steps)} | |")


if __name__ == "__main__":
    main()

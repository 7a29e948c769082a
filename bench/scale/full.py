"""Time, memory and file sizes of the workflow at the size of the full edition, without a model's time.

    PYTHONPATH=src:. python bench/scale/full.py --folder /tmp/full --share 0.01

Questions in HumbleBench's published format are generated: ``share`` times 22,831, each under three variants. Twenty
models answer them with five seeds: scripted respondents, whose replies take no time. Snakemake runs the workflow on
``--cores`` cores, from the published files to tracking, and then once more with nothing to do. After an interruption
(Ctrl-C), the same command continues.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from PIL import Image

from bench.scale.measure import BENCHMARK, PUBLISHED, ROOT, run_workflow, table
from known_unknowns import json_files

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
WRITTEN = {
    "published files": f"{DATA}/raw",
    "questions": f"{DATA}/questions",
    "variants": f"{RESULTS}/variants",
    "journals": "journal",
    "replies": f"{RESULTS}/replies",
    "answers": f"{RESULTS}/answers",
    "metrics": f"{RESULTS}/metrics",
    "report": f"{RESULTS}/report",
    "tracking": "mlartifacts",
}
"""The folders whose sizes are shown."""


@cache
def image(number: int) -> bytes:
    """Return an image of one colour."""
    colour = tuple(random.Random(number).randrange(256) for _ in range(3))
    encoded = BytesIO()
    Image.new("RGB", (640, 480), colour).save(encoded, "PNG")
    return encoded.getvalue()


def write_published(folder: Path, count: int) -> None:
    """Write questions and images in the published format; five questions share an image."""
    dice = random.Random(0)
    words = ["red", "blue", "black", "gold", "white", "green", "grey", "brown", "left of it", "under it"]
    rows = []
    for number in range(count):
        options = [*dice.sample(words, 4), "None of the above"]
        shown = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCDE", options, strict=True))
        rows.append(
            {
                "image": {"bytes": image(number // PER_IMAGE), "path": f"images/{number // PER_IMAGE}.png"},
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


def size_mb(folder: Path) -> float:
    """Return the size of the files of a folder in MB."""
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 1)


def generate(folder: Path, count: int, models: Sequence[str], seeds: int) -> None:
    """Write the published files and the configuration, unless the folder has them. SystemExit if it has others."""
    record, settings = folder / "settings.json", {"questions": count, "models": len(models), "seeds": seeds}
    if not record.is_file():
        write_published(folder / DATA / "raw" / BENCHMARK, count)
        configure(folder, models, seeds)
        json_files.write(record, settings)
    if (known := json_files.read(record)) != settings:
        raise SystemExit(f"{record}: {known}; use another --folder for {settings}")


def measure(folder: Path, count: int, models: Sequence[str], *, seeds: int, cores: int) -> dict[str, Any]:
    """Generate the published files and run the workflow twice; see `run_workflow` for the result."""
    generate(folder, count, models, seeds)
    found = run_workflow(folder, "full", cores)
    return found | {
        "second": run_workflow(folder, "full", cores),
        "mb": {name: size_mb(folder / place) for name, place in WRITTEN.items()},
    }


def main() -> None:
    """Run the measurement and print it as a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="a folder for all files; 4 GB at 100%%")
    parser.add_argument("--share", type=float, default=0.01, help="share of the 22,831 questions")
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    models = [f"model-{number}" for number in range(1, options.models + 1)]
    count = max(40, round(options.share * PUBLISHED))
    found = measure(options.folder, count, models, seeds=options.seeds, cores=options.cores)
    answers = count * len(VARIANTS) * options.models * options.seeds
    print(table(found))
    second = "wall {wall_seconds} s, CPU {cpu_seconds} s, {peak_mib} MiB".format_map(found["second"])
    print(f"\n{count:,} questions, {answers:,} answers, {options.cores} cores; load {found['load']}")
    print(f"second run: {second}\nMB: {json.dumps(found['mb'])}")
    json_files.write(options.folder / "measured.json", found)


if __name__ == "__main__":
    main()

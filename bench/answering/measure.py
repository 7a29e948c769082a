"""Answer some questions of a benchmark by two versions of the package in turns, and compare CPU-seconds and replies.

    python bench/answering/measure.py --before OLD/src --after src --model pocket --benchmark actiview \
        --questions data/pocket/questions/actiview --first 44 --count 40 --rounds 3

Each answer comes from a process of its own with an empty journal. CPU-seconds count all threads.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def select(questions: Path, first: int, count: int, out: Path) -> None:
    """Write the question sets with ``count`` questions of the benchmark, from ``first`` on, to ``out``."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    ids = pq.ParquetFile(questions / "questions.parquet").read(["id"])["id"].to_pylist()[first : first + count]
    variants = questions.parents[1] / "variants" / questions.name
    (out / "variants").mkdir(parents=True)
    for path in variants.glob("*.parquet"):
        table = pq.ParquetFile(path).read()
        pq.write_table(table.filter(pc.is_in(table["id"], pa.array(ids))), out / "variants" / path.name)
    (out / "images").symlink_to((questions / "images").resolve())


def answer(model: str, benchmark: str, questions: Path, out: Path) -> None:
    """Answer the questions and print the CPU-seconds of answering and of the whole process."""
    from known_unknowns.model_runs import model_run
    from known_unknowns.workflow import configuration

    answering, run = [0.0], model_run.run

    def timed(*args: Any, **more: Any) -> Any:
        before = _cpu()
        outcome = run(*args, **more)
        answering[0] += _cpu() - before
        return outcome

    model_run.run = timed
    params = configuration.load(Path("params.yaml"), edition="pocket")
    folders = {"questions": questions, "variants": questions / "variants", "out": out / "replies"}
    model_run.infer(params, model, benchmark, **folders, journal=out / "journal.jsonl")
    print(json.dumps({"answering": answering[0], "process": _cpu()}))


def _cpu() -> float:
    spent = os.times()
    return spent.user + spent.system


def replies(out: Path) -> dict[str, dict[str, Any]]:
    """Return the replies of a run by their keys, without the seconds."""
    lines = map(json.loads, (out / "journal.jsonl").read_text().splitlines())
    return {line["key"]: {**line["reply"], "seconds": None} for line in lines}


def largest_difference(one: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the largest difference of an option's log-probability. All else must be equal, or SystemExit is raised."""
    largest = 0.0
    if one.keys() != other.keys():
        raise SystemExit("the versions asked different turns")
    for key, reply in one.items():
        if {**reply, "logprobs": None} != {**other[key], "logprobs": None}:
            raise SystemExit(f"the replies to {key} differ: {reply} and {other[key]}")
        pairs = [(value, other[key]["logprobs"][label]) for label, value in (reply["logprobs"] or {}).items()]
        largest = max([largest, *(abs(first - second) for first, second in pairs)])
    return largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the src folder of one version")
    parser.add_argument("--after", type=Path, help="the src folder of the other")
    parser.add_argument("--model", default="pocket")
    parser.add_argument("--benchmark", default="actiview")
    parser.add_argument("--questions", type=Path, required=True, help="the benchmark's question folder")
    parser.add_argument("--first", type=int, default=0, help="number of the first question")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.answer:
        answer(asked.model, asked.benchmark, asked.questions, asked.answer)
        return
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        select(asked.questions, asked.first, asked.count, work / "questions")
        for number in range(asked.rounds):
            for name, source in (("before", asked.before), ("after", asked.after)):
                out = work / f"{name}{number}"
                command = [sys.executable, __file__, "--answer", out, "--questions", work / "questions"]
                command += ["--model", asked.model, "--benchmark", asked.benchmark]
                made = subprocess.run(
                    list(map(str, command)),
                    env=os.environ | {"PYTHONPATH": str(source.resolve())},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    check=True,
                    text=True,
                )
                spent = json.loads(made.stdout)
                print(f"{name}: answering {spent['answering']:.1f}, process {spent['process']:.1f} CPU-seconds")
            found = [replies(work / f"{name}{number}") for name in ("before", "after")]
            apart = largest_difference(*found)
            print(f"{len(found[0])} turns, equal replies, largest difference of a log-probability {apart:.1e}")


if __name__ == "__main__":
    main()

"""Compare the engine of several source trees, and the plain loop at batch size 1, in one interleaved run.

    python bench/throughput/trees.py old=FOLDER new=FOLDER --device cuda --dtype bfloat16 --model qwen2.5-vl-7b-shape

Each tree's engine runs in a process of its own, with the weights of the same random checkpoint. The processes take
turns (ABCABC...); every repeat asks new images. The plain loop uses the first tree's weights, so this should be the
tree that changes the model least. Printed are the questions per second of each repeat, the share of the bound that the
matrix products set, and how many letters equal those of the plain loop.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLAIN = "plain loop, batch 1"
VARIANTS = {"humblebench": "", "humblebench-E": "-E", "humblebench-GN": "-GN"}


def worker(options: argparse.Namespace) -> None:
    """Answer requests (JSON lines on the standard input): which questions of which set to ask."""
    sys.path[:0] = [str(ROOT), str(Path(options.worker) / "src")]
    import torch
    import transformers

    from bench.throughput import data, loops, model
    from bench.throughput.floor import Flops, MatrixRate
    from bench.throughput.prompt_groups import groups

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    checkpoint = model.ensure(options.cache, options.model, dtype=options.dtype, device=options.device)
    settings, folder = loops.Settings(checkpoint, options.device, options.dtype), options.cache / "images"
    ours = loops.Ours(settings, name=options.worker, sharing="on", note="")
    processor, loaded = loops.load_processor(settings), ours.engine.checkpoint.model
    plain = loops.Plain(loops.Loaded(loaded, processor), batch_size=1)
    say({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("bound"):
            found = groups(
                processor, data.humblebench(folder, VARIANTS[asked["set"]], questions=100, seed=1).turns, folder
            )
            flops = Flops(loaded.config).shared(found) / 100
            rate = MatrixRate(loaded, found[0]).measure()
            say({"flops": flops, "rate": rate, "bound": rate / flops})
            continue
        turns = data.humblebench(folder, VARIANTS[asked["set"]], questions=asked["questions"], seed=asked["seed"]).turns
        turns = turns[: asked["first"]]
        cpu, started = time.process_time(), time.perf_counter()
        replies = (plain if asked["plain"] else ours)(turns, folder).texts
        if options.device == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - started
        if options.device == "cuda" and asked["warm_up"]:
            torch.cuda.empty_cache()  # the check in float32 leaves memory that the other processes need
        say({"seconds": seconds, "cpu": time.process_time() - cpu, "questions": len(turns), "replies": replies})


def say(message: dict[str, Any]) -> None:
    print("@" + json.dumps(message), flush=True)


class Worker:
    """A process with one loop."""

    def __init__(self, name: str, folder: str, given: list[str]) -> None:
        command = [sys.executable, __file__, "--worker", folder, *given]
        self.name = name
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
        )
        self._answer()

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("@"):
                return dict(json.loads(line[1:]))
        raise RuntimeError(f"{self.name} ended with {self._process.wait()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("trees", nargs="*", metavar="NAME=FOLDER", help="source trees; their engines are compared")
    add("--model", default="tiny")
    add("--device", default="cpu")
    add("--dtype", default="float32")
    add("--sets", nargs="+", choices=list(VARIANTS), default=["humblebench", "humblebench-GN"])
    add("--questions", type=int, default=400, help="per set and repeat")
    add("--plain", type=int, default=40, help="questions that the plain loop is asked")
    add("--repeats", type=int, default=3)
    add("--cache", type=Path, default=Path.home() / ".cache" / "known-unknowns" / "throughput")
    add("--out", type=Path)
    add("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options)
    given = [f"--{name}={getattr(options, name)}" for name in ("model", "device", "dtype", "cache")]
    workers = [Worker(*tree.split("=", 1), given) for tree in options.trees]
    names = [*(each.name for each in workers), PLAIN]
    result: dict[str, Any] = {}
    for kind in options.sets:
        bound = workers[0].ask(bound=True, set=kind)
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for repeat in range(options.repeats + 1):  # the first one warms up
            for name, each in zip(names, [*workers, workers[0]], strict=True):
                plain = name == PLAIN
                many = {"questions": options.questions, "first": options.plain if plain else options.questions}
                made = each.ask(set=kind, plain=plain, warm_up=not repeat, seed=100 + repeat, **many)
                if repeat:
                    found[name].append(made)
        result[kind] = {"bound": bound} | {name: summary(name, found, bound["bound"]) for name in found}
        print(f"{kind}: bound {bound['bound']:.0f} questions/s", *result[kind].items(), sep="\n  ", flush=True)
        if options.out:
            options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def summary(name: str, found: dict[str, list[dict[str, Any]]], bound: float) -> dict[str, Any]:
    rates = [made["questions"] / made["seconds"] for made in found[name]]
    pairs = [
        (own[:1], plain[:1])
        for mine, theirs in zip(found[name], found[PLAIN], strict=True)
        for own, plain in zip(mine["replies"], theirs["replies"], strict=False)
    ]
    return {
        "questions_a_second": [round(rate, 2) for rate in rates],
        "median": round(statistics.median(rates), 2),
        "share_of_bound": round(statistics.median(rates) / bound, 3),
        "cpu_seconds_per_question": [round(made["cpu"] / made["questions"], 4) for made in found[name]],
        "letters_equal_to_plain": [sum(own == plain for own, plain in pairs), len(pairs)],
    }


if __name__ == "__main__":
    main()

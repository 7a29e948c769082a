"""Measure the engine, a loop at batch size 1 and, if it is installed, vLLM on one GPU; see README.md.

Prints one table. All numbers go to gpu.json in the folder $OUT (bench/gpu/out), progress to stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

from bench.throughput import report, throughput

COLUMNS = ("questions/s", "of the floor", "launches an image", "same letters")
SETS = ("questions", "noise", "single")
SIZE = ("--images", "50", "--noise-questions", "400", "--others", "20")
"""Questions of each repeat: 250 on 50 images, 400 on the noise image, 100 on an image each; 20 by the batch-1 loop."""


def arguments(*, quick: bool, loops: list[str]) -> list[str]:
    """Return the arguments of bench/throughput."""
    common = ["--sets", *SETS, "--loops", *loops, "--launches"]
    if quick:
        return [*common, "--quick", "--images", "1", "--noise-questions", "5"]
    return [*common, *SIZE, "--device", "cuda", "--dtype", "bfloat16", "--model", "qwen2.5-vl-7b-shape"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny model on a CPU: does everything work?")
    parser.add_argument("--without-vllm", action="store_true", help="leave vLLM out, though it is installed")
    given = parser.parse_args()
    if not given.quick and not torch.cuda.is_available():
        sys.exit("no GPU: torch.cuda.is_available() is false. --quick checks the benchmark on a CPU")
    vllm = [throughput.VLLM] if find_spec("vllm") and not (given.quick or given.without_vllm) else []
    out = Path(os.environ.get("OUT") or Path(__file__).with_name("out")) / "gpu.json"
    started = time.perf_counter()
    chosen = arguments(quick=given.quick, loops=["ours", "plain-1", *vllm])
    result = throughput.run(throughput.prepared([*chosen, "--out", str(out)]))
    throughput.write(result | {"wall_seconds": round(time.perf_counter() - started, 1)}, out)
    print(report.table(result, COLUMNS))


if __name__ == "__main__":
    main()

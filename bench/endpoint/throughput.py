"""Requests a second through the openai engine against a bare asyncio loop on the same server, and memory.

    python bench/endpoint/throughput.py [--questions 2000] [--concurrency 64] [--latency 0.0] [--repeats 5]

The bare loop is the least that uses the official client: a semaphore around its ``create``, nothing recorded. The
engine is measured as it works in a run: runner, journal on the disk, pace, breaker and budget. Both send the same
requests to a server in a process of its own; the repeats alternate, and the medians are compared. Memory is the
growth of the peak resident set over 10,000 questions, each on an image of its own, after the first 500.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import openai

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from known_unknowns.images import recipe_image  # noqa: E402
from tests.servers.client import engine, run_all, turn  # noqa: E402
from tests.servers.endpoint import MODEL  # noqa: E402

Seconds = tuple[float, float]
"""By the clock, and of this process's CPU, which other work on the machine does not stretch."""


def seconds_of(work: Callable[[], object]) -> Seconds:
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu


def bare(url: str, questions: int, concurrency: int) -> Seconds:
    """The bare loop."""

    async def go() -> None:
        slots = asyncio.Semaphore(concurrency)
        async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:

            async def one(number: int) -> str:
                async with slots:
                    completion = await client.chat.completions.create(
                        model=MODEL,
                        messages=[{"role": "user", "content": f"[q{number}] Which?"}],
                        max_completion_tokens=16,
                        temperature=0.0,
                        seed=0,
                        logprobs=True,
                        top_logprobs=20,
                    )
                    return completion.choices[0].message.content

            await asyncio.gather(*(one(number) for number in range(questions)))

    return seconds_of(lambda: asyncio.run(go()))


def ours(url: str, questions: int, concurrency: int) -> Seconds:
    """A run: runner, journal and engine."""
    identifiers = [f"q{number}" for number in range(questions)]
    with tempfile.TemporaryDirectory() as folder:
        return seconds_of(lambda: run_all(identifiers, Path(folder) / "journal", url, concurrency=concurrency))


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(url: str, concurrency: int, questions: int = 10_000, first: int = 500) -> float:
    """MiB that the peak grew by between the first questions and the last, with an image of 64 x 64 pixels each."""
    turns = [turn(f"q{number}", recipe_image("normal-noise", 64, 64, number)) for number in range(questions)]
    before = done = 0
    for rows in engine(url, concurrency=concurrency).answer(turns, folder=Path()):
        done += len(rows)
        if not before and done >= first:
            before = peak_mib()
    return peak_mib() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that the server takes over each request")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="measure memory too (a minute)")
    options = parser.parse_args()
    server = [sys.executable, "-m", "tests.servers.endpoint", "--latency", str(options.latency)]
    with subprocess.Popen(server, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            measure(process.stdout.readline().strip(), options)
        finally:
            process.kill()


def measure(url: str, options: argparse.Namespace) -> None:
    ways = {"bare": bare, "engine": ours}
    seconds: dict[str, list[Seconds]] = {name: [] for name in ways}
    for way in ways.values():
        way(url, 200, options.concurrency)  # imports, connections, caches
    for _ in range(options.repeats):
        for name, way in ways.items():
            seconds[name].append(way(url, options.questions, options.concurrency))
    medians = {}
    for name, values in seconds.items():
        rates = [options.questions / clock for clock, _ in values]
        cpu = statistics.median(cpu for _, cpu in values) / options.questions
        medians[name] = statistics.median(rates), cpu
        print(f"{name}: median {medians[name][0]:.0f} requests/s ({min(rates):.0f} to {max(rates):.0f}), ", end="")
        print(f"{1000 * cpu:.2f} ms of CPU each")
    print(f"engine / bare: {medians['engine'][0] / medians['bare'][0]:.2f} by the clock, ", end="")
    print(f"{medians['bare'][1] / medians['engine'][1]:.2f} by CPU")
    if options.memory:
        print(f"memory over 10,000 questions with images: +{memory(url, options.concurrency):.1f} MiB")


if __name__ == "__main__":
    main()

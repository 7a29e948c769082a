"""Memory growth of one loop, in a separate process, over questions on thousands of images."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from bench.throughput import data
from bench.throughput.loops import Loop, Ours
from known_unknowns.records import Turn

EVERY = 50
"""Images between two measurements."""
MIB = 2**20


def resident_mib() -> float:
    """The memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / MIB


def peak_mib() -> float:
    """The most that this process held so far."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("/proc/self/status tells no VmHWM")


def measurements(loop: Loop, folder: Path, *, images: int, questions: int) -> list[dict[str, float]]:
    """After every ``EVERY`` images, each with ``questions`` questions: MiB held now, and the peak until then.

    The engine is asked all of them at once, as in a run, where it may cache images for the next wave.
    """
    asked = data.five_questions(folder, images=images, seed=500_000, questions=questions).turns
    found = [_measurement(0)]
    for done in _counts_of_answers(loop, asked, folder, EVERY * questions):
        if done // questions >= found[-1]["images"] + EVERY or done == len(asked):
            found.append(_measurement(done // questions))
    for turn in asked:
        (folder / turn.images[0].source).unlink(missing_ok=True)
    return found


def _counts_of_answers(loop: Loop, turns: Sequence[Turn], folder: Path, slice_of: int) -> Iterator[int]:
    """Yield the number of answered turns, after each batch or slice."""
    done = 0
    if isinstance(loop, Ours):
        for batch in loop.engine.answer(turns, folder=folder):
            done += len(batch)
            yield done
    else:
        for start in range(0, len(turns), slice_of):
            loop(turns[start : start + slice_of], folder)
            yield min(start + slice_of, len(turns))


def _measurement(images: int) -> dict[str, float]:
    measurement = {"images": images, "resident_mib": resident_mib(), "peak_mib": peak_mib()}
    if torch.cuda.is_available():
        measurement["gpu_peak_mib"] = torch.cuda.max_memory_allocated() / MIB
    return measurement


def summary(found: Sequence[dict[str, float]]) -> dict[str, Any]:
    """The peak, and how much of it came after the first tenth of the images and after the first half."""
    last = found[-1]

    def growth(share: float) -> float:
        return last["peak_mib"] - found[max(1, round(share * (len(found) - 1)))]["peak_mib"]

    return {
        "images": last["images"],
        "loaded_mib": found[0]["peak_mib"],
        "peak_mib": last["peak_mib"],
        "growth_after_a_tenth_mib": growth(0.1),
        "growth_after_half_mib": growth(0.5),
        "measurements": list(found),
    }


def in_own_process(script: Path, loop: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The summary of a loop, measured by ``script --memory-of LOOP`` in a new process."""
    command = [sys.executable, str(script), *arguments, "--memory-of", loop]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])

"""Measure prefix sharing, transformers' generate and, if it can be imported, vLLM on one GPU; see README.md.

Needs torch and transformers only. Prints one table. The table and all numbers go to gpu.md and gpu.json in the folder
$OUT (bench/gpu/out) after each repeat of each set, progress to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch  # noqa: E402
import transformers  # noqa: E402

from bench.gpu import loops  # noqa: E402
from bench.gpu.prompts import KINDS, SIZES, SMALL_SIZES, TOKENS, PromptSet, prompt_set  # noqa: E402
from bench.throughput import random_model  # noqa: E402
from bench.throughput.floor import Flops, MatrixRate  # noqa: E402
from bench.throughput.launch_count import count_launches, decoder_stages  # noqa: E402
from prefix_sharing import check  # noqa: E402

REFERENCE = "generate, batch 1"
BATCH_SIZES = (1, 8, 16)
OFF_BATCH_SIZE = 8
"""Of the `transformers` engine where it shares nothing."""
DISTURBED = 1.05
"""A share of the bound above this one shows that something else used the device while the bound was measured."""
SECONDS = 440
"""The time limit: no loop is begun after it."""
VLLM_MEMORY = 0.35
LAUNCH_QUESTIONS = 16
_TUNED_SEEDS = (990, 991)


@dataclass(frozen=True, slots=True)
class Size:
    """How much is asked: ``part`` questions of each set by the loops that are not asked the whole set."""

    images: int
    noise_questions: int
    part: int
    repeats: int
    shapes: tuple[tuple[int, int], ...]
    """Width and height of the images."""


FULL, QUICK = Size(40, 300, 48, 3, SIZES), Size(2, 10, 4, 2, SMALL_SIZES)


@dataclass(slots=True)
class Repeat:
    """One loop on one repeat of a set. ``flops`` are those that the questions need, each image computed once."""

    asked: PromptSet
    letters: list[int]
    seconds: float
    flops: int
    rates: tuple[float, float]
    """FLOPs a second of the matrix products, before and after the repeat."""

    @property
    def questions_a_second(self) -> float:
        return len(self.asked.prompts) / self.seconds

    @property
    def share(self) -> float:
        """Return the share of the bound, by the higher of the two rates."""
        return self.flops / self.seconds / max(self.rates)


@dataclass(slots=True)
class Measured:
    """One set: each loop's repeats and its kernel launches per image."""

    name: str
    repeats: dict[str, list[Repeat]] = field(default_factory=dict)
    launches: dict[str, float] = field(default_factory=dict)
    stages: dict[str, Any] = field(default_factory=dict)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def make_model(shape: str, device: str, dtype: str, sizes: Sequence[tuple[int, int]]) -> tuple[Any, dict[str, Any]]:
    """Return a random model whose replies are one letter, and what was measured when it was tuned."""
    model = random_model.make_model(shape, TOKENS, dtype=dtype, device=device, seed=0)
    sets = [
        prompt_set(kind, images=5, noise_questions=25, sizes=sizes, seed=seed)
        for kind, seed in zip(("questions", "noise"), _TUNED_SEEDS, strict=True)
    ]
    states, after = [], []
    for tuned in sets:
        found = [random_model.last_state(model, prompt.whole_inputs()) for prompt in tuned.prompts]
        states.append(torch.stack(found))
        for prompt, letter in zip(tuned.prompts, TOKENS.letters, strict=False):
            longer = type(prompt)(
                (*prompt.ids, letter), prompt.prefix_length, prompt.head, prompt.images, prompt.tensors
            )
            after.append(random_model.last_state(model, longer.whole_inputs()))
    facts = random_model.tune(model, TOKENS, states, torch.stack(after), seed=0)
    if device == "cuda":
        torch.cuda.empty_cache()
    return model, facts


def commit() -> str:
    """Return the commit of this repository, marked if files differ from it."""

    def git(*args: str) -> str:
        return subprocess.run(
            ["git", "-C", str(ROOT), *args], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + (" (modified)" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


class Benchmark:
    """The loops around one set of weights, and what they have measured so far."""

    def __init__(self, size: Size, *, shape: str, device: str, dtype: str, seconds: float, out: Path) -> None:
        self.size, self.out = size, out
        self._started = time.monotonic()
        self._deadline = self._started + seconds
        say(f"{shape} in {dtype} on {device}: the weights")
        self.model, tuned = make_model(shape, device, dtype, size.shapes)
        twin, kernels = loops.with_other_kernels(self.model)
        self.engine = loops.Engine(twin)
        self.loops: list[loops.Loop] = [loops.Generate(self.model, batch_size) for batch_size in BATCH_SIZES]
        self.loops += [loops.Generate(twin, OFF_BATCH_SIZE, "engine, sharing off"), self.engine]
        self.vision = twin.model.visual
        self.measured: list[Measured] = []
        self.remarks: list[str] = []
        self._gaps: dict[Any, float] = {}
        on_gpu = device == "cuda"
        self.about: dict[str, Any] = {
            "card": torch.cuda.get_device_name() if on_gpu else f"none, a CPU ({platform.machine()})",
            "threads": torch.get_num_threads(),
            "model": f"random weights, {shape}",
            "parameters": sum(weight.numel() for weight in self.model.parameters()),
            "dtype": dtype,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "python": platform.python_version(),
            "commit": commit(),
            "kernels": kernels,
            "tuned": tuned,
        }

    def add_vllm(self, folder: Path) -> None:
        """Add vLLM, after the weights were cast to float32 once, which needs much memory; a remark if it fails."""
        if fault := loops.vllm_fault():
            self.remarks.append(f"Without vLLM: {fault}.")
            return
        self.engine(self._make("questions", 0).first(10))
        torch.cuda.empty_cache()
        try:
            vllm = loops.Vllm(self.model, folder, memory=VLLM_MEMORY)
        except Exception as error:  # of any of its parts
            self.remarks.append(f"Without vLLM: {type(error).__name__}: {str(error).partition(chr(10))[0]}.")
            return
        self.about["vllm"] = vllm.version
        self.loops.append(vllm)

    def _make(self, kind: str, seed: int) -> PromptSet:
        size = self.size
        return prompt_set(kind, images=size.images, noise_questions=size.noise_questions, sizes=size.shapes, seed=seed)

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def run(self) -> None:
        """Measure all sets, until the time is up."""
        for kind, name in KINDS.items():
            measured = Measured(name)
            self.measured.append(measured)
            if not self._measure(kind, measured):
                self.remarks.append(f'The time limit ended the run in the set "{name}".')
                break
        self.write()

    def _measure(self, kind: str, measured: Measured) -> bool:
        """Warm up, count launches, then time all loops in turn, on new images in each repeat.

        Return whether the time was enough.
        """
        flops = Flops(self.model.config)
        warm, counted = self._make(kind, 0), self._make(kind, 100)
        rate = MatrixRate(self.model, counted.groups()[0])
        for loop in self.loops:
            if self._is_late():
                return False
            say(f"{measured.name}: {loop.name}: warming up, counting")
            loop(warm.first(LAUNCH_QUESTIONS))
            self._count(loop, counted, measured)
        before = _bound(rate)
        for number in range(1, self.size.repeats + 1):
            asked = self._make(kind, number)
            timed: dict[str, tuple[PromptSet, list[int], float]] = {}
            for loop in self.loops:
                if self._is_late():
                    break
                some = asked if loop.whole else asked.first(self.size.part)
                started = time.perf_counter()
                letters = loop(some)
                timed[loop.name] = some, letters, time.perf_counter() - started
                speed = len(letters) / timed[loop.name][2]
                say(f"{measured.name}: repeat {number}: {loop.name}: {speed:.2f} questions/s")
            after = _bound(rate)
            for name, (some, letters, seconds) in timed.items():
                needed = flops.shared(some.groups())
                measured.repeats.setdefault(name, []).append(Repeat(some, letters, seconds, needed, (before, after)))
            before = after
            self.write()
            if len(timed) < len(self.loops):
                return False
        return True

    def _count(self, loop: loops.Loop, counted: PromptSet, measured: Measured) -> None:
        """Count a loop's launches; not those of vLLM, which another process may launch."""
        if loop.name == loops.Vllm.name:
            return
        few = counted.first(1 if loop.name == REFERENCE else LAUNCH_QUESTIONS)
        if loop is self.engine:
            few = counted  # its passes have many prefixes
        stages = {"vision": (self.vision, "forward"), **decoder_stages()}
        launches, found = count_launches(lambda: loop(few), stages, on_gpu=self.model.device.type == "cuda")
        a_question = launches / len(few.prompts)
        measured.launches[loop.name] = a_question * len(counted.prompts) / len(counted.groups())
        if loop is self.engine:
            measured.stages = {"images": len(few.groups()), **found}

    def write(self) -> None:
        """Write what was measured so far."""
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "gpu.md").write_text(self.table() + "\n", encoding="utf-8")
        (self.out / "gpu.json").write_text(json.dumps(self.result(), indent=2) + "\n", encoding="utf-8")

    def table(self) -> str:
        """Return the table, with what is needed to read it alone."""
        about = self.about
        rates = [rate for measured in self.measured for rate in _rates(measured)]
        lines = [
            f"Card: {about['card']}. {about['model']}, {about['dtype']}; torch {about['torch']}, transformers "
            f"{about['transformers']}, commit {about['commit']}. Matrix products of the model: {_teraflops(rates)} "
            f"(median and range, before and after each repeat).",
            "",
            "| set | loop | questions/s | of the bound | launches an image | letters equal |  |",
            "|---|---|---|---|---|---|---|",
        ]
        for measured in self.measured:
            lines += [f"| {' | '.join(row)} |" for row in self._rows(measured)]
        lines += ["", *self.remarks] if self.remarks else []
        return "\n".join(lines)

    def _rows(self, measured: Measured) -> list[list[str]]:
        rows = []
        for name, repeats in measured.repeats.items():
            shares = [repeat.share for repeat in repeats]
            launches = measured.launches.get(name)
            asked = f"{measured.name} ({len(repeats[0].asked.prompts)} x {len(repeats)})"
            same = self._letters(measured, name)
            rows.append(
                [
                    asked,
                    name,
                    _span([repeat.questions_a_second for repeat in repeats], "{:.2f}"),
                    _span(shares, "{:.0%}"),
                    "" if launches is None else f"{launches:,.0f}",
                    "" if same["of"] == 0 else f"{same['equal']} of {same['of']}{_gap(same)}",
                    "disturbed" if max(shares) > DISTURBED else "",
                ]
            )
        return rows

    def _letters(self, measured: Measured, name: str) -> dict[str, Any]:
        """Compare a loop's letters with those at batch size 1, of the questions that both were asked."""
        equal = total = 0
        gaps = []
        for repeat, reference in zip(measured.repeats[name], measured.repeats.get(REFERENCE, []), strict=False):
            for place, (letter, expected) in enumerate(zip(repeat.letters, reference.letters, strict=False)):
                total += 1
                equal += letter == expected
                if letter != expected:
                    gaps.append(self._gap(repeat.asked, place))
        return {"equal": equal, "of": total, "gaps": gaps}

    def _gap(self, asked: PromptSet, place: int) -> float:
        """Return the difference of the two likeliest letters' log-probabilities, of a prompt alone."""
        prompt = asked.prompts[place]
        name = (prompt.head, prompt.ids)
        if name not in self._gaps:
            logits, _ = check.reference(self.model, prompt.whole_inputs(), 1)
            first, second = logits[0, list(TOKENS.letters)].topk(2).values.tolist()
            self._gaps[name] = round(first - second, 6)
        return self._gaps[name]

    def result(self) -> dict[str, Any]:
        """Return all numbers, as JSON-able values."""
        return {
            **self.about,
            "seconds": round(time.monotonic() - self._started, 1),
            "remarks": self.remarks,
            "sharing": self.engine.decoder.summary(),
            "sets": {measured.name: self._numbers(measured) for measured in self.measured},
        }

    def _numbers(self, measured: Measured) -> dict[str, Any]:
        found = {}
        for name, repeats in measured.repeats.items():
            found[name] = {
                "questions": len(repeats[0].asked.prompts),
                "questions_a_second": [repeat.questions_a_second for repeat in repeats],
                "share_of_bound": [repeat.share for repeat in repeats],
                "flops": [repeat.flops for repeat in repeats],
                "launches_an_image": measured.launches.get(name),
                "letters": self._letters(measured, name),
            }
        return {"matrix_flops_a_second": _rates(measured), "stages_of_the_engine": measured.stages, "loops": found}


def _bound(rate: MatrixRate) -> float:
    """Return the FLOPs a second of the model's matrix products; on a CPU, of the faster of torch and oneDNN."""
    onednn = rate.measure_onednn()
    return max(rate.measure(), onednn[0] if onednn else 0.0)


def _rates(measured: Measured) -> list[float]:
    pairs = dict.fromkeys(repeat.rates for repeats in measured.repeats.values() for repeat in repeats)
    return [rate for pair in pairs for rate in pair]


def _teraflops(rates: Sequence[float]) -> str:
    if not rates:
        return "not measured yet"
    return f"{_span([rate / 1e12 for rate in rates], '{:.3g}')} TFLOP/s"


def _span(values: Sequence[float], form: str) -> str:
    median, least, most = (form.format(value) for value in (statistics.median(values), min(values), max(values)))
    return f"{median} ({least} to {most})"


def _gap(same: dict[str, Any]) -> str:
    return f", gaps up to {max(same['gaps']):.3f}" if same["gaps"] else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny model on a CPU: does everything work?")
    parser.add_argument("--without-vllm", action="store_true", help="leave vLLM out, though it is installed")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit (default %(default)s)")
    given = parser.parse_args()
    if not given.quick and not torch.cuda.is_available():
        sys.exit("no GPU: torch.cuda.is_available() is false. --quick checks the benchmark on a CPU")
    transformers.logging.set_verbosity_error()
    out = Path(os.environ.get("OUT") or Path(__file__).with_name("out"))
    shape, device, dtype = ("tiny", "cpu", "float32") if given.quick else ("qwen2.5-vl-7b-shape", "cuda", "bfloat16")
    size = QUICK if given.quick else FULL
    benchmark = Benchmark(size, shape=shape, device=device, dtype=dtype, seconds=given.seconds, out=out)
    with tempfile.TemporaryDirectory() as folder:
        if not (given.quick or given.without_vllm):
            benchmark.add_vllm(Path(folder))
        benchmark.run()
    print(benchmark.table())


if __name__ == "__main__":
    main()

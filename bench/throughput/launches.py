"""Count the kernel launches and synchronisations of the engine's stages, and their time, under torch's profiler.

    python bench/throughput/launches.py --device cuda --dtype bfloat16 --model qwen2.5-vl-7b-shape --questions 250

Prints one line for each stage: calls, seconds on the host, kernel launches, and waits of the host for the device. On a
CPU, operators that run a kernel stand for launches, and ``item`` and copies to the host for synchronisations.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch  # noqa: E402
import transformers  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402

from bench.throughput import data, loops, model, random_model  # noqa: E402
from bench.throughput.launch_count import count, decoder_stages, named, wrapped  # noqa: E402


def stages(vision: Any) -> dict[str, tuple[Any, str]]:
    """Return the functions that are counted. ``vision`` is the model's vision tower."""
    from known_unknowns.engines import _prompts, transformers

    return {
        "prompts": (_prompts.PromptBuilder, "build"),
        "vision": (vision, "forward"),
        **decoder_stages(),
        "replies": (transformers.TransformersEngine, "_generate_shared"),
    }


def _timed(seconds: Counter[str]) -> Callable[[str, Callable[..., Any]], Callable[..., Any]]:
    """Wait for the device before and after a stage, so that its time includes its kernels and no others."""

    def wrap(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if torch.cuda.is_available() and name != "prompts":
                torch.cuda.synchronize()
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                if torch.cuda.is_available() and name != "prompts":
                    torch.cuda.synchronize()
                seconds[name] += time.perf_counter() - started

        return call

    return wrap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=list(random_model.SHAPES), default="tiny")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--variant", choices=["", "-E", "-GN"], default="")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "known-unknowns" / "throughput")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    checkpoint = model.ensure(options.cache, options.model, dtype=options.dtype, device=options.device)
    settings = loops.Settings(checkpoint, options.device, options.dtype)
    ours = loops.Ours(settings, name="engine", sharing="on", note="")
    folder, on_gpu = options.cache / "images", options.device == "cuda"
    warm, asked = (data.humblebench(folder, options.variant, questions=options.questions, seed=seed) for seed in (7, 8))
    ours(warm.turns, folder)
    started = time.perf_counter()
    ours(data.humblebench(folder, options.variant, questions=options.questions, seed=9).turns, folder)
    plain = time.perf_counter() - started
    vision, timed = ours.engine.checkpoint.model.model.visual, Counter[str]()
    with wrapped(stages(vision), _timed(timed)):
        ours(data.humblebench(folder, options.variant, questions=options.questions, seed=10).turns, folder)
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with wrapped(stages(vision), named), profile(activities=activities) as found:
        started = time.perf_counter()
        ours(asked.turns, folder)
        seconds = time.perf_counter() - started
    events = list(found.events())
    result = {
        "model": options.model,
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "questions": len(asked.turns),
        "images": len({turn.images for turn in asked.turns}),
        "seconds_unprofiled": round(plain, 3),
        "seconds_profiled": round(seconds, 3),
        "seconds_synchronised": {name: round(value, 3) for name, value in timed.items()},
        "stages": count(events, on_gpu=on_gpu),
        "kernels": _kernels(events) if on_gpu else {},
        "about": {
            key: ours.engine.about[key]
            for key in ("sharing", "linear_layers", "vision_attention")
            if key in ours.engine.about
        },
    }
    text = json.dumps(result, default=str)
    for key, value in result.items():
        print(
            f"{key}: {value}"
            if not isinstance(value, dict)
            else "\n".join([f"{key}:", *(f"  {k}: {v}" for k, v in value.items())])
        )
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


def _kernels(events: list[Any], most: int = 60) -> dict[str, list[float]]:
    """Return the kernels that take the longest: milliseconds and calls."""
    seconds: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for event in events:
        if event.device_type == torch.autograd.DeviceType.CUDA and not event.name.startswith("stage:"):
            seconds[event.name[:90]] += event.time_range.elapsed_us() / 1e3
            calls[event.name[:90]] += 1
    return {name: [round(total, 2), calls[name]] for name, total in seconds.most_common(most)}


if __name__ == "__main__":
    main()

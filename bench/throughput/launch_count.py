"""Count kernel launches, and waits of the host for the device, under torch's profiler.

On a CPU, operators that run a kernel stand for launches, and ``item`` and copies to the host for waits.
"""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from prefix_sharing import prefix_plans, rows, shared_decoder

LAUNCHES = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx"}
WAITS = {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"}
HOST_OPERATORS = {"aten::item", "aten::_local_scalar_dense", "aten::nonzero"}

Stages = Mapping[str, tuple[Any, str]]
"""The functions that are counted: an object, and the name of its attribute."""


def decoder_stages() -> dict[str, tuple[Any, str]]:
    """Return the stages of prefix sharing. A CPU has pieces and segments, a GPU prefixes and trees."""
    return {
        "prefixes": (prefix_plans.PrefixPlans, "from_features"),
        "pieces": (prefix_plans.PrefixPlans, "compute_chains"),
        "trees": (shared_decoder, "forward_trees"),
        "segments": (shared_decoder, "forward_segments"),
        "gather": (rows, "_gather_caches"),
        "step": (rows.RowContinuation, "step"),
        "decode": (shared_decoder, "decode"),
    }


@contextmanager
def wrapped(stages: Stages, wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Wrap the functions of the stages."""
    before: list[tuple[Any, str, Callable[..., Any]]] = []
    for name, (where, attribute) in stages.items():
        function = getattr(where, attribute)
        before.append((where, attribute, function))
        setattr(where, attribute, wrap(name, function))
    try:
        yield
    finally:
        for where, attribute, function in before:
            setattr(where, attribute, function)


def named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Let the profiler record a function as a stage."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with record_function(f"stage:{name}"):
            return function(*args, **kwargs)

    return call


def count(events: list[Any], *, on_gpu: bool) -> dict[str, dict[str, float]]:
    """Return calls, seconds, launches and waits of each stage. A stage inside another is counted in both."""
    host = torch.autograd.DeviceType.CPU
    spans = [event for event in events if event.name.startswith("stage:") and event.device_type == host]
    launches, waits = (
        sorted((event.thread, event.time_range.start) for event in events if event.name in names)
        for names in (
            (LAUNCHES, WAITS) if on_gpu else ({e.name for e in events if e.name.startswith("aten::")}, HOST_OPERATORS)
        )
    )
    by_stage: dict[str, list[Any]] = defaultdict(list)
    for span in spans:
        by_stage[span.name.removeprefix("stage:")].append(span)
    return {
        stage: {
            "calls": len(found),
            "seconds": round(sum(span.time_range.elapsed_us() for span in found) / 1e6, 4),
            "launches": _within(launches, found),
            "waits": _within(waits, found),
        }
        for stage, found in by_stage.items()
    }


def _within(times: list[tuple[int, float]], spans: list[Any]) -> int:
    return sum(
        bisect_right(times, (span.thread, span.time_range.end))
        - bisect_left(times, (span.thread, span.time_range.start))
        for span in spans
    )


def launched(work: Callable[[], Any], *, on_gpu: bool) -> int:
    """Return the kernel launches of ``work`` by this process; on a CPU, its operators stand for them."""
    return count_launches(work, {}, on_gpu=on_gpu)[0]


def count_launches(work: Callable[[], Any], stages: Stages, *, on_gpu: bool) -> tuple[int, dict[str, dict[str, float]]]:
    """Return the kernel launches of ``work`` by this process, and `count` of its stages."""
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with wrapped(stages, named), profile(activities=activities) as found:
        work()
    events = list(found.events())
    launches = sum(event.name in LAUNCHES if on_gpu else event.name.startswith("aten::") for event in events)
    return launches, count(events, on_gpu=on_gpu)

"""ActiView: the benchmark's parts, by name (`known_unknowns.benchmarks.Benchmark`)."""

from __future__ import annotations

from known_unknowns.benchmarks._interface import Benchmark, Lazy

BENCHMARK = Benchmark(
    name="actiview",
    title="ActiView",
    package=__name__,
    load=Lazy(f"{__name__}.loader:load"),
    load_without_images=Lazy(f"{__name__}.loader:load_without_images"),
    prompt=Lazy(f"{__name__}.prompts:prompt"),
    official=Lazy(f"{__name__}.parsing:official"),
    protocols=Lazy(f"{__name__}.protocols:PROTOCOLS"),
    expected_reply=Lazy(f"{__name__}.expected_replies:expected_reply"),
    metrics=Lazy(f"{__name__}.metrics:METRICS"),
    audit=Lazy(f"{__name__}.audit:audit"),
    check=Lazy(f"{__name__}.check:check"),
    exchange=Lazy(f"{__name__}.exchange:EXCHANGE"),
    report=Lazy(f"{__name__}.section:SECTION"),
)

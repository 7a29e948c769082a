"""MM-UPD: the benchmark's parts, by name (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from known_unknowns.benchmark.interface import Benchmark, Lazy, Pocket, PublishedProtocol

BENCHMARK = Benchmark(
    name="mm_upd",
    title="MM-UPD",
    package=__name__,
    load=Lazy(f"{__name__}.loader:load"),
    prompt=Lazy(f"{__name__}.prompts:option"),
    official=Lazy(f"{__name__}.official:official"),
    variants=Lazy(f"{__name__}.variants:VARIANTS"),
    protocols=Lazy(f"{__name__}.protocols:PROTOCOLS"),
    metrics=Lazy(f"{__name__}.metrics:METRICS"),
    published_protocols={
        "original": PublishedProtocol("single_turn"),
        "mm_upd_base": PublishedProtocol("mm_upd_base"),
        "mm_upd_instruction": PublishedProtocol("mm_upd_instruction"),
        "mm_upd_standard": PublishedProtocol("mm_upd_standard"),
    },
    audit=Lazy(f"{__name__}.audit:audit"),
    check=Lazy(f"{__name__}.check:check"),
    report=Lazy(f"{__name__}.section:SECTION"),
    pocket=Pocket.of(f"{__name__}.pocket"),
)

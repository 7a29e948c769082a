"""MM-SAP: the benchmark's parts, by name (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from known_unknowns.benchmark.interface import Benchmark, Lazy, PublishedProtocol
from known_unknowns.benchmark.pocket import pocket_of

BENCHMARK = Benchmark(
    name="mmsap",
    title="MM-SAP",
    package=__name__,
    load=Lazy(f"{__name__}.loader:load"),
    prompt=Lazy(f"{__name__}.loader:prompt"),
    refusal_prompt=Lazy(f"{__name__}.loader:refusal_prompt"),
    forced_choice_applies=Lazy(f"{__name__}.loader:forced_choice_applies"),
    official=Lazy(f"{__name__}.official:official"),
    metrics=Lazy(f"{__name__}.metrics:METRICS"),
    forced_choice_metrics=frozenset(
        {
            "score_ku",
            "score_sa",
            "unknown_knowns_rate",
            "unknown_knowns_rate_of_refusals",
            "quadrant_known_unknown",
            "quadrant_unknown_known",
            "forced_unread",
        }
    ),
    published_protocols={
        "shuffled_options": PublishedProtocol("forced_choice"),
        "shuffled_refusal_prompt": PublishedProtocol("refusal_prompt"),
    },
    audit=Lazy(f"{__name__}.audit:audit"),
    check=Lazy(f"{__name__}.check:check"),
    exchange=Lazy(f"{__name__}.exchange:EXCHANGE"),
    report=Lazy(f"{__name__}.section:SECTION"),
    pocket=pocket_of("mmsap"),
)

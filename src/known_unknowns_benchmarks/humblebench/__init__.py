"""HumbleBench: the parts of the benchmark, by name (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from known_unknowns.benchmark.interface import Benchmark, Lazy, PublishedProtocol
from known_unknowns.benchmark.pocket import pocket_of

BENCHMARK = Benchmark(
    name="humblebench",
    title="HumbleBench",
    package=__name__,
    load=Lazy(f"{__name__}.loader:load"),
    load_without_images=Lazy(f"{__name__}.exchange:load_without_images"),
    prompt=Lazy(f"{__name__}.loader:prompt"),
    official=Lazy(f"{__name__}.official:official"),
    protocols=Lazy(f"{__name__}.protocols:PROTOCOLS"),
    metrics=Lazy(f"{__name__}.metrics:METRICS"),
    official_only_metrics={"exact_refusal_recall": "refusal_recall"},
    published_protocols={
        **{
            variant: PublishedProtocol("single_turn")
            for variant in ("original", "nota_only", "noise", "shuffled_all_options")
        },
        "cautious_prompt": PublishedProtocol("cautious_prompt"),
        "noise_forced_grounding": PublishedProtocol("forced_grounding_prompt"),
    },
    # Figure 4 is the accuracy on HumbleBench-E, which the paper takes by the exact string; Figure 5 is HumbleBench-GN.
    plot={
        "original": ("original", "robust", "accuracy"),
        "nota_only": ("nota_only", "robust", "accuracy"),
        "nota_only_exact": ("nota_only", "official", "exact_refusal_recall"),
        "noise": ("noise", "robust", "accuracy"),
    },
    audit=Lazy(f"{__name__}.audit:audit"),
    check=Lazy(f"{__name__}.check:check"),
    exchange=Lazy(f"{__name__}.exchange:EXCHANGE"),
    released=Lazy(f"{__name__}.released:RELEASED"),
    load_released=Lazy(f"{__name__}.released_questions:load"),
    report=Lazy(f"{__name__}.section:SECTION"),
    construction=Lazy(f"{__name__}.construction:CONSTRUCTION"),
    pocket=pocket_of("humblebench", constructed=True),
)

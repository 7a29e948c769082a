"""ActiView: the benchmark's parts, by name (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from known_unknowns.benchmark.interface import Benchmark, Lazy, PublishedProtocol
from known_unknowns.benchmark.pocket import pocket_of

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
    published_protocols={
        "full_image": PublishedProtocol("full_image"),
        "single_view": PublishedProtocol("single_view", {"level": "R"}),
        "zooming": PublishedProtocol("zooming", {"split": 4}),
        **{
            f"shifting_{level.lower()}": PublishedProtocol("shifting", {"level": level, "split": 4}) for level in "REMH"
        },
        "mixed": PublishedProtocol("mixed", {"split": 4}),
        "groundtruth_views": PublishedProtocol("groundtruth_views"),
        "text_only_commonsense": PublishedProtocol("text_only_template", {"template": "commonsense"}),
        "text_only_guess": PublishedProtocol("text_only_template", {"template": "guess"}),
        **{f"zooming_{split}": PublishedProtocol("zooming", {"split": split}) for split in (6, 8, 9, 16)},
        **{
            f"shifting_r_{split}": PublishedProtocol("shifting", {"level": "R", "split": split})
            for split in (6, 8, 9, 16)
        },
    },
    metrics=Lazy(f"{__name__}.metrics:METRICS"),
    audit=Lazy(f"{__name__}.audit:audit"),
    check=Lazy(f"{__name__}.check:check"),
    exchange=Lazy(f"{__name__}.exchange:EXCHANGE"),
    released=Lazy(f"{__name__}.released:RELEASED"),
    load_released=Lazy(f"{__name__}.released:load"),
    report=Lazy(f"{__name__}.section:SECTION"),
    construction=Lazy(f"{__name__}.construction:CONSTRUCTION"),
    pocket=pocket_of("actiview"),
)

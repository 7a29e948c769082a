"""ActiView: the benchmark's class (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from known_unknowns.benchmark.headline import RECOGNISED, HeadlineNumber
from known_unknowns.benchmark.interface import Benchmark, PublishedProtocol, part


class ActiView(Benchmark):
    """ActiView: see README.md."""

    name = "actiview"
    title = "ActiView"
    headline = (
        HeadlineNumber("zooming", "zooming accuracy", variants=("zooming",)),
        HeadlineNumber("shifting", "shifting accuracy", variants=("shifting_r",)),
        HeadlineNumber("mixed", "mixed accuracy", variants=("mixed",)),
        HeadlineNumber("average", "mean accuracy of zooming and shifting", variants=("average",)),
        HeadlineNumber("full_image", "accuracy on the full image (control)", variants=("full_image",)),
        RECOGNISED[0],  # no question offers a refusal, so that a reply can only abstain
    )
    published_protocols = {
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
    }

    load = part("loader.load")
    load_without_images = part("loader.load_without_images")
    check = part("check.check")
    prompt = part("prompts.prompt")
    protocols = part("protocols.PROTOCOLS")
    expected_reply = part("protocols.expected_reply")
    official = part("parsing.official")
    metrics = part("metrics.METRICS")
    exchange = part("exchange.EXCHANGE")
    released = part("released.RELEASED")
    section_data = part("report.build")


BENCHMARK = ActiView()

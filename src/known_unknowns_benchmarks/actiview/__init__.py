"""ActiView: the benchmark's class (`known_unknowns.benchmark.interface.Benchmark`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from known_unknowns.benchmark.headline import RECOGNISED, HeadlineNumber
from known_unknowns.benchmark.interface import Benchmark, PublishedProtocol
from known_unknowns.records import Definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from known_unknowns.benchmark.checks import Finding, Quantity
    from known_unknowns.benchmark.exchange import Exchange
    from known_unknowns.benchmark.metrics import BenchmarkMetrics
    from known_unknowns.benchmark.parsed_answer import ParsedAnswer
    from known_unknowns.benchmark.protocol import Protocol
    from known_unknowns.benchmark.released import Released
    from known_unknowns.benchmark.section_data import SectionData
    from known_unknowns.config import DataEntry
    from known_unknowns.metrics.run import Run
    from known_unknowns.progress import Advance
    from known_unknowns.records import Question, Turn

_README = "src/known_unknowns_benchmarks/actiview/README.md"


class ActiView(Benchmark):
    """ActiView: see README.md."""

    name = "actiview"
    title = "ActiView"
    short = "AV"
    headline = (
        HeadlineNumber(
            "zooming",
            "zooming accuracy",
            variants=("zooming",),
            short="zoom",
            definition=Definition(
                "Accuracy where the model sees the full image at a low resolution and selects views to see in detail.",
                f"{_README}#protocols",
            ),
        ),
        HeadlineNumber(
            "shifting",
            "shifting accuracy",
            variants=("shifting_r",),
            short="shift",
            definition=Definition(
                "Accuracy where the model starts with one view of the image and asks for further ones.",
                f"{_README}#protocols",
            ),
        ),
        HeadlineNumber(
            "mixed",
            "mixed accuracy",
            variants=("mixed",),
            definition=Definition(
                "Accuracy where the model zooms into views of the full image, and keeps or replaces them.",
                f"{_README}#protocols",
            ),
        ),
        HeadlineNumber(
            "average",
            "mean accuracy of zooming and shifting",
            variants=("average",),
            short="mean",
            definition=Definition(
                "Mean of the accuracies of zooming and of the four kinds of shifting.",
                f"{_README}#metrics",
            ),
        ),
        HeadlineNumber(
            "full_image",
            "accuracy on the full image (control)",
            variants=("full_image",),
            short="full",
            definition=Definition(
                "Accuracy where the model sees the full image at a low resolution and no view.",
                f"{_README}#protocols",
            ),
        ),
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

    def load(
        self,
        raw: Path,
        folder: Path,
        *,
        settings: DataEntry | None = None,
        advance: Advance | None = None,
        workers: int = 1,
    ) -> Iterator[Question]:
        from known_unknowns_benchmarks.actiview.loader import load

        return load(raw, folder, settings=settings, advance=advance, workers=workers)

    def load_without_images(self, path: Path, *, settings: DataEntry | None = None) -> list[Question] | None:
        from known_unknowns_benchmarks.actiview.loader import load_without_images

        return load_without_images(path, settings=settings)

    def check(self, raw: Path, *, settings: DataEntry | None = None) -> tuple[Sequence[Quantity], Sequence[Finding]]:
        from known_unknowns_benchmarks.actiview.check import check

        return check(raw, settings=settings)

    def prompt(self, question: Question) -> str:
        from known_unknowns_benchmarks.actiview.prompts import prompt

        return prompt(question)

    def protocols(self) -> Mapping[str, Protocol]:
        from known_unknowns_benchmarks.actiview.protocols import PROTOCOLS

        return PROTOCOLS

    def expected_reply(self, question: Question, turn: Turn) -> str:
        from known_unknowns_benchmarks.actiview.protocols import expected_reply

        return expected_reply(question, turn)

    def official(self, text: str, question: Question) -> ParsedAnswer:
        from known_unknowns_benchmarks.actiview.parsing import official

        return official(text, question)

    def metrics(self) -> BenchmarkMetrics:
        from known_unknowns_benchmarks.actiview.metrics import METRICS

        return METRICS

    def exchange(self) -> Exchange:
        from known_unknowns_benchmarks.actiview.exchange import EXCHANGE

        return EXCHANGE

    def released(self) -> Released:
        from known_unknowns_benchmarks.actiview.released import RELEASED

        return RELEASED

    def section_data(self, run: Run, *, results: Path, data: Path) -> SectionData:
        from known_unknowns_benchmarks.actiview.report import build

        return build(run, results=results, data=data)


BENCHMARK = ActiView()

"""What the report says of each benchmark: its names, its headline, its figures, its notes. One entry per benchmark.

A benchmark without an entry gets every table, the letters and the samples, under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Scatter:
    """Accuracy on one variant against another, every model a point, the published ones behind ours.

    A point is drawn twice: as the paper counts it (``counted``, under the official scorer) and as a careful
    person reads the same replies (``read``, under the robust scorer). ``published_read`` is the published
    metric that stands for the second, where there is one.
    """

    name: str
    title: str
    x: str
    y: str
    counted: str
    read: str = "accuracy"
    published_read: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """What is particular to one benchmark.

    ``names`` maps a variant to what readers of the paper call it, ``categories`` are in the paper's order, and
    ``exact`` maps a variant of the headline to a metric of the released code (and its heading) that stands beside
    accuracy. ``letters`` is the file name of the figure of answers, ``notes`` a template of this package.
    """

    title: str
    headline: tuple[str, ...] = ("original",)
    names: Mapping[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    exact: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    scatters: tuple[Scatter, ...] = ()
    letters: str = ""
    letters_note: str = ""
    notes: str = ""
    cite: str = ""

    def name(self, variant: str) -> str:
        return self.names.get(variant, variant.replace("_", " "))


SECTIONS: dict[str, Section] = {
    "humblebench": Section(
        title="HumbleBench",
        headline=("original", "nota_only", "noise"),
        names={
            "original": "HumbleBench",
            "nota_only": "HumbleBench-E",
            "nota_only_relettered": "HumbleBench-E, relettered",
            "noise": "HumbleBench-GN",
            "gaussian": "normal noise",
            "blank": "blank pictures",
            "text_only": "no picture",
            "shuffled_options": "shuffled options",
        },
        categories=("Object", "Relation", "Attribute"),
        exact={"nota_only": ("exact_refusal_recall", "exactly “E”")},
        scatters=(
            Scatter(
                name="humblebench_vs_e",
                title="HumbleBench against HumbleBench-E",
                x="original",
                y="nota_only",
                counted="exact_refusal_recall",
                published_read="share_E",
                note="The paper's Figure 4. It counts a reply only when it is exactly “E”; a line joins the two "
                "readings of the same replies.",
            ),
            Scatter(
                name="humblebench_vs_gn",
                title="HumbleBench against HumbleBench-GN",
                x="original",
                y="noise",
                counted="share_E",
                note="The paper's Figure 5: the share of all questions answered E when every picture is noise. "
                "Only the six values that are stated in words or logged can be drawn in grey.",
            ),
        ),
        letters="letters",
        letters_note="E is the refusal, except where the options were relettered: there it is the last letter left, "
        "mostly D. A letter that was not on offer is drawn as it was read, and counts as unparsed elsewhere.",
        notes="humblebench.html.j2",
        cite="Bingkui Tong, Jiaer Xia, Sifeng Shang and Kaiyang Zhou (2025). Measuring Epistemic Humility in "
        "Multimodal Large Language Models. arXiv:2509.09658.",
    ),
}


def section(benchmark: str) -> Section:
    """The benchmark's entry, or a plain one under its own name."""
    return SECTIONS.get(benchmark) or Section(title=benchmark, letters=f"{benchmark}_letters")

"""What the report says of each benchmark: its names, its headline, its figures, its notes. One entry per benchmark.

A benchmark without an entry gets every table, the letters and the samples, under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from known_unknowns.benchmarks.mmsap import SUB_TASKS, SUBSETS
from known_unknowns.published.actiview import TYPES as CLASSES


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
class Notes:
    """A template of this package, its heading, and how the contents call it."""

    template: str
    title: str
    link: str


@dataclass(frozen=True, slots=True)
class Section:
    """What is particular to one benchmark.

    ``names`` maps a variant to what readers of the paper call it, ``categories`` are in the paper's order.
    ``measured`` is the metric of headline and types, and what it is a percentage of; ``headline_note`` explains it, and
    ``exact`` maps a variant of the headline to a metric of the released code (and its heading) that stands beside it.
    ``by_type`` are the variants that are shown by type, by default those of the headline. ``refusal`` is the text of
    the option that refuses, and ``refusal_letter`` its letter, where that is always the same. ``letters`` is the file
    name of the figure of answers, and ``own`` the module and the template of what only this benchmark shows.
    """

    title: str
    headline: tuple[str, ...] = ("original",)
    measured: tuple[str, str] = ("accuracy", "percent right")
    headline_note: str = ""
    by_type: tuple[str, ...] = ()
    refusal: str = "None of the above"
    refusal_letter: str = "E"
    names: Mapping[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    exact: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    scatters: tuple[Scatter, ...] = ()
    letters: str = ""
    letters_note: str = ""
    notes: Notes | None = None
    own: tuple[str, str] | None = None
    about: str = ""
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
        notes=Notes("humblebench.html.j2", "What the released code does", "The released code"),
        cite="Bingkui Tong, Jiaer Xia, Sifeng Shang and Kaiyang Zhou (2025). Measuring Epistemic Humility in "
        "Multimodal Large Language Models. arXiv:2509.09658.",
    ),
    "mmsap": Section(
        title="MM-SAP",
        headline=("shuffled_options", "shuffled_refusal_prompt", "nota_only", "noise"),
        measured=("score_sa", "score_sa in percent"),
        headline_note="As the paper scores it: answered rightly, or refused without knowing. No code was released: "
        "“as released” is direct matching as the paper describes it.",
        by_type=("shuffled_options",),
        refusal="Sorry, I can’t help with it",
        refusal_letter="",
        names={
            "original": "options as stored",
            "shuffled_options": "MM-SAP",
            "shuffled_refusal_prompt": "MM-SAP, refusal prompt",
            "nota_only": "no right option",
            "noise": "noise",
            "gaussian": "normal noise",
            "blank": "blank pictures",
            "text_only": "no picture",
        },
        categories=(*SUBSETS, *(name for names in SUB_TASKS.values() for name in names)),
        letters="mmsap_letters",
        letters_note="The refusal stands at another letter in every question.",
        notes=Notes("mmsap_notes.html.j2", "What the papers leave open", "What is left open"),
        own=("known_unknowns.report.mmsap", "mmsap.html.j2"),
        cite="Yuhao Wang, Yusheng Liao, Heyang Liu, Hongcheng Liu, Yanfeng Wang and Yu Wang (2024). MM-SAP: A "
        "Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large Language Models in Perception. "
        "arXiv:2401.07529.",
    ),
    "actiview": Section(
        title="ActiView",
        headline=("full_image", "zooming", "shifting_r", "mixed"),
        by_type=("full_image", "mixed"),
        refusal="",
        refusal_letter="",
        names={
            "full_image": "full image",
            "single_view": "single view",
            "mixed": "mixed",
            "groundtruth_views": "annotated views",
            "text_only_commonsense": "no picture, may say None",
            "text_only_guess": "no picture, must guess",
            **{f"shifting_{level.lower()}": f"Shifting-{level}" for level in "REMH"},
            **{f"shifting_{level.lower()}_robust": f"Shifting-{level}, read robustly" for level in "REMH"},
            **{f"{name}_robust": f"{name}, read robustly" for name in ("zooming", "mixed")},
            **{f"zooming_{split}": f"zooming, {split} views" for split in (6, 8, 9, 16)},
            **{f"shifting_r_{split}": f"Shifting-R, {split} views" for split in (6, 8, 9, 16)},
        },
        categories=tuple(name for kind, names in CLASSES.items() for name in (*names, kind)),
        letters="actiview_letters",
        letters_note="Questions have two to seven options, so that later letters are rarer. What stands is the letter "
        "of the last turn, the answer.",
        notes=Notes("actiview_notes.html.j2", "What the toolkit does, and what is left open", "The released toolkit"),
        own=("known_unknowns.report.actiview", "actiview.html.j2"),
        about="ActiView shows a large picture reduced, or one part of it at a time, and lets the model ask for the "
        "views that it lacks before it answers: one that knows what it has not seen asks for that, and for no more.",
        cite="Ziyue Wang, Chi Chen, Fuwen Luo, Yurui Dong, Yuanchi Zhang, Yuzhuang Xu, Xiaolong Wang, Peng Li and Yang "
        "Liu (2024). ActiView: Evaluating Active Perception Ability for Multimodal Large Language Models. "
        "arXiv:2410.04659.",
    ),
}


def section(benchmark: str) -> Section:
    """The benchmark's entry, or a plain one under its own name."""
    return SECTIONS.get(benchmark) or Section(title=benchmark, letters=f"{benchmark}_letters")

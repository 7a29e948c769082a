"""The report's section on ActiView."""

from __future__ import annotations

from known_unknowns.benchmark.section import Dots, Notes, Section
from known_unknowns_benchmarks.actiview.audit import HUMAN
from known_unknowns_benchmarks.actiview.categories import TYPES

SECTION = Section(
    title="ActiView",
    headline=("zooming", "shifting_r", "mixed", "full_image"),
    by_type=("full_image", "mixed"),
    names={
        "full_image": "full image",
        "single_view": "single view",
        "mixed": "mixed",
        "groundtruth_views": "annotated views",
        "text_only_commonsense": "no image, may answer None",
        "text_only_guess": "no image, must guess",
        **{f"shifting_{level.lower()}": f"Shifting-{level}" for level in "REMH"},
        **{f"shifting_{level.lower()}_robust": f"Shifting-{level}, robust parser" for level in "REMH"},
        **{f"{name}_robust": f"{name}, robust parser" for name in ("zooming", "mixed")},
        "average": "mean of zooming and shifting",
        "average_robust": "mean of zooming and shifting, robust parser",
        **{f"shifting_{level.lower()}_paper": f"Shifting-{level}, paper's prompts" for level in "REMH"},
        **{f"{name}_paper": f"{name.replace('_', ' ')}, paper's prompts" for name in ("full_image", "single_view")},
        **{f"{name}_paper": f"{name}, paper's prompts" for name in ("zooming", "mixed")},
        "groundtruth_views_paper": "annotated views, paper's prompts",
        "full_image_paper_short": "full image, paper's short prompt",
        **{f"zooming_{split}": f"zooming, {split} views" for split in (6, 8, 9, 16)},
        **{f"shifting_r_{split}": f"Shifting-R, {split} views" for split in (6, 8, 9, 16)},
    },
    categories=(
        *(name for kind, names in TYPES.items() for name in (*names, kind)),
        *("Distraction", "No distraction"),
    ),
    answers_figure="actiview_letters",
    answers_note="Questions have two to seven options, so later letters are less frequent. The label is that of the "
    "last turn, the answer.",
    notes=Notes("actiview/notes.html.j2", "The released toolkit, and open choices", "The released toolkit"),
    template="actiview/section.html.j2",
    about="ActiView shows a large image at a reduced size, or one part of it at a time. Before the model answers, "
    "it can ask for views of missing parts. A model that knows what it has not seen asks for these views only.",
    figures=(
        Dots(
            "actiview_pipelines",
            "Accuracy in every pipeline",
            axis="right",
            metric="accuracy",
            rows={
                "": (
                    *("full_image", "zooming", "single_view", "shifting_r", "shifting_e", "shifting_m", "shifting_h"),
                    *("mixed", "groundtruth_views", "text_only_commonsense", "text_only_guess"),
                )
            },
            by_variant=True,
            published=True,
            without=("Table 14",),
            has_chance=True,
            lines={"people": HUMAN},
            note="Hollow circles are published numbers. Dashed lines: chance, from the options of these questions, and "
            f"human accuracy ({HUMAN}%) on the published questions.",
        ),
        "actiview_needed",
        "actiview_cost_images",
        "actiview_cost_tokens",
    ),
)

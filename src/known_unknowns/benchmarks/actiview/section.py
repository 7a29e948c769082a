"""What the report says of ActiView alone."""

from __future__ import annotations

from known_unknowns.benchmarks import Lazy
from known_unknowns.benchmarks.actiview.format import TYPES
from known_unknowns.report.section import Extra, Notes, Section

SECTION = Section(
    title="ActiView",
    headline=("full_image", "zooming", "shifting_r", "mixed"),
    by_type=("full_image", "mixed"),
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
    categories=tuple(name for kind, names in TYPES.items() for name in (*names, kind)),
    answers_figure="actiview_letters",
    answers_note="Questions have two to seven options, so that later letters are rarer. What stands is the letter "
    "of the last turn, the answer.",
    notes=Notes("actiview/notes.html.j2", "What the toolkit does, and what is left open", "The released toolkit"),
    extra=Extra(Lazy("known_unknowns.benchmarks.actiview.report:build"), "actiview/section.html.j2"),
    about="ActiView shows a large picture reduced, or one part of it at a time, and lets the model ask for the "
    "views that it lacks before it answers: one that knows what it has not seen asks for that, and for no more.",
    figures=("actiview_pipelines", "actiview_needed", "actiview_cost_pictures", "actiview_cost_tokens"),
)

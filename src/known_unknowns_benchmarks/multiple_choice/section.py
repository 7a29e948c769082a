"""The report's section on the user's own questions."""

from __future__ import annotations

from known_unknowns.benchmark.section import Section

SECTION = Section(
    title="Multiple choice",
    headline=("original", "nota_only", "noise"),
    official_name="strict",
    official_note="These questions have no released code. The strict parser takes the place of its parser: a reply "
    "starts with a label, or is the exact text of an option.",
    unchanged="as in the files",
    names={
        "original": "as in the files",
        "nota_only": "no right option",
        "nota_only_relettered": "no right option, relettered",
        "noise": "noise",
        "gaussian": "normal noise",
        "blank": "blank images",
        "text_only": "no image",
        "shuffled_options": "shuffled options",
        "shuffled_refusal_prompt": "shuffled options, refusal prompt",
    },
    answers_note="The label of the refusal can differ between questions.",
)

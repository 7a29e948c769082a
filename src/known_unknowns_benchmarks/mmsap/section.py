"""The report's section on MM-SAP."""

from __future__ import annotations

from known_unknowns.benchmark.section import Notes, Section
from known_unknowns_benchmarks.mmsap.categories import SUB_TASKS, SUBSETS

SECTION = Section(
    title="MM-SAP",
    headline=("shuffled_options", "shuffled_refusal_prompt", "nota_only", "noise"),
    measured=("score_sa", "score_sa in percent"),
    headline_note="The paper's score: answered correctly, or refused without knowledge of the answer. No code was "
    "released: “as released” is direct matching as the paper describes it.",
    by_type=("shuffled_options",),
    refusal="Sorry, I can’t help with it",
    names={
        "original": "options as stored",
        "shuffled_options": "MM-SAP",
        "shuffled_refusal_prompt": "MM-SAP, refusal prompt",
        "nota_only": "no right option",
        "noise": "noise",
        "gaussian": "normal noise",
        "blank": "blank images",
        "text_only": "no image",
    },
    categories=(*SUBSETS, *(name for names in SUB_TASKS.values() for name in names)),
    answers_figure="mmsap_letters",
    answers_note="The label of the refusal differs between questions.",
    notes=Notes("mmsap/notes.html.j2", "Open choices of the papers", "Open choices"),
    template="mmsap/section.html.j2",
    figures=("mmsap_scores", "mmsap_subtasks", "mmsap_quadrant", "mmsap_risk_coverage"),
)

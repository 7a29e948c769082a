"""The report's section on MM-SAP."""

from __future__ import annotations

from known_unknowns.benchmark.section import Dots, Notes, Scatter, Section, Series, Shares
from known_unknowns.records import OVERALL
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
    figures=(
        Scatter(
            "mmsap_scores",
            "Known knowns and known unknowns",
            axes=("answered correctly", "refused without knowing the answer"),
            series=tuple(
                Series(prompt, (variant, "score_kk"), (variant, "score_ku"))
                for variant, prompt in (
                    ("shuffled_options", "plain prompt"),
                    ("shuffled_refusal_prompt", "refusal prompt"),
                )
            ),
            has_sums=True,
            note="Figure 5 of the paper: score_kk (horizontal) and score_ku (vertical). On a dashed line, their sum, "
            "score_sa, is constant. Diamonds use the refusal prompt (Table 3).",
            joined="A line joins the two points of a model.",
        ),
        Dots(
            "mmsap_subtasks",
            "The 19 sub-tasks",
            axis="answered or refused rightly",
            metric="score_AR",
            rows=SUB_TASKS,
            note="Figure 4 of the first preprint, which is a radar chart: score_AR on {variant}. Each dot is based on "
            "few questions.",
        ),
        Shares(
            "mmsap_quadrant",
            "The knowledge quadrants",
            parts={
                "quadrant_known_known": ("known known: right", "#3f7fbf"),
                "quadrant_known_unknown": ("known unknown: refused, not known", "#e08a2e"),
                "quadrant_unknown_known": ("unknown known: refused, but known", "#f2c48d"),
                "quadrant_unknown_unknown": ("unknown unknown: wrong", "#a8324a"),
                "quadrant_abstained": ("abstained", "#c9b458"),
                "quadrant_unread": ("unparsed, cut or failed", "#7d858f"),
            },
            categories=(OVERALL, *SUBSETS),
            note="A question is answered or refused, and a refused question is known if the reply without the refusal "
            "is right. On {variant}.",
        ),
        "mmsap_risk_coverage",
    ),
)

"""The report's section on HumbleBench."""

from __future__ import annotations

from known_unknowns.benchmark.section import Notes, OfficialMetric, Scatter, Section, Series

SECTION = Section(
    title="HumbleBench",
    headline=("original", "nota_only", "noise"),
    names={
        "original": "HumbleBench",
        "nota_only": "HumbleBench-E",
        "nota_only_relettered": "HumbleBench-E, relettered",
        "noise": "HumbleBench-GN",
        "gaussian": "normal noise",
        "blank": "blank images",
        "text_only": "no image",
        "shuffled_options": "shuffled options",
        "shuffled_all_options": "all options shuffled",
        "cautious_prompt": "cautious prompt",
        "noise_forced_grounding": "HumbleBench-GN, forced grounding",
    },
    categories=("Object", "Relation", "Attribute"),
    refusal="None of the above",
    refusal_label="E",
    official_metrics=(
        OfficialMetric(
            "exact_refusal_recall",
            variants=("nota_only",),
            heading="exactly “E”",
            long_heading="refusals found, exactly “E”",
            note="“Exactly” counts a reply only if it is the label and nothing else, as the paper’s figure does.",
        ),
    ),
    scatters=(
        Scatter(
            "humblebench_vs_e",
            "HumbleBench against HumbleBench-E",
            axes=("right on HumbleBench", "right on HumbleBench-E"),
            series=(
                Series("as in the paper", ("original", "accuracy"), ("nota_only", "exact_refusal_recall")),
                Series("robust parser", ("original", "accuracy"), ("nota_only", "accuracy"), "robust", "share_E"),
            ),
            has_chance=True,
            note="Figure 4 of the paper, which counts a reply only if it is exactly “E”.",
            joined="A line joins the results of the two parsers of the same replies.",
        ),
        Scatter(
            "humblebench_vs_gn",
            "HumbleBench against HumbleBench-GN",
            axes=("right on HumbleBench", "answered E on HumbleBench-GN"),
            series=(
                Series("as in the paper", ("original", "accuracy"), ("noise", "share_E")),
                Series("robust parser", ("original", "accuracy"), ("noise", "accuracy"), "robust", ""),
            ),
            has_chance=True,
            note="Figure 5 of the paper: the share of all questions answered E if every image is noise. The figure "
            "prints no numbers; those of the repository’s log are drawn in grey.",
        ),
    ),
    answers_figure="letters",
    answers_note="E is the refusal. If the options were relettered, the refusal has the last remaining label, mostly "
    "D. A label that was not offered is shown here, and counts as unparsed elsewhere.",
    template="humblebench/papers.html.j2",
    notes=Notes("humblebench/section.html.j2", "The released code", "The released code"),
)

"""What the report says of HumbleBench alone."""

from __future__ import annotations

from known_unknowns.report.section import Notes, OfficialMetric, Scatter, Section

SECTION = Section(
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
            name="humblebench_vs_e",
            title="HumbleBench against HumbleBench-E",
            x="original",
            y="nota_only",
            official_metric="exact_refusal_recall",
            published_robust_metric="share_E",
            note="The paper's Figure 4. It counts a reply only when it is exactly “E”; a line joins the two "
            "readings of the same replies.",
        ),
        Scatter(
            name="humblebench_vs_gn",
            title="HumbleBench against HumbleBench-GN",
            x="original",
            y="noise",
            official_metric="share_E",
            note="The paper's Figure 5: the share of all questions answered E when every picture is noise. "
            "Only the six values that are stated in words or logged can be drawn in grey.",
        ),
    ),
    answers_figure="letters",
    answers_note="E is the refusal, except where the options were relettered: there it is the last letter left, "
    "mostly D. A letter that was not on offer is drawn as it was read, and counts as unparsed elsewhere.",
    notes=Notes("humblebench/section.html.j2", "What the released code does", "The released code"),
)

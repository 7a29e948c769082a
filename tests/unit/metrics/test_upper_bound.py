from __future__ import annotations

import pytest

from known_unknowns import tables, variants
from known_unknowns.records import NOT_OFFERED, Cell, Reply
from tests.factories import question
from tests.unit.metrics.answered import measured, pick

# Replies to a question whose option D, "Gold", was removed, by how far they can be right: "" for not at all.
WITHOUT_GOLD = [
    ("E", "right"),
    ("None", "possible"),  # robust: the refusal in other words, right; official: unparsed
    ("", "possible"),
    ("It looks like gold to me.", "possible"),  # more than the text of an option
    (None, "possible"),  # failed
    ("D", ""),  # the label that is not offered
    ("D. Gold", ""),
    ("Gold", ""),
    ("**the gold.**", ""),
    ("<think>Perhaps none of them.</think>\ngold", ""),
    ("Black", ""),  # robust: C, wrong; official: unparsed, but offered, so that it counts in the bound
]


def test_upper_bound_leaves_out_replies_that_are_the_removed_option(tmp_path):
    """Of 11 replies, 5 can be right, and 1 or 2 are. The official parser finds no option in "None" and "Black"."""
    pairs = [
        (variants.nota_only(question(str(n), 3)), Reply("", error="no") if text is None else Reply(text))
        for n, (text, _) in enumerate(WITHOUT_GOLD)
    ]
    metrics = measured(tmp_path, {Cell("nota_only", 0): pairs})
    for parser, right, possible, unparsed in [("robust", 2, 5, 7), ("official", 1, 6, 9)]:
        found = {
            name: pick(metrics, name, parser=parser, variant="nota_only").value * 11
            for name in ("accuracy", "accuracy_high_bound", "share_unparsed", "share_no_letter")
        }
        shares = {"share_unparsed": unparsed, "share_no_letter": unparsed}
        assert found == pytest.approx({"accuracy": right, "accuracy_high_bound": possible} | shares), parser
    scores = tables.read_scores(tmp_path / "answers.parquet")
    labels = {score.question_id for score in scores if score.label == NOT_OFFERED}
    assert labels == {"7", "8", "9"}

"""The report's description of how replies were computed."""

from __future__ import annotations

import pytest

from known_unknowns.errors import DamagedError
from known_unknowns.report import provenance_tables
from known_unknowns.report.numerics import computation, repeated
from known_unknowns.report.provenance import Model, RunDescription
from known_unknowns.verification.summaries import read_summary
from known_unknowns.verification.verify import Comparison, VerificationResult, write


def test_rejected_plans_and_changed_answers():
    """By hand: 1 letter of 10. Wilson with z = 1.959964, z^2 = 3.841459: centre (0.1 + 0.192073) / 1.384146 =
    0.211013, half width 1.959964 * sqrt(0.009 + 0.00960365) / 1.384146 = 0.193137. The difference is that of the plan
    that is still in use."""
    about = {
        "sharing": {
            "asked": "auto",
            "prompts": {"rows": 12},
            "checked_on_pictures": 2,
            "differences": {"packed": 0.3, "rows": 2e-6},
            "fell_back": [{"plan": "packed", "why": "its logits differ"}],
        },
        "certificate": {"compared": 10, "flips": 1, "rate": 0.1, "gaps": [0.031]},
    }
    row = computation("m", "humblebench", about, 0.95)
    assert (row.plans, row.difference, row.rejected_plans) == ({"rows": 12}, 2e-6, (("packed", "its logits differ"),))
    assert (row.changes.count, row.changes.n, row.changes.widest) == (1, 10, 0.031)
    assert (row.changes.low, row.changes.high) == pytest.approx((0.0179, 0.4042), abs=5e-5)


def test_absent_records_give_no_numbers():
    assert computation("m", "humblebench", {"torch": "2"}, 0.95) is None
    off = computation("m", "humblebench", {"sharing": {"asked": "off"}}, 0.95)
    assert (off.plans, off.difference, off.rejected_plans, off.changes) == ({}, None, (), None)
    none_yet = {"sharing": {"asked": "off"}, "certificate": {"compared": 0, "flips": 0, "rate": None, "gaps": []}}
    assert computation("m", "humblebench", none_yet, 0.95).changes is None


def comparison(key: str, way: str, *, flip: bool = False, near_tie: bool | None = None, failed: bool = False):
    return Comparison(
        "m", "humblebench", "original", 0, key, "answer", key, way, f"<b>{way}</b> instead of 8", "A",
        "B" if flip else "A", flip, False, failed, 0.002, None, near_tie,
    )  # fmt: skip


def test_replies_asked_again_are_shown_with_their_interval_and_cause(tmp_path):
    """By hand: turn 1 changes in two ways, a near tie both times; turn 2 changes alone, not a near tie; one of 10
    has no reply alone. Wilson of 2 in 10 with z^2 = 3.841459: centre (0.2 + 0.192073) / 1.384146 = 0.283260, half width
    1.959964 * sqrt(0.016 + 0.00960365) / 1.384146 = 0.226575."""
    rows = [comparison(str(key), way) for way in ("order", "alone") for key in range(3, 10)]
    rows += [comparison("1", way, flip=True, near_tie=True) for way in ("order", "alone")]
    rows += [comparison("2", "order"), comparison("2", "alone", flip=True, near_tie=False)]
    rows += [comparison("10", "order"), comparison("10", "alone", failed=True)]
    write(VerificationResult("m", "humblebench", 0, 50, {"revision": "1"}, tuple(rows)), tmp_path)
    found = repeated(read_summary(tmp_path, "m", "humblebench", {"revision": "1"}))
    assert [(row.way, row.count, row.n, row.near_ties, row.failed) for row in found] == [
        ("", 2, 10, 1, None),
        ("alone", 2, 9, 1, 1),
        ("order", 1, 10, 1, 0),
    ]
    assert (found[0].low, found[0].high) == pytest.approx((0.0567, 0.5098), abs=5e-5)
    models = (Model("m", {"engine": "transformers"}, {}, {}, 50, repeated=found),)
    table = provenance_tables.repeated(
        RunDescription("e", (0,), {}, {}, (), models, {}, None, None), {"humblebench": "HB"}
    )
    shown = [[cell.text for cell in row.cells] for row in table.rows]
    assert [head.text for head in table.rows[2].heads] == ["m", "HB", "order"]
    assert shown[1:] == [
        ["<b>alone</b> instead of 8", "9", "2", "1", "1"],
        ["<b>order</b> instead of 8", "10", "1", "1", "0"],
    ]
    assert table.rows[0].cells[2].note == "20.0% [5.7, 51.0], Wilson, 95%"
    assert read_summary(tmp_path, "m", "humblebench", {"revision": "2"}) is None  # of an earlier revision
    path = tmp_path / "m/humblebench.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"changed": 2', '"changed": 0', 1), encoding="utf-8")
    with pytest.raises(DamagedError):
        read_summary(tmp_path, "m", "humblebench", {"revision": "1"})


def test_columns_without_any_number_are_left_out():
    """Imported replies have no tokens and no cost, and a model that was not run has no turns."""
    models = tuple(Model(name, {"engine": "imported"}, {}, {}, turns) for name, turns in (("a", 50), ("b", None)))
    table = provenance_tables.usage(RunDescription("e", (0,), {}, {}, (), models, {}, None, None))
    assert [head.text for head in table.columns] == ["engine", "turns"]
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["imported", "50"], ["imported", "–"]]

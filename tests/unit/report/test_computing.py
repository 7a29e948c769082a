"""The report's description of how replies were computed."""

from __future__ import annotations

import pytest

from known_unknowns.report.numerics import computation


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

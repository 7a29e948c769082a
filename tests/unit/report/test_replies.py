"""Text of replies in the page."""

from __future__ import annotations

from known_unknowns.report.replies import printable


def test_control_characters_are_shown() -> None:
    assert printable("a\x00b\tc\nd\x7f é") == "a␀b\tc\nd␡ é"

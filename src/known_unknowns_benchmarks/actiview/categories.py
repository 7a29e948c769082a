"""The types of questions of ActiView and their sub-classes."""

from __future__ import annotations

from collections.abc import Mapping

TYPES: Mapping[str, tuple[str, ...]] = {
    "Type I": ("Geo-Loc", "Orient", "Daily-Loc"),
    "Type II": ("Obj-Attr", "Obj-Rel", "Count-Dis"),
    "Type III": ("Event-M", "Event-S"),
}
"""Environment-, object- and event-centric questions (Section 3.1), and their sub-classes as Table 8 prints them."""

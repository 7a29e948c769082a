"""The subsets and sub-tasks of MM-SAP."""

from __future__ import annotations

from collections.abc import Mapping

BASIC, KNOW, BEYOND = "BasicVisQA", "KnowVisQA", "BeyondVisQA"
SUBSETS = (BASIC, KNOW, BEYOND)
SUB_TASKS: Mapping[str, tuple[str, ...]] = {
    BASIC: ("Action", "Color", "Counting", "Objects Recognition", "OCR", "Position", "Other"),
    KNOW: ("Animal & Plant", "Art", "Brand & Product", "Landmarks", "Organizations", "Food"),
    BEYOND: (
        "Nonexistent Objects",
        "Intractable Quantity",
        "Other modalities Information",
        "Missing Visual Information",
        "Temporal Unpredictability",
        "Background Information",
    ),
}
"""The 19 sub-tasks as Figure 3 (Figure 2 of the first preprint) spells them."""

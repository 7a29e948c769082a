"""Files in MM-UPD's published format: one problem in each subset, with all rotations."""

from __future__ import annotations

import base64
import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from known_unknowns_benchmarks.mm_upd.format import FILES
from tests.factories import png

COLUMNS = ["index", "question", "hint", "A", "B", "C", "D", "E", "answer", "masked_answer", "category", "l2-category",
           "type", "image", "source", "split"]  # fmt: skip
WEATHER = ["sunny", "rainy", "windy"]
FAMILY = ["Father and daughter", "Mother and son", "Husband and wife"]
REFUSAL = {"AAD": "None of the above", "IASD": "None of the above", "IVQD": "The image and question are irrelevant."}


def rows(subset: str, setting: str) -> list[dict[str, Any]]:
    """The rows of one problem whose right option is "rainy": three standard passes, then the unsolvable ones."""
    unsolvable = {"AAD": ["sunny", "windy"], "IASD": FAMILY, "IVQD": WEATHER}[subset]
    found = []
    for kind, options in (("standard", WEATHER), ("upd", unsolvable)):
        for turn in range(len(options)):
            texts = options[turn:] + options[:turn]
            answer = (
                "ABC"[texts.index("rainy")] if kind == "standard" else "F" if setting == "base" else "ABCD"[len(texts)]
            )
            if setting == "option":
                texts = [*texts, REFUSAL[subset]]
            found.append(
                {
                    "index": 241 + turn * 1_000_000,
                    "question": "What weather is depicted?",
                    "hint": "nan" if subset != "IVQD" else "Look at the sky.",
                    **dict(zip("ABCDE", texts, strict=False)),
                    "answer": answer,
                    "masked_answer": "rainy" if kind == "upd" and subset != "IVQD" else "",
                    "category": "image_scene",
                    "l2-category": "coarse_perception",
                    "type": kind,
                    "image": image(subset, kind),
                    "source": "places",
                    "split": "test",
                }
            )
    return found


def image(subset: str, kind: str) -> str:
    """The image in base64. Only IVQD has another image for the unsolvable question."""
    red = 200 if (subset, kind) == ("IVQD", "upd") else 20
    return base64.b64encode(png((red, 90, 30))).decode()


def write(folder: Path, changed: Mapping[str, list[dict[str, Any]]] | None = None) -> Path:
    """Write the six files; ``changed`` replaces the rows of a part such as "AAD base"."""
    for part, name in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows((changed or {}).get(part) or rows(*part.split()))
    return folder

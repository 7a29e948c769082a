"""The datasheet of a release: where its questions come from, how they were checked, and what is not known.

References
----------
Gebru et al., "Datasheets for datasets", 2021, for the sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from known_unknowns_construction.filters import FILTERS
from known_unknowns_construction.interface import Construction

_FRONT_MATTER = """---
configs:
  - config_name: default
    data_files: [{split: train, path: data/*.parquet}]
---"""
"""Tells the `datasets` library which files of the folder are the questions."""


def datasheet(name: str, title: str, counts: Mapping[str, Any], part: Construction) -> str:
    """Return the datasheet in Markdown."""
    review = counts["review"]
    sections = [
        _FRONT_MATTER,
        f"# {name}: {counts['questions']:,} questions in the format of {title}",
        "Reviewed by people." if review else "**Not reviewed.** This is a release candidate: its answers may be wrong.",
        "## Composition",
        f"{counts['questions']:,} questions about {counts['images']:,} of {counts['source_images']:,} source images.",
        _table(["type", "questions"], counts["by_type"].items()),
        _table(["right label", "questions"], counts["by_label"].items()),
        _table(["column", "content"], ((column.name, column.description) for column in part.columns)),
        "## Collection",
        f"Source: {_plain(counts['source'])}.",
        _table(
            ["generator", "model", "revision", "prompt (sha256)", "questions"],
            (
                (
                    row["generator"],
                    row["model"] or "none",
                    row["revision"] or "not stated",
                    row["prompt"] or "none",
                    row["questions"],
                )
                for row in counts["models"]
            ),
        ),
        _attributes(counts["attributes"]),
        "## Filtering and review",
        _rejected(counts["generation"]),
        _table(["step", "questions", "share of generated"], _steps(counts)),
        _table(
            ["filter", "finds", "seen", "found", "action"],
            (
                (row["filter"], FILTERS[row["filter"]].description, row["seen"], row["found"], row["action"])
                for row in counts["filters"]["filters"]
            ),
        ),
        _left_out(counts["filters"]["left_out"]),
        _agreement(counts["agreement"]),
        "## Licences",
        _table(["licence of the images", "questions"], counts["image_licences"].items()),
        "The licence of the texts depends on the terms of the models that generated them.",
        "## Limitations",
        "The filters prove only what a scene graph says. Relations that are not annotated may hold. A model that "
        "generates questions repeats the faults of its annotations.",
        f"Made with Known Unknowns {counts['version']}.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _steps(counts: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    generated, review = counts["generated"], counts["review"]
    yield "generated", generated, _share(generated, generated)
    yield "dropped by filters", counts["filters"]["dropped"], _share(counts["filters"]["dropped"], generated)
    for name in ("kept", "modified", "deleted"):
        yield (
            f"{name} by reviewers",
            "not reviewed" if review is None else review[name],
            _share(None if review is None else review[name], generated),
        )
    yield "released", counts["questions"], _share(counts["questions"], generated)


def _rejected(generation: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [(name, why, n) for name, values in generation.items() for why, n in values["rejected"].items()]
    return _table(["generator", "not a question", "replies or entries of replies"], rows) if rows else ""


def _attributes(counts: Mapping[str, Any] | None) -> str:
    if counts is None:
        return "No model described the objects."
    return (
        f"Descriptions of objects: {counts['described']:,} of {counts['objects']:,} by {counts['model']} "
        f"({counts['revision'] or 'revision not stated'}); {counts['failed']:,} failed, "
        f"{counts['too_small']:,} were too small."
    )


def _left_out(left_out: Mapping[str, str]) -> str:
    return "".join(f"- The filter {name} did not run: it {why}.\n" for name, why in left_out.items()).rstrip()


def _agreement(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "Agreement of reviewers: not known, because no two people reviewed the same questions."
    return _table(
        ["agreement", "coefficient", "reviewers", "value", "interval", "n", "method"],
        (
            (
                row["scale"],
                row["coefficient"],
                ", ".join(row["reviewers"]),
                _number(row["value"]),
                f"{_number(row['low'])} to {_number(row['high'])}",
                row["n"],
                row["method"],
            )
            for row in rows
        ),
    )


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _share(value: int | None, total: int) -> str:
    return "" if value is None or not total else f"{value / total:.2%}"


def _plain(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key}: {_plain(value) if isinstance(value, Mapping) else value}" for key, value in values.items()
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any) -> str:
    """Return a value as text that cannot end its cell or become markup."""
    text = f"{value:,}" if isinstance(value, int) else " ".join(str(value).split())
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")

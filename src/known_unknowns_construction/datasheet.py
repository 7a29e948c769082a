"""The datasheet of a release: where its questions come from, how they were checked, and what is not known.

References
----------
Gebru et al., "Datasheets for datasets", 2021, for the sections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from known_unknowns_construction.filters import FILTERS
from known_unknowns_construction.interface import Construction


def datasheet(name: str, title: str, counts: Mapping[str, Any], part: Construction) -> str:
    """Return the datasheet in Markdown. ``counts`` are those of `known_unknowns_construction.release.counts_of`."""
    environment = Environment(
        loader=PackageLoader("known_unknowns_construction", "."),
        autoescape=False,  # noqa: S701 -- Markdown, whose cells `_cell` escapes
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = counts["filters"]
    values = {
        "columns": [(column.name, column.description) for column in part.columns],
        "models": [
            (row["generator"], row["model"] or "none", row["revision"] or "not stated", row["prompt"] or "none",
             row["questions"])
            for row in counts["models"]
        ],
        "rejected": [
            (each, why, n) for each, found in counts["generation"].items() for why, n in found["rejected"].items()
        ],
        "steps": list(_steps(counts)),
        "filters": [
            (row["filter"], FILTERS[row["filter"]].description, row["seen"], row["found"], row["action"])
            for row in filters["filters"]
        ],
        "left_out": filters["left_out"],
        "agreement": [
            (row["scale"], row["coefficient"], ", ".join(row["reviewers"]), _decimal(row["value"]),
             f"{_decimal(row['low'])} to {_decimal(row['high'])}", row["n"], row["method"])
            for row in counts["agreement"]
        ],
    }  # fmt: skip
    functions = {"table": table, "number": "{:,}".format, "plain": _plain}
    template = environment.get_template("datasheet.md.j2")
    return template.render(**{**counts, **values, **functions, "name": name, "title": title})


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as a Markdown table whose cells stay text."""
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _steps(counts: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
    generated, review = counts["generated"], counts["review"]
    yield "generated", generated, _share(generated, generated)
    yield "dropped by filters", counts["filters"]["dropped"], _share(counts["filters"]["dropped"], generated)
    for name in ("kept", "modified", "deleted"):
        number = None if review is None else review[name]
        yield f"{name} by reviewers", "not reviewed" if number is None else number, _share(number, generated)
    yield "released", counts["questions"], _share(counts["questions"], generated)


def _decimal(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _share(value: int | None, total: int) -> str:
    return "" if value is None or not total else f"{value / total:.2%}"


def _plain(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key}: {_plain(value) if isinstance(value, Mapping) else value}" for key, value in values.items()
    )


def _cell(value: Any) -> str:
    """Return a value as text that cannot end its cell or become markup."""
    text = f"{value:,}" if isinstance(value, int) else " ".join(str(value).split())
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")

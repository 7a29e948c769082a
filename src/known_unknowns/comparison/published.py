"""The published numbers of a benchmark.

`read` reads published.yaml, `read_released` the numbers that were released with replies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from known_unknowns import json_files
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import (
    DATA,
    MODEL,
    PERCENT,
    DeclaredIssue,
    Fact,
    Published,
    PublishedCell,
    Source,
)
from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL
from known_unknowns.yaml_reader import parse_yaml

_PRINTED = re.compile(r"(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(?:±(\d+(?:\.\d+)?))?")


@cache
def published(benchmark: str) -> Published:
    """Return the published numbers of a benchmark, of every kind; empty if it has no published.yaml."""
    return read(*registry.get(benchmark).published, benchmark=benchmark)


def load(benchmark: str) -> list[PublishedCell]:
    """Return the published numbers of models in the order of the file.

    Raises
    ------
    DataError
        As `read`.
    """
    return [cell for cell in published(benchmark).cells if cell.kind == MODEL]


def read(*paths: Path, benchmark: str) -> Published:
    """Read published.yaml of a benchmark, and further files with more blocks, facts, relations and issues.

    DataError if a cell is not a printed number, names an unlisted source, or occurs twice. The message names the file,
    the table and the row.
    """
    raw: dict[str, Any] = {}
    cells: dict[tuple[str, ...], PublishedCell] = {}
    facts: dict[str, Fact] = {}
    relations: list[Mapping[str, Any]] = []
    sources: dict[str, Source] = {}
    issues: list[DeclaredIssue] = []
    for path in paths:
        try:
            part = parse_yaml(path.read_text(encoding="utf-8"))
            raw = raw or part
            if raw["benchmark"] != benchmark:
                raise ValueError(f"the file has the numbers of {raw['benchmark']!r}, not of {benchmark!r}")
            sources = sources or {name: _source(name, source) for name, source in raw["sources"].items()}
            for block in part.get("blocks", ()):
                for cell in _block(raw, block, sources[block["source"]]):
                    if cell.key in cells:
                        raise ValueError(f"{', '.join(cell.key)} occurs twice")
                    cells[cell.key] = cell
            facts |= {name: Fact(fact["value"], fact["source"]) for name, fact in part.get("facts", {}).items()}
            relations += part.get("relations", ())
            issues += [_issue(each) for each in part.get("issues", ())]
        except KeyError as error:
            raise DataError(f"the key {error} is missing", file=path) from error
        except (ValueError, TypeError, yaml.YAMLError) as error:
            raise DataError(str(error), file=path) from error
    return Published(benchmark, tuple(cells.values()), facts, tuple(relations), tuple(sources.values()), tuple(issues))


def _source(name: str, raw: Any) -> Source:
    if not isinstance(raw, Mapping) or not {"reference", "version"} <= set(raw):
        raise ValueError(f"sources, {name}: write a reference and the version of the paper that has the numbers")
    return Source(**raw)


def _issue(raw: Mapping[str, Any]) -> DeclaredIssue:
    places = tuple((table, row, column) for table, row, column in raw["findings"])
    return DeclaredIssue(**{**raw, "findings": places})


def _block(raw: Mapping[str, Any], block: Mapping[str, Any], source: Source) -> Iterator[PublishedCell]:
    table, rows, columns = block["table"], block["rows"], block["columns"]
    notes = block.get("notes", {})
    if unknown := set(notes) - set(rows):
        raise ValueError(f"{table}: notes on unknown rows: {', '.join(sorted(unknown))}")
    for row, text in rows.items():
        if not isinstance(text, str):
            raise ValueError(f"{table}, {row}: write {text} in quotes to keep its decimals")
        printed = text.split()
        if len(printed) != len(columns):
            raise ValueError(f"{table}, {row}: {len(printed)} cells for {len(columns)} columns")
        for column, number in zip(columns, printed, strict=True):
            if number != "-":  # not printed
                yield _cell(raw, block, source, row, column, number)


def _cell(
    raw: Mapping[str, Any], block: Mapping[str, Any], source: Source, row: str, column: Mapping[str, Any], number: str
) -> PublishedCell:
    table, kind = block["table"], block.get("kind", MODEL)
    match = _PRINTED.fullmatch(number)
    if match is None:
        raise ValueError(f"{table}, {row}, {column['name']}: {number!r} is not a printed percentage")
    settings = dict(block) | dict(column)
    category = settings.get("category", OVERALL) if kind == DATA else column["category"]
    if kind == DATA:
        own = row if len(block["columns"]) == 1 else f"{row}, {column['name']}"
        metric = block.get("quantities", {}).get(row, own)
    else:
        metric = settings["metric"]
    revision, questions = _data(raw, block, category)
    return PublishedCell(
        benchmark=raw["benchmark"],
        table=table,
        row=row,
        column=column["name"],
        variant="" if kind == DATA else settings["variant"],
        category=category,
        metric=metric,
        value=float(number.partition("±")[0].replace(",", "")),
        decimals=len(match[2] or ""),
        source=f"{source.reference} ({source.version})",
        note=" ".join(note for note in (block.get("note"), block.get("notes", {}).get(row)) if note),
        model=raw.get("models", {}).get(row, row),
        unit=settings.get("unit", PERCENT),
        spread=None if match[3] is None else float(match[3]),
        parser=block.get("parser"),
        n=column.get("n"),
        kind=kind,
        revision=revision,
        questions=settings.get("questions", questions),
        runs=block.get("runs", 1),
        countable=settings.get("countable", True),
        version=source.version,
        origin=block.get("origin", "printed"),
    )


def _data(raw: Mapping[str, Any], block: Mapping[str, Any], category: str) -> tuple[str, int | None]:
    """Return the revision of the data of a block (by default the first), and its number of questions of a category."""
    data = raw.get("data", {})
    revision = block.get("data", next(iter(data), ""))
    return revision, data[revision]["questions"].get(category) if revision else None


def read_released(path: Path) -> tuple[list[PublishedCell], list[dict[str, Any]]]:
    """Read the numbers that `known_unknowns.exchange.released.write_published` found in released replies.

    Also return the rows that say whether these replies reproduce them. DataError if the file is none.
    """
    try:
        content = json_files.read(path)
        return [PublishedCell(**cell) for cell in content["cells"]], list(content["rows"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"no table of released numbers ({error}); run again", file=path) from error

"""The layouts of the papers' tables in the report: tables.yaml in a benchmark's folder, by the name of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter

from known_unknowns.yaml_reader import parse_yaml


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of one table.

    Attributes
    ----------
    title : str
        The caption.
    groups : mapping of str to (str, str)
        The heading of the group and its own, by the heading of a column.
    split : tuple of str
        Groups whose name is the first word of the headings of their columns.
    conditions : tuple of (str, str or None, str)
        Variant, parser and label of our rows, if the rows of the table were made under several conditions.
    bands : mapping of str to str
        Headings above published rows, by the name of the first row below them.
    secondary : mapping of str to (str, str)
        The metric that is shown below another metric, with its label.
    rows_in_columns : (str, str), optional
        If columns name the row that they belong to: what parts it from the column's own name, and what follows it.
    ddof : int
        The standard deviation over runs that the table prints: 1, or 0 for that of a population.
    collapsed : bool
        Whether the table is folded.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    title: str
    groups: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    split: tuple[str, ...] = ()
    conditions: tuple[tuple[str, str | None, str], ...] = ()
    bands: Mapping[str, str] = field(default_factory=dict)
    secondary: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    rows_in_columns: tuple[str, str] | None = None
    ddof: int = 1
    collapsed: bool = False

    def split_heading(self, column: str) -> tuple[str, str]:
        """Return the heading of a column's group ("" for none), and its own."""
        group, _, rest = column.partition(" ")
        if group in self.split and rest:
            return group, rest
        return self.groups.get(column, ("", column))

    def place(self, row: str, column: str) -> tuple[str, str]:
        """Return the row and the column of a published number in this layout."""
        if self.rows_in_columns is None:
            return row, column
        separator, suffix = self.rows_in_columns
        part, _, own = column.partition(separator)
        return (f"{row}, {part}{suffix}", own) if own else (row, column)

    def condition(self, variant: str, parser: str | None) -> str:
        """Return the label of our rows under a variant and a parser; empty if there is one condition only."""
        labels = {(of, by): label for of, by, label in self.conditions}
        return labels.get((variant, parser), "")


@cache
def read_layouts(folder: Path) -> Mapping[str, Layout]:
    """Return the layouts of a benchmark's tables, in their order; none without the file.

    pydantic.ValidationError if it is not such a file.
    """
    file = folder / "tables.yaml"
    if not file.is_file():
        return {}
    return TypeAdapter(dict[str, Layout]).validate_python(parse_yaml(file.read_text(encoding="utf-8")))

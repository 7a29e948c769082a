"""Text in CSV cells. A spreadsheet computes a cell that starts with =, +, - or @, even if a model wrote it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_ESCAPED = re.compile(r"'+[=+\-@\t\r]")


def escape_cell(value: Any) -> Any:
    """Return the value of a cell, with an apostrophe before a text that a spreadsheet would compute."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) and not _is_number(value) else value


def unescape_cell(text: str) -> str:
    """Return the text that `escape_cell` was given."""
    return text[1:] if _ESCAPED.match(text) else text


def escape_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Escape every cell of a row."""
    return {name: escape_cell(value) for name, value in row.items()}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

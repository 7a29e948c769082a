"""Text in CSV cells. A spreadsheet computes a cell that starts with =, +, - or @, even if a model wrote it.

Some programs skip white space and invisible characters before it, or take its full-width form.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any


def escape_cell(value: Any) -> Any:
    """Return the value of a cell, with an apostrophe before a text that a spreadsheet would compute."""
    return f"'{value}" if isinstance(value, str) and _starts_formula(value) and not _is_number(value) else value


def unescape_cell(text: str) -> str:
    """Return the text that `escape_cell` was given."""
    return text[1:] if text.startswith("'") and _starts_formula(text) else text


def escape_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Escape every cell of a row."""
    return {name: escape_cell(value) for name, value in row.items()}


def _starts_formula(text: str) -> bool:
    """Whether a formula can start here, after any apostrophes, to which `escape_cell` adds one."""
    rest = text.lstrip("'")
    visible = next((c for c in rest if not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf")), "")
    return rest.startswith(("\t", "\r")) or unicodedata.normalize("NFKC", visible).startswith(("=", "+", "-", "@"))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""The page: a template, a style sheet and the scripts of ``static/`` in the frame of all pages of the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns.files import write_text
from known_unknowns.report import shell

if TYPE_CHECKING:
    from known_unknowns.config import Params

_STATIC = Path(__file__).parent / "static"
SCRIPTS = (
    "dom.js",
    "data.js",
    "state.js",
    "filters.js",
    "list.js",
    "parts.js",
    "detail.js",
    "overview.js",
    "keyboard.js",
    "main.js",
)
"""The scripts, in order. They share the global scope."""
POLICY = {"script-src": "'strict-dynamic'", "img-src": "'self'"}
"""Additions to the policy of all pages. ``'strict-dynamic'`` allows the shards, which the page's own scripts load
by name, from ``file://`` and from a server. It allows no other script element and no inline handler."""


def write(out: Path, params: Params, manifest: Mapping[str, Any]) -> None:
    """Write the page. ``manifest`` has the edition, the models and the benchmarks, with the names of their indices."""
    page = shell.render(
        shell.environment(_STATIC),
        "questions.html.j2",
        params,
        file=out.name,
        scripts=[_STATIC / name for name in SCRIPTS],
        policy=POLICY,
        manifest=data_block(manifest),
    )
    write_text(out, page)


def data_block(value: Any) -> str:
    """Return JSON that is safe inside a script element: ASCII, without "<", ">" and "&"."""
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text

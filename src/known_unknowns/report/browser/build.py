"""Build the page and its shards from the tables of an edition, one variant, seed and model at a time.

The page is a template, a style sheet and the scripts of ``static/`` in the frame of all pages of the report.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns.benchmark import registry
from known_unknowns.errors import DataError
from known_unknowns.files import write_text
from known_unknowns.progress import progress
from known_unknowns.report import shell
from known_unknowns.report.browser.benchmark import BenchmarkWriter
from known_unknowns.report.browser.shards import ShardFolder
from known_unknowns.report.private_texts import PrivateTexts
from known_unknowns.version import __version__

if TYPE_CHECKING:
    from known_unknowns.config import Params

SHARDS = "questions"
"""The folder of the shards, beside the page."""
_IMAGES, _SHARD = "images", re.compile(r"[0-9a-f]{16}\.js")
"""What is in it: a folder, and the names of shards."""
_STATIC = Path(__file__).parent / "static"
SCRIPTS = [
    f"{name}.js"
    for name in ("dom", "data", "state", "filters", "list", "parts", "detail", "overview", "keyboard", "main")
]
"""The scripts, in order. They share the global scope."""
POLICY = {"script-src": "'strict-dynamic'", "img-src": "'self'"}
"""Additions to the policy of all pages. ``'strict-dynamic'`` allows the shards, which the page's own scripts load
by name, from ``file://`` and from a server. It allows no other script element and no inline handler."""


@dataclass(frozen=True)
class Summary:
    """What stands above the questions of a page that is no part of a report: its head, numbers and notes.

    A number is a name, a value, an interval, n, and the variant, as they are shown. The ``further`` ones are folded, so
    that the first question is in sight.
    """

    head: str
    numbers: Sequence[tuple[str, str, str, str, str]]
    further: Sequence[tuple[str, str, str, str, str]]
    notes: Sequence[str]


def build(
    params: Params, *, results: Path, data: Path, out: Path, root: Path | None = None, summary: Summary | None = None
) -> None:
    """Write the page ``out``, and its shards to the folder ``questions`` beside it, which is replaced.

    The same inputs give the same bytes. At most one variant and seed of the questions and one model's replies to it are
    in memory. Keys are removed from all texts, and paths and private addresses from those that the project wrote.
    Without images (``report.images`` of the configuration), the page shows their digests. ``root`` is the project's
    folder, by default the working folder. With a ``summary``, the page stands alone: it links to no other page, and
    shows wrong answers first. Raises DataError if a table of the edition's folders ``results`` and ``data`` is absent
    or invalid, or if a folder ``questions`` with other files would be replaced.
    """
    private = PrivateTexts.of(params, root or Path.cwd())
    _check_replaceable(out.parent / SHARDS)
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{SHARDS}."))
    try:
        shards = ShardFolder(folder)
        cells = sum(len(params.cells(name, model)) for name in params.benchmarks for model in params.models)
        described = []
        with progress("question browser", cells) as advance:
            for name in params.benchmarks:
                writer = BenchmarkWriter(params, name, shards, private, results=results, data=data)
                writer.images_to = folder / _IMAGES if params.report.images else None
                described.append(writer.write(advance))
        manifest: dict[str, Any] = {
            "edition": params.edition,
            "version": __version__,
            "models": [[model, params.model(model).engine == "respondent"] for model in params.models],
            "benchmarks": [[name, registry.get(name).title, *entry] for name, entry in described],
        }
        if summary:
            manifest["sort"] = "wrong"
        folder.chmod(0o755)
        shutil.rmtree(out.parent / SHARDS, ignore_errors=True)
        folder.replace(out.parent / SHARDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = shell.render(
        shell.environment(private, _STATIC),
        "questions.html.j2",
        params,
        file=out.name,
        scripts=[_STATIC / name for name in SCRIPTS],
        policy=POLICY,
        manifest=data_block(manifest),
        alone=summary is not None,
        summary=summary,
    )
    write_text(out, text)


def _check_replaceable(folder: Path) -> None:
    """Raise DataError if a folder has other files than those of a page, such as the user's own questions."""
    found = (path.name for path in folder.iterdir()) if folder.is_dir() else ()
    names = [name for name in found if not name.startswith(".")]  # of the system, and of Snakemake
    if any(name != _IMAGES and not _SHARD.fullmatch(name) for name in names) or names == [_IMAGES]:
        raise DataError("has other files, which the data of the page would replace; name another folder", file=folder)


def data_block(value: Any) -> str:
    """Return JSON that is safe inside a script element: ASCII, without "<", ">" and "&"."""
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text

"""The frame of every page of the report: navigation, style sheet, scripts and content security policy.

A page is one file that opens from a disk. Its scripts and its style sheet are files of ``static/``, written into the
page. The policy allows these scripts by their hash, and no request.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup, escape

from known_unknowns.benchmark import caveats, registry
from known_unknowns.report.formatting import counted, sentence_case, unbroken
from known_unknowns.report.private_texts import PrivateTexts

if TYPE_CHECKING:
    from known_unknowns.config import Params

STATIC = Path(__file__).parent / "static"
INDEX, QUESTIONS = "index.html", "questions.html"
_POLICY = {
    "default-src": "'none'",
    "img-src": "data:",
    "style-src": "'unsafe-inline'",
    "base-uri": "'none'",
    "form-action": "'none'",
}


@dataclass(frozen=True, slots=True)
class Link:
    """An entry of the navigation: a file beside the page, and its label."""

    file: str
    label: str


@dataclass(frozen=True, slots=True)
class Shell:
    """What the template ``shell.html.j2`` needs: the page's own file, the navigation, scripts and policy."""

    file: str
    edition: str
    links: tuple[Link, ...]
    scripts: tuple[str, ...]
    policy: Markup
    """It is markup, because a hash in it can look like a private path."""
    caveat: str = ""
    """What keeps the numbers from being those of the published questions (`caveats.caveat`)."""
    missing: tuple[str, ...] = ()
    """Models without results, in a partial report."""


def links(params: Params) -> tuple[Link, ...]:
    """Return the pages of the report, in the order of the navigation."""
    return (
        Link(INDEX, "Report"),
        *(Link(benchmark_file(name), registry.get(name).title) for name in params.benchmarks),
        Link("stress.html", "Stress tests"),
        Link("confidence.html", "Confidence"),
        Link("parsers.html", "Parsers"),
        Link("models.html", "Compare models"),
        Link(QUESTIONS, "Questions"),
        Link("audit.html", "Audit and data"),
        Link("provenance.html", "Provenance"),
    )


def benchmark_file(benchmark: str) -> str:
    """Return the file name of a benchmark's page."""
    return f"benchmark-{benchmark}.html"


def render(
    environment: Environment,
    template: str,
    params: Params,
    *,
    file: str,
    scripts: Sequence[Path] = (),
    policy: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    alone: bool = False,
    **values: Any,
) -> str:
    """Return a page whose template extends ``shell.html.j2`` and fills its blocks ``title`` and ``content``.

    ``file`` is the page's name, which the navigation marks. ``scripts`` are classic scripts, written at the end of the
    page (modules do not load from a disk). ``policy`` has sources to add to directives of the content security policy.
    A partial report names the models that are ``missing``. A page that stands ``alone`` has no navigation. ``values``
    are variables of the template.
    """
    texts = tuple(_script(path) for path in scripts)
    shell = Shell(
        file,
        params.edition,
        () if alone else links(params),
        texts,
        _policy(texts, policy or {}),
        caveats.caveat(params),
        tuple(missing),
    )
    return environment.get_template(template).render(shell=shell, **values)


def environment(private: PrivateTexts, *folders: Path) -> Environment:
    """Return the templates; those of further ``folders`` come first.

    They remove what is ``private`` and escape everything, except our SVG, scripts and style sheet, which they mark as
    safe. The filter ``as_written`` is for texts of data and models: it removes keys only, and escapes them.
    """
    own = {name: FileSystemLoader(registry.get(name).folder / "templates") for name in registry.names()}
    generic = [*folders, STATIC.parent / "templates", STATIC]
    found = Environment(
        loader=ChoiceLoader([FileSystemLoader(generic), PrefixLoader(own)]),
        autoescape=True,
        finalize=private.removed_from,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["as_written"] = lambda text: escape(private.keys_removed(text))
    found.filters |= {"counted": counted, "sentence_case": sentence_case, "unbroken": unbroken}
    found.tests["hexadecimal"] = lambda text: re.fullmatch(r"[0-9a-f]{32,}(\.dir)?", text) is not None
    return found


def _script(path: Path) -> str:
    """Return the text of a script. HTML would end it at a closing tag inside a string."""
    text = path.read_text(encoding="utf-8")
    if "</script" in text.lower():
        raise ValueError(f"{path} has a closing script tag")
    return text


def _policy(scripts: Sequence[str], further: Mapping[str, str]) -> Markup:
    hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts]
    directives = dict(_POLICY)
    if hashes:
        directives["script-src"] = " ".join(hashes)
    for name, sources in further.items():
        directives[name] = " ".join(filter(None, [directives.get(name, ""), sources]))
    return escape("; ".join(f"{name} {sources}" for name, sources in directives.items()))

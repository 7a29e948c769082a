"""Digests of the code behind the steps of the workflow. As a rule's parameter, a digest reruns the rule.

A step names the packages that do its work. Of a Python file, its parsed tree without docstrings counts. A README does
not count, and a citation only for what shows it. A test compares the names with what the step imports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from known_unknowns import json_files
from known_unknowns.benchmark import registry
from known_unknowns.entry_points import AUDITS, of_group
from known_unknowns.errors import DataError

_QUESTIONS = tuple(
    f"known_unknowns.{name}"
    for name in (
        *("records", "tables", "images", "files", "json_files", "yaml_reader", "errors", "progress", "entry_points"),
        *("config", "edition_files", "benchmark", "variants", "protocols"),
    )
)
_DATA = (*_QUESTIONS, "known_unknowns.data")
_SCORING = (*_QUESTIONS, "known_unknowns.reasoning_marks", "known_unknowns.scoring")
_METRICS = (*_QUESTIONS, "known_unknowns.unusable", "known_unknowns.metrics")
_INFERENCE = (
    *(*_DATA, *_SCORING, "known_unknowns.unusable", "known_unknowns.stopping", "known_unknowns.engine"),
    *("known_unknowns.engines", "known_unknowns.inference", "known_unknowns.model_runs", "prefix_sharing"),
)
_COMPARISON = (*_METRICS, "known_unknowns.comparison", "known_unknowns.run_command")
_RESULTS = (
    *(*_INFERENCE, *_COMPARISON),
    *("known_unknowns.report", "known_unknowns.exchange", "known_unknowns.version"),
)
STEPS: dict[str, tuple[str, ...]] = {
    # With what a rendered edition names. The content of the files is checked against the revision besides.
    "render": ("known_unknowns.data.rendered",),
    "questions": _DATA,
    "check": _DATA,
    "vary": _DATA,
    "infer": _INFERENCE,
    "release": (*_INFERENCE, "known_unknowns.exchange"),
    "parse": _SCORING,
    "measure": _METRICS,
    "summarise": _METRICS,
    "compare": _COMPARISON,
    "report": _RESULTS,
    "track": (*_RESULTS, "known_unknowns.tracking"),
}
"""The packages and modules of each step. Rules and functions of them name those of other packages."""


def code_of(step: str, benchmarks: Iterable[str] = (), *packages: str, script: Path | None = None) -> str:
    """Return the digest of a step's code.

    Parameters
    ----------
    step : str
        A key of `STEPS`.
    benchmarks : iterable of str
        The benchmarks whose folders the step uses.
    *packages : str
        Further packages or modules.
    script : Path, optional
        The script of the rule.
    """
    named = {*STEPS[step], *packages, *(registry.get(each).package for each in benchmarks)}
    if "known_unknowns.report" in named:  # its pages have the findings of the audits
        named |= {entry.module.partition(".")[0] for entry in of_group(AUDITS).values()}
    left_out = frozenset({".md"} if step in _SHOW_CITATIONS else {".md", ".bib"})
    digest = sha256()
    for name in sorted(named):
        digest.update(f"{name}\0{_of_package(name, left_out)}\0".encode())
    if script is not None:
        digest.update(_content(script))
    return digest.hexdigest()[:16]


_SHOW_CITATIONS = frozenset({"questions", "report", "track"})
"""Steps that show the papers to cite."""
_CACHE = Path(".snakemake/known-unknowns/code.json")
"""Digests of parsed trees by the digests of their files: to parse all of them takes two seconds."""


@cache
def _of_package(name: str, left_out: frozenset[str]) -> str:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no module {name}", name=name)
    folder = Path(spec.origin).parent if spec.submodule_search_locations else None
    files = [Path(spec.origin)] if folder is None else sorted(folder.rglob("*"))
    digest = sha256()
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts and file.suffix not in left_out:
            digest.update(f"{file.name}\0".encode() + _content(file))
    return digest.hexdigest()


def _content(file: Path) -> bytes:
    """Return the content of a file that counts."""
    content = file.read_bytes()
    if file.suffix != ".py":
        return content
    known, key = _known_trees(), sha256(content).hexdigest()
    if key not in known:
        known[key] = sha256(ast.dump(_without_docstrings(ast.parse(content))).encode()).hexdigest()
    return known[key].encode()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [each for each in node.body if not _is_text(each)]
    return tree


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text alone: a docstring, or that of a constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@cache
def _known_trees() -> dict[str, str]:
    try:
        return dict(json_files.read(_CACHE))
    except (DataError, OSError):
        return {}


def keep_trees() -> None:
    """Keep the digests of parsed trees for the next run."""
    json_files.write(_CACHE, _known_trees())

"""Digests of the code behind the steps of the workflow. As a rule's parameter, a digest reruns the rule.

A step names the packages that do its work, and every file in them counts. A test compares the names with what the step
imports.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from known_unknowns.benchmark import registry
from known_unknowns.entry_points import AUDITS, of_group

_QUESTIONS = tuple(
    f"known_unknowns.{name}"
    for name in (
        *("records", "tables", "images", "files", "json_files", "yaml_reader", "errors", "progress", "entry_points"),
        *("config", "edition_files", "benchmark", "variants", "protocols"),
    )
)
_DATA = (*_QUESTIONS, "known_unknowns.data")
_SCORING = (*_QUESTIONS, "known_unknowns.reasoning_marks", "known_unknowns.scoring")
_METRICS = (*_QUESTIONS, "known_unknowns.metrics")
_INFERENCE = (
    *(*_DATA, *_SCORING, "known_unknowns.unusable", "known_unknowns.stopping", "known_unknowns.engine"),
    *("known_unknowns.engines", "known_unknowns.inference", "known_unknowns.model_runs", "prefix_sharing"),
)
_COMPARISON = (*_METRICS, "known_unknowns.comparison")
_RESULTS = (
    *(*_INFERENCE, *_COMPARISON),
    *("known_unknowns.report", "known_unknowns.exchange", "known_unknowns.version"),
)
STEPS: dict[str, tuple[str, ...]] = {
    "render": _INFERENCE,
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
    digest = sha256()
    for name in sorted(named):
        digest.update(f"{name}\0{_of_package(name)}\0".encode())
    if script is not None:
        digest.update(script.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _of_package(name: str) -> str:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no module {name}", name=name)
    folder = Path(spec.origin).parent if spec.submodule_search_locations else None
    files = [Path(spec.origin)] if folder is None else sorted(folder.rglob("*"))
    digest = sha256()
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(f"{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()

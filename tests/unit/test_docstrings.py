"""The numpydoc sections of public functions. Ruff (``D``) checks the summaries and the format of sections."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import SOURCE

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n(.*?)(?=^\w[\w ]*\n-{3,}\n|\Z)", re.MULTILINE | re.DOTALL)
FORMULAE = ["consistency", "design_effect", "dual", "intervals", "paired", "proportions", "selective"]
METRICS = [SOURCE / "metrics" / f"{name}.py" for name in FORMULAE]
PUBLIC = [path for path in sorted(SOURCE.rglob("*.py")) if "cli" not in path.parts]


def sections(function: ast.FunctionDef) -> dict[str, str]:
    """The sections of a docstring."""
    return dict(SECTION.findall(ast.get_docstring(function) or ""))


def described(function: ast.FunctionDef) -> list[str]:
    """The names in the section Parameters. One entry may have several."""
    section = sections(function).get("Parameters", "")
    names = [line.partition(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for line in names for name in line.split(",")]


def arguments(function: ast.FunctionDef) -> list[str]:
    """The names in the signature."""
    given = function.args
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [one.arg for one in every if one is not None and one.arg not in ("self", "cls")]


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    """The public functions of a module, and the methods of its public classes."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in module.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    for body in (module.body, *(node.body for node in classes)):
        for node in body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield node


def test_described_parameters_are_those_of_the_signature() -> None:
    wrong = {
        f"{path.relative_to(SOURCE)}:{function.name}": (described(function), arguments(function))
        for path in PUBLIC
        for function in functions(path)
        if not set(described(function)) <= set(arguments(function))
    }
    assert not wrong


@pytest.mark.parametrize("path", METRICS, ids=lambda path: path.stem)
def test_metrics_describe_parameters_and_results(path: Path) -> None:
    """The summary is enough for a function of one argument, and for a method."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    public = [node for node in module.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    missing = {
        function.name: lacking
        for function in public
        if len(arguments(function)) > 1 and (lacking := required(function) - sections(function).keys())
    }
    assert not missing


def required(function: ast.FunctionDef) -> set[str]:
    result = ast.unparse(function.returns) if function.returns else "None"
    if result == "None":
        return {"Parameters"}
    return {"Parameters", "Yields" if result.startswith("Iterator") else "Returns"}

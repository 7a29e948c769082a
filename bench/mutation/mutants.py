"""Choose mutants of the source files: cosmic-ray's operators, a seed, the same number of mutants for each subject."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import yaml
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

SETTINGS = yaml.safe_load(Path(__file__).with_name("subjects.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Mutant:
    """One change of one file; `first` to `last` are the lines of the statement, or of the head of a compound one."""

    subject: str
    file: str
    line: int
    first: int
    last: int
    operator: str
    change: str
    code: str


def subject_files(project: Path) -> dict[str, list[str]]:
    """Source files of each subject, relative to the project's folder."""
    files: dict[str, list[str]] = {subject: [] for subject in SETTINGS["subjects"]}
    for path in sorted((project / "src").rglob("*.py")):
        name = path.relative_to(project).as_posix()
        for subject, patterns in SETTINGS["subjects"].items():
            if any(fnmatch(name, pattern) for pattern in patterns):
                files[subject].append(name)
                break
    return files


def choose(project: Path, number: int, seed: int) -> list[Mutant]:
    """Sample `number` mutants, divided evenly among the subjects.

    Within a subject, places in the code are drawn first, then one operator that applies to each place: a comparison
    with two possible changes is no likelier than a keyword with one.
    """
    chosen = []
    files = subject_files(project)
    for index, (subject, names) in enumerate(files.items()):
        quota = number // len(files) + (index < number % len(files))
        rng = random.Random(f"{seed} {subject}")
        places: dict[tuple[str, int, int], list[_Candidate]] = defaultdict(list)
        for name in names:
            for candidate in _candidates(name, (project / name).read_text(encoding="utf-8")):
                places[name, candidate.line, candidate.column].append(candidate)
        groups = list(places.values())
        rng.shuffle(groups)
        order = [group.pop(rng.randrange(len(group))) for group in groups]
        rest = [candidate for group in groups for candidate in group]
        order += rng.sample(rest, len(rest))
        valid = (mutant for candidate in order if (mutant := _mutant(subject, project, candidate)))
        chosen += islice(valid, quota)
    return chosen


class _Candidate(NamedTuple):
    file: str
    line: int
    column: int
    first: int
    last: int
    operator: str
    occurrence: int


def _candidates(name: str, source: str) -> Iterator[_Candidate]:
    statements = list(_statements(source))
    lines = source.splitlines()
    nodes = list(ast_nodes(get_ast(source)))
    for operator in SETTINGS["operators"]:
        change = get_operator(f"core/{operator}")()
        places = [place for node in nodes for place in change.mutation_positions(node)]
        for occurrence, ((line, column), _) in enumerate(places):
            around = _statement_at(statements, line, len(lines[line - 1][:column].encode()))
            if around is not None:
                yield _Candidate(name, line, column, *around, operator, occurrence)


def _mutant(subject: str, project: Path, candidate: _Candidate) -> Mutant | None:
    """The changed code, or None if it is no Python."""
    source = (project / candidate.file).read_text(encoding="utf-8")
    code = mutate_code(source, get_operator(f"core/{candidate.operator}")(), candidate.occurrence)
    try:
        compile(code, candidate.file, "exec")
    except SyntaxError:
        return None
    old, new = next((a, b) for a, b in zip(source.splitlines(), code.splitlines(), strict=False) if a != b)
    text = f"{old.strip()}  ->  {new.strip()}"
    return Mutant(
        subject, candidate.file, candidate.line, candidate.first, candidate.last, candidate.operator, text, code
    )


def _statements(source: str) -> Iterator[tuple[ast.stmt, list[ast.AST]]]:
    """Statements in bodies of functions, the inner ones last, each with its parts that no call executes."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in (inner for part in function.body for inner in ast.walk(part)):
                if isinstance(statement, ast.stmt):
                    yield (
                        statement,
                        [
                            node
                            for node in ast.walk(statement)
                            if isinstance(node, ast.arguments)
                            or (isinstance(statement, ast.AnnAssign) and node is statement.annotation)
                        ],
                    )


def _statement_at(statements: list[tuple[ast.stmt, list[ast.AST]]], line: int, column: int) -> tuple[int, int] | None:
    """First and last line of the innermost statement at a place, or None if no call of a function executes it."""
    around = [(s, parts) for s, parts in statements if _covers(s, line, column)]
    if not around:
        return None
    statement, parts = min(around, key=lambda pair: (-pair[0].lineno, pair[0].end_lineno))
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or any(
        _covers(part, line, column) for part in parts
    ):
        return None
    body = getattr(statement, "body", None)
    return statement.lineno, body[0].lineno - 1 if body and body[0].lineno > statement.lineno else (
        statement.end_lineno or statement.lineno
    )


def _covers(node: ast.AST, line: int, column: int) -> bool:
    if not hasattr(node, "lineno"):  # ast.arguments has no place of its own
        return any(_covers(part, line, column) for part in ast.iter_child_nodes(node))
    return (node.lineno, node.col_offset) <= (line, column) < (node.end_lineno, node.end_col_offset)

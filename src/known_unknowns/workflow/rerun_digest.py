"""Digests of the code that does a rule's work. As a rule's parameter, a digest reruns it when that code changes.

The digest of a step covers the modules in `STEPS` and everything that they import, statically, within the same
packages. A benchmark contributes only the parts that the step uses, so that a changed check does not rerun inference.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import cache
from hashlib import sha256
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Any

from known_unknowns import benchmarks, json_files
from known_unknowns.benchmarks import Benchmark, Lazy
from known_unknowns.benchmarks._pocket import PACKAGE
from known_unknowns.errors import KnownUnknownsError

_ROOT = "known_unknowns"
_TERMS = ("benchmarks._citation", "benchmarks._terms")
_NOT_FOLLOWED = frozenset(f"{_ROOT}.{name}" for name in ("config", "errors", "progress", "benchmarks._pocket", *_TERMS))
"""Modules that cannot change a result: the settings that they read are parameters of the rules. Licences and citations
appear in question folders and the report only, whose steps name their modules."""
_MAY_IMPORT = (ast.stmt, ast.excepthandler, ast.match_case)
_CACHE = Path(cache_from_source(__file__)).with_suffix(".json")
_UNSAVED: set[str] = set()
_MAX_KEPT = 2000
_ALL_PARTS = tuple(field.name for field in fields(Benchmark))


@dataclass(frozen=True, slots=True)
class Step:
    """The code behind a rule.

    Attributes
    ----------
    modules : tuple of str
        Names of modules, below known_unknowns.
    parts : tuple of str
        Fields of `Benchmark` that the step uses.
    files : tuple of str
        Patterns of data files, below known_unknowns.
    benchmark_files : tuple of str
        Patterns of data files in the benchmark's folder.
    """

    modules: tuple[str, ...]
    parts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    benchmark_files: tuple[str, ...] = ()


STEPS = {
    "render": Step(("data.rendered",), ("pocket",)),
    "questions": Step(
        ("data.questions", *_TERMS), ("load", "load_released"), benchmark_files=("licence.yaml", "citation.bib")
    ),
    "check": Step(("data.check",), ("check",)),
    "release": Step(("exchange.released",), ("released",)),
    "vary": Step(("variants", "tables"), ("variants",)),
    "infer": Step(
        ("inference.model_run", "engines", "protocols"),
        ("prompt", "refusal_prompt", "forced_choice_applies", "official", "protocols"),
        files=("engines/*.yaml",),
    ),
    "score": Step(("scoring.table",), ("official",)),
    "measure": Step(("metrics.measure_models",), ("metrics",)),
    "summarise": Step(("metrics.summary_files",), ("metrics",)),
    "compare": Step(("comparison.compare",), ("audit",), benchmark_files=("published*.yaml",)),
    "track": Step(("tracking",), ("metrics",)),
    "report": Step(
        ("report.page", *_TERMS),
        _ALL_PARTS,
        files=("report/templates/*", "report/static/*", "report/captions/*"),
        benchmark_files=("**/*",),
    ),
    "question_browser": Step(
        ("report.browser",),
        ("official", "protocols", "prompt", "refusal_prompt", "forced_choice_applies", "report"),
        files=("report/templates/shell.html.j2", "report/static/style.css", "report/browser/static/*"),
    ),
    "train": Step((), ("prompt",)),
    "construct": Step((), ("construction", "pocket")),
}


def code_of(step: str = "", names: Iterable[str] = (), *, modules: Iterable[str] = ()) -> str:
    """Return the digest of a step's code.

    Parameters
    ----------
    step : str, optional
        A key of `STEPS`; if absent, only ``modules`` count.
    names : iterable of str
        The benchmarks whose parts the step uses.
    modules : iterable of str
        Full names of further modules.
    """
    return _code_of(step, tuple(names), tuple(modules))


@cache
def _code_of(step: str, names: tuple[str, ...], further: tuple[str, ...]) -> str:
    used = STEPS[step] if step else Step(())
    found = [benchmarks.get(name) for name in names]
    modules = {f"{_ROOT}.{module}" for module in used.modules} | set(further)
    files = [path for pattern in used.files for path in Path(__file__).parents[1].glob(pattern)]
    for benchmark in found:
        modules.update(_parts(benchmark, used.parts))
        files += [path for pattern in used.benchmark_files for path in benchmark.folder.glob(pattern)]
    digest = sha256()
    for module, path in sorted(imported_by(modules).items()):
        digest.update(f"{module}\0".encode() + path.read_bytes())
    _save_statements()
    for path in sorted(path for path in files if path.is_file() and path.suffix not in (".py", ".pyc")):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _parts(benchmark: Benchmark, names: Iterable[str]) -> Iterator[str]:
    """Modules of the benchmark's parts; a part may be an object with parts of its own."""
    for name in names:
        part = getattr(benchmark, name)
        for value in (part, *(getattr(part, field.name) for field in _fields(part))):
            if isinstance(value, Lazy):
                yield value.module
    if "report" in names:
        for path in benchmark.folder.glob("*.py"):
            yield f"{benchmark.package}.{path.stem}" if path.stem != "__init__" else benchmark.package


def _fields(part: object) -> tuple[Field[Any], ...]:
    return fields(part) if is_dataclass(part) and not isinstance(part, Lazy) else ()


def imported_by(modules: Iterable[str]) -> dict[str, Path]:
    """Return the modules and all that they import within their packages, with the file of each.

    Raises
    ------
    ModuleNotFoundError
        If one of ``modules`` does not exist.
    """
    found: dict[str, Path] = {}
    modules = set(modules)
    tops = {_ROOT, PACKAGE} | {module.partition(".")[0] for module in modules}
    waiting = sorted(modules)
    for module in waiting:
        if _file(module) is None:
            raise ModuleNotFoundError(f"no module {module}")
    while waiting:
        module = waiting.pop()
        if module in found or (path := _file(module)) is None:
            continue
        found[module] = path
        waiting += [
            name
            for name in _imports(module, path)
            if name.partition(".")[0] in tops and not any(f"{name}.".startswith(f"{no}.") for no in _NOT_FOLLOWED)
        ]
    return found


@cache
def _imports(module: str, path: Path) -> frozenset[str]:
    """Names of the modules that the file imports anywhere, but not for type checkers alone."""
    names: set[str] = set()
    for source, level, imported in _statements(path.read_bytes()):
        source = _absolute(source, level, module, path)
        submodules = (f"{source}.{name}" for name in imported)
        names.update(name if _file(name) else source for name in submodules)
        names.update(() if imported else [source])
    return frozenset(names)


def _statements(code: bytes) -> Sequence[tuple[str, int, list[str]]]:
    """Return the imports in a file: the module, the level of a relative import, and the names if they are imported.

    Parsing takes most of the time of a digest, so that the imports are kept by the digest of the code in a file beside
    the compiled modules.
    """
    known = _known_statements()
    key = sha256(code).hexdigest()
    if key not in known:
        known[key] = _parsed(code)
        _UNSAVED.add(key)
    return known[key]


def _parsed(code: bytes) -> list[tuple[str, int, list[str]]]:
    found: list[tuple[str, int, list[str]]] = []
    waiting: list[ast.AST] = [ast.parse(code)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif isinstance(node, ast.Import):
            found += ((alias.name, 0, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module or "", node.level, [alias.name for alias in node.names]))
        else:  # expressions contain no imports, and most nodes are theirs
            waiting += (child for child in ast.iter_child_nodes(node) if isinstance(child, _MAY_IMPORT))
    return found


@cache
def _known_statements() -> dict[str, Any]:
    try:
        return json_files.read(_CACHE)
    except KnownUnknownsError:
        return {}


def _save_statements() -> None:
    """Keep the imports that were parsed since the last call, where Python may write compiled modules."""
    if _UNSAVED and not sys.dont_write_bytecode:
        kept = _known_statements()
        with suppress(OSError):
            json_files.write(_CACHE, kept if len(kept) <= _MAX_KEPT else {key: kept[key] for key in _UNSAVED})
    _UNSAVED.clear()


def _absolute(source: str, level: int, module: str, path: Path) -> str:
    """The name of the module that is imported from."""
    if not level:
        return source
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    parents = package[: len(package) - level + 1]
    return ".".join([*parents, *filter(None, [source])])


@cache
def _folder(top: str) -> Path | None:
    """The folder of a top-level package."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


@cache
def _file(module: str) -> Path | None:
    """The file of a module, without importing it; None if there is none."""
    top, *rest = module.split(".")
    folder = _folder(top)
    if folder is None:
        return None
    path = folder.joinpath(*rest)
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)

"""A folder for any static host: the report with its pages and questions, tables, and numbers to exchange."""

from __future__ import annotations

import csv
import html
import io
import ipaddress
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

from known_unknowns import json_files
from known_unknowns.benchmark import registry
from known_unknowns.config import Params
from known_unknowns.edition_files import benchmark_of, model_of
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.exchange import every_eval_ever
from known_unknowns.files import copy_file, disk_errors, write_text
from known_unknowns.metrics.summary import COLUMNS, read_leaderboard
from known_unknowns.report.browser import replacement, shards
from known_unknowns.version import __version__
from known_unknowns.workflow import end_products

LISTING = "bundle.json"
_TEXTS = frozenset({".html", ".js", ".mjs", ".css", ".svg", ".json", ".csv", ".txt", ".md", ".yaml"})
_PHOTOS = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif"})
_INLINE_PHOTO = re.compile(r"data:image/(?:png|jpe?g|webp|gif);base64,[A-Za-z0-9+/=]+")
_EMPTY = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
"""A transparent point in place of an image that may not be redistributed."""
_BROWSER = ("questions.html", "questions")


@dataclass(frozen=True)
class Bundle:
    """A written bundle. ``left_out`` has the reason for each benchmark whose images and questions are not in it."""

    folder: Path
    files: int
    size: int
    left_out: dict[str, str]


def bundle(params: Params, out: Path, *, redistribute: Collection[str] = (), root: Path = Path()) -> Bundle:
    """Write the results of a finished run as a folder for a static host. The same results give the same bytes.

    Local paths, private addresses and keys are replaced. If the terms of a benchmark's data do not allow to
    redistribute them, the question browser and the images in the pages are left out.

    Parameters
    ----------
    params : Params
    out : Path
        The folder to write. An older bundle in it is replaced.
    redistribute : collection of str
        Benchmarks whose data the user may redistribute although their terms do not allow it.
    root : Path
        The project's folder.

    Raises
    ------
    ConfigError
        If a name is not a benchmark of the edition, or ``out`` is a folder with other contents.
    DataError
        If no run has finished, or a file of the results has changed since.
    """
    results = root / "results" / params.edition
    for path in (results / "report" / "index.html", results / "leaderboard.csv"):
        if not path.is_file():
            message = f"no run of this edition has finished here; start it with  make run EDITION={params.edition}"
            raise DataError(message, file=path)
    end_products.check(results, params.edition)
    for name in redistribute:
        if name not in params.benchmarks:
            raise ConfigError(unknown_name(name, params.benchmarks), path="--redistribute")
    if out.exists() and not (out / LISTING).is_file() and not (out.is_dir() and not any(out.iterdir())):
        raise ConfigError(f"{out} exists and is no bundle; name another folder", path="OUT")
    terms = {name: registry.terms_of(name, params.data(name)) for name in params.benchmarks}
    left_out = {name: t.why for name, t in terms.items() if not t.redistribute and name not in redistribute}
    private = PrivateTexts.of(params, sorted(results.glob("replies/*/*/engine.json")), root)
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        _write(params, root, folder, private, photos=not left_out)
        files = _list(params, folder)
        folder.chmod(0o755)
        if out.exists():
            shutil.rmtree(out)
        folder.rename(out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Bundle(out, len(files), sum(path.stat().st_size for path in out.rglob("*") if path.is_file()), left_out)


def _write(params: Params, root: Path, folder: Path, private: PrivateTexts, *, photos: bool) -> None:
    results = root / "results" / params.edition
    report = results / "report"
    for path in sorted(path for path in report.rglob("*") if path.is_file()):
        name = path.relative_to(report)
        if name.parts[0].startswith(".") or (not photos and (name.parts[0] in _BROWSER or path.suffix in _PHOTOS)):
            continue
        if name.parts[0] not in _BROWSER:
            _copy(path, folder / name, private, photos=photos)
    if photos and (report / _BROWSER[0]).is_file():
        _copy_browser(report, folder, private)
    _copy(results / "headline.csv", folder / "tables" / "headline.csv", private)
    metrics = (path for path in sorted(results.glob("metrics/*/*/metrics.parquet")) if model_of(path) in params.models)
    for path in [results / "comparison.parquet", *metrics]:  # not those of models that were removed from the edition
        _copy(path, folder / "tables" / path.relative_to(results), private)
        if path.name == "metrics.parquet" and not _is_baseline(params, model_of(path)):
            names = params, model_of(path), benchmark_of(path), folder / every_eval_ever.NAME
            every_eval_ever.write(*names, samples=False, root=root, cleaned=private.replaced)
    rows = [row for row in read_leaderboard(results / "leaderboard.csv") if row["model"] in params.models]
    _write_leaderboard(params, rows, folder)
    (folder / ".nojekyll").touch()  # GitHub Pages serves the files as they are


def _copy(path: Path, to: Path, private: PrivateTexts, *, photos: bool = True) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix not in _TEXTS:
        copy_file(path, to)
        return
    text = private.replaced(path.read_bytes().decode("utf-8"))
    with disk_errors(to):
        to.write_bytes((text if photos else _INLINE_PHOTO.sub(_EMPTY, text)).encode())


def _copy_browser(report: Path, folder: Path, private: PrivateTexts) -> None:
    """Copy the question browser. A shard with a private text is written again; its name follows from its content.

    The passages of its replies move with their texts.
    """
    page, source = (report / name for name in _BROWSER)
    target = folder / _BROWSER[1]
    files = {path.stem: path for path in source.glob("*.js")}
    for path in sorted(source.rglob("*")):
        if path.is_file() and path not in files.values():
            (target / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            copy_file(path, target / path.relative_to(source))
    writer = shards.ShardFolder(target)
    names: dict[str, str] = {}

    def renamed(name: str) -> str:
        """Copy a shard after those that it refers to, and return its new name."""
        if name not in names:
            data = shards.read(files[name])
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                names[name] = writer.write(data)
                return names[name]
            if private.replaced(text) != text:
                text = replacement.replaced(data, private.found).decode("utf-8")
            text = re.sub(r"[0-9a-f]{16}", lambda match: _other(match[0], name), private.replaced(text))
            names[name] = writer.write(text.encode())
        return names[name]

    def _other(found: str, name: str) -> str:
        return renamed(found) if found in files and found != name else found

    for name in sorted(files):
        renamed(name)
    text = private.replaced(page.read_text(encoding="utf-8"))
    text = re.sub(r"[0-9a-f]{16}", lambda match: names.get(match[0], match[0]), text)
    with disk_errors(folder / page.name):
        (folder / page.name).write_text(text, encoding="utf-8")


def _write_leaderboard(params: Params, rows: Iterable[dict[str, Any]], folder: Path) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, ("model", "baseline", *COLUMNS[1:]), restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(row | {"baseline": str(_is_baseline(params, row["model"])).lower()})
    write_text(folder / "leaderboard.csv", text.getvalue())


def _is_baseline(params: Params, model: str) -> bool:
    return params.model(model).engine == "respondent"


def _list(params: Params, folder: Path) -> dict[str, str]:
    """Write the list of the files with their sha256, and return it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest() for path in paths}
    listing = {"edition": params.edition, "known-unknowns": __version__, "files": files}
    write_text(folder / LISTING, json.dumps(listing, indent=2, sort_keys=True) + "\n")
    return files


_SHORTEST_KEY = 8
_ADDRESS = "(private address)"
_KEY = "(key)"
_FORMS: tuple[Callable[[str], str], ...] = (
    html.escape,
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    str,
)
"""How a text may be written in a file: in HTML, in JSON, and as it is."""
_LOCAL_SUFFIXES = (".local", ".internal", ".lan", ".localdomain", ".home", ".corp", ".intranet")


@dataclass(frozen=True)
class PrivateTexts:
    """Private texts and what replaces them."""

    replacements: Mapping[str, str]

    @classmethod
    def of(cls, params: Params, engines: Iterable[Path], root: Path) -> PrivateTexts:
        """Collect the texts of a configuration, of the facts of the engines, and of this machine.

        Parameters
        ----------
        params : Params
        engines : iterable of Path
            The files engine.json of the replies.
        root : Path
            The project's folder.
        """
        values = list(_texts(params.raw))
        for path in engines:
            values += _texts(json_files.read(path))
        found: dict[str, str] = {}
        for value in values:
            found |= _of_value(value)
        found |= {str(path): sign for path, sign in ((root.resolve(), "."), (Path.home(), "~")) if len(path.parts) > 1}
        names = {"OPENAI_API_KEY", "HF_TOKEN", *(str(entry.get("key_env")) for entry in params.raw["models"].values())}
        found |= dict.fromkeys(_keys(names, root / ".env"), _KEY)
        return cls({private: shown for private, shown in found.items() if private})

    def replaced(self, text: str) -> str:
        """Return a text without the private ones, also where they are escaped for HTML or JSON."""
        forms, pattern = self._forms
        return pattern.sub(lambda match: forms[match[0]], text) if forms else text

    def found(self, text: str) -> list[tuple[int, int, str]]:
        """Return start, end and replacement of each private text in a text."""
        forms, pattern = self._forms
        return [(*match.span(), forms[match[0]]) for match in pattern.finditer(text)] if forms else []

    @cached_property
    def _forms(self) -> tuple[dict[str, str], re.Pattern[str]]:
        """The forms of the private texts with those of their replacements, and the pattern that finds them."""
        forms = {form(private): form(shown) for private, shown in self.replacements.items() for form in _FORMS}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        return forms, re.compile("|".join(map(re.escape, longest_first)))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _of_value(value: str) -> dict[str, str]:
    """Return the private texts of a value of the configuration: an absolute path, or an address of a private host."""
    if "://" in value:
        return _of_address(value)
    if value.startswith(("/", "~/")) and len(PurePosixPath(value).parts) > 2:
        return {value: PurePosixPath(value).name}
    if PureWindowsPath(value).drive and PureWindowsPath(value).is_absolute():
        return {value: PureWindowsPath(value).name}
    return {}


def _of_address(value: str) -> dict[str, str]:
    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
    except ValueError:
        return {value: _ADDRESS}
    if parts.scheme.startswith("sqlite"):
        path = parts.path.removeprefix("/")
        return {path: PurePosixPath(path).name} if path.startswith("/") else {}
    if "@" in parts.netloc or _is_private(host):
        host_and_port = parts.netloc.rpartition("@")[2]
        hosts = [host_and_port] if set(host_and_port) & set(".:") else []  # "data" alone would be found in any text
        return dict.fromkeys([value, value.rstrip("/"), parts.netloc.rpartition("@")[0], *hosts], _ADDRESS)
    return {}


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_SUFFIXES)


def _keys(names: Iterable[str], file: Path) -> set[str]:
    """Return the values of the variables that hold keys, from the environment and from a file .env."""
    values = {os.environ.get(name, "") for name in names}
    if file.is_file():
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        values |= {line.partition("=")[2].strip().strip("'\"") for line in lines if not line.lstrip().startswith("#")}
    return {value for value in values if len(value) >= _SHORTEST_KEY}

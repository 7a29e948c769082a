"""The tables of a run by their content: found by their columns, in any folder layout, with one set of names."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

RENAMED = {
    "scorer": "parser",
    "scorer_a": "parser_a",
    "scorer_b": "parser_b",
    "letter": "label",
    "letters": "labels",
}
"""Former names of columns to the present ones. A renamed column is one line here."""
DIGITS = 6
"""Decimals of log-probabilities that are kept."""
_DATA_FILES = {".json", ".png", ".jpg", ".jpeg"}
_NOT_DATA = {"released.json", ".git-files.json"}  # the places of fetched files
_QUESTIONS = (
    r"(?:questions/|variants/)?(?P<benchmark>[^/]+)"
    r"(?:/(?:questions|(?P<variant>[^/]+)))?(?:/seed(?P<seed>\d+))?\.parquet"
)
_CELL = (
    r"(?:.*/)?(?:replies|scores|answers)/(?P<model>[^/]+)/(?P<benchmark>[^/]+)/"
    r"(?:(?P<variant>[^/]+)/seed(?P<seed>\d+)|[^/]+)\.parquet"
)


@dataclass(frozen=True)
class Kind:
    """A kind of table.

    Attributes
    ----------
    name : str
    marks : tuple of str
        A table with these columns is of this kind.
    keys : tuple of str
        The columns that say what a row is about.
    ignored : tuple of str
        Columns that are not compared, because they are no content.
    path : str
        Pattern of a file's path. Its groups are keys that older layouts have in the path, not in a column.
    """

    name: str
    marks: tuple[str, ...]
    keys: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    path: str = ""


KINDS = (
    Kind(
        "questions",
        ("id", "options", "answer", "refusal"),
        ("data", "benchmark", "variant", "seed", "id"),
        path=_QUESTIONS,
    ),
    Kind(
        "replies",
        ("question_id", "turn", "reply", "finish"),
        ("edition", "model", "benchmark", "variant", "seed", "sample", "question_id", "turn"),
        ("key",),
        path=_CELL,
    ),
    Kind(
        "scores",
        ("question_id", "turn", "parser", "outcome"),
        ("edition", "model", "benchmark", "variant", "seed", "sample", "question_id", "turn", "parser"),
        path=_CELL,
    ),
    Kind(
        "metrics",
        ("model", "variant", "seed", "parser", "category", "name", "value"),
        ("edition", "model", "benchmark", "variant", "seed", "sample", "parser", "category", "name"),
    ),
    Kind(
        "comparison",
        ("published", "verdict", "parser"),
        ("edition", "benchmark", "table", "row", "column", "variant", "category", "metric", "model", "parser"),
    ),
    Kind(
        "model_comparison",
        ("model_a", "model_b", "difference"),
        ("edition", "benchmark", *(f"{name}_{side}" for side in "ab" for name in ("model", "variant", "parser"))),
    ),
    Kind("rendered", ("data", "sha256"), ("data", "sha256"), ("name",)),
    Kind("weights", ("sha256",), ("sha256",), ("name",)),
)


def read_run(root: Path) -> dict[str, pa.Table]:
    """Return the tables of a finished run by kind.

    Parameters
    ----------
    root : Path
        The project folder, with ``results`` and ``data``.

    Returns
    -------
    dict of str to Table
        With the present names of columns. Nested values are JSON texts.

    Raises
    ------
    ValueError
        If neither a column nor the path of a file says what its rows are about.
    """
    parts: dict[str, list[pa.Table]] = defaultdict(list)
    digests: dict[str, dict[tuple[str, str], str]] = {"rendered": {}, "weights": {}}
    read: set[tuple[str, str]] = set()
    for folder, level in (("results", "edition"), ("data", "data")):
        for path in sorted((root / folder).glob("*/**/*.parquet")):
            name, _, inner = path.relative_to(root / folder).as_posix().partition("/")
            table = pq.ParquetFile(path).read()
            table = table.rename_columns([RENAMED.get(column, column) for column in table.column_names])
            if "turns" in table.column_names:
                table = _scores(table)
            kind = next((kind for kind in KINDS[:-2] if set(kind.marks) <= set(table.column_names)), None)
            if kind and kind.name == "questions":  # editions with the same data ask the same questions
                data = _data_of(root, name) if folder == "results" else name
                if (data, inner) not in read:
                    parts[kind.name].append(_with_keys(table, kind, {"data": data}, inner))
                read.add((data, inner))
            elif kind:
                keyed = _with_keys(table, kind, {level: name}, inner)
                parts[kind.name].append(_with_samples(keyed) if "sample" in kind.keys else keyed)
            elif folder == "data":
                rows = repr(table.to_pylist()).encode()
                digests["rendered"][name, sha256(rows).hexdigest()] = inner
    for path in sorted((root / "data").glob("*/**/*")):
        if path.suffix in _DATA_FILES and path.name not in _NOT_DATA and path.is_file():
            name, _, inner = path.relative_to(root / "data").as_posix().partition("/")
            digests["rendered"].setdefault((name, sha256(path.read_bytes()).hexdigest()), inner)
    for path in sorted(root.glob("[!.]*/**/*.safetensors")):
        digests["weights"]["", sha256(path.read_bytes()).hexdigest()] = path.relative_to(root).as_posix()
    found = {name: pa.concat_tables(tables, promote_options="permissive") for name, tables in parts.items()}
    for kind_name, names in digests.items():
        rows = [{"data": data, "sha256": digest, "name": name} for (data, digest), name in names.items()]
        found[kind_name] = pa.Table.from_pylist(rows, pa.schema([(c, pa.string()) for c in ("data", "sha256", "name")]))
    return found


def _scores(answers: pa.Table) -> pa.Table:
    """Return what the answers have of each turn, which formerly was a table of its own."""
    turns = pa.Table.from_struct_array(pc.list_flatten(answers["turns"]).combine_chunks())
    row_of_turn = pc.list_parent_indices(answers["turns"])
    for name in ("variant", "seed", "sample", "question_id", "parser"):
        turns = turns.append_column(name, answers[name].take(row_of_turn))
    return turns


def _data_of(root: Path, edition: str) -> str:
    """Return the name of an edition's data."""
    files = [root / "results" / edition / name for name in ("run.yaml", "params.yaml")]  # the second of older trees
    params = yaml.safe_load(next(filter(Path.is_file, files)).read_text(encoding="utf-8"))
    return str(params["editions"][edition].get("data", edition))


def _with_keys(table: pa.Table, kind: Kind, keys: Mapping[str, Any], path: str) -> pa.Table:
    """Return a table with all keys of its kind as columns, without nested values."""
    match = re.fullmatch(kind.path, path) if kind.path else None
    of_path = {**keys, **(match.groupdict() if match else {})}
    columns = {name: _plain(name, table[name]) for name in table.column_names}
    for name in kind.keys:
        if name not in columns and name != "sample":
            if name not in of_path:
                raise ValueError(f"{path}: no column {name} of the {kind.name}")
            value, kind_of = of_path[name], pa.int64() if name == "seed" else pa.string()
            columns[name] = pa.array([value] * table.num_rows, pa.string()).cast(kind_of)
    return pa.table(columns)


def _with_samples(table: pa.Table) -> pa.Table:
    """Return a table with the column sample. Formerly, sample j of seed s had the seed s + 1,000,000 j."""
    if "sample" in table.column_names:
        return table
    pairs = [(None, None) if seed is None else divmod(seed, 1_000_000) for seed in table["seed"].to_pylist()]
    samples, seeds = (pa.array(numbers, pa.int64()) for numbers in zip(*pairs, strict=True)) if pairs else ([], [])
    place = table.column_names.index("seed")
    return table.set_column(place, "seed", seeds).append_column("sample", samples)


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Return a column whose values are not nested: JSON texts in their place."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.array([None if value is None else _text(name, value) for value in column.to_pylist()], pa.string())


def _text(name: str, value: Any) -> str:
    if name == "logprobs":
        value = {key: None if number is None else round(number, DIGITS) for key, number in dict(value).items()}
    if name == "options":
        value = [{RENAMED.get(key, key): item for key, item in option.items()} for option in value]
    if name == "images" and value and isinstance(value[0], dict):
        value = [{key: item for key, item in image.items() if key != "source"} for image in value]  # not by path
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def write(tables: Mapping[str, pa.Table], folder: Path) -> None:
    """Write tables to ``<folder>/<kind>.parquet``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def read(folder: Path) -> dict[str, pa.Table]:
    """Return the tables of extracted values, or of a run.

    Parameters
    ----------
    folder : Path
        What `write` wrote, a folder with it under ``values``, or the project folder of a run.
    """
    for place in (folder / "values", folder):
        if (place / "weights.parquet").is_file():
            return {file.stem: pq.read_table(file) for file in place.glob("*.parquet")}
    return read_run(folder)

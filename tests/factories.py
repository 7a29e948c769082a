"""Small records for tests, with everything that a test does not care about filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image as Pillow
from pydantic import TypeAdapter

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.protocol import Context, Dialogue
from known_unknowns.config import DataEntry, ModelEntry, Params, parse, typed_model
from known_unknowns.config.sections import BenchmarkData
from known_unknowns.inference.bound_protocols import answer_key, context_of, every_protocol
from known_unknowns.records import Image, Option, Question, Reply, ResolvedProtocol, ResolvedVariant, Turn

PUBLISHED = pa.schema(
    [
        ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        ("question_id", pa.int64()),
        ("question", pa.string()),
        ("label", pa.string()),
        ("type", pa.string()),
    ]
)


def question(identifier: str = "1", answer: int = 0, **changes: Any) -> Question:
    """Five options A to E, the last one the refusal, on one image."""
    texts = ["Red", "Blue", "Black", "Gold", "None of the above"]
    values: dict[str, Any] = {
        "id": identifier,
        "benchmark": "humblebench",
        "text": "What color is the chandelier?",
        "options": tuple(Option(letter, text, f"{letter}. ") for letter, text in zip("ABCDE", texts, strict=True)),
        "answer": answer,
        "refusal": 4,
        "images": (Image("images/a.png", "a" * 64, 40, 30),),
        "category": "Attribute",
        "group": "a" * 64,
        "extra": {"question_id": 1, "label": "ABCDEFGHIJ"[answer], "image_path": "images/a.jpg"},
    }
    return Question(**values | changes)


_SOURCES: dict[str, dict[str, Any]] = {
    "scenes": {"seed": 1, "images": 2, "questions_per_image": 5, "revision": "unpinned"},
    "hub": {"repository": "a/b", "revision": "main"},
    "git": {"repository": "https://example.org/data", "revision": "0" * 40},
    "folder": {"path": "."},
}
"""The keys that an entry of each source must have."""


def data_entry(source: str, **settings: Any) -> DataEntry:
    """The entry of a benchmark's data in params.yaml."""
    return TypeAdapter(BenchmarkData).validate_python({"source": source} | _SOURCES.get(source, {}) | settings)


def variant_entry(function: str, **settings: Any) -> ResolvedVariant:
    """A variant of params.yaml."""
    return ResolvedVariant.of(function=function, **settings)


def model_entry(engine: str, **settings: Any) -> ModelEntry:
    """A model of params.yaml."""
    return typed_model("x", {"engine": engine} | settings)


def params_from(sections: Mapping[str, Any]) -> Params:
    """A configuration with these sections. What a test leaves out is filled in; names are not checked."""
    raw: dict[str, Any] = _SECTIONS | {name: section for name, section in sections.items() if section != {}}
    editions = {name: _EDITION | dict(entry) for name, entry in raw["editions"].items()}
    names = {name: None for edition, entry in editions.items() for name in (edition, entry.get("data", edition))}
    data = dict.fromkeys(names, {"source": "scenes"} | _SOURCES["scenes"])
    benchmarks = {name: {"protocol": "single_turn", "data": data} | dict(of) for name, of in raw["benchmarks"].items()}
    return parse(raw | {"editions": editions, "benchmarks": benchmarks})


def with_keys(params: Params, **values: Any) -> Params:
    """The configuration with other values of keys: names are dotted paths, with ``__`` for each dot."""
    raw = params.file.plain()
    for path, value in values.items():
        *above, last = path.split("__")
        entry = raw
        for key in above:
            entry = entry.setdefault(key, {})
        entry[last] = value
    return parse(raw)


_EDITION = {"benchmarks": ["humblebench"], "models": ["m"], "seeds": [0]}
_SECTIONS: dict[str, Any] = {
    "edition": "pocket",
    "editions": {"pocket": {}},
    "benchmarks": {"humblebench": {}},
    "variants": {},
    "protocols": {},
    "models": {"m": {"engine": "respondent", "behaviour": "oracle"}},
    "parsers": ["official", "robust"],
    "statistics": {"confidence": 0.95},
    "tracking": {"enabled": False, "uri": "sqlite:///mlflow.db", "artifacts": "mlartifacts", "experiment": "tests"},
}


PARSER_NAMES = ("official", "robust", "likelihood")
"""The parsers that tests count on. A parser that is added later changes none of them."""


def context(benchmark: str = "humblebench", parsers: Iterable[str] = PARSER_NAMES) -> Context:
    """The prompts of a benchmark, and by default all parsers."""
    return context_of(registry.get(benchmark), tuple(parsers))


def asked_by(protocol: str, question: Question, **settings: Any) -> Dialogue:
    """The dialogue of a protocol of any benchmark."""
    return every_protocol()[protocol].bind(
        ResolvedProtocol.of(name=protocol, **settings), context=context(question.benchmark)
    )(question)


def right(question: Question, turn: Turn) -> str:
    """The perfect reply to a turn."""
    return answer_key(question, turn).right


def scripted_reply(engine: Any, question: Question, turn: Turn, folder: Path) -> Reply:
    """The reply of a scripted engine to one turn."""
    ((_, reply),) = next(engine.answer_with_keys([turn], [answer_key(question, turn)], folder=folder))
    return reply


def png(color: tuple[int, int, int] = (200, 30, 30), size: tuple[int, int] = (40, 30)) -> bytes:
    buffer = BytesIO()
    Pillow.new("RGB", size, color).save(buffer, "PNG")
    return buffer.getvalue()


def published_row(number: int, **changes: Any) -> dict[str, Any]:
    """A row as HumbleBench publishes it; five questions share an image."""
    row = {
        "image": {"bytes": png((number // 5 * 7 % 256, 90, 30)), "path": f"images/{number // 5}.png"},
        "question_id": number + 1,
        "question": "What color is it?\nA. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above",
        "label": "ABCDE"[number % 5],
        "type": ("Object", "Relation", "Attribute")[number % 3],
    }
    return row | changes


def write_published(folder: Path, rows: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "train-00000-of-00001.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=PUBLISHED), path)
    return path

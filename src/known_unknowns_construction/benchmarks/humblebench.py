"""Construction in HumbleBench's format: the generator of the paper's Appendix A, and the published table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from known_unknowns.files import atomic_path
from known_unknowns.images import read_file
from known_unknowns.records import Turn
from known_unknowns_construction.candidates import LABELS, Candidate
from known_unknowns_construction.class_templates import class_templates
from known_unknowns_construction.generation import (
    MAX_TEXT,
    Draft,
    GenerationResult,
    GeneratorDialogue,
    QuestionGenerator,
    Rejection,
    problem_of,
)
from known_unknowns_construction.interface import Column, Construction
from known_unknowns_construction.json_replies import objects_in
from known_unknowns_construction.prompts import (
    NOT_GIVEN,
    fill,
    objects_text,
    one_line,
    published,
    quoted,
    triplets_text,
)
from known_unknowns_construction.scene_graph import SceneGraph

PROMPT = published("humblebench_figure_a1")
"""The prompt of Figure A1. Its list of inputs has no item 4, and its structure one brace too many, as printed."""
REFUSAL = "None of the above"
OPTIONS = 5
MAX_NEW_TOKENS = 4096
FILE_NAME = "train-00000-of-00001.parquet"
KINDS = {"object": "Object", "relation": "Relation", "attribute": "Attribute"}
"""Weather and location, which the prompt allows too, are not types of the published data."""
_TYPES = {"category": "object", "object": "object", "relation": "relation", "attribute": "attribute"}
_TYPES |= {"weather": "weather", "location": "location"}
_MARK = re.compile(r"^\s*\(?([A-Ea-e])\)?\s*[.):]\s*")
_ANSWER = re.compile(r"^\s*\(?([A-Ea-e])\)?(?:[.):\s]|$)")
_NONE = re.compile(r"none of (?:the )?above\W*$", re.IGNORECASE)
_IMAGES_A_GROUP = 16  # limits the memory that writing needs

_ENTRY = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["Category", "Relation", "Attribute", "Weather", "Location"]},
        "Question": {"type": "string"},
        "Choices": {"type": "array", "items": {"type": "string"}},
        "Answer": {"type": "string", "enum": ["A", "B", "C", "D", "E"]},
    },
    "required": ["type", "Question", "Choices", "Answer"],
    "additionalProperties": False,
}
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"questions": {"type": "array", "items": _ENTRY}},
        "required": ["questions"],
        "additionalProperties": False,
    }
)
"""The schema of structured output: the printed structure, in an object, because the schema's root has to be one."""

_FEATURES = {
    "image": {"_type": "Image"},
    "question_id": {"dtype": "int64", "_type": "Value"},
    "question": {"dtype": "string", "_type": "Value"},
    "label": {"dtype": "string", "_type": "Value"},
    "type": {"dtype": "string", "_type": "Value"},
}
PARQUET_SCHEMA = pa.schema(
    [
        pa.field("image", pa.struct([pa.field("bytes", pa.binary()), pa.field("path", pa.string())])),
        pa.field("question_id", pa.int64()),
        pa.field("question", pa.string()),
        pa.field("label", pa.string()),
        pa.field("type", pa.string()),
    ],
    # Tells the `datasets` library that the struct is an image.
    metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
)
COLUMNS = (
    Column("question_id", "sc:Integer", "Number of the question, from 1."),
    Column("question", "sc:Text", "The question and its five options, one a line."),
    Column("label", "sc:Text", "The letter of the correct option."),
    Column("type", "sc:Text", "Object, Relation or Attribute."),
)


def prompt(graph: SceneGraph) -> str:
    """Return the prompt of Figure A1 with the graph's annotations."""
    extra = {name: one_line(str(graph.extra[name])) for name in ("weather", "location") if name in graph.extra}
    values = {"objects": objects_text(graph), "triplets": triplets_text(graph), "captions": quoted(graph.captions)}
    return fill(PROMPT, {"weather": NOT_GIVEN, "location": NOT_GIVEN} | extra | values)


def generate(
    graphs: Sequence[SceneGraph], *, questions: int | None, seed: int
) -> Iterator[tuple[SceneGraph, Callable[[], GeneratorDialogue]]]:
    """Yield the dialogue of each image: one turn with `prompt` (`known_unknowns_construction.generation.Generate`).

    The prompt asks for about ten questions, so ``questions`` only limits how many of them are taken.
    """
    for graph in graphs:
        yield graph, partial(_dialogue, graph, questions)


def drafts(text: str) -> tuple[list[Draft], list[Rejection]]:
    """Return the questions of a reply, and what is not a question in it."""
    made = GenerationResult()
    entries = objects_in(text, "question")
    for entry in entries:
        try:
            made.drafts.append(_draft(entry))
        except ValueError as error:
            made.rejected.append(Rejection("broken_schema", f"{error}: {one_line(json.dumps(entry), 300)}"))
    if not entries:
        made.rejected.append(Rejection("broken_json", one_line(text, 300)))
    return made.drafts, made.rejected


def write(candidates: Iterable[Candidate], *, folder: Path, out: Path) -> list[Path]:
    """Write the published table (`known_unknowns_construction.interface.Write`)."""

    def rows() -> Iterator[tuple[str, dict[str, Any]]]:
        encoded: tuple[str, bytes] = ("", b"")
        for number, candidate in enumerate(candidates, start=1):
            if candidate.image.path != encoded[0]:
                encoded = (candidate.image.path, read_file(folder / candidate.image.path, candidate.image.sha256))
            yield candidate.group, row_of(candidate, number, encoded[1])

    path = out / FILE_NAME
    write_rows(path, rows())
    return [path]


def row_of(candidate: Candidate, number: int, image: bytes) -> dict[str, Any]:
    """Return the row of a candidate in the published table."""
    if candidate.kind not in KINDS:
        raise ValueError(f"candidate {candidate.id}: the kind {candidate.kind!r} is not one of {', '.join(KINDS)}")
    lines = [f"{label}. {option}" for label, option in zip(candidate.labels, candidate.options, strict=True)]
    return {
        "image": {"bytes": image, "path": candidate.image.path},
        "question_id": number,
        "question": "\n".join([candidate.question, *lines]),
        "label": candidate.answer,
        "type": KINDS[candidate.kind],
    }


def write_rows(path: Path, rows: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Write rows, each with its image's name, atomically. Equal rows give equal bytes."""
    with atomic_path(path) as partial, pq.ParquetWriter(partial, PARQUET_SCHEMA, compression="zstd") as writer:
        waiting: list[dict[str, Any]] = []
        last, images = None, 0
        for image, row in rows:
            if image != last:
                last, images = image, images + 1
                if images > _IMAGES_A_GROUP:
                    writer.write_table(pa.Table.from_pylist(waiting, schema=PARQUET_SCHEMA))
                    waiting, images = [], 1
            waiting.append(row)
        if waiting:
            writer.write_table(pa.Table.from_pylist(waiting, schema=PARQUET_SCHEMA))


def _dialogue(graph: SceneGraph, questions: int | None) -> GeneratorDialogue:
    reply = yield Turn(graph.id, "generate", (prompt(graph),), None, max_new_tokens=MAX_NEW_TOKENS, json_schema=SCHEMA)
    if problem := problem_of(reply):
        return GenerationResult(rejected=[problem])
    found, rejected = drafts(reply.text)
    return GenerationResult(found[:questions], rejected)


def _draft(entry: dict[str, Any]) -> Draft:
    question, choices, answer = entry.get("question"), entry.get("choices", entry.get("options")), entry.get("answer")
    if isinstance(choices, dict):
        choices = [f"{label}. {text}" for label, text in sorted(choices.items())]
    if not isinstance(question, str) or not question.strip():
        raise ValueError("the question is not a text")
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise ValueError("the choices are not texts")
    if len(choices) != OPTIONS:
        raise ValueError(f"{len(choices)} choices, not {OPTIONS}")
    marks = [_MARK.match(choice) for choice in choices]
    if any(mark and mark[1].upper() != label for mark, label in zip(marks, LABELS, strict=False)):
        raise ValueError("the choices are not labelled A to E in this order")
    options = [
        one_line(choice[mark.end() :] if mark else choice, MAX_TEXT)
        for mark, choice in zip(marks, choices, strict=True)
    ]
    if not all(options):
        raise ValueError("a choice is empty")
    if not _NONE.search(options[-1]):
        raise ValueError("choice E is not 'None of the above'")
    right = _ANSWER.match(answer) if isinstance(answer, str) else None
    if right is None:
        raise ValueError("the answer is not a letter from A to E")
    kind = _TYPES.get(str(entry.get("type", "")).strip().lower())
    if kind is None:
        raise ValueError("the type is not one of the prompt's")
    return Draft(one_line(question, MAX_TEXT), (*options[:-1], REFUSAL), right[1].upper(), kind)


CONSTRUCTION = Construction(
    generators={
        "figure_a1": QuestionGenerator(
            description="a language model with the prompt of Figure A1: objects, relations and captions as text",
            generate=generate,
            needs_model=True,
            prompt=PROMPT,
        ),
        "classes": class_templates(REFUSAL),
    },
    kinds=KINDS,
    options=OPTIONS,
    refusal=REFUSAL,
    write=write,
    columns=COLUMNS,
)

"""The generators of ActiView's Appendix J: reasoning over several boxes with a rating, and counting.

The paper's authors conclude that powerful models fail at this task. Appendix J.2 has examples: guesses about the scene,
and objects that may or may not be counted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from known_unknowns.images import composite_image
from known_unknowns.records import Image, Turn
from known_unknowns_construction.candidates import LABELS, Flag
from known_unknowns_construction.generation import (
    MAX_TEXT,
    Draft,
    GenerationResult,
    GeneratorDialogue,
    QuestionGenerator,
    Rejection,
    problem_of,
)
from known_unknowns_construction.interface import Construction
from known_unknowns_construction.json_replies import objects_in
from known_unknowns_construction.model_replies import image_of
from known_unknowns_construction.prompts import fill, one_line, plain_name, published
from known_unknowns_construction.scene_graph import Node, SceneGraph

STEP_1, SCORING, STEP_2 = (published(f"actiview_{name}") for name in ("step_1", "scoring", "step_2"))
"""The prompts of Appendix J.3."""
GENERAL, COUNTING = "general", "counting"
LEVELS = "ABCD"
_LEVEL = re.compile(r"\s*(?:level\s*)?([A-D])\s*(?:[.:,;(-].*)?$", re.IGNORECASE | re.DOTALL)
"""A level, also with "Level" before it or an explanation behind it."""
MAX_BOXES = 10
"""At most so many of the largest objects are marked."""
MAX_NEW_TOKENS = 1024
_TEXT, _TEXTS, _INT = {"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "integer"}


def _schema(**properties: Any) -> str:
    return json.dumps(
        {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    )


_ANNOTATION = {
    "question": _TEXT,
    "options": _TEXTS,
    "abilities": _TEXTS,
    "answer": _INT,
    "order": {"type": "array", "items": _INT},
    "groundtruth": _TEXT,
}
STEP_1_SCHEMA = _schema(**_ANNOTATION, number_of_operations=_INT)
STEP_2_SCHEMA = _schema(**_ANNOTATION, operations=_INT)
SCORING_SCHEMA = _schema(score={"type": "string", "enum": list(LEVELS)}, reason=_TEXT)


def marked_objects(graph: SceneGraph) -> list[Node]:
    """Return the objects that are marked, in the order of their numbers: the largest ones, stuff left out."""
    things = [node for node in graph.objects if node.thing and not node.crowd]
    largest = sorted(things, key=lambda node: -node.box[2] * node.box[3])[:MAX_BOXES]
    return [node for node in graph.objects if node in largest]


def clues(nodes: Sequence[Node]) -> str:
    """Return the clue of each box as a JSON object on one line. Descriptions are untrusted text."""
    found = {}
    for number, node in enumerate(nodes, start=1):
        parts = [*(f"{key}: {value}" for key, value in sorted(node.attributes.items())), node.description]
        found[str(number)] = one_line("; ".join([plain_name(node.spoken), *filter(None, parts)]))
    return json.dumps(found, ensure_ascii=False)


def step_1(
    graphs: Sequence[SceneGraph], *, questions: int | None, seed: int
) -> Iterator[tuple[SceneGraph, Callable[[], GeneratorDialogue]]]:
    """Yield a dialogue of two turns for each image: a question about several boxes, and its rating from A to D."""
    for graph in graphs:
        yield graph, partial(_dialogue_1, graph)


def step_2(
    graphs: Sequence[SceneGraph], *, questions: int | None, seed: int
) -> Iterator[tuple[SceneGraph, Callable[[], GeneratorDialogue]]]:
    """Yield a dialogue for each image: a counting question for each class with at least two objects."""
    for graph in graphs:
        yield graph, partial(_dialogue_2, graph, questions)


def _dialogue_1(graph: SceneGraph) -> GeneratorDialogue:
    nodes = marked_objects(graph)
    if len(nodes) < 2:
        return GenerationResult(rejected=[Rejection("fewer than two objects")])
    image = _marked(graph, nodes)
    reply = yield _turn(graph, "generate", image, fill(STEP_1, {"clues": clues(nodes)}), STEP_1_SCHEMA)
    if problem := problem_of(reply):
        return GenerationResult(rejected=[problem])
    draft, rejected = _draft(reply.text, GENERAL, nodes)
    if draft is None:
        return GenerationResult(rejected=rejected)
    shown = json.dumps({"question": draft.question, "options": draft.options, "answer": draft.extra["index"]})
    rating = yield _turn(graph, "rate", image, fill(SCORING, {"annotation": shown}), SCORING_SCHEMA)
    return _rated(draft, rating.text if problem_of(rating) is None else "")


def _dialogue_2(graph: SceneGraph, questions: int | None) -> GeneratorDialogue:
    made = GenerationResult()
    classes: dict[str, list[Node]] = {}
    for node in graph.objects:
        if node.countable:
            classes.setdefault(node.spoken, []).append(node)
    several = {name: nodes for name, nodes in classes.items() if len(nodes) > 1}
    for name, nodes in list(several.items())[:questions]:
        boxes = json.dumps([_corners(graph, node) for node in nodes])
        text = fill(STEP_2, {"boxes": boxes, "type": plain_name(name)})
        reply = yield _turn(graph, "generate", image_of(graph), text, STEP_2_SCHEMA)
        if problem := problem_of(reply):
            made.rejected.append(problem)
            continue
        draft, rejected = _draft(reply.text, COUNTING, nodes)
        made.rejected += rejected
        made.drafts += [] if draft is None else [draft]
    return made


def _turn(graph: SceneGraph, step: str, image: Image, text: str, schema: str) -> Turn:
    return Turn(graph.id, step, (image, text), None, max_new_tokens=MAX_NEW_TOKENS, json_schema=schema)


def _marked(graph: SceneGraph, nodes: Sequence[Node]) -> Image:
    boxes = [_corners(graph, node) for node in nodes]
    return composite_image("marked", graph.image.width, graph.image.height, of=image_of(graph), boxes=boxes)


def _corners(graph: SceneGraph, node: Node) -> list[int]:
    """Return left, top, right and bottom of an object's box, within the image."""
    left, top, width, height = node.box
    right, bottom = math.ceil(left + width) - 1, math.ceil(top + height) - 1
    first = [max(0, math.floor(left)), max(0, math.floor(top))]
    return [
        *first,
        max(first[0], min(right, graph.image.width - 1)),
        max(first[1], min(bottom, graph.image.height - 1)),
    ]


def _rated(draft: Draft, text: str) -> GenerationResult:
    """Return the draft with its rating: level D is rejected, B and C are flags, and so is a missing rating."""
    entry = next(iter(objects_in(text, "score")), {})
    found = _LEVEL.match(str(entry.get("score", "")))
    level, reason = found[1].upper() if found else None, one_line(str(entry.get("reason", "")))
    if level == "D":
        return GenerationResult(rejected=[Rejection("rated_D", reason)])
    flags = () if level == "A" else (Flag("rating", f"rated {level}: {reason}" if level else "not rated"),)
    return GenerationResult([replace(draft, flags=flags, extra={**draft.extra, "rating": level})])


def _draft(text: str, kind: str, nodes: Sequence[Node]) -> tuple[Draft | None, list[Rejection]]:
    entries = objects_in(text, "question")
    if not entries:
        return None, [Rejection("broken_json", one_line(text, 300))]
    entry = entries[0]
    question, options, answer = entry.get("question"), entry.get("options"), entry.get("answer")
    if isinstance(question, str) and question.strip().strip('"').lower() == "none":
        return None, [Rejection("unsuitable")]
    if isinstance(answer, str) and answer.strip().isdecimal():
        answer = int(answer)
    texts = [one_line(str(option), MAX_TEXT) for option in options] if isinstance(options, list) else []
    sound = isinstance(question, str) and bool(question.strip()) and 2 <= len(texts) <= len(LABELS) and all(texts)
    if not sound or isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < len(texts):
        return None, [Rejection("broken_schema", one_line(json.dumps(entry), 300))]
    extra = {key: entry.get(key) for key in ("abilities", "order", "groundtruth")} | {"index": answer}
    return (
        Draft(
            question=one_line(str(question), MAX_TEXT),
            options=tuple(texts),
            answer=LABELS[answer],
            kind=kind,
            objects=_ordered(entry.get("order"), nodes) or tuple(node.id for node in nodes),
            extra=extra,
        ),
        [],
    )


def _ordered(order: Any, nodes: Sequence[Node]) -> tuple[str, ...]:
    """Return the ids of the boxes in a reply's order, each once. 0 is the whole image."""
    numbers = [n for n in order if isinstance(n, int) and 1 <= n <= len(nodes)] if isinstance(order, list) else []
    return tuple(nodes[number - 1].id for number in dict.fromkeys(numbers))


CONSTRUCTION = Construction(
    generators={
        "step_1": QuestionGenerator(
            description="a vision-language model with Appendix J's heuristic prompt on numbered boxes, then its rating",
            generate=step_1,
            needs_model=True,
            prompt=STEP_1 + SCORING,
        ),
        "step_2": QuestionGenerator(
            description="a vision-language model with Appendix J's counting prompt, once for each class",
            generate=step_2,
            needs_model=True,
            prompt=STEP_2,
        ),
    },
    kinds={GENERAL: "general", COUNTING: "counting"},
)

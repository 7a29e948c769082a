"""The generators of ActiView's Appendix J: prompts, numbered boxes, ratings, and counting."""

from __future__ import annotations

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from known_unknowns.config import OpenAIModel
from known_unknowns_construction.benchmarks import actiview as construction
from known_unknowns_construction.benchmarks import construction_of
from known_unknowns_construction.candidates import CandidateImage
from known_unknowns_construction.generation import run_generator
from known_unknowns_construction.importing import store_file
from known_unknowns_construction.scene_graph import Node, SceneGraph
from tests import paths
from tests.servers.endpoint import Endpoint, Response, completion

ANNOTATION = {
    "question": "Which cup is nearer to the plate?",
    "options": ["red", "blue", "both", "neither"],
    "abilities": ["zoom in"],
    "answer": 2,
    "order": [0, 2, 1, 2, 9],
    "groundtruth": "Both touch it.",
    "number_of_operations": 2,
}
CASES = {  # the reply to the first turn, and the rating: a question has its case's name at its end
    "good": (ANNOTATION, "A"),
    "guess": (ANNOTATION, "C"),
    "bad": (ANNOTATION, "D"),
    "unrated": (ANNOTATION, None),
    "worded": (ANNOTATION, "Level D: a guess"),
    "between": (ANNOTATION, "BC"),
    "none": ({**ANNOTATION, "question": "None"}, None),
    "range": ({**ANNOTATION, "answer": 4}, None),
    "prose": ("No idea.", None),
}


def graph(folder, name: str) -> SceneGraph:
    buffer = io.BytesIO()
    Image.new("RGB", (100, 60), "white").save(buffer, "PNG")
    path, digest = store_file(buffer.getvalue(), folder, "images", ".png")
    nodes = (
        Node("0", "cup", (10, 10, 20, 20), description=f"[{name}] a red cup"),
        Node("1", "cup", (60, 10, 30, 30), attributes={"colour": "blue"}),
        Node("2", "table-merged", (0, 40, 100, 20), thing=False),
    )
    return SceneGraph(name, CandidateImage(path, digest, 100, 60), nodes)


def reply(request) -> Response:
    if not request.question:  # tries the model's settings before the first turn
        return Response(200, completion("q", content="Yes"))
    first, rating = CASES[request.question]
    if "predefined levels for scoring" in text_of(request):
        content = "I cannot." if rating is None else json.dumps({"score": rating, "reason": "because"})
    elif isinstance(first, str):
        content = first
    else:  # the name is in the annotation that is rated
        marked = first["question"] if first["question"] == "None" else f"{first['question']} [{request.question}]"
        content = json.dumps({**first, "question": marked})
    return Response(200, completion("q", content=content))


def text_of(request) -> str:
    return "\n".join(part["text"] for part in request.body["messages"][-1]["content"] if part["type"] == "text")


def turns_of(log):
    """The requests of turns, each once: the first turn also tries the settings, and other requests have no schema."""
    turns = []
    for request in log:
        if not request.path.endswith("completions") or "response_format" not in request.body:
            continue
        if request.body not in [turn.body for turn in turns]:
            turns.append(request)
    return turns


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """Step 1 over an image for each case, and step 2 over one; the requests of both."""
    folder = tmp_path_factory.mktemp("actiview")
    generators = construction_of("actiview").generators
    graphs = [graph(folder, name) for name in CASES]
    with Endpoint(reply=reply) as end:
        entry = OpenAIModel(engine="openai", source="parrot-1", base_url=end.url, max_retries=1, patience=5)
        settings = {"folder": folder, "model": "parrot", "entry": entry}
        one = run_generator("step_1", generators["step_1"], graphs, journal=folder / "1.jsonl", **settings)
        requests = turns_of(end.log)
    counted = json.dumps({**ANNOTATION, "operations": 1})
    with Endpoint(reply=lambda request: Response(200, completion("q", content=counted))) as end:
        settings["entry"] = entry.model_copy(update={"base_url": end.url})
        two = run_generator("step_2", generators["step_2"], graphs[:1], journal=folder / "2.jsonl", **settings)
        counting = turns_of(end.log)
    return one, requests, two, counting


def test_ratings_decide_what_is_flagged_or_rejected(generated):
    (candidates, report), _, _, _ = generated
    flags = {each.group: [flag.reason for flag in each.flags] for each in candidates}
    assert flags == {"good": [], "guess": ["rated C: because"], "unrated": ["not rated"], "between": ["not rated"]}
    assert {each["image"]: each["reason"] for each in report["rejections"]} == {
        **{
            "bad": "rated_D",
            "worded": "rated_D",
            "none": "unsuitable",
            "range": "broken_schema",
            "prose": "broken_json",
        }
    }
    good = candidates[0]
    assert (good.answer, good.options[2], good.source["rating"]) == ("C", "both", "A")
    assert [thing.id for thing in good.objects] == ["1", "0"]  # the reply's order, each box once


def test_the_image_has_numbered_boxes_and_each_turn_its_schema(generated):
    _, requests, _, _ = generated
    first = next(request for request in requests if request.question == "good")
    (url,) = [part["image_url"]["url"] for part in first.body["messages"][-1]["content"] if part["type"] == "image_url"]
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
        pixels = np.asarray(image.convert("RGB"))
    red = (pixels == (255, 0, 0)).all(axis=2)
    assert red[10, 15] and red[29, 15] and red[39, 70] and not red[50].any()  # both cups, not the table
    assert '{"1": "cup; [good] a red cup", "2": "cup; colour: blue"}' in text_of(first)
    schemas = {next(iter(r.body["response_format"]["json_schema"]["schema"]["properties"])) for r in requests}
    assert schemas == {"question", "score"} and len(requests) == 9 + 6  # six of them are rated


def test_counting_asks_once_for_each_class_with_several_objects(generated):
    _, _, (candidates, report), counting = generated
    assert len(counting) == 1 and not report["rejections"]
    assert "[[10, 10, 29, 29], [60, 10, 89, 39]]" in text_of(counting[0]) and "are all cup The" in text_of(counting[0])
    assert [(each.kind, len(each.objects)) for each in candidates] == [("counting", 2)]


@pytest.mark.skipif(not paths.SHARED.is_dir(), reason="the papers' texts are not here (../shared)")
@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("STEP_1", "The clues for marking", "Scoring prompt used"),
        ("SCORING", "We want to design", "Prompt used for automatic annotation in Step 2"),
        ("STEP_2", "You are an annotator", None),
    ],
)
def test_the_prompts_are_those_of_the_paper(name, start, end):
    """The same characters in the same order, but for what the text of the PDF adds: emphasis, list marks, headings.

    Doubled braces are single ones, and braces and an "of" that the text lacks are in the prompt.
    """
    paper = (paths.SHARED / "papers" / "003_20fde8cfe36ab34a.txt").read_text(encoding="utf-8")
    first = paper.index(start, paper.index("J.3 Prompt Templates"))
    printed = paper[first : len(paper) if end is None else paper.index(end, first)]
    printed = re.sub(r"(?m)^.*prompt used for automatic annotation in .*$", "", printed, flags=re.IGNORECASE)
    printed = re.sub(r"(?m)^```$|^- (?=\d|option, starting)|\*+", "", printed).replace("in ison-", "in json-")
    printed = re.sub(r"number\s{5,}the", "number of the", printed)

    def plain(text: str) -> str:
        return re.sub(r"[\s{}]", "", text)

    assert plain(getattr(construction, name)) == plain(printed)

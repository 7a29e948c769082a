"""A chat endpoint on this machine that constructs questions by rules, for trials of the construction without a model.

It speaks OpenAI's chat completions over HTTP on 127.0.0.1 and answers three kinds of requests: a cropped object gets a
description of its colour, a construction prompt gets questions about the objects and relations in it, and a question
with options gets a letter. Some replies have faults on purpose: code fences, trailing commas, wrong answers, indices,
repeated options, refusals and text that is not JSON. Equal requests get equal replies.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from PIL import Image

from known_unknowns.config.construction import ConstructionEntry

COLOURS = {
    "red": (216, 32, 38),
    "green": (38, 148, 62),
    "blue": (36, 84, 214),
    "yellow": (250, 212, 30),
    "purple": (124, 44, 168),
    "orange": (246, 122, 16),
    "pink": (248, 148, 200),
    "black": (34, 34, 38),
}
"""The colours that the endpoint tells apart: those of the rendered scenes."""
SHAPES = ("disc", "square", "triangle", "star", "cross", "ring")
MODEL = "scripted-constructor"
REFUSAL = "None of the above"
_MAX_BODY = 50_000_000
_FAULTS = 12
"""One reply in so many is a refusal, and one is not JSON."""


def reply_to(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message that answers a chat request."""
    text, images = _contents(body)
    if images and "describe it briefly" in text:
        return {"content": f"It is {colour_of(images[0])}."}
    if found := re.search(r"^1\. Objects and captions for each object: (\{.*\})$", text, re.MULTILINE):
        triplets = re.search(r"^2\. Scene information .*?: (<.*>)?$", text, re.MULTILINE)
        return questions_message(json.loads(found[1]), triplets[1] or "" if triplets else "")
    return {"content": "ABCDE"[zlib.crc32(text.encode()) % 5]}


def questions_message(objects: Mapping[str, str], triplets: str) -> dict[str, Any]:
    """Return questions about named objects and ``<subject, predicate, object>``, with faults on purpose."""
    number = zlib.crc32(json.dumps(objects).encode())
    if number % _FAULTS == 0:
        return {"content": None, "refusal": "I cannot write questions about this image."}
    if number % _FAULTS == 1:
        return {"content": "Here are ten ideas for questions about the image, but in prose."}
    made = [*_counts(objects), *_colours(objects), *_relations(objects, triplets)][:10]
    for place, question in enumerate(made):
        _spoil(question, (number + place) % 9)
    text = json.dumps({"questions": made})
    return {"content": f"```json\n{text[:-2]},]}}\n```" if number % 3 == 0 else text}


def colour_of(url: str) -> str:
    """Return the colour that most pixels of an image, white ones left out, are nearest to."""
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
        pixels = np.asarray(image.convert("RGB").resize((32, 32)), dtype=float).reshape(-1, 3)
    inside = pixels[(pixels < 250).any(axis=1)]
    if not len(inside):
        return "white"
    palette = np.array(list(COLOURS.values()), dtype=float)
    nearest = ((inside[:, None] - palette[None]) ** 2).sum(axis=2).argmin(axis=1)
    return list(COLOURS)[int(np.bincount(nearest, minlength=len(palette)).argmax())]


@contextmanager
def running(port: int = 0) -> Iterator[str]:
    """Serve in a thread, and yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def environment(address: str) -> dict[str, str]:
    """Return the environment variables with which models without a ``base_url`` are asked at an address here."""
    return {"OPENAI_BASE_URL": address, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


@contextmanager
def if_scripted(entry: ConstructionEntry) -> Iterator[None]:
    """Answer the models without a ``base_url`` that this process asks, if the construction's entry says so."""
    if not entry.scripted_endpoint:
        yield
        return
    with running() as address:
        os.environ.update(environment(address))
        yield


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        model = {"id": MODEL, "object": "model", "created": 1, "owned_by": "known-unknowns"}
        self._send(200, {"object": "list", "data": [model]} if self.path.endswith("/models") else model)

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        if not 0 < length <= _MAX_BODY or not self.path.endswith("/chat/completions"):
            self._send(404, {"error": {"message": f"no such path: {self.path}", "type": "invalid_request_error"}})
            return
        raw = self.rfile.read(length)
        message = {"role": "assistant", "content": None, "refusal": None} | reply_to(json.loads(raw))
        choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}
        tokens = {"prompt_tokens": len(raw) // 4, "completion_tokens": len(message["content"] or "") // 4 + 1}
        usage = tokens | {"total_tokens": sum(tokens.values())}
        whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": MODEL}
        self._send(200, whole | {"choices": [choice], "usage": usage})

    def _send(self, status: int, body: Mapping[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def _contents(body: Mapping[str, Any]) -> tuple[str, list[str]]:
    content = body["messages"][-1]["content"]
    parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    return text, [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def _entry(kind: str, question: str, options: list[str], right: str) -> dict[str, Any]:
    """Return a question in the form that the prompt prints. If the right option is not given, E is right."""
    place = zlib.crc32(question.encode()) % 4
    shown = [option for option in options if option != right][:4]
    if right in options:
        shown.insert(place, right)
    shown = shown[:4]
    answer = "ABCD"[shown.index(right)] if right in shown else "E"
    choices = [f"{label}.{option}" for label, option in zip("ABCD", shown, strict=True)]
    return {"type": kind, "Question": question, "Choices": [*choices, "E.None of above"], "Answer": answer}


def _names(objects: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in objects:
        found.setdefault(name.rpartition("_")[0], []).append(name)
    return found


def _counts(objects: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for name, having in _names(objects).items():
        plural = name + ("es" if name.endswith("s") else "s")
        yield _entry("Category", f"How many {plural} are there in the image?", list("123456"), str(len(having)))


def _colours(objects: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for name, having in _names(objects).items():
        told = re.search(rf"\b({'|'.join(COLOURS)})\b", objects[having[0]])
        if len(having) == 1 and told:
            options = [colour for colour in COLOURS if zlib.crc32((name + colour).encode()) % 4] or list(COLOURS)
            yield _entry("Attribute", f"What colour is the {name}?", (options + list(COLOURS))[:8], told[1])


def _relations(objects: Mapping[str, str], triplets: str) -> Iterator[dict[str, Any]]:
    single = {having[0]: name for name, having in _names(objects).items() if len(having) == 1}
    predicates = ["left of", "right of", "above", "below", "inside", "around"]
    for subject, predicate, target in re.findall(r"<([^,<>]+), ([^,<>]+), ([^,<>]+)>", triplets):
        if subject in single and target in single:
            question = f"Where is the {single[subject]} in relation to the {single[target]}?"
            yield _entry("Relation", question, predicates, predicate)


def _spoil(question: dict[str, Any], fault: int) -> None:
    """Put a fault into a question: a wrong answer, an index, a repeated option, or a missing one."""
    if fault == 0:
        question["Answer"] = "ABCDE"[("ABCDE".index(question["Answer"]) + 1) % 5]
    elif fault == 1:
        name = next((shape for shape in SHAPES if shape in question["Question"]), "disc")
        question["Question"] = question["Question"].replace(name, f"{name}_0", 1)
    elif fault == 2:
        question["Choices"][1] = "B." + question["Choices"][0][2:].upper()
    elif fault == 3:
        question["Choices"].pop(2)

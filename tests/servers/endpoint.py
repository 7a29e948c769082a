"""A chat endpoint over HTTP with OpenAI's protocol that produces faults on request.

A question carries its id in brackets ("[q17] Which?"); ``faults`` says what happens to its first, second, ... request
(afterwards all is well). The behaviours are the keys of `Endpoint.BEHAVIOURS`, and "burst": from that request on
everybody gets 503 for `BURST_SECONDS`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from known_unknowns.model_runs.probe import TEXT

LETTERS = "ABCDE"
MODEL = "parrot-1"
BURST_SECONDS = 0.2


def answer_to(question: str) -> str:
    """The letter that the endpoint replies to a question."""
    return LETTERS[zlib.crc32(question.encode()) % 5]


@dataclass
class Request:
    """One request as it came: ``attempt`` counts those of its question, from 0."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    question: str = ""
    attempt: int = 0
    at: float = field(default_factory=time.monotonic)

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


@dataclass
class Response:
    """What goes back. ``cut`` sends so much of the body and resets the connection, ``hang`` sends nothing, ``drip`` a
    byte now and then; what is not ``sound`` is no answer to the question, though its status says so."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: float | None = None
    hang: bool = False
    drip: bool = False
    sound: bool = True

    def encoded(self) -> tuple[bytes, bytes]:
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        headers = {"content-type": "application/json", "content-length": len(body)} | dict(self.headers)
        lines = [f"HTTP/1.1 {self.status} X", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode(), body


def completion(question: str, *, logprobs: bool = True, **changes: Any) -> dict[str, Any]:
    """A sound completion; ``changes`` are to its message, but for finish_reason and what stands beside the choices."""
    letter = answer_to(question)
    finish = changes.pop("finish_reason", "stop")
    around = {
        name: changes.pop(name) for name in ("model", "usage", "choices", "system_fingerprint") if name in changes
    }
    others = [{"token": other, "logprob": -4.0, "bytes": None} for other in LETTERS if other != letter]
    step = {"token": letter, "logprob": -0.25, "bytes": None}
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": letter, "refusal": None} | changes,
        "logprobs": {"content": [step | {"top_logprobs": [step, *others]}]} if logprobs else None,
    }
    usage = {"prompt_tokens": 60, "completion_tokens": 2, "total_tokens": 62}
    whole = {"id": f"chatcmpl-{question}", "object": "chat.completion", "created": 1, "model": MODEL}
    return whole | {"choices": [choice], "usage": usage} | around


def scored(request: Request) -> Response:
    """A completion with the log-probabilities of its prompt, as vLLM returns them: null for the first token, then an
    object by token id, with the prompt's own token first. A word of the reply is a token with -0.5 for each letter."""
    body = request.body
    if "prompt_logprobs" not in body:
        return Response(200, completion(request.question))
    assert body["continue_final_message"] and not body["add_generation_prompt"], body
    last = body["messages"][-1]
    assert last["role"] == "assistant"
    tokens = [("<user>", -3.0), ("What", -2.0), ("<assistant>", -0.1)]
    tokens += [(word, -0.5 * len(word.strip())) for word in re.findall(r"\s*\S+", last["content"])]
    rows = [
        {str(1000 + n): {"logprob": value, "rank": 2, "decoded_token": word}} for n, (word, value) in enumerate(tokens)
    ]
    usage = {"prompt_tokens": len(tokens) + 1, "completion_tokens": 1, "total_tokens": len(tokens) + 2}
    whole = completion(request.question, content="!", logprobs=False, finish_reason="length", usage=usage)
    return Response(200, whole | {"prompt_logprobs": [None, *rows]})


EVENTS = {"content-type": "text/event-stream; charset=utf-8"}


def parts(
    request: Request,
    *,
    size: int = 1,
    end: bytes = b"data: [DONE]\n\n",
    deltas: Sequence[Mapping[str, Any]] | None = None,
    ascii_only: bool = True,
    line_end: bytes = b"\n",
    **changes: Any,
) -> Response:
    """A completion as events with ``size`` characters each, the usage in an event of its own, as OpenAI sends it.

    ``deltas`` replace those of the texts."""
    whole = completion(request.question, **changes)
    (choice,) = whole.pop("choices")
    usage, message = whole.pop("usage"), choice.pop("message")
    if deltas is None:
        deltas = []
        for name in ("reasoning_content", "content"):
            text = message.get(name) or ""
            deltas += [{name: text[place : place + size]} for place in range(0, len(text), size)]
    choices = [{"index": 0, "delta": delta} for delta in ({"role": "assistant"}, *deltas)]
    choices[-1]["logprobs"] = choice["logprobs"]
    choices.append({"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]})
    events = [*({"choices": [each]} for each in choices), {"choices": [], "usage": usage}]
    lines = [b"data: " + json.dumps(whole | event, ensure_ascii=ascii_only).encode() + b"\n\n" for event in events]
    return Response(200, (b": a comment\n\n" + b"".join(lines) + end).replace(b"\n", line_end), headers=EVENTS)


def _with_choice_error(question: str) -> dict[str, Any]:
    """A completion as OpenRouter sends it if the model's provider fails."""
    body = completion(question, content="", finish_reason="error")
    body["choices"][0]["error"] = {"code": 502, "message": "Provider returned error"}
    return body


def seeing(request: Request) -> Response:
    """The reply to the question of the probe by a model that sees images."""
    image = b"image_url" in request.raw
    usage = {"prompt_tokens": 300 if image else 20, "completion_tokens": 1}
    colour = f"colour {zlib.crc32(request.raw)}" if image else "unknown"
    return Response(200, completion("", content=colour, usage=usage))


def error(status: int, message: str, **more: Any) -> Response:
    headers = more.pop("headers", {})
    body = {"error": {"message": message, "type": "some_error", "param": None, "code": None} | more}
    return Response(status, body, headers)


def _key_of(request: Request) -> str:
    return request.headers.get("authorization", "")


class Endpoint:
    """The server: a context manager that runs it in a thread.

    ``sight`` answers the image question of the probe. ``unsupported`` maps a parameter to the message with which it is
    declined; ``ignored`` ones are not heeded. ``pages`` answer other paths, such as "/version".
    ``log`` has every request; ``answered`` counts the sound completions that each question was sent in full.
    """

    BEHAVIOURS: Mapping[str, Callable[[Request], Response]] = {
        "ok": lambda r: Response(200, completion(r.question)),
        "429": lambda r: error(429, "slow down", code="rate_limit_exceeded"),
        "429_after": lambda r: error(429, "slow down", headers={"Retry-After": "0.8"}),
        "500": lambda r: error(500, "oh no"),
        "503": lambda r: error(503, "overloaded"),
        "reset": lambda r: Response(200, completion(r.question), cut=0.5),
        "hang": lambda r: Response(200, b"", hang=True),
        "drip": lambda r: Response(200, completion(r.question), drip=True),
        "truncated": lambda r: Response(200, json.dumps(completion(r.question)).encode()[:-40], sound=False),
        "not_json": lambda r: Response(200, b"<html>Bad gateway</html>", sound=False),
        "no_choice": lambda r: Response(200, completion(r.question, choices=[]), sound=False),
        "aborted": lambda r: Response(200, completion(r.question, content="The", finish_reason="abort"), sound=False),
        "choice_error": lambda r: Response(200, _with_choice_error(r.question), sound=False),
        "empty": lambda r: Response(200, completion(r.question, content="", logprobs=False)),
        "refusal": lambda r: Response(200, completion(r.question, content=None, refusal="I will not say B.")),
        "filtered_answer": lambda r: Response(200, completion(r.question, content="", finish_reason="content_filter")),
        "filtered_question": lambda r: error(400, "flagged", code="content_policy_violation"),
        "flagged": lambda r: error(403, "Your input was flagged"),
        "rejected": lambda r: error(400, "the image is too large", code="invalid_image"),
        "length": lambda r: Response(200, completion(r.question, content="The ans", finish_reason="length")),
        "cut": lambda r: Response(200, completion(r.question, content="", reasoning="Hm", finish_reason="length")),
        "wrong_model": lambda r: Response(200, completion(r.question, model="cheaper-1"), sound=False),
        "no_logprobs": lambda r: Response(200, completion(r.question, logprobs=False)),
        "no_usage": lambda r: Response(200, completion(r.question, usage=None)),
        "no_key": lambda r: error(401, f"Incorrect API key provided: {_key_of(r)}"),
        "quota": lambda r: error(429, "you exceeded your quota", code="insufficient_quota"),
        "tell_key": lambda r: Response(200, completion(r.question, content=f"you sent {_key_of(r)}")),
        "tell_key_500": lambda r: error(500, f"could not forward {_key_of(r)}"),
    }

    def __init__(
        self,
        faults: Mapping[str, Sequence[str]] | Callable[[str, int], str] | None = None,
        *,
        served: Sequence[str] | None = (MODEL,),
        unsupported: Mapping[str, str] | None = None,
        ignored: Sequence[str] = (),
        latency: float = 0.0,
        reply: Callable[[Request], Response] | None = None,
        port: int = 0,
        sight: Callable[[Request], Response] | None = None,
        pages: Mapping[str, Callable[[Request], Response]] | None = None,
    ) -> None:
        self._pages = pages or {}
        self._sight = sight or seeing
        self._faults, self._served, self._latency, self._reply = faults or {}, served, latency, reply
        self._unsupported, self._ignored, self._port = dict(unsupported or {}), ignored, port
        self.log: list[Request] = []
        self.answered: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.under_way = self.most_under_way = 0
        self._burst_ends = 0.0
        self.down = False
        self.models_status = 404  # of the list of models, if there is none

    # What it says

    def respond(self, request: Request) -> Response:
        if request.path == "/v1/chat/completions":
            return self._chat(request)
        self.log.append(request)
        if self.down:
            return error(503, "down")
        if request.path in self._pages:
            return self._pages[request.path](request)
        if request.path == "/v1/models":
            return error(self.models_status, "no list") if self._served is None else Response(200, self._models())
        if request.path.startswith("/v1/models/"):
            return error(404, "no such model")
        return error(404, f"no such path: {request.path}")

    def _models(self) -> dict[str, Any]:
        rows = [{"id": name, "object": "model", "created": 1, "owned_by": "tests"} for name in self._served]
        return {"object": "list", "data": rows}

    def _chat(self, request: Request) -> Response:
        found = re.search(rb"\[(\w+)\]", request.raw)
        request.question = found[1].decode() if found else ""
        request.attempt = self.asked[request.question]
        self.asked[request.question] += 1
        self.log.append(request)
        if self.down:
            return error(503, "down")
        fault = self.fault(request.question, request.attempt)
        if fault == "burst":
            self._burst_ends = time.monotonic() + BURST_SECONDS
        if time.monotonic() < self._burst_ends:
            return error(503, "overloaded")
        for parameter, message in self._unsupported.items():
            if f'"{parameter}":'.encode() in request.raw:
                return error(400, message, param=parameter if parameter in message else None)
        if TEXT.encode() in request.raw:
            return self._sight(request)
        if self._reply is not None:
            return self._reply(request)
        return self.BEHAVIOURS[fault](request)

    def fault(self, question: str, attempt: int) -> str:
        if callable(self._faults):
            return self._faults(question, attempt)
        plan = self._faults.get(question, ())
        return plan[attempt] if attempt < len(plan) else "ok"

    # How it says it

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Endpoint:
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def _run(self, started: threading.Event) -> None:
        asyncio.run(self.serve(started))

    async def serve(self, started: threading.Event | None = None) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await self._loop.create_server(lambda: _Connection(self), "127.0.0.1", self._port)
        self._port = server.sockets[0].getsockname()[1]
        if started is not None:
            started.set()
        await self._stopped.wait()
        server.close()

    async def send(self, request: Request, connection: _Connection) -> None:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            if self._latency:
                await asyncio.sleep(self._latency)
            response = self.respond(request)
            whole = response.sound and response.cut is None and not response.hang
            if request.question and response.status == 200 and whole:
                self.answered[request.question] += 1  # before the client can have it
            await connection.send(response)
        finally:
            self.under_way -= 1


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with content lengths, one request at a time."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint, self._data = endpoint, b""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, rest = self._data.partition(b"\r\n\r\n")
        if not end:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self._data = rest[length:]
        method, path, _ = first.split(" ")
        request = Request(method, path.partition("?")[0], headers, rest[:length])
        self._task = asyncio.get_running_loop().create_task(self._endpoint.send(request, self))

    async def send(self, response: Response) -> None:
        head, body = response.encoded()
        if response.hang:
            return
        if response.cut is not None:
            self._transport.write(head + body[: int(len(body) * response.cut)])
            await asyncio.sleep(0.01)
            self._transport.abort()
        elif response.drip:
            self._transport.write(head)
            for place in range(len(body)):
                self._transport.write(body[place : place + 1])
                await asyncio.sleep(0.05)
        else:
            self._transport.write(head + body)


def main() -> None:
    """Serve by itself, for bench/endpoint: prints its address."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0)
    options = parser.parse_args()
    endpoint = Endpoint(port=options.port, latency=options.latency)
    endpoint.log = _Nothing()

    async def serve() -> None:
        started = threading.Event()
        task = asyncio.create_task(endpoint.serve(started))
        while not started.is_set():
            await asyncio.sleep(0.01)
        print(endpoint.url, flush=True)
        await task

    asyncio.run(serve())


class _Nothing(list):
    """Log nothing."""

    def append(self, _: object) -> None:
        pass


if __name__ == "__main__":
    main()

"""The record of what an endpoint is sent, and of what its server tells about itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from known_unknowns.engine import RendersReference
from known_unknowns.engines import reference_prompt
from known_unknowns.engines.endpoint import server_prompt
from known_unknowns.errors import ConfigError
from tests.servers.client import engine, turn
from tests.servers.endpoint import Endpoint, Response, completion, error

QUESTION = "What colour is the ball?\nA. Red\nB. Blue\nC. None of the above"
SENT = f"system\nBe brief.\nuser\n<image>\n{QUESTION}"


def vllm(version: str = "0.32.0", prompt: str = "{text}assistant:"):
    """vLLM's pages beside its interface: the tokens of a prompt are its characters."""

    def tokenize(request):
        text = "".join(f"{message['role']}: {message['content']}\n" for message in request.body["messages"])
        written = prompt.format(text=text, kwargs=request.body.get("chat_template_kwargs"))
        return Response(200, {"count": 1, "max_model_len": 10, "tokens": list(map(ord, written))})

    return {
        "/version": lambda _: Response(200, {"version": version}),
        "/tokenize": tokenize,
        "/detokenize": lambda request: Response(200, {"prompt": "".join(map(chr, request.body["tokens"]))}),
    }


LLAMA_CPP = {
    "/props": lambda _: Response(200, {"build_info": "b11434-aa", "chat_template": "..."}),
    "/apply-template": lambda request: Response(200, {"prompt": f"<s>{request.body['messages'][-1]['content']}"}),
}


def record(pages=None, **settings):
    with Endpoint(pages=pages) as server:
        asked = engine(server.url, system="Be brief.", **settings)
        assert isinstance(asked, RendersReference)
        found = asked.reference_prompt()
        assert not server.asked  # no question
    return found


def test_the_messages_and_the_image_as_sent():
    found = record()
    assert (found["text"], found["rendered"], found["versions"]["server"]) == (SENT, None, None)
    image = found["pixels"]["image as sent"]
    assert image["shape"] == [336, 448, 3] and len(image["parts"]) == 8 and len(image["sha256"]) == 64
    assert all(0 < mean < 1 and 0 < spread < 1 for mean, spread in image["parts"])
    as_jpeg = record(image={"format": "jpeg", "quality": 30})["pixels"]["image as sent"]
    assert as_jpeg["parts"] != image["parts"]


def test_what_vllm_renders():
    found = record(vllm())
    assert found["versions"]["server"] == "0.32.0"
    assert found["rendered"] == f"system: Be brief.\nuser: {QUESTION}\nassistant:"
    found = record(vllm(prompt="{kwargs}"), template={"enable_thinking": False})
    assert found["rendered"] == "{'enable_thinking': False}"


def test_what_llama_cpp_renders():
    found = record(LLAMA_CPP)
    assert (found["versions"]["server"], found["rendered"]) == ("b11434-aa", f"<s>{QUESTION}")


@pytest.mark.parametrize(
    "page",
    [
        lambda _: error(500, "oh no"),
        lambda _: Response(200, b"<html>"),
        lambda _: Response(200, ["0.32.0"]),
        lambda _: Response(200, {"version": {"major": 0}}),
        lambda _: Response(200, b"", cut=0),
        lambda _: Response(200, {"version": "0.32.0"}, hang=True),
        lambda _: Response(307, b"", headers={"location": "http://127.0.0.1:9/"}),
    ],
    ids=["status 500", "a page", "a list", "an object", "cut", "hangs", "redirect"],
)
def test_a_server_that_tells_nothing_is_no_error(page, monkeypatch):
    monkeypatch.setattr(server_prompt, "_SECONDS", 2.0)
    found = record({"/version": page, "/props": page})
    assert (found["text"], found["rendered"], found["versions"]["server"]) == (SENT, None, None)


def test_an_endpoint_that_is_down_is_named_by_the_first_question():
    asked = engine("http://127.0.0.1:9/v1", system="Be brief.")
    assert asked.reference_prompt()["text"] == SENT


def resumed(path: Path, pages) -> list[str]:
    with Endpoint(pages=pages) as server:
        asked = engine(server.url, system="Be brief.", endpoint="the server")
        reference_prompt.check(asked, path, has_replies=True)
        return reference_prompt.changes(path, asked.facts)


def test_a_later_run_compares_the_server(tmp_path):
    path = tmp_path / "b.jsonl"
    assert resumed(path, vllm()) == []
    assert resumed(path, vllm()) == []
    with pytest.raises(ConfigError, match="'assistant:' is now 'model:'"):
        resumed(path, vllm(prompt="{text}model:"))
    noted = resumed(path, vllm("0.33.0"))
    assert noted == ["server 0.32.0, later 0.33.0"]
    assert resumed(path, None) == [*noted, "server 0.32.0, later not recorded"]  # what it renders is not known


def test_a_server_that_opens_the_reasoning_says_so():
    """The reply to the same question is an answer if the entry says that the reasoning is not opened."""

    def cut(request):
        return Response(200, completion(request.question, content="It may be A", finish_reason="length"))

    found = []
    for pages, settings in (
        (vllm(prompt="{text}assistant: <think>\n"), {}),
        (vllm(prompt="{text}assistant: <think>\n"), {"reasoning": {"opened": False}}),
        (vllm(prompt="{text}assistant: <think>\n\n</think>\n\n"), {}),
        (None, {}),
    ):
        with Endpoint(pages=pages, reply=cut) as server:
            asked = engine(server.url, **settings)
            asked.reference_prompt()
            ((_, reply),) = [row for batch in asked.answer([turn("q1")], folder=Path()) for row in batch]
        found.append(reply.text)
    assert found == ["", "It may be A", "It may be A", "It may be A"]

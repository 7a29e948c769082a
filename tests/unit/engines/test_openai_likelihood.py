"""The likelihood of options behind an endpoint: vLLM's log-probabilities of a prompt, and endpoints without them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from known_unknowns.engines.endpoint.replies import prompt_continuation
from known_unknowns.records import Continuation, Turn
from known_unknowns.unusable import UNSUPPORTED, class_of
from tests.servers.client import ask, engine, turn
from tests.servers.endpoint import Endpoint, Response, completion, error, scored

OPTIONS = ("Red", "None of the above")


def likelihoods(count: int, *options: str) -> list[Turn]:
    changes = {"step": "likelihood", "labels": ("A", "B"), "continuations": options or OPTIONS, "max_new_tokens": 0}
    return [turn(f"q{number}", **changes) for number in range(count)]


def test_each_option_is_sent_as_the_beginning_of_a_reply():
    with Endpoint(reply=scored) as server:
        first, second = ask(server.url, likelihoods(2), system="Be brief.")
        bodies = [request.body for request in server.log if request.question == "q0"]
    assert first.continuations == second.continuations == {"A": Continuation(-1.5, 1), "B": Continuation(-7.0, 4)}
    assert first.text == "" and first.error is None and class_of(first) is None
    assert first.input_tokens == 5 + 8
    assert [body["messages"][-1] for body in bodies] == [{"role": "assistant", "content": text} for text in OPTIONS]
    for body in bodies:
        assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant"]
        assert body["prompt_logprobs"] == 0 and body["max_completion_tokens"] == 1 and "logprobs" not in body


@pytest.mark.parametrize(
    ("reply", "asked_of_each"),
    [
        (lambda r: Response(200, completion(r.question)), False),  # ignores what it does not know, and is paid
        (lambda r: error(400, "Unrecognized request argument supplied: add_generation_prompt"), True),
        (lambda r: error(400, "Expected last role User or Tool for serving but got assistant"), True),
    ],
    ids=["ignored", "declined", "rejected"],
)
def test_the_reason_is_kept_of_an_endpoint_without_them(reply, asked_of_each):
    def without(request):
        return reply(request) if "prompt_logprobs" in request.body else Response(200, completion(request.question))

    with Endpoint(reply=without) as server:
        answering = engine(server.url, concurrency=1)
        asked = [*likelihoods(3), turn("q9")]
        rows = dict(row for batch in answering.answer(asked, folder=Path()) for row in batch)
        requests = sum("prompt_logprobs" in request.body for request in server.log if request.question)
    assert requests == (3 if asked_of_each else 1) and rows[3].text and rows[3].error is None
    for index in range(3):
        assert class_of(rows[index]) == UNSUPPORTED and rows[index].continuations is None
        assert rows[index].error.startswith("the endpoint does not return the log-probabilities of a prompt (")


def test_the_end_of_a_prompt_is_matched_with_the_options_text():
    def body(*tokens: tuple[str, float]):
        return {
            "prompt_logprobs": [None, *({"7": {"logprob": value, "decoded_token": word}} for word, value in tokens)]
        }

    assert prompt_continuation(body(("<a>", -9.0), ("No", -1.0), ("ne", -0.5)), "None") == Continuation(-1.5, 2)
    assert prompt_continuation(body(("\n", -9.0), ("None", -1.0), ("of", -0.5)), "None of") == Continuation(-1.5, 2)
    two = {"prompt_logprobs": [None, {"7": {"logprob": -2.0, "decoded_token": "B"}, "8": {"logprob": -0.1}}]}
    assert prompt_continuation(two, "B") == Continuation(-2.0, 1)
    assert prompt_continuation(body(("<a>None", -9.0)), "None") is None  # one token with the end of the question
    assert prompt_continuation(body(("Red", -9.0)), "Blue") is None
    assert prompt_continuation(body(("Red", 0.5)), "Red") is None  # no log-probability
    for nothing in ({}, None, {"prompt_logprobs": None}, {"prompt_logprobs": [None]}, {"prompt_logprobs": ["x"]}):
        assert prompt_continuation(nothing, "Red") is None


def rows(*tokens: tuple[str, float]) -> dict[str, list[dict[str, dict[str, object]] | None]]:
    """The rows for the tokens of a prompt, as vLLM has them. The first token of a prompt has none."""
    found: list[dict[str, dict[str, object]] | None] = [None]
    for number, (text, logprob) in enumerate(tokens):
        found.append({str(number): {"logprob": logprob, "rank": 1, "decoded_token": text}})
    return {"prompt_logprobs": found}


RECORDED = json.loads(Path(__file__).with_name("vllm_prompt_logprobs.json").read_text(encoding="utf-8"))
"""The decoded tokens and log-probabilities with which vLLM 0.32.0 ended the prompts of some options, by the tokenizer
and the option; ``before`` of them are the template's. The checkpoints are those of tests/unit/engines/tiny/released.py,
with a tokenizer of bytes (the text follows a line break), and with one like Llama 2's (a space stands before it)."""
CASES = [(name, text) for name, of_tokenizer in RECORDED.items() for text in of_tokenizer["options"]]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_all_tokens_of_a_text_count_in_vllms_rows(name, text):
    before, recorded = RECORDED[name]["before"], RECORDED[name]["options"][text]
    values = [logprob for _, logprob in recorded[before:]]
    found = prompt_continuation(rows(*map(tuple, recorded)), text)
    assert found == Continuation(pytest.approx(sum(values)), len(values))


HEADER = (("ASSISTANT", -9.0), (":", -9.0))
APPLE = (("", -2.0), ("", -4.0), ("", -8.0), ("🍎", -16.0))


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("猫", (("\ufffd", -1.0), ("猫", -2.0)), Continuation(-3.0, 2)),  # other servers
        ("é", (("e", -1.0), ("", -2.0), ("\u0301", -4.0)), None),  # composed and decomposed are different texts
        ("5", ((" ", -1.0), ("5", -2.0)), Continuation(-3.0, 2)),  # the template's space
        ("5", (("\n", -1.0), ("5", -2.0)), Continuation(-2.0, 1)),
        ("🍎", ((" ", -1.0), *APPLE), Continuation(-31.0, 5)),
        ("cat", (("ca", -1.0), ("ts", -2.0)), None),
        ("🍎", APPLE[:3], None),
    ],
)
def test_the_tokens_of_a_text_that_ends_a_prompt(text, tokens, expected):
    assert prompt_continuation(rows(*HEADER, *tokens), text) == expected

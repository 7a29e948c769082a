"""A length limit that the server's context does not hold, in the words of several servers."""

from __future__ import annotations

import pytest

from known_unknowns.engines.endpoint.replies import ErrorMessage, fitting_limit
from known_unknowns.errors import ConfigError
from tests.servers.client import ask, turn, turns
from tests.servers.endpoint import Endpoint, Response, completion, error

WINDOW, PROMPT = 4096, 100
WORDS = {
    "vLLM 0.11": "'max_tokens' or 'max_completion_tokens' is too large: {sent}. This model's maximum context length is "
    "{window} tokens and your request has {prompt} input tokens ({sent} > {window} - {prompt}).",
    "vLLM 0.18": "This model's maximum context length is {window} tokens. However, you requested {sent} output tokens "
    "and your prompt contains {prompt} input tokens, for a total of {total} tokens. Please reduce the length.",
    "vLLM, the limit alone": "max_tokens={sent} cannot be greater than max_model_len={window}.",
    "OpenAI": "This model's maximum context length is {window} tokens. However, you requested {total} tokens ({prompt} "
    "in the messages, {sent} in the completion). Please reduce the length of the messages or completion.",
    "SGLang": "Requested token count exceeds the model's maximum context length of {window} tokens. You requested a "
    "total of {total} tokens: {prompt} tokens from the input messages and {sent} tokens for the completion.",
    "TGI": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= {window}. Given: {prompt} `inputs` "
    "tokens and {sent} `max_new_tokens`",
}
PROMPT_TOO_LONG = {
    "vLLM": "This model's maximum context length is 4096 tokens. However, your request has 9000 input tokens.",
    "llama.cpp": "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "llama.cpp without numbers": "the request exceeds the available context size, try increasing it",
    "SGLang": "The input (9000 tokens) is longer than the model's context length (4096 tokens).",
    "TGI": "Input validation error: `inputs` must have less than 4096 tokens. Given: 9000",
    "Ollama": "the prompt is longer than the context length currently available to the model; shorten the prompt",
    "LiteLLM": "litellm.ContextWindowExceededError: Context Window exceeded for given call.",
}


def served(words, *, prompt=PROMPT, status=400):
    """A server whose context holds `WINDOW` tokens, of which a question takes ``prompt``."""

    def reply(request):
        sent = request.body.get("max_completion_tokens", request.body.get("max_tokens", 0))
        if prompt + sent > WINDOW:
            text = words.format(sent=sent, window=WINDOW, prompt=prompt, total=prompt + sent)
            return error(status, text, type="BadRequestError")
        return Response(200, completion(request.question))

    return reply


@pytest.mark.parametrize("server", WORDS)
def test_the_limit_that_fits_is_read_from_the_words_of_servers(server):
    sent = 32_000
    words = WORDS[server].format(sent=sent, window=WINDOW, prompt=PROMPT, total=PROMPT + sent)
    fits = WINDOW // 2 if "alone" in server else WINDOW - PROMPT
    assert fitting_limit(ErrorMessage("", "", words), sent) == fits


@pytest.mark.parametrize("words", PROMPT_TOO_LONG.values(), ids=PROMPT_TOO_LONG)
def test_no_limit_fits_a_prompt_that_is_too_long(words):
    assert fitting_limit(ErrorMessage("", "", words), 16) == 0


def test_a_limit_that_is_too_high_is_lowered_once_for_all_questions(capsys):
    with Endpoint(reply=served(WORDS["vLLM 0.11"])) as server:
        replies = ask(server.url, turns(20), reasoning={"tokens": 32_000})
        assert sum(server.asked.values()) == 21
        (sent,) = {request.body.get("max_completion_tokens") for request in server.log[2:] if request.question}
    assert sent == WINDOW - PROMPT
    assert all(reply.error is None and reply.details["declined"] == ["the length limit"] for reply in replies)
    assert capsys.readouterr().err.count(f"asking for {sent:,} tokens at most") == 1


def test_a_prompt_that_the_server_has_not_counted_to_its_end_gets_half_of_the_context():
    words = "You requested {sent} output tokens and your prompt contains at least 97 input tokens. The model's context "
    words += "length is only {window} tokens."
    with Endpoint(reply=served(words, prompt=1500)) as server:
        (reply,) = ask(server.url, [turn("q1")], decoding={"max_new_tokens": 4000})
        assert [request.body["max_completion_tokens"] for request in server.log if request.question] == [4000, 2048]
    assert reply.error is None


@pytest.mark.parametrize("status", [400, 413])
def test_a_question_that_does_not_fit_is_rejected_after_one_request(status):
    words = PROMPT_TOO_LONG["vLLM"]

    def reply(request):
        return Response(200, completion(request.question)) if request.question != "q1" else error(status, words)

    with Endpoint(reply=reply) as server:
        replies = ask(server.url, turns(3))
        assert server.asked == {"q0": 1, "q1": 1, "q2": 1}
    assert replies[1].finish == "rejected" and words in replies[1].error
    assert replies[0].error is None and "declined" not in replies[1].details


def test_a_run_in_which_no_question_fits_stops_after_the_first_questions():
    with Endpoint(reply=lambda request: error(400, PROMPT_TOO_LONG["vLLM"])) as server:
        with pytest.raises(ConfigError, match=r"rejects every question.*none is recorded.*longer context"):
            ask(server.url, turns(60))
        assert sum(server.asked.values()) == 8


@pytest.mark.parametrize(
    ("words", "sent", "fits"),
    [
        ("max_tokens is too large: 32000. This model supports at most 16384 completion tokens", 32000, 16384),
        ("max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for the model", 32000, 8192),
        ("body max_tokens: Input should be less than or equal to 4096", 32000, 4096),
        ("max_completion_tokens must be at most 16,384 for this model", 32000, 16384),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 32000, 8192),
        ("max_tokens is too large", 32000, 0),
        ("Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead.", 16, None),
        ("Unrecognized request argument supplied: seed", 16, None),
        ("top_logprobs must be at most 5", 16, None),
        ("the image is too large", 16, None),
    ],
)
def test_what_a_message_says_about_the_limit(words, sent, fits):
    assert fitting_limit(ErrorMessage("", "", words), sent) == fits


def test_a_limit_that_is_refused_under_both_names_is_rejected():
    with Endpoint(reply=lambda request: error(400, "max_completion_tokens and max_tokens are odd")) as server:
        (reply,) = ask(server.url, [turn("q1")])
        assert server.asked["q1"] == 2
    assert reply.finish == "rejected"


def test_tokens_that_were_all_spent_on_reasoning_are_a_reply_that_was_cut_off():
    words = "Could not finish the message because max_tokens or model output limit was reached."
    with Endpoint(reply=lambda request: error(400, words)) as server:
        (reply,) = ask(server.url, [turn("q1")])
        assert server.asked["q1"] == 1
    assert (reply.finish, reply.error) == ("length", None)

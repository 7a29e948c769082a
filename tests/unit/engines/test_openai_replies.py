"""Valid and invalid completions, parsed into replies."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns import unusable
from known_unknowns.engines.endpoint.replies import (
    Reasoning,
    UnreadableReplyError,
    WrongModelError,
    label_logprobs,
    parse,
    same_model,
)
from tests.servers.client import turn
from tests.servers.endpoint import MODEL, completion

TURN = turn("q1")


def reading(**changes):
    return parse(completion("q1", **changes), TURN, model=MODEL).reply


@pytest.mark.parametrize(
    ("changes", "text", "finish", "error"),
    [
        ({"content": "B"}, "B", "stop", None),
        ({"content": [{"type": "text", "text": "B"}, {"type": "text", "text": "."}]}, "B.", "stop", None),
        ({"content": None}, "", "empty", None),
        ({"content": " \n"}, " \n", "empty", None),
        ({"content": "The ans", "finish_reason": "length"}, "The ans", "length", None),
        ({"content": "", "finish_reason": "length"}, "", "length", None),
        ({"content": None, "refusal": "No."}, "", "refusal", "declined: No."),
        ({"content": "Th", "finish_reason": "content_filter"}, "Th", "content_filter", "content filter"),
    ],
)
def test_each_outcome_is_distinguished(changes, text, finish, error):
    reply = reading(**changes)
    assert (reply.text, reply.finish) == (text, finish)
    assert reply.error is None if error is None else error in reply.error


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("STOP", "stop"), ("end_turn", "stop"), (None, "stop"), ("", "stop"),
        ("MAX_TOKENS", "length"), ("SAFETY", "content_filter"), ("refusal", "refusal"),
        ("RECITATION", "content_filter"), ("LANGUAGE", "content_filter"), ("PROHIBITED_CONTENT", "content_filter"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter"),
    ],
)  # fmt: skip
def test_a_finish_reason_of_the_table_is_an_outcome(word, finish):
    reply = reading(content="B", finish_reason=word)
    assert (reply.text, reply.finish) == ("B", finish)
    assert (reply.error is None) == (finish in ("stop", "length"))


@pytest.mark.parametrize("word", ["error", "abort", "network_error", "insufficient_system_resource", 7, ["stop"]])
def test_a_reply_that_the_endpoint_could_not_finish_is_a_fault(word):
    with pytest.raises(UnreadableReplyError, match="no end of an answer") as raised:
        reading(content="B", finish_reason=word)
    assert raised.value.usage.tokens == 62  # it is counted as it is charged


@pytest.mark.parametrize("word", ["tool_calls", "MALFORMED_FUNCTION_CALL", "OTHER"])
def test_an_unknown_finish_reason_is_a_failure_of_the_question(word):
    reply = reading(content="B", finish_reason=word)
    assert (reply.text, reply.finish) == ("", "error") and repr(word) in reply.error


@pytest.mark.parametrize("place", ["choice", "body"])
@pytest.mark.parametrize("told", [{"code": 502, "message": "upstream died"}, "upstream died"])
def test_an_error_in_a_completion_is_a_fault(place, told):
    body = completion("q1", finish_reason="stop")
    (body["choices"][0] if place == "choice" else body)["error"] = told
    with pytest.raises(UnreadableReplyError, match="upstream died"):
        parse(body, TURN, model=MODEL)


def test_an_error_of_a_content_filter_in_a_completion_is_one():
    body = completion("q1")
    body["choices"][0]["error"] = {"code": "content_filter", "message": "The response was filtered"}
    reply = parse(body, TURN, model=MODEL).reply
    assert (reply.finish, reply.text) == ("content_filter", "") and "was filtered" in reply.error


@pytest.mark.parametrize(
    "content",
    [{"answer": "B"}, 0, [None], [{"type": "image_url", "image_url": {"url": "x"}}], [{"type": {}, "text": "B"}]],
)
def test_content_that_is_no_text_is_a_fault_and_no_empty_answer(content):
    with pytest.raises(UnreadableReplyError, match="no text"):
        reading(content=content)


@pytest.mark.parametrize(
    ("content", "text", "reasoning", "refusal"),
    [
        (["B", "."], "B.", None, None),
        ([{"text": "B"}], "B", None, None),
        ([{"type": "output_text", "text": "B"}], "B", None, None),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]}, "B"], "B", "A?", None),
        ([{"type": "reasoning", "text": "A?"}, {"type": "text", "text": "B"}], "B", "A?", None),
        ([{"type": "refusal", "refusal": "No."}], "", None, "No."),
        ([], "", None, None),
    ],
)  # fmt: skip
def test_content_in_parts(content, text, reasoning, refusal):
    reply = reading(content=content)
    assert reply.text == text and reply.details.get("reasoning") == reasoning
    assert reply.finish == ("refusal" if refusal else "stop" if text else "empty")
    assert refusal is None or refusal in reply.error


def test_the_choice_of_the_lowest_index_counts():
    body = completion("q1")
    (choice,) = body["choices"]
    body["choices"] = [choice | {"index": index, "message": {"content": "ABC"[index]}} for index in (2, 0, 1)]
    assert parse(body, TURN, model=MODEL).reply.text == "A"


@pytest.mark.parametrize("choices", [[], [None], None, "B"])
def test_a_completion_without_a_choice_is_a_fault(choices):
    with pytest.raises(UnreadableReplyError, match=r"without a choice|not a chat completion"):
        reading(choices=choices)


@pytest.mark.parametrize(
    ("changes", "reasoning", "text"),
    [
        ({"reasoning": "It is A or B.", "content": "B"}, "It is A or B.", "B"),
        ({"reasoning_content": "Hm. A?", "content": "B"}, "Hm. A?", "B"),
        ({"content": "<think>A? No.</think>\n\nB"}, "A? No.", "B"),
        ({"content": "A? No.</think>B"}, "A? No.", "B"),  # the template wrote the opening mark into the prompt
        ({"content": "<think>A? No", "finish_reason": "length"}, "A? No", ""),
        ({"content": "[THINK]A? No.[/THINK]B"}, "A? No.", "B"),
        ({"content": "<|channel>thought\nA? No.<channel|>B"}, "A? No.", "B"),
        ({"content": "analysisA? No.assistantfinalB"}, "A? No.", "B"),
    ],
)
def test_reasoning_is_separate_from_the_answer(changes, reasoning, text):
    reply = reading(**changes)
    assert reply.text == text and reply.details["reasoning"] == reasoning
    in_own_field = changes.keys() & {"reasoning", "reasoning_content"}
    assert reply.raw == (None if in_own_field else changes["content"])  # as the model wrote it


@pytest.mark.parametrize("opening", ["<think>", "<|channel|>analysis<|message|>"])
@pytest.mark.parametrize("finish", ["length", "stop"])
def test_reasoning_that_does_not_end_is_no_answer(opening, finish):
    reply = reading(content=f"{opening}The answer is A.", finish_reason=finish)
    assert (reply.text, reply.finish, reply.error) == ("", "length", None)
    assert reply.details["reasoning"] == "The answer is A."
    assert unusable.count([reply]) == {"length": 1}


@pytest.mark.parametrize(
    ("changes", "text", "reasoning", "finish"),
    [
        # Without a parser of reasoning, the mark stands in the prompt, and its end in the reply.
        ({"content": "It may be A or B", "finish_reason": "length"}, "", "It may be A or B", "length"),
        (
            {"content": "A? No.</think>The answer is B", "finish_reason": "length"},
            "The answer is B",
            "A? No.",
            "length",
        ),
        ({"content": "A? No.</think>B"}, "B", "A? No.", "stop"),
        ({"content": "<think>A? No.</think>B"}, "B", "A? No.", "stop"),  # models that write the mark again
        # A server with such a parser returns the reasoning elsewhere, or not at all.
        ({"content": "B"}, "B", None, "stop"),
        ({"content": "B", "reasoning": "A? No."}, "B", "A? No.", "stop"),
        ({"content": "The answer", "reasoning": "A? No.", "finish_reason": "length"}, "The answer", "A? No.", "length"),
        ({"content": None, "reasoning": "A? N", "finish_reason": "length"}, "", "A? N", "length"),
        ({"content": "", "finish_reason": "length"}, "", None, "length"),
    ],
)
def test_reasoning_that_the_template_opened(changes, text, reasoning, finish):
    reply = parse(completion("q1", **changes), TURN, model=MODEL, reasoning=Reasoning(opened=True)).reply
    assert (reply.text, reply.details.get("reasoning"), reply.finish, reply.error) == (text, reasoning, finish, None)
    assert unusable.count([reply]) == ({"length": 1} if not text else {})


def test_token_counts_of_the_endpoint_are_recorded():
    usage = {"prompt_tokens": 50, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 32}}
    received = parse(
        completion("q1", usage=usage | {"completion_tokens_details": {"reasoning_tokens": 38}}), TURN, model=MODEL
    )
    assert (received.reply.input_tokens, received.reply.output_tokens) == (50, 40)
    assert received.reply.details == {"cached_tokens": 32, "reasoning_tokens": 38}
    assert received.usage.cached_tokens == 32
    assert parse(completion("q1", usage=None), TURN, model=MODEL).usage is None


@pytest.mark.parametrize(
    ("asked", "echo", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gemini-2.5-flash", "models/gemini-2.5-flash", True),
        ("openai/gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4", "gpt-4.1", False),
        ("qwen2.5-vl", "qwen2.5-vl-7b", False),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20", False),
        ("gpt-4o-2024-08-06", "gpt-4o", False),
        ("Qwen/Qwen2.5-VL-7B@abc", "Qwen/Qwen2.5-VL-7B@abd", False),
        ("Qwen/Qwen2.5-VL-7B", "Qwen/Qwen2.5-VL-7B@main", True),
        ("one/model", "other/model", False),
        ("claude-sonnet-4", "claude-sonnet-4-5", False),
        ("claude-sonnet-4", "claude-sonnet-4-5-20250929", False),
        ("claude-sonnet-4", "claude-sonnet-4-20250514", True),
        ("claude-sonnet-4", "claude-sonnet-4@20250514", True),
        ("gemini-1.5-pro", "gemini-1.5-pro-002", True),
        ("gpt-3.5-turbo", "gpt-3.5-turbo-0125", True),
        ("mistral-large", "mistral-large-2411", True),
        ("llama", "llama-70", False),
        ("phi-3", "phi-3.5", False),
        ("model", "model-1000", False),
    ],
)
def test_names_that_are_accepted_for_a_model(asked, echo, same):
    assert same_model(asked, echo) is same


def test_the_name_in_answers_as_is_the_only_one_accepted():
    assert same_model("alias", "real-7b", answers_as="real-7b")
    assert not same_model("alias", "alias", answers_as="real-7b")


def test_a_reply_of_another_model_is_an_error():
    with pytest.raises(WrongModelError, match="'cheaper-1' where 'parrot-1'"):
        reading(model="cheaper-1")


def steps(*tokens, likely=(("A", -0.5), (" B", -1.0), ("B", -3.0), ("a", -4.0))):
    """Logprobs of a reply of these tokens; at each step the same are likely, besides the token itself (at -0.25)."""
    top = [{"token": token, "logprob": value} for token, value in likely]
    return {"content": [{"token": token, "logprob": -0.25, "top_logprobs": top} for token in tokens]}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (steps("C"), {"A": -0.5, "B": -1.0, "C": -0.25}),  # D and E are not among the likeliest
        (steps("The", " answer", " is", " C", "."), {"A": -0.5, "B": -1.0, "C": -0.25}),
        (steps("U", "S", "B"), {"A": -0.5, "B": -1.0}),  # no bare letter: the first step
        (steps("A", "pple"), {"A": -0.25, "B": -1.0}),
        (steps("<think>", " A", "</think>", "\n\n", "C"), {"A": -0.5, "B": -1.0, "C": -0.25}),
        (steps("no", likely=()), None),
        ({"content": []}, None),
        ({"content": [{"token": "C", "logprob": math.nan, "top_logprobs": None}]}, None),
    ],
)
def test_log_probabilities_of_the_letters(raw, expected):
    assert label_logprobs(raw, TURN.labels) == expected


@pytest.mark.parametrize(
    ("tokens", "likely", "labels", "expected"),
    [
        (("yes",), (("yes", -0.5), (" no", -1.0)), ("yes", "no"), {"yes": -0.25, "no": -1.0}),
        (("y", "es"), (("n", -1.0),), ("yes", "no"), None),
        (("10",), (("1", -1.0), ("11", -2.0)), ("1", "10", "11"), {"1": -1.0, "10": -0.25, "11": -2.0}),
        (("1", "0"), (("2", -1.0),), ("1", "2", "10"), None),  # the token "1" begins 1 and 10
        (("2",), (("1", -1.0),), ("1", "2", "10"), None),
    ],
)
def test_log_probabilities_of_labels_of_several_characters(tokens, likely, labels, expected):
    assert label_logprobs(steps(*tokens, likely=likely), labels) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PLACES = [
    (),
    ("choices",), ("usage",), ("model",), ("choices", 0), ("choices", 0, "message"), ("choices", 0, "logprobs"),
    ("choices", 0, "finish_reason"), ("choices", 0, "error"), ("choices", 0, "index"), ("error",),
    ("choices", 0, "message", "content"), ("choices", 0, "message", "refusal"),
    ("choices", 0, "logprobs", "content"), ("choices", 0, "logprobs", "content", 0), ("usage", "prompt_tokens"),
    ("choices", 0, "logprobs", "content", 0, "top_logprobs"), ("choices", 0, "message", "reasoning"),
]  # fmt: skip


@settings(max_examples=60)
@given(st.sampled_from(PLACES), JSON)
def test_any_value_in_a_completion_or_in_its_place_is_parsed_or_reported_as_unreadable(place, value):
    body = completion("q1", usage={"prompt_tokens": 1, "completion_tokens": 1})
    inner = body
    for step in place[:-1]:
        inner = inner[step]
    if place:
        inner[place[-1]] = value
    else:
        body = value
    try:
        reply = parse(body, TURN, model=MODEL).reply
    except UnreadableReplyError:
        return
    assert isinstance(reply.text, str)
    assert all(math.isfinite(value) for value in (reply.logprobs or {}).values())

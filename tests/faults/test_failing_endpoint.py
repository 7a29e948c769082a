"""An endpoint whose replies are unusable although their status says otherwise. Real HTTP."""

from __future__ import annotations

import json

import pytest

from known_unknowns.engines.endpoint import request_queue
from known_unknowns.errors import ConfigError, KnownUnknownsError, MachineError
from known_unknowns.inference.journal import Journal
from known_unknowns.records import Cell
from tests.servers.client import run_all
from tests.servers.endpoint import Endpoint, Response, answer_to, completion, error

UNUSABLE = {
    "page": lambda r: Response(200, b"<html>Please log in</html>"),
    "no choices": lambda r: Response(200, completion(r.question, choices=[])),
    "status 400": lambda r: error(400, "backend not ready"),
    "content filter": lambda r: error(400, "flagged", code="content_policy_violation"),
}


class Failing:
    """Fails from the request of index ``first`` on, for ``count`` requests."""

    def __init__(self, fault, first, count):
        self.fault, self.first, self.count, self.requests = fault, first, count, 0

    def __call__(self, request):
        self.requests += 1
        if self.first < self.requests <= self.first + self.count:
            return UNUSABLE[self.fault](request)
        return Response(200, completion(request.question))


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(request_queue, "FIRST_PAUSE", 0.01, raising=False)
    monkeypatch.setattr(request_queue, "LONGEST_PAUSE", 0.05, raising=False)


def recorded(journal):
    """The replies in the journal."""
    with Journal(journal) as kept:
        return dict(kept._replies)


def questions(count):
    return [f"q{number}" for number in range(count)]


def right(outcome, count):
    """Whether every question has its answer."""
    replies = outcome.replies[Cell("original", 0)]
    return [row.reply.text for row in replies] == [answer_to(name) for name in questions(count)]


@pytest.mark.parametrize("fault", UNUSABLE)
def test_an_outage_leaves_no_failure(tmp_path, capsys, fault):
    with Endpoint(reply=Failing(fault, first=30, count=40)) as server:
        outcome = run_all(questions(60), tmp_path / "j.jsonl", server.url, concurrency=4)
        assert sum(server.asked.values()) <= 60 + 40 + 2
    assert right(outcome, 60)
    assert "the endpoint fails" in capsys.readouterr().err


@pytest.mark.parametrize("fault", ["page", "content filter"])
def test_an_outage_without_end_stops_the_run_and_the_next_run_asks_the_rest(tmp_path, fault):
    journal = tmp_path / "j.jsonl"
    with Endpoint(reply=Failing(fault, first=30, count=10**6)) as server:
        with pytest.raises(MachineError, match=r"answered nothing for .* the replies so far are kept"):
            run_all(questions(60), journal, server.url, concurrency=4, patience=0.2)
        assert sum(server.asked.values()) < 80
    replies = recorded(journal)
    assert 26 <= len(replies) <= 30 and all(reply.error is None for reply in replies.values())
    with Endpoint() as server:
        outcome = run_all(questions(60), journal, server.url, concurrency=4, endpoint="same")
    assert right(outcome, 60)


@pytest.mark.parametrize("fault", ["no choices", "status 400"])
def test_an_endpoint_that_never_works_records_nothing(tmp_path, fault):
    with Endpoint(reply=Failing(fault, first=0, count=10**6)) as server:
        with pytest.raises(KnownUnknownsError, match="none is recorded"):
            run_all(questions(60), tmp_path / "j.jsonl", server.url, concurrency=4)
        assert sum(server.asked.values()) == 8
    assert recorded(tmp_path / "j.jsonl") == {}


def test_questions_that_a_working_endpoint_refuses_are_recorded(tmp_path):
    filtered = {f"q{number}": ["filtered_question"] * 9 for number in range(15, 45)}
    with Endpoint(filtered) as server:
        outcome = run_all(questions(60), tmp_path / "j.jsonl", server.url, concurrency=4)
        assert max(server.asked[name] for name in filtered) == 2
        assert sum(server.asked.values()) <= 60 + 30 + 10
    finished = [row.reply.finish for row in outcome.replies[Cell("original", 0)]]
    assert finished == ["stop"] * 15 + ["content_filter"] * 30 + ["stop"] * 15


def test_a_run_continues_when_every_remaining_question_is_refused(tmp_path):
    filtered = {f"q{number}": ["filtered_question"] * 9 for number in range(5, 40)}
    with Endpoint(filtered) as server:
        run_all(questions(5), tmp_path / "j.jsonl", server.url)
        outcome = run_all(questions(40), tmp_path / "j.jsonl", server.url)
    finished = [row.reply.finish for row in outcome.replies[Cell("original", 0)]]
    assert finished == ["stop"] * 5 + ["content_filter"] * 35


# One question's fault

FORBIDDEN = {
    "401": lambda r: error(401, "this request is not authorised"),
    "402": lambda r: error(402, "this prompt needs more credits"),
    "403 flagged": lambda r: error(403, "Content violates usage guidelines"),
    "403 of a firewall": lambda r: Response(403, b"<html>Request blocked</html>"),
    "404": lambda r: error(404, "no endpoints found for this input"),
    "too long": lambda r: error(400, "This model's maximum context length is 4096 tokens."),
    "quota": lambda r: error(429, "over the quota of this prompt", code="insufficient_quota"),
}
"""What can be the fault of one question."""


@pytest.mark.parametrize("fault", FORBIDDEN)
@pytest.mark.parametrize("name", ["q2", "q19"], ids=["in the middle", "at the end"])
def test_one_refused_question_is_recorded_and_the_run_goes_on(tmp_path, fault, name):
    def reply(request):
        return FORBIDDEN[fault](request) if request.question == name else Response(200, completion(request.question))

    with Endpoint(reply=reply) as server:
        outcome = run_all(questions(20), tmp_path / "j.jsonl", server.url, concurrency=4, max_retries=0)
        assert server.asked[name] == 1 and sum(server.asked.values()) <= 21
    replies = {row.question_id: row.reply for row in outcome.replies[Cell("original", 0)]}
    assert replies.pop(name).finish == "rejected"
    assert {reply.finish for reply in replies.values()} == {"stop"}


@pytest.mark.parametrize("fault", FORBIDDEN)
def test_a_rerun_does_not_stop_at_the_refused_question(tmp_path, fault):
    def reply(request):
        return FORBIDDEN[fault](request) if request.question == "q5" else Response(200, completion(request.question))

    with Endpoint(reply=reply) as server:
        run_all(questions(5), tmp_path / "j.jsonl", server.url)
        outcome = run_all(questions(6), tmp_path / "j.jsonl", server.url)
    assert [row.reply.finish for row in outcome.replies[Cell("original", 0)]] == ["stop"] * 5 + ["rejected"]
    assert outcome.replies[Cell("original", 0)][5].reply.error.startswith("status 4")


@pytest.mark.parametrize("fault", ["401", "402", "403 flagged", "404", "quota"])
def test_an_endpoint_that_refuses_everything_from_then_on_stops_the_run_and_records_nothing(tmp_path, fault):
    def reply(request):
        last = request.question in questions(60)[30:] or server.answered[request.question]
        return FORBIDDEN[fault](request) if last else Response(200, completion(request.question))

    with Endpoint(reply=reply) as server:
        with pytest.raises(KnownUnknownsError, match=f"status {429 if fault == 'quota' else fault[:3]}: "):
            run_all(questions(60), tmp_path / "j.jsonl", server.url, concurrency=4, max_retries=0)
        assert sum(server.asked.values()) <= 30 + 2 * 4
    assert all(reply.error is None for reply in recorded(tmp_path / "j.jsonl").values())


@pytest.mark.parametrize(
    ("response", "place", "words"),
    [
        (error(404, "No endpoints found that support image input"), "source", "support image input"),
        (error(403, "your plan has no access"), "key_env", "refuses access .*no access"),
        (error(400, "This model only supports stream mode"), "source", "stream mode.*the message says"),
    ],
)
def test_the_remedy_does_not_contradict_the_message(tmp_path, response, place, words):
    with Endpoint(reply=lambda request: response) as server:
        with pytest.raises(ConfigError, match=rf"parrot\.{place}: .*{words}") as raised:
            run_all(questions(20), tmp_path / "j.jsonl", server.url)
        assert not any(word in str(raised.value) for word in ("base_url", "longer context", "max_new_tokens"))
    assert recorded(tmp_path / "j.jsonl") == {}


def test_an_endpoint_that_is_down_at_first_fails_no_question(tmp_path, capsys):
    with (
        Endpoint(lambda question, attempt: "503") as server,
        pytest.raises(MachineError, match="answered nothing for"),
    ):
        run_all(questions(5), tmp_path / "j.jsonl", server.url, patience=0.3, max_retries=0)
    assert recorded(tmp_path / "j.jsonl") == {} and "pausing" in capsys.readouterr().err
    with Endpoint(lambda question, attempt: "ok" if server.asked.total() > 6 else "503") as server:
        assert right(run_all(questions(5), tmp_path / "j.jsonl", server.url, max_retries=0), 5)


# Redirects


@pytest.mark.parametrize(("status", "name"), [(302, "localhost"), (307, "127.0.0.1")])  # another name, and another port
def test_nothing_is_sent_to_another_host(tmp_path, status, name):
    with Endpoint() as other:
        location = {"location": f"{other.url.replace('127.0.0.1', name)}/chat/completions"}
        with (
            Endpoint(reply=lambda r: Response(status, {}, headers=location)) as server,
            pytest.raises(ConfigError, match=r"models\.parrot\.base_url: the endpoint redirects to http://"),
        ):
            run_all(questions(3), tmp_path / "j.jsonl", server.url)
        assert not other.log
    assert recorded(tmp_path / "j.jsonl") == {}


def test_a_redirect_within_the_endpoint_is_followed(tmp_path):
    def moved(request):
        elsewhere = {"location": "/v1/chat/completions"}
        return Response(308, {}, headers=elsewhere) if not request.attempt else Response(200, completion("q0"))

    with Endpoint(reply=moved) as server:
        outcome = run_all(["q0"], tmp_path / "j.jsonl", server.url)
    assert right(outcome, 1)


def test_a_redirect_in_a_circle_is_named(tmp_path):
    elsewhere = {"location": "/v1/chat/completions"}
    with (
        Endpoint(reply=lambda request: Response(308, {}, headers=elsewhere)) as server,
        pytest.raises(ConfigError, match=r"redirects to /v1/chat/completions"),
    ):
        run_all(["q0"], tmp_path / "j.jsonl", server.url)


# Values that no table can hold


NESTED = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": True, "completion_tokens": 2**31},
        {"prompt_tokens": 10**30, "completion_tokens": -(10**30)},
        {"prompt_tokens": 6.5, "completion_tokens": "2"},
        "many",
    ],
)
def test_an_impossible_usage_is_dropped(tmp_path, usage):
    body = json.dumps(completion("q0", usage=usage)).encode()
    with Endpoint(reply=lambda r: Response(200, body)) as server:
        reply = run_all(["q0"], tmp_path / "j.jsonl", server.url).replies[Cell("original", 0)][0].reply
    assert (reply.text, reply.input_tokens, reply.output_tokens) == (answer_to("q0"), None, None)


def test_impossible_details_are_dropped(tmp_path):
    usage = {
        "prompt_tokens": 60,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": True},
        "completion_tokens_details": {"reasoning_tokens": 10**30},
    }
    changes = {"usage": usage, "system_fingerprint": {"x": "y" * 10_000}, "finish_reason": None}
    body = json.dumps(completion("q0", **changes)).replace("-4.0", "-1" + "0" * 400).encode()
    with Endpoint(reply=lambda r: Response(200, body)) as server:
        reply = run_all(["q0"], tmp_path / "j.jsonl", server.url).replies[Cell("original", 0)][0].reply
    assert (reply.input_tokens, reply.finish, reply.logprobs) == (60, "stop", {answer_to("q0"): -0.25})
    assert not {"cached_tokens", "reasoning_tokens", "fingerprint"} & set(reply.details)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b" " * (2**25), "longer than"),
        (json.dumps(completion("q1", content="A" * 1_000_001)).encode(), "longer than 1,000,000 characters"),
        (b'{"choices": ' + NESTED + b"}", "too many levels"),
    ],
    ids=["long reply", "long text", "nested"],
)
def test_a_reply_that_cannot_be_kept_is_asked_again_and_then_recorded_as_failed(tmp_path, body, reason):
    def reply(request):
        return Response(200, body if request.question == "q1" else completion(request.question))

    with Endpoint(reply=reply) as server:
        outcome = run_all(questions(3), tmp_path / "j.jsonl", server.url)
        assert server.asked == {"q0": 1, "q1": 3, "q2": 1}
    first, second, third = (row.reply for row in outcome.replies[Cell("original", 0)])
    assert first.error is None and third.error is None
    assert second.finish == "error" and reason in second.error
    assert (tmp_path / "j.jsonl").stat().st_size < 10_000


def test_a_journal_with_an_impossible_number_of_tokens_is_read(tmp_path):
    line = '{"key": "k", "i": 0, "n": 1, "reply": {"text": "B", "input_tokens": %s, "output_tokens": true}}\n'
    (tmp_path / "j.jsonl").write_text(line % 10**30)
    (reply,) = recorded(tmp_path / "j.jsonl").values()
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("B", None, None)

"""The Batch API: submission, records and collection of batches. No question is submitted twice."""

from __future__ import annotations

import base64
import contextlib
import json
from collections import Counter
from hashlib import sha256

import pytest

from known_unknowns.engines import prices
from known_unknowns.engines.endpoint import batch_api
from known_unknowns.engines.prices import Price
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.images import recipe_image
from tests.servers.client import engine, run_all, turn, turns
from tests.servers.endpoint import MODEL, Endpoint, answer_to

IDENTIFIERS = [f"q{number}" for number in range(20)]


def run(folder, server, identifiers=IDENTIFIERS, wait_hours=1.0, **entry):
    batch = {"poll_seconds": 0.01, "wait_hours": wait_hours}
    outcome = run_all(identifiers, folder / "journal", server.url, batch=batch, **entry)
    return {row.question_id: row.reply for row in outcome.replies["original", 0]}


def submitted(server):
    """Number of times that each question was submitted in a batch or asked directly."""
    in_batches = [line["body"] for name in server.batches.batches for line in server.batches.requests(name)]
    questions = [body["messages"][-1]["content"].partition("]")[0].strip("[") for body in in_batches]
    prefixes_per_pass = [request.question for request in server.log if request.question and request.path]
    return Counter(questions + prefixes_per_pass)


def test_the_first_question_is_asked_directly_and_the_rest_in_a_batch_at_half_the_price(tmp_path, monkeypatch):
    price = Price(2.5, 10.0, 2.5, 0.5, 1000)
    monkeypatch.setattr(prices, "find", lambda source: (price, "2026-01-01") if source == MODEL else None)
    with Endpoint(unsupported={"seed": "seed"}) as server:
        replies = run(tmp_path, server)
        lines = server.batches.requests("batch_0")
        created = server.batches.batches["batch_0"]
    assert {name: reply.text for name, reply in replies.items()} == {name: answer_to(name) for name in IDENTIFIERS}
    assert len(lines) == 19 and len({line["custom_id"] for line in lines}) == 19
    assert all((line["method"], line["url"]) == ("POST", "/v1/chat/completions") for line in lines)
    assert all("seed" not in line["body"] and line["body"]["temperature"] == 0.0 for line in lines)
    assert (created["endpoint"], created["completion_window"]) == ("/v1/chat/completions", "24h")
    assert all(reply.logprobs for reply in replies.values())
    full = (60 * 2.5 + 2 * 10) / 1e6
    assert replies["q0"].details["usd"] == pytest.approx(full)
    assert replies["q1"].details["usd"] == pytest.approx(full / 2)


def test_images_are_recorded_as_sent_by_a_later_run_too(tmp_path):
    asked = [turn(f"q{number}", recipe_image("blank", 8, 8 + number)) for number in range(4)]
    with Endpoint() as server:
        server.batches.polls = 2
        rows = []
        for wait_hours in (0, 1):
            answering = engine(server.url, batch={"poll_seconds": 0.01, "wait_hours": wait_hours})
            answering.notes = tmp_path / "notes.jsonl"
            with contextlib.suppress(MachineError):
                for batch in answering.answer(asked[bool(rows) :], folder=tmp_path):
                    rows += batch
        assert len(server.batches.batches) == 1
        bodies = [line["body"] for line in server.batches.requests("batch_0")]
    urls = [body["messages"][0]["content"][0]["image_url"]["url"] for body in bodies]
    sent = [sha256(base64.b64decode(url.partition(",")[2])).hexdigest() for url in urls]
    assert sorted(reply.details["images"][0] for _, reply in rows[1:]) == sorted(sent)
    assert {reply.details.get("batch") for _, reply in rows} == {None, "batch_0"}


def test_a_later_run_collects_the_batch(tmp_path):
    with Endpoint() as server:
        server.batches.polls = 3
        for _ in range(2):
            with pytest.raises(MachineError, match=r"batch_0 is in_progress .*submits nothing twice"):
                run(tmp_path, server, wait_hours=0)
        replies = run(tmp_path, server, wait_hours=0)
        assert len(server.batches.batches) == 1 and set(submitted(server).values()) == {1}
        assert len(replies) == 20
        asked = len(server.log)
        assert run(tmp_path, server) == replies and len(server.log) == asked  # all in the journal


@pytest.mark.parametrize("lost", ["the reply", "the note"])
def test_an_unconfirmed_submission_is_found_again(tmp_path, lost):
    with Endpoint() as server:
        if lost == "the reply":  # the batch was made, and the connection cut: it is looked for before it is repeated
            server.batches.lost = 1
        else:  # the run died before it could write the id down
            server.batches.polls = 2
            with pytest.raises(MachineError):
                run(tmp_path, server, wait_hours=0)
            notes = tmp_path / "journal.notes.jsonl"
            first, second = notes.read_text().splitlines(keepends=True)
            assert json.loads(second)["batch"] == "batch_0"
            notes.write_text(first + second[:20])  # torn off
        assert len(run(tmp_path, server)) == 20
        assert len(server.batches.batches) == 1 and set(submitted(server).values()) == {1}


def test_only_unanswered_questions_of_an_expired_batch_are_submitted_again(tmp_path):
    with Endpoint() as server:
        server.batches.ends = ["expired", "completed"]
        replies = run(tmp_path, server)
        assert len(server.batches.requests("batch_0")) == 19 and len(server.batches.requests("batch_1")) == 10
    assert all(reply.text == answer_to(name) for name, reply in replies.items())


def test_a_failed_batch_is_an_error_and_the_next_run_submits_again(tmp_path):
    with Endpoint() as server:
        server.batches.ends = ["failed", "completed"]
        with pytest.raises(MachineError, match=r"batch_0 failed \(too many tokens enqueued\)"):
            run(tmp_path, server)
        assert len(run(tmp_path, server)) == 20


def test_outcomes_in_a_batch_equal_those_of_direct_requests(tmp_path):
    faults = {
        "q1": ["filtered_question"], "q2": ["refusal"], "q3": ["no_choice"], "q4": ["rejected"], "q5": ["500"],
        "q6": ["500"] * 9, "q7": ["wrong_model"], "q8": ["aborted"],
    }  # fmt: skip
    with Endpoint(faults) as server:
        replies = run(tmp_path, server)
        assert submitted(server) == Counter(IDENTIFIERS) + Counter({"q3": 1, "q5": 1, "q6": 2, "q7": 1, "q8": 1})
    finishes = {name: reply.finish for name, reply in replies.items() if reply.finish != "stop"}
    assert finishes == {
        "q1": "content_filter", "q2": "refusal", "q4": "rejected", "q6": "error"
    }  # fmt: skip
    assert replies["q6"].error == "oh no" and replies["q5"].text == answer_to("q5")


def test_a_batch_of_unusable_replies_is_not_recorded_while_the_endpoint_fails(tmp_path):
    """All 19 replies of the batch, and the first question when it is asked again, have no choice. The next run
    finds the endpoint working and asks the 19 questions again; the usable reply was kept."""
    broken = {name: ["no_choice"] for name in IDENTIFIERS[1:]} | {"q0": ["ok", "no_choice"]}
    with Endpoint(broken) as server:
        with pytest.raises(
            MachineError, match=r"19 consecutive replies of batch_0 are unusable.*none of them is recorded"
        ):
            run(tmp_path, server)
        assert submitted(server) == Counter(IDENTIFIERS) + Counter({"q0": 1})
        replies = run(tmp_path, server)
        assert len(server.batches.requests("batch_1")) == 18  # the first of the 19 is asked directly
    assert {name: reply.text for name, reply in replies.items()} == {name: answer_to(name) for name in IDENTIFIERS}


def test_unusable_replies_of_an_endpoint_that_works_are_recorded_after_one_more_batch(tmp_path):
    """q1 to q12 are rejected in both batches; the first question is answered again in between."""
    rejected = IDENTIFIERS[1:13]
    with Endpoint({name: ["rejected"] * 9 for name in rejected}) as server:
        replies = run(tmp_path, server)
        in_batches = [len(server.batches.requests(name)) for name in server.batches.batches]
        assert in_batches == [19, 12]
        assert submitted(server)["q0"] == 3  # one question, and the check after either batch
    assert {name for name, reply in replies.items() if reply.finish == "rejected"} == set(rejected)
    assert {name for name, reply in replies.items() if reply.text == answer_to(name)} == set(IDENTIFIERS) - set(
        rejected
    )


def test_large_waves_are_split(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_api, "MAX_REQUESTS", 8)
    with Endpoint() as server:
        assert len(run(tmp_path, server)) == 20
        assert [len(server.batches.requests(name)) for name in server.batches.batches] == [8, 8, 3]
    monkeypatch.setattr(batch_api, "MAX_BYTES", 1200)
    (tmp_path / "journal").unlink()
    with Endpoint() as server:
        assert len(run(tmp_path, server)) == 20
        assert all(
            len(server.batches.files[batch["input_file_id"]]) <= 1200 for batch in server.batches.batches.values()
        )


def test_a_batch_is_no_larger_than_the_budget(tmp_path):
    """62 tokens are spent on the first; each of the others is bound by 92 (or 91), so that 3 fit into 350."""
    with Endpoint() as server:
        with pytest.raises(MachineError, match="max_cost"):
            run(tmp_path, server, max_cost={"tokens": 350})
        assert len(server.batches.requests("batch_0")) == 3
        assert sum(submitted(server).values()) * 62 <= 350


def test_a_batch_needs_a_file_of_notes(tmp_path):
    with Endpoint() as server:
        with pytest.raises(ConfigError, match=r"models\.parrot\.batch"):
            list(engine(server.url, batch={}).answer(turns(2), folder=tmp_path))
        assert not server.asked


def test_a_batch_that_was_not_submitted_is_submitted_again(tmp_path):
    with Endpoint() as server:
        with pytest.raises(MachineError, match="no batches just now"):
            server.batches.create_status = 400
            run(tmp_path, server, wait_hours=0)
        server.batches.create_status = 200
        assert len(run(tmp_path, server)) == 20
        assert len(server.batches.batches) == 1

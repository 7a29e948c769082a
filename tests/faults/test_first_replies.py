"""A run none of whose first replies has an answer stops, and loses and repeats nothing. Real HTTP."""

from __future__ import annotations

import pytest

from known_unknowns.errors import ConfigError
from known_unknowns.inference.journal import Journal
from known_unknowns.records import Cell, Reply
from tests.factories import question
from tests.servers.client import asked_once, run_all
from tests.servers.endpoint import Endpoint

QUESTIONS = [f"q{number}" for number in range(56)]
WITHOUT_ANSWER = {"cut": "reasoning.tokens", "empty": "chat template", "refusal": "provider refuses"}


@pytest.mark.parametrize("fault", WITHOUT_ANSWER)
def test_the_run_stops_with_a_remedy_and_the_same_command_asks_the_others(tmp_path, fault):
    with Endpoint(lambda question, attempt: fault) as server:
        with pytest.raises(
            ConfigError, match=rf"none of the first 8 replies has an answer \(8 .*{WITHOUT_ANSWER[fault]}"
        ):
            run_all(QUESTIONS, tmp_path / "j.jsonl", server.url)
        assert sum(server.asked.values()) == 8
        outcome = run_all(QUESTIONS, tmp_path / "j.jsonl", server.url)
        assert server.asked == dict.fromkeys(QUESTIONS, 1)
    assert outcome.newly_asked == 48


@pytest.mark.parametrize("fault", ["cut", "refusal"])
def test_one_answer_among_the_first_replies_is_enough(tmp_path, fault):
    with Endpoint(lambda question, attempt: "ok" if question == "q0" else fault) as server:
        run_all(QUESTIONS, tmp_path / "j.jsonl", server.url)
        assert server.asked == dict.fromkeys(QUESTIONS, 1)


def test_a_reply_that_was_cut_off_with_text_is_an_answer(tmp_path):
    with Endpoint(lambda question, attempt: "length") as server:
        outcome = run_all(QUESTIONS, tmp_path / "j.jsonl", server.url)
    assert {row.reply.text for row in outcome.replies[Cell("original", 0)]} == {"The ans"}


class Local:
    """An engine in this process, which answers in batches of ten."""

    scripted, notes = False, None

    def __init__(self, reply):
        self.reply, self.asked, self.facts, self.about = reply, [], {"model": "local"}, {}

    def answer(self, turns, *, folder):
        for start in range(0, len(turns), 10):
            self.asked += turns[start : start + 10]
            yield [(start + place, self.reply) for place in range(len(turns[start : start + 10]))]


@pytest.mark.parametrize(
    ("reply", "remedy"),
    [
        (Reply("", finish="length"), "reasoning.tokens"),
        (Reply("", finish="length", logprobs={"A": -1.0}), "reasoning.tokens"),
        (Reply(" \n"), "chat template"),
        (Reply("", finish="rejected", error="the image is too thin"), "the message says what is not taken"),
        (Reply("", finish="error", error="out of memory"), "works"),
    ],
)
def test_a_local_model_stops_after_its_first_batch(tmp_path, reply, remedy):
    from known_unknowns.inference.runner import run

    engine = Local(reply)
    cells = {Cell("original", 0): (asked_once, [question(name) for name in QUESTIONS])}
    with Journal(tmp_path / "j.jsonl") as journal:
        with pytest.raises(ConfigError, match=f"none of the first 10 replies.*{remedy}"):
            run(cells, engine, journal, folder=tmp_path)
        assert len(engine.asked) == len(journal) == 10
        assert run(cells, engine, journal, folder=tmp_path).newly_asked == 46


def test_an_empty_text_with_log_probabilities_is_an_answer_to_the_parser_likelihood(tmp_path):
    from known_unknowns.inference.runner import run

    cells = {Cell("original", 0): (asked_once, [question(name) for name in QUESTIONS])}
    with Journal(tmp_path / "j.jsonl") as journal:
        assert run(cells, Local(Reply("", logprobs={"A": -1.0})), journal, folder=tmp_path).newly_asked == 56

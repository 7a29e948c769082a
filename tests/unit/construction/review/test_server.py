"""The review server: what it refuses, and what it writes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from known_unknowns_construction.candidates import read_candidates
from known_unknowns_construction.review.decisions import apply_decisions, content_of, read_decisions
from known_unknowns_construction.review.server import HOST, _listening, usual_token

from .demo import write
from .review_server import Server

KEY, OTHER = "0" * 32, "1" * 32


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("open")
    write(folder, 6)
    server = Server("candidates.jsonl", "--reviewer", "ann", folder=folder)
    yield server
    assert server.stop() == 0


def decision(server: Server, place: int = 0, **changes) -> dict:
    item = server.ask(f"api/item/{place}?reviewer=ann")[1]
    return {"key": KEY, "reviewer": "ann", "item": place, "sha256": item["sha256"], "action": "keep"} | changes


def test_a_decision_is_in_the_file_before_the_answer(open_server):
    file = open_server.folder / "candidates.decisions.jsonl"
    status, reply, _ = open_server.ask("api/decision", decision(open_server, key="a" * 32, seconds=2))
    line = json.loads(file.read_bytes().splitlines()[-1])
    assert (status, reply["state"]) == (200, "kept")
    assert (line["item"], line["reviewer"], line["action"], line["time"]) == ("q1", "ann", "keep", reply["time"])
    size = file.stat().st_size
    assert open_server.ask("api/decision", decision(open_server, key="a" * 32, seconds=2))[0] == 200
    assert file.stat().st_size == size
    status, reply, _ = open_server.ask("api/undo", {"key": "b" * 32, "reviewer": "ann"})
    assert (status, reply["item"], reply["state"]) == (200, 0, "pending")
    assert open_server.ask("api/undo", {"key": "b" * 32, "reviewer": "ann"})[1]["item"] == 0
    assert len(file.read_bytes().splitlines()) == 2
    assert open_server.ask("api/undo", {"key": "c" * 32, "reviewer": "ann"})[1]["item"] is None


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"action": "delete"}, 422, "needs a reason"),
        ({"action": "tag", "tag": "counting"}, 422, "this review has keep, modify, delete"),
        ({"action": "modify"}, 422, "nothing is changed"),
        ({"sha256": "0" * 64}, 409, "changed since it was shown"),
        ({"item": 6}, 404, "not in the reviewer's queue"),
        ({"reviewer": "eve"}, 404, "not one of the reviewers: ann"),
        ({"key": "../x"}, 422, "pattern"),
        ({"reason": "x" * 2001}, 422, "2000"),
        ({"surprise": 1}, 422, "Extra inputs"),
    ],
)
def test_impossible_decisions_are_refused_with_a_reason(open_server, changes, status, reason):
    before = (open_server.folder / "candidates.decisions.jsonl").read_bytes()
    answer = open_server.ask("api/decision", decision(open_server, **changes))
    assert answer[0] == status and reason in json.dumps(answer[1])
    assert (open_server.folder / "candidates.decisions.jsonl").read_bytes() == before


def test_a_modification_keeps_labels_and_number_of_options(open_server):
    content = open_server.ask("api/item/1?reviewer=ann")[1]["content"]
    for changed, reason in (
        ({"labels": content["labels"][:4], "options": content["options"][:4]}, "cannot be changed"),
        ({"answer": None}, "choose an answer"),
        ({"question": " "}, "need a text"),
        ({"options": ["red", *content["options"][:4]]}, "two options have the same text"),
        ({"answer": "Z"}, "not one of the labels"),
        ({"question": "What color\nis it?"}, "a new line break"),
    ):
        sent = decision(open_server, 1, action="modify", after=content | changed)
        status, reply, _ = open_server.ask("api/decision", sent)
        assert status == 422 and reason in json.dumps(reply["detail"])
    sent = decision(open_server, 1, action="modify", after=content | {"answer": "E"}, key="d" * 32)
    assert open_server.ask("api/decision", sent)[1]["state"] == "modified"
    applied = apply_decisions(
        read_candidates(open_server.folder / "candidates.jsonl"),
        read_decisions([open_server.folder / "candidates.decisions.jsonl"]),
    )
    assert applied.counts["modified"] == 1 and content_of(applied.final[0]).answer == "E"


def test_only_listed_images_are_served(open_server):
    status, data, headers = open_server.ask("images/0/0")
    assert (status, headers["content-type"]) == (200, "image/png")
    assert data == (open_server.folder / "images" / "scene-0.png").read_bytes()
    absent = ["images/0/1", "images/9/0", "images/-1/0", "candidates.jsonl", "static/review.js", "openapi.json"]
    for path in [*absent, "images/../candidates.jsonl", "images/%2e%2e/candidates.jsonl", "..%2fcandidates.jsonl"]:
        status, text, _ = open_server.ask(path)
        assert status in (404, 422) and "q1" not in str(text)
    changed = open_server.folder / "images" / "scene-1.png"
    changed.write_bytes(changed.read_bytes() + b"x")
    status, reply, _ = open_server.ask("images/3/0")
    assert status == 404 and "its sha256 is not the listed one" in reply["detail"]


def test_another_user_of_the_machine_is_refused(open_server):
    """The server was started without --token."""
    before = (open_server.folder / "candidates.decisions.jsonl").read_bytes()
    for path, body in (
        ("", None),
        ("api/session", None),
        ("images/0/0", None),
        ("api/decision", decision(open_server)),
    ):
        assert open_server.ask(path, body, Cookie="")[0] == 401
    assert (open_server.folder / "candidates.decisions.jsonl").read_bytes() == before


def test_a_server_that_is_started_again_has_the_same_token(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    token = usual_token(tmp_path / "a.jsonl")
    assert len(token) >= 32 and usual_token(tmp_path / "a.jsonl") == token != usual_token(tmp_path / "b.jsonl")
    files = list((tmp_path / "state/known-unknowns").iterdir())
    assert all(file.stat().st_mode & 0o077 == 0 for file in [*files, files[0].parent])
    for file in files:
        file.chmod(0o644)  # others may have read it
    assert usual_token(tmp_path / "a.jsonl") != token
    for file in files:
        file.chmod(0o600)
        file.write_text("")
    assert len(usual_token(tmp_path / "a.jsonl")) >= 32  # a file that a killed process left
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/x")
    assert len(usual_token(tmp_path / "a.jsonl")) >= 32


def test_a_server_that_is_started_again_has_the_same_address(tmp_path):
    """A page keeps the decision that it could not save for the address of its server."""
    file = tmp_path / "decisions.jsonl"
    with _listening(file, HOST, None) as first:
        port = first.getsockname()[1]
        with _listening(file, HOST, None) as second:
            assert second.getsockname()[1] != port
    with _listening(file, HOST, None) as again, _listening(tmp_path / "other.jsonl", HOST, None) as other:
        assert again.getsockname()[1] == port != other.getsockname()[1]

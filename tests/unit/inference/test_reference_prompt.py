"""What the record of the rendered prompt says to a later run."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from known_unknowns.errors import ConfigError
from known_unknowns.inference import reference_prompt
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.records import Reply
from tests.factories import question
from tests.servers.client import asked_once

RENDERED = {
    "text": "system\nToday is 26 Jul 2024.\nuser\nWhat?",
    "tokens": 12,
    "image_tokens": 4,
    "pixels": {"pixel_values": {"shape": [1, 3, 8, 8], "parts": [[0.5, 1.0], [0.25, 1.0]]}},
    "versions": {"transformers": "5.17.0", "pillow": "12.0"},
}


class Engine:
    scripted = False
    notes = None

    def __init__(self, rendered=RENDERED, **facts):
        self.facts = {"engine": "transformers", **facts}
        self.about = {}
        self.rendered = rendered
        self.times = 0

    def reference_prompt(self):
        self.times += 1
        return self.rendered

    def answer(self, turns, *, folder):
        for index, _ in enumerate(turns):
            yield [(index, Reply(text="A", finish="stop"))]


class Server:
    scripted = False
    facts = {"engine": "openai"}  # noqa: RUF012


@pytest.fixture
def journal(tmp_path) -> Path:
    path = tmp_path / "b.jsonl"
    reference_prompt.check(Engine(), path, has_replies=False)
    return path


def changed(**values):
    rendered = copy.deepcopy(RENDERED)
    rendered.update(values)
    return Engine(rendered)


def resumed(engine, journal) -> list[str]:
    reference_prompt.check(engine, journal, has_replies=True)
    return reference_prompt.changes(journal, engine.facts)


def test_the_same_rendering_is_no_change(journal):
    before = reference_prompt.path_of(journal).read_bytes()
    assert resumed(Engine(), journal) == []
    assert reference_prompt.path_of(journal).read_bytes() == before


def test_another_text_stops_the_run_and_is_named(journal):
    later = changed(text="system\nToday is 27 Nov 2026.\nuser\nWhat?", versions={"transformers": "5.23.0"})
    with pytest.raises(ConfigError, match=r"'Today is 26 Jul 2024\.' is now 'Today is 27 Nov 2026\.'") as raised:
        resumed(later, journal)
    assert "transformers 5.17.0" in str(raised.value) and "now: transformers 5.23.0" in str(raised.value)
    assert resumed(Engine(), journal) == []
    with pytest.raises(ConfigError, match="other line breaks"):
        resumed(changed(text=f"{RENDERED['text']}\n"), journal)


def pixels(shape, *parts):
    return {"pixel_values": {"shape": shape, "parts": list(map(list, parts))}}


@pytest.mark.parametrize(
    ("values", "change"),
    [
        ({"image_tokens": 9}, "image tokens: 4, later 9"),
        ({"tokens": 13}, "text tokens: 12, later 13"),
        ({"versions": {"transformers": "5.23.0", "pillow": "12.0"}}, "transformers 5.17.0, later 5.23.0"),
        ({"versions": {"transformers": "5.17.0"}}, "pillow 12.0, later not recorded"),
        ({"pixels": pixels([1, 3, 8, 8], (0.5, 1.0), (0.25, 1.0 + 1e-3))}, None),
        ({"pixels": pixels([1, 3, 8, 8], (0.5, 1.0), (0.25, 0.9))}, "pixel_values: other pixels"),
        ({"pixels": pixels([1, 3, 9, 9], (0.5, 1.0), (0.25, 1.0))}, "shape [1, 3, 8, 8], later [1, 3, 9, 9]"),
        ({"pixels": {}}, "pixel_values: in one of the runs only"),
    ],
)
def test_other_pixels_and_versions_are_noted_for_good(journal, values, change):
    engine = changed(**values)
    noted = resumed(engine, journal)
    assert noted == [] if change is None else change in noted[0]
    assert len(noted) <= 1
    assert resumed(engine, journal) == noted
    assert resumed(Engine(), journal) == noted


def test_without_replies_a_record_has_no_effect(journal):
    other = changed(text="other")
    reference_prompt.check(other, journal, has_replies=False)
    assert resumed(other, journal) == []


def test_replies_of_other_settings_have_a_record_of_their_own(journal):
    other = Engine({**RENDERED, "text": "other"}, system="Be brief.")
    assert resumed(other, journal) == []
    assert resumed(Engine(), journal) == []


def test_a_journal_without_a_record_and_an_engine_without_prompts_are_accepted(tmp_path):
    path = tmp_path / "old.jsonl"
    assert reference_prompt.changes(path, Engine().facts) == []
    assert resumed(Engine(), path) == []
    server = tmp_path / "server.jsonl"
    assert resumed(Server(), server) == []
    assert resumed(Engine(rendered=None), server) == []
    assert not reference_prompt.path_of(server).exists()


def test_the_prompt_is_rendered_once_and_only_if_a_question_is_asked(tmp_path):
    calls = []

    def ask(*names):
        cells = {("original", 0): (asked_once, [question(name) for name in names])}
        with Journal(tmp_path / "b.jsonl") as kept:
            run(
                cells,
                Engine(),
                kept,
                folder=tmp_path,
                before_asking=lambda engine, has_replies: calls.append(has_replies),
            )

    ask("a", "b")
    ask("a", "b")
    assert calls == [False]
    ask("a", "b", "c")
    assert calls == [False, True]

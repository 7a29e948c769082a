"""What the record of the rendered prompt says to a later run."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml

from known_unknowns import json_files
from known_unknowns.config import load
from known_unknowns.data.questions import normalise
from known_unknowns.data.variant_tables import vary
from known_unknowns.engines import reference_prompt
from known_unknowns.errors import ConfigError
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.records import Cell, Reply
from tests.asked_and_measured import infer
from tests.factories import published_row, question, write_published
from tests.paths import ROOT
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
        cells = {Cell("original", 0): (asked_once, [question(name) for name in names])}
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


@pytest.fixture
def asked(tmp_path):
    """Asks a tiny checkpoint three questions as a run does; returns what it reports of itself."""
    tiny = pytest.importorskip("tests.unit.engines.tiny")
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    raw["editions"]["pocket"] |= {"models": ["tiny"], "benchmarks": ["humblebench"], "seeds": [0]}
    raw["editions"]["pocket"]["variants"] = {"humblebench": ["original"]}
    raw["models"]["tiny"] = tiny.entry(tmp_path / "model").plain()
    tiny.build("llava", tmp_path / "model")
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw))
    params = load(tmp_path / "params.yaml")
    write_published(tmp_path / "raw", [published_row(number) for number in (0, 5, 10)])
    normalise("humblebench", tmp_path / "raw", tmp_path / "questions")
    table = tmp_path / "questions/questions.parquet"
    vary(params.variant("original"), table, tmp_path / "variants/original.parquet", seeds=[0])

    def ask(*again: str):
        folders = {"questions": tmp_path / "questions", "variants": tmp_path / "variants", "out": tmp_path / "out"}
        replies = infer(
            params, "tiny", "humblebench", journal=tmp_path / "j/humblebench.jsonl", ask_again=again, **folders
        )
        return list(replies), json_files.read(tmp_path / "out/engine.json")["about"]

    return ask


def edit(path: Path, **values) -> None:
    records = json_files.read(path)
    json_files.write(path, {name: record | values for name, record in records.items()})


def test_a_resumed_run_compares_before_it_asks(asked, tmp_path):
    keys, about = asked()
    path = reference_prompt.path_of(tmp_path / "j/humblebench.jsonl")
    (record,) = json_files.read(path).values()
    assert record["covers_all_replies"] and "rendering" not in about
    edit(path, image_tokens=1)
    keys, about = asked()
    assert "rendering" not in about  # nothing is asked, and nothing rendered
    keys, about = asked(keys[0])
    assert about["rendering"] == [f"image tokens: 1, later {record['image_tokens']}"]
    assert asked()[1] == about
    edit(path, text="another")
    with pytest.raises(ConfigError, match="no longer rendered as for the recorded replies: 'another' is now"):
        asked(keys[0])

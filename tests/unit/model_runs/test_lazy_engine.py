"""A finished journal is read without loading the model, unless its replies could be another model's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from known_unknowns.config import locked_commits
from known_unknowns.config.models import Model, TransformersModel
from known_unknowns.data import lock_file
from known_unknowns.errors import ConfigError
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.model_runs import lazy_engine
from known_unknowns.records import Cell, Reply
from tests.factories import question
from tests.servers.client import asked_once

ENTRY = {"engine": "transformers", "source": "a/model", "revision": "main", "dtype": "float32", "batch_size": 8}
COMMIT = "1" * 40


class Engine:
    """An engine that counts how often it is created."""

    scripted = False
    notes = None
    made = 0
    facts = {"engine": "transformers", "revision": COMMIT, "size": (1, 2)}  # noqa: RUF012

    def __init__(self, name, entry):
        type(self).made += 1
        self.about = {"device": "made"}

    def answer(self, turns, *, folder):
        for index, turn in enumerate(turns):
            yield [(index, Reply(text=f"{turn.question_id} of {self.facts['revision'][0]}", finish="stop"))]


@pytest.fixture(autouse=True)
def in_temporary_folder(tmp_path, monkeypatch):
    """Run in a temporary folder, with the engine above instead of the real one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(TransformersModel, "implementation", f"{__name__}:Engine")
    monkeypatch.setattr(Engine, "made", 0)


def model_entry(**settings):
    return TypeAdapter(Model).validate_python(settings)


def infer(*questions, journal=Path("j/humblebench.jsonl"), **changes):
    """Use engine and journal as `model_run.infer` does; return the replies and the number of new ones."""
    entry = model_entry(**(ENTRY | changes))
    cells = {Cell("original", 0): (asked_once, [question(name) for name in questions])}
    with Journal(journal) as kept:
        engine = lazy_engine.engine("m", entry, journal)
        try:
            outcome = run(cells, engine, kept, folder=Path())
        except lazy_engine.FactsChanged as changed:
            engine = changed.engine
            outcome = run(cells, engine, kept, folder=Path())
        lazy_engine.write_facts(journal, entry, engine.facts, engine.about)
    return [row.reply.text for row in outcome.replies[Cell("original", 0)]], outcome.newly_asked


def test_a_finished_journal_is_read_without_the_model():
    first = infer("a", "b")
    assert first == (["a of 1", "b of 1"], 2)
    kept = Path("j/humblebench.facts.json").read_bytes()
    assert infer("a", "b") == (first[0], 0)
    assert Engine.made == 1
    assert Path("j/humblebench.facts.json").read_bytes() == kept


def test_batch_size_and_card_do_not_load_the_model():
    infer("a")
    infer("a", batch_size=1, device="cuda:1", published="x", card={"family": "F", "licence": "MIT"})
    assert Engine.made == 1


@pytest.mark.parametrize("changes", [{"dtype": "bfloat16"}, {"system": "Be brief."}, {"revision": COMMIT}])
def test_another_entry_loads_the_model(changes):
    infer("a")
    infer("a", **changes)
    assert Engine.made == 2


def test_changed_code_loads_the_model(monkeypatch, tmp_path):
    infer("a")
    package = tmp_path / "engines"
    package.mkdir()
    (package / "__init__.py").write_text("# Edited.\n")
    monkeypatch.setattr(lazy_engine.engines, "__file__", str(package / "__init__.py"))
    infer("a")
    assert Engine.made == 2


def test_changed_files_in_a_model_folder_load_the_model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    infer("a", source=str(folder))
    infer("a", source=str(folder))
    assert Engine.made == 1
    (folder / "config.json").write_text("{ }")
    infer("a", source=str(folder))
    assert Engine.made == 2


@pytest.fixture
def weights(monkeypatch):
    """The sha256 of the weights of a model in a folder, in its entry and in the engine's facts."""
    monkeypatch.setattr(Engine, "facts", Engine.facts | {"revision": "1" * 64})
    return "1" * 64


def test_a_moved_folder_does_not_load_the_model(tmp_path, weights):
    (tmp_path / "here").mkdir()
    (tmp_path / "here/config.json").write_text("{}")
    first = infer("a", source="here", revision=weights)
    (tmp_path / "here").rename(tmp_path / "there")
    assert infer("a", source="there", revision=weights) == (first[0], 0)
    assert infer("a", source=str(tmp_path / "there"), revision=weights) == (first[0], 0)
    assert Engine.made == 1
    (tmp_path / "there/config.json").write_text("{ }")
    infer("a", source="there", revision=weights)
    assert Engine.made == 2


def test_recorded_replies_need_no_folder(tmp_path, weights):
    """As in a clone after `dvc pull`. Only the pinned weights count, and an unpinned folder cannot be known."""
    (tmp_path / "here").mkdir()
    first = infer("a", source="here", revision=weights)
    (tmp_path / "here").rmdir()
    assert infer("a", source="elsewhere", revision=weights) == (first[0], 0)
    assert Engine.made == 1
    infer("a", source="here", revision="unpinned")
    assert Engine.made == 2
    infer("a", source="here", revision="2" * 64)
    assert Engine.made == 3


def test_another_commit_in_the_lock_loads_the_model():
    infer("a")
    source = locked_commits.model_source(model_entry(**ENTRY))
    lock_file.write({source.key: locked_commits.LockEntry(COMMIT, {})})
    infer("a")
    assert Engine.made == 1
    lock_file.write({source.key: locked_commits.LockEntry("2" * 40, {})})
    infer("a")
    assert Engine.made == 2


def test_changed_facts_ask_everything_again(monkeypatch):
    """For example, a branch has moved. The loaded model's facts are compared when a question has to be asked."""
    infer("a")
    monkeypatch.setattr(Engine, "facts", {"engine": "transformers", "revision": "2" * 40})
    assert infer("a") == (["a of 1"], 0)
    assert infer("a", "b") == (["a of 2", "b of 2"], 2)
    assert infer("a", "b") == (["a of 2", "b of 2"], 0)
    assert Engine.made == 2


@pytest.mark.parametrize("text", ["", "[]", '{"format": 0, "of": {}, "facts": {}, "about": {}}'])
def test_invalid_facts_file_loads_the_model(text):
    infer("a")
    Path("j/humblebench.facts.json").write_text(text, encoding="latin-1")
    infer("a")
    assert Engine.made == 2
    assert json.loads(Path("j/humblebench.facts.json").read_text())["facts"]["revision"] == COMMIT


def test_facts_of_a_failed_run_are_not_stored(monkeypatch):
    monkeypatch.setattr(Engine, "answer", lambda self, turns, folder: (_ for _ in ()).throw(ConfigError("stopped")))
    with pytest.raises(ConfigError):
        infer("a")
    assert not Path("j/humblebench.facts.json").exists()


def test_the_reference_prompt_is_that_of_the_real_engine(monkeypatch):
    infer("a")
    journal = Path("j/humblebench.jsonl")
    assert lazy_engine.engine("m", model_entry(**ENTRY), journal).reference_prompt() is None
    monkeypatch.setattr(Engine, "reference_prompt", lambda self: {"text": "?"}, raising=False)
    assert lazy_engine.engine("m", model_entry(**ENTRY), journal).reference_prompt() == {"text": "?"}
    monkeypatch.setattr(Engine, "facts", Engine.facts | {"revision": "2" * 40})
    with pytest.raises(lazy_engine.FactsChanged):
        lazy_engine.engine("m", model_entry(**ENTRY), journal).reference_prompt()

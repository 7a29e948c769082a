"""Inference in shards: the same tables for every number of shards, and no question asked twice."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from known_unknowns import tables
from known_unknowns.data.questions import normalise
from known_unknowns.data.variant_tables import vary
from known_unknowns.engines._batch_invariance import BatchInvarianceCheck
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.inference import shards
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.shards import Shard
from known_unknowns.records import Cell, Image, Question, Turn
from tests.asked_and_measured import infer, infer_shard
from tests.cells import read_replies
from tests.factories import params_from, published_row, question, variant_entry, write_published
from tests.paths import ROOT

VARIANTS = ["original", "blank", "text_only"]
QUESTIONS = 40


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Questions, and a function that returns a configuration with a number of shards."""
    import yaml

    folder = tmp_path_factory.mktemp("shards")
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    raw["benchmarks"]["humblebench"] |= {"variants": VARIANTS, "seeds": {}, "protocol": "forced_choice"}
    write_published(folder / "raw", [published_row(i) for i in range(QUESTIONS)])
    normalise("humblebench", folder / "raw", folder / "questions")
    for variant in VARIANTS:
        out = folder / "variants" / f"{variant}.parquet"
        vary(variant_entry(variant), folder / "questions/questions.parquet", out, seeds=[0])

    def params(count=None, **pocket):
        models = raw["models"] | {"pocket": raw["models"]["pocket"] | {"source": str(ROOT / "models/pocket")} | pocket}
        if count is not None:
            models = {
                name: entry | {"shards": count} for name, entry in models.items() if name in ("pocket", "uniform")
            }
        return params_from(raw | {"models": models})

    return folder / "questions", params


def ask(world, folder, model, count, *, order=None, shuffle=0, **pocket):
    """Ask in shards, in an order, and write the tables. Return what `infer` wrote and the record."""
    questions, params = world
    where = folders(questions, folder)
    numbers = list(range(1, count + 1)) if order is None else order
    random.Random(shuffle).shuffle(numbers)
    for number in numbers:
        infer_shard(
            params(count, **pocket), model, "humblebench", Shard(number, count), records=folder / "records", **where
        )
    where |= {"out": folder / "out", "records": folder / "records"}
    infer(params(count, **pocket), model, "humblebench", **where)
    return tables_of(folder / "out"), json.loads((folder / "out/engine.json").read_text())


def folders(questions, folder):
    return {"questions": questions, "variants": questions.parent / "variants", "journal": folder / "hb.jsonl"}


def tables_of(out):
    assert tables.cells_in(out / "replies.parquet") == [Cell(variant, 0) for variant in VARIANTS]
    return (out / "replies.parquet").read_bytes()


def keys(journal):
    return [json.loads(line)["key"] for line in journal.read_text().splitlines()]


@pytest.fixture(scope="module")
def pocket(world, tmp_path_factory):
    """The tables of the pocket model in one shard."""
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("one")
    return folder, *ask(world, folder, "pocket", 1, batch_size=8)


@pytest.mark.parametrize("count", [2, 7])
def test_a_models_tables_are_equal_bytes_for_every_number_of_shards(world, pocket, tmp_path, count):
    folder, expected, record = pocket
    found, sharded = ask(world, tmp_path, "pocket", count, shuffle=count, batch_size=8)
    assert found == expected
    assert sorted(keys(tmp_path / "hb.jsonl")) == sorted(keys(folder / "hb.jsonl"))
    assert len(set(keys(tmp_path / "hb.jsonl"))) == len(keys(tmp_path / "hb.jsonl"))
    assert not shards.shard_paths(tmp_path / "hb.jsonl")
    assert sharded["newly_asked"] == 0 and sharded["turns"] == record["turns"] > QUESTIONS * len(
        VARIANTS
    )  # refusals are asked again
    asked = sharded["about"]["sharing"]["prompts"]
    assert sum(asked.values()) == sum(record["about"]["sharing"]["prompts"].values()) > 0


@pytest.mark.parametrize("files", [["hb.jsonl"], ["hb.jsonl", "hb.facts.json"]], ids=["killed", "finished before"])
def test_the_check_of_batches_covers_the_attempts_that_were_killed(world, pocket, tmp_path, files):
    """All replies are in the journal, and two comparisons with one flip in the notes. The last attempt asks nothing."""
    folder, expected, record = pocket
    for file in files:
        shutil.copy(folder / file, tmp_path)
    check = BatchInvarianceCheck(record["facts"], half=False)
    check.load(tmp_path / "hb.notes.jsonl")
    check.add({"A": -0.5, "B": -1.5}, {"A": -0.5, "B": -1.5})
    check.add({"A": -0.5, "B": -0.75}, {"A": -0.75, "B": -0.5})
    questions, params = world
    where = folders(questions, tmp_path) | {"out": tmp_path / "out"}
    infer(params(batch_size=8), "pocket", "humblebench", **where)
    last = json.loads((tmp_path / "out/engine.json").read_text())
    assert (tables_of(tmp_path / "out"), last["newly_asked"]) == (expected, 0)
    found = last["about"]["certificate"]
    assert (found["compared"], found["flips"], found["rate"], found["gaps"]) == (2, 1, 0.5, [0.25])


def test_a_batch_size_changes_no_answer(world, pocket, tmp_path):
    """Rounding may change the last digits of log-probabilities, as the documentation says."""
    folder, _, _ = pocket
    ask(world, tmp_path, "pocket", 2, batch_size=5)
    for variant in VARIANTS:
        one, other = (read_replies(out / "out/replies.parquet", variant) for out in (folder, tmp_path))
        for first, second in zip(one, other, strict=True):
            assert first.reply.text == second.reply.text
            for label, value in (first.reply.logprobs or {}).items():
                assert value == pytest.approx(second.reply.logprobs[label], abs=1e-4)


def test_the_tables_of_scripted_respondents_do_not_depend_on_shards_at_all(world, tmp_path):
    questions, params = world
    where = folders(questions, tmp_path / "plain") | {"out": tmp_path / "plain/out"}
    infer(params(), "uniform", "humblebench", **where)
    for count in (1, 7):
        (tmp_path / str(count)).mkdir()
        assert ask(world, tmp_path / str(count), "uniform", count)[0] == tables_of(tmp_path / "plain/out")


def test_another_number_of_shards_asks_nothing_twice(world, tmp_path):
    """Some of seven shards end, one of them in the middle of a batch; then two shards; then none."""
    questions, params = world
    where = folders(questions, tmp_path)
    for number in (5, 2):
        infer_shard(params(7), "uniform", "humblebench", Shard(number, 7), records=tmp_path / "records", **where)
    path = shards.shard_path(tmp_path / "hb.jsonl", Shard(2, 7))
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])  # a kill while the last line is written
    sound = set(shards.replies_of(tmp_path / "hb.jsonl"))
    assert 0 < len(sound) < len(keys(shards.shard_path(tmp_path / "hb.jsonl", Shard(5, 7)))) + whole.count(b"\n")
    found, _ = ask(world, tmp_path, "uniform", 2)
    written = keys(tmp_path / "hb.jsonl")
    assert len(written) == len(set(written)) and sound <= set(written)
    infer(params(), "uniform", "humblebench", out=tmp_path / "again", **where)
    assert json.loads((tmp_path / "again/engine.json").read_text())["newly_asked"] == 0
    assert tables_of(tmp_path / "again") == found


@dataclass(frozen=True)
class OpenDialogue:
    question: Question
    turn: Turn
    key: str


def opened(number, group, images, key=None):
    turn = Turn(str(number), "answer", (*(Image(f"{name}.png", name * 64, 9, 9) for name in images), "?"), ("A", "B"))
    return OpenDialogue(question(str(number), group=group), turn, key or f"key {number}")


def test_an_image_and_equal_turns_are_never_divided():
    """Of 90 images with 5 questions each in two variants, and 300 questions about one blank image, some equal."""
    asked = [opened(i, f"g{i // 5}", [f"{variant}{i // 5}"]) for variant in "xy" for i in range(450)]
    asked += [opened(i, f"g{i // 5}", ["b"], f"blank {i % 200}") for i in range(300)]
    for count in (1, 2, 7, 60):
        parts = [list(shards.blocks(asked, Shard(k, count))) for k in range(1, count + 1)]
        flat = [(k, dialogue) for k, blocks in enumerate(parts) for block in blocks for dialogue in block]
        assert Counter(map(id, asked)) == Counter(id(dialogue) for _, dialogue in flat)
        shards_of_image = {(d.question.group, d.turn.images[0].source[0] in "xy"): set() for _, d in flat}
        shards_of_turn = {d.key: set() for _, d in flat}
        for k, d in flat:
            shards_of_image[d.question.group, d.turn.images[0].source[0] in "xy"].add(k)
            shards_of_turn[d.key].add(k)
        assert all(len(found) == 1 for (_, own), found in shards_of_image.items() if own)
        assert all(len(found) == 1 for key, found in shards_of_turn.items() if key.startswith("blank"))
        if count == 7:
            sizes = [sum(map(len, blocks)) for blocks in parts]
            assert min(sizes) > 0 and max(sizes) < 1.6 * len(asked) / count
    whole = list(shards.blocks(asked, Shard(1, 1)))
    assert all(block in whole for blocks in parts for block in blocks)


def test_a_kill_while_replies_are_moved_loses_and_repeats_nothing(world, tmp_path, monkeypatch):
    questions, params = world
    where = folders(questions, tmp_path) | {"records": tmp_path / "records"}
    infer_shard(params(2), "uniform", "humblebench", Shard(1, 2), **where)
    notes = shards.notes_path(shards.shard_path(tmp_path / "hb.jsonl", Shard(1, 2)))
    notes.write_text('{"note": 1}\n')
    kept = set(shards.replies_of(tmp_path / "hb.jsonl"))

    def killed(path, missing_ok=False):
        raise KeyboardInterrupt

    for _ in range(2):  # each time before the moved notes are removed
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Path, "unlink", killed)
            with shards.whole_journal(tmp_path / "hb.jsonl"):
                pass
    with shards.whole_journal(tmp_path / "hb.jsonl"):
        pass
    assert set(keys(tmp_path / "hb.jsonl")) == kept and len(keys(tmp_path / "hb.jsonl")) == len(kept)
    assert (tmp_path / "hb.notes.jsonl").read_text().count('{"note": 1}') == 1
    assert not list(tmp_path.glob("*shard*"))


def test_a_shard_and_a_whole_run_exclude_each_other(tmp_path):
    with (
        shards.ShardJournal(tmp_path / "hb.jsonl", Shard(1, 2)),
        shards.ShardJournal(tmp_path / "hb.jsonl", Shard(2, 2)),
    ):
        with pytest.raises(MachineError, match="another run is writing"), shards.whole_journal(tmp_path / "hb.jsonl"):
            pass
        with pytest.raises(MachineError, match="another run is writing"):
            shards.ShardJournal(tmp_path / "hb.jsonl", Shard(1, 2))
    with Journal(tmp_path / "hb.jsonl"), pytest.raises(MachineError, match="another run is writing"):
        shards.ShardJournal(tmp_path / "hb.jsonl", Shard(1, 2))


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2"])
def test_a_wrong_shard_is_refused(text):
    with pytest.raises(ConfigError, match=r"--shard: .* is not a shard, such as 1/4"):
        Shard.parse(text)


def test_jobs_on_one_machine_take_different_gpus(monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    from known_unknowns.engines import _device, gpus

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(gpus, "_LOCKS", [])
    assert [_device.select_device("auto", path="") for _ in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    os.close(gpus._LOCKS[1])  # as when the second process ends
    assert _device.select_device("auto", path="") == "cuda:1"
    assert _device.select_device("cuda:0", path="") == "cuda:0"

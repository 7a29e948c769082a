"""`known-unknowns verify`: a sample of recorded replies asked again, batched in other ways."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from types import MappingProxyType

import pyarrow.parquet as parquet
import pytest
import yaml

from known_unknowns import engines, tables
from known_unknowns.cli import main
from known_unknowns.comparison.margins import Flips, read_flips
from known_unknowns.config import Params
from known_unknowns.errors import ConfigError
from known_unknowns.files import write_text
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.model_run import cells_of
from known_unknowns.inference.runner import run
from known_unknowns.records import Reply
from known_unknowns.verification import verify as verification
from tests.factories import question
from tests.paths import ROOT

QUESTIONS = 40


class Model:
    """Answers A, with a gap to B that depends on the question: 0.004 nats for q1, 2 nats for all others.

    In padded batches of several questions, B gains ``error`` nats for q1 and q2.
    """

    scripted = False
    about = MappingProxyType({})

    def __init__(self, error=0.0):
        self.error, self.notes, self.facts = error, None, {"engine": "transformers", "source": "model"}
        self.sharing, self.size = True, 8

    @property
    def ways_of_batching(self):
        return 32, 8

    @contextmanager
    def batching(self, *, sharing=True, batch_size=None):
        self.sharing, self.size = sharing, batch_size
        yield
        self.sharing, self.size = True, 8

    def answer(self, turns, *, folder):
        yield [(index, self._reply(turn.question_id)) for index, turn in enumerate(turns)]

    def _reply(self, name):
        padded = not self.sharing and self.size > 1
        gap = (0.004 if name == "q1" else 2.0) - (self.error if padded and name in ("q1", "q2") else 0.0)
        first = -math.log1p(math.exp(-gap))
        return Reply("A" if gap > 0 else "B", {"A": first, "B": first - gap})


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A finished run of the model in the working folder. Returns the configuration."""
    monkeypatch.chdir(tmp_path)
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    raw["models"]["pocket"]["dtype"] = "float32"
    raw["editions"]["pocket"] |= {"benchmarks": ["humblebench"], "models": ["pocket"]}
    raw["benchmarks"]["humblebench"] |= {"variants": ["original"], "seeds": {}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw))
    folder = tmp_path / "data/pocket/questions/humblebench"
    asked = [question(f"q{i}", text=f"Question {i}?", images=()) for i in range(QUESTIONS)]
    folder.mkdir(parents=True)
    variants = tmp_path / "results/pocket/variants/humblebench"
    tables.write_variant(variants / "original.parquet", {0: asked})
    params = Params(raw)
    monkeypatch.setattr(engines, "create", lambda name, entry: Model())
    with Journal(tmp_path / "journal/pocket/humblebench.jsonl") as journal:
        run(cells_of(params, "pocket", "humblebench", variants), Model(), journal, folder=folder)
    return params


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["known-unknowns", "verify", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code or 0


def test_equal_answers_change_nothing(project):
    found = verification.verify(project, "pocket", "humblebench", sample=16, seed=0).summary()
    assert (found["changed"], found["compared"], found["turns"]) == (0, 16, QUESTIONS)
    assert list(found["ways"]) == ["again", "order", "batch 1", "batch 8", "generate 4", "generate 8", "alone"]
    assert found["high"] == pytest.approx(3.8414588 / (16 + 3.8414588))  # Wilson of 0 of n: z^2 / (n + z^2)


def test_the_seed_draws_the_sample(project):
    keys = [
        {row.key for row in verification.verify(project, "pocket", "humblebench", sample=9, seed=seed).rows}
        for seed in (0, 0, 1)
    ]
    assert keys[0] == keys[1] != keys[2] and len(keys[0]) == 9


def test_a_flip_of_padded_batches_is_reported_with_its_cause(project, monkeypatch, capsys):
    """0.01 nats reverse q1, whose options are 0.004 nats apart, and not q2."""
    monkeypatch.setattr(engines, "create", lambda name, entry: Model(0.01))
    assert call(monkeypatch, "pocket", "--sample", "40", "--max-changed", "0.03") == 0
    said = capsys.readouterr().out
    assert "pocket humblebench: 1 of 40 answers changed" in said
    assert "  alone        0 of 40 answers changed" in said
    assert (
        "question q1, answer: 'A' became 'B' with no shared prefixes, padded batches of 4; near tie, 0.004 nats" in said
    )
    assert call(monkeypatch, "pocket", "--sample", "40") == 1  # 2.5% are more than 2%
    assert call(monkeypatch, "pocket", "--sample", "40", "--report-only") == 0


def test_an_answer_that_rounding_cannot_change_is_an_error(project, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(engines, "create", lambda name, entry: Model(3.2))
    assert call(monkeypatch, "pocket", "--sample", "40", "--max-changed", "1", "--json") == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["changed"], found["unexplained"], found["ways"]["alone"]["changed"]) == (2, 1, 0)
    assert found["ways"]["generate 8"]["largest_difference"] > 1
    table = parquet.read_table(tmp_path / "results/pocket/verify/pocket/humblebench.parquet")
    assert table.num_rows == 40 * 7
    flips = table.filter(table["flip"]).to_pylist()
    assert {(row["question_id"], row["way"], row["near_tie"]) for row in flips} == {
        (name, way, name == "q1") for name in ("q1", "q2") for way in ("generate 4", "generate 8")
    }


def test_margins_count_the_sampled_answers_of_the_same_model(project, monkeypatch, tmp_path):
    monkeypatch.setattr(engines, "create", lambda name, entry: Model(0.01))
    verification.write(
        verification.verify(project, "pocket", "humblebench", sample=40, seed=0), tmp_path / "results/verify"
    )
    record = tmp_path / "results/replies/pocket/humblebench/engine.json"
    for facts, flips in ((Model().facts, Flips(1, 104)), ({"source": "another"}, Flips(0, 64))):
        write_text(record, json.dumps({"facts": facts, "about": {"certificate": {"flips": 0, "compared": 64}}}))
        assert read_flips(tmp_path / "results/replies", "pocket") == flips
    assert "1 of 104 measured" in Flips(1, 104).source()


def test_missing_replies_and_unknown_names_are_refused(project, monkeypatch, capsys, tmp_path):
    assert call(monkeypatch, "gpt-9") == 2
    (tmp_path / "journal/pocket/humblebench.jsonl").write_text("")
    with pytest.raises(ConfigError, match=r"40 of 40 turns of pocket on humblebench have no reply: run the workflow"):
        verification.verify(project, "pocket", "humblebench", sample=4, seed=0)

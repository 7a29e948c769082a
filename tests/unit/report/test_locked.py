"""Locked revisions in the report."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest

from known_unknowns.config import Params
from known_unknowns.data import lock_file
from known_unknowns.data.files import FilePin
from known_unknowns.data.lock_file import LockEntry
from known_unknowns.report.provenance import describe_run

from .conftest import write
from .fake_run import FakeRun, make

COMMIT, NEWER = "0123456789abcdef" * 2 + "01234567", "f" * 40
FILES = {"a.parquet": FilePin(1_500_000, sha256="a" * 64), "README.md": FilePin(500_000, git="b" * 40)}
HUB = {"source": "hub", "repository": "maker/benchmark", "revision": "main"}
TRANSFORMERS = {"engine": "transformers", "source": "maker/model", "revision": "main", "dtype": "float32"}


def locked(root: Path, *keys: str) -> None:
    lock_file.write(dict.fromkeys(keys, LockEntry(COMMIT, FILES)), root / lock_file.PATH)


@pytest.fixture
def run(tmp_path) -> FakeRun:
    """A run of one benchmark from the hub and one model of it, which answered at the commit."""
    made = make(tmp_path, questions=15, variants_kept=["original"])
    raw = json.loads(json.dumps(made.params.raw))
    raw["benchmarks"]["humblebench"]["data"][made.params.edition] = HUB
    raw["models"]["pocket"] = TRANSFORMERS
    made.params = Params(raw)
    answered_at(made, COMMIT)
    return made


def answered_at(run: FakeRun, commit: str) -> None:
    path = run.results / "replies/pocket/humblebench/engine.json"
    engine = json.loads(path.read_text())
    engine["facts"] |= {"revision": commit}
    path.write_text(json.dumps(engine))


def gathered(run: FakeRun, root: Path):
    description = describe_run(run.params, results=run.results, data=run.data, root=root)
    data = {data.benchmark: data.locked for data in description.data}
    return data, {model.name: model.locked for model in description.models}


def test_locked_data_and_models_have_commit_and_size(run, tmp_path):
    locked(tmp_path, "hub:datasets/maker/benchmark@main", "hub:models/maker/model@main")
    data, models = gathered(run, tmp_path)
    told = "at 0123456789ab, 2 file(s), 2.0 MB"
    assert data == {"humblebench": told}
    assert models.pop("pocket") == told
    assert set(models.values()) == {None}  # the scripted ones are held by nothing


@pytest.mark.parametrize("keys", [(), ("hub:datasets/maker/benchmark@v2", "hub:models/maker/model@v2")])
def test_unlocked_sources_have_no_revision(run, tmp_path, keys):
    locked(tmp_path, *keys)
    data, models = gathered(run, tmp_path)
    assert set(data.values()) | set(models.values()) == {None}


def test_replies_of_another_commit_have_no_revision(run, tmp_path):
    """Somebody asked for newer weights, and has not run the model since."""
    locked(tmp_path, "hub:models/maker/model@main")
    answered_at(run, NEWER)
    assert gathered(run, tmp_path)[1]["pocket"] is None


@pytest.mark.usefixtures("no_figures")
def test_the_page_shows_it(run, tmp_path):
    def shown() -> list[str]:
        page = write(run, root=tmp_path)["provenance.html"]
        return [e.text for e in page.all("div") if e.text.startswith("revision in params.lock.yaml")]

    assert shown() == []
    locked(tmp_path, "hub:datasets/maker/benchmark@main", "hub:models/maker/model@main")
    assert [text.removeprefix("revision in params.lock.yaml").strip() for text in shown()] == [
        "at 0123456789ab, 2 file(s), 2.0 MB"
    ] * 2


def test_models_with_several_samples_are_named(run, tmp_path):
    raw = deepcopy(dict(run.params.raw))
    name = next(name for name in run.params.models if raw["models"][name]["engine"] == "respondent")
    raw["models"][name]["samples"] = 3
    run.params = Params(raw)
    assert describe_run(run.params, results=run.results, data=run.data, root=tmp_path).samples == {name: 3}

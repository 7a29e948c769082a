"""The provenance: locked revisions, and how replies were computed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from known_unknowns.cli import app
from known_unknowns.config import locked_commits
from known_unknowns.config.locked_commits import LockEntry
from known_unknowns.data import lock_file
from known_unknowns.files.pins import FilePin
from known_unknowns.report import shell
from known_unknowns.report.private_texts import PrivateTexts
from known_unknowns.report.provenance import Data, Model, RunDescription, computations, describe_run, usage
from tests.factories import params_from
from tests.paths import ROOT

from .fake_run import FakeRun, make, params
from .pages import parse

COMMIT, NEWER = "0123456789abcdef" * 2 + "01234567", "f" * 40
FILES = {"a.parquet": FilePin(1_500_000, sha256="a" * 64), "README.md": FilePin(500_000, git="b" * 40)}
HUB = {"source": "hub", "repository": "maker/benchmark", "revision": "main"}
TRANSFORMERS = {"engine": "transformers", "source": "maker/model", "revision": "main", "dtype": "float32"}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> FakeRun:
    """A run of one benchmark from the hub and one model of it, with three samples of one respondent."""
    made = make(tmp_path_factory.mktemp("locked"), questions=15, variants_kept=["original"])
    raw = made.params.file.plain()
    raw["benchmarks"]["humblebench"]["data"][made.params.edition] = HUB
    raw["models"]["pocket"] = TRANSFORMERS
    raw["models"]["oracle"]["samples"] = 3
    made.params = params_from(raw)
    return made


def described(run: FakeRun, root: Path, answered_at: str) -> RunDescription:
    """Describe the run of replies at a commit, beside a lock of the data and the model."""
    path = run.results / "replies/pocket/humblebench/engine.json"
    engine = json.loads(path.read_text())
    engine["facts"] |= {"revision": answered_at}
    path.write_text(json.dumps(engine))
    return describe_run(run.params, results=run.results, data=run.data, root=root)


def test_locked_data_and_models_have_commit_and_size(run, tmp_path):
    """Without a lock there is no revision, and none for replies of another commit."""
    assert [data.locked for data in described(run, tmp_path, COMMIT).data] == [None]
    keys = "hub:datasets/maker/benchmark@main", "hub:models/maker/model@main"
    lock_file.write(dict.fromkeys(keys, LockEntry(COMMIT, FILES)), tmp_path / locked_commits.PATH)
    found = described(run, tmp_path, COMMIT)
    locked = "main, locked to 0123456789ab, 2 file(s), 2.0 MB"
    assert [data.locked for data in found.data] == [locked]
    assert {model.name: model.locked for model in found.models if model.locked} == {"pocket": locked}
    assert found.samples == {"oracle": 3}
    found = described(run, tmp_path, NEWER)
    assert [data.locked for data in found.data] == [locked] and not any(model.locked for model in found.models)


def test_check_says_to_which_commit_the_published_files_are_locked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    command = ["check", "humblebench", "--edition", "full"]
    assert "maifoundations/HumbleBench, main, not locked" in CliRunner().invoke(app, command).stderr
    key = "hub:datasets/maifoundations/HumbleBench@main"
    lock_file.write({key: LockEntry(COMMIT, FILES)}, tmp_path / locked_commits.PATH)
    assert "maifoundations/HumbleBench, main, locked to 0123456789ab" in CliRunner().invoke(app, command).stderr


def cells(table):
    return [[cell.text for cell in row.cells] for row in table.rows]


def test_rejected_plans_and_changed_answers():
    """By hand: 1 letter of 10. Wilson with z = 1.959964, z^2 = 3.841459: centre (0.1 + 0.192073) / 1.384146 =
    0.211013, half width 1.959964 * sqrt(0.009 + 0.00960365) / 1.384146 = 0.193137. The difference is that of the plan
    that is still in use."""
    sharing = {
        "asked": "auto",
        "prompts": {"rows": 12},
        "checked_on_pictures": 2,
        "differences": {"packed": 0.3, "rows": 2e-6},
        "fell_back": [{"plan": "packed", "why": "its logits differ"}],
    }
    certificate = {"compared": 10, "flips": 1, "rate": 0.1, "gaps": [0.031]}
    abouts = {"sharing": sharing, "certificate": certificate}, {"sharing": {"asked": "off"}}, {"torch": "2"}
    engines = tuple({"benchmark": "humblebench", "about": about} for about in abouts)
    table = computations(RunDescription(models=(Model("m", {}, engines),)), {"humblebench": "HB"})
    assert cells(table) == [
        ["auto", "rows 12", "2e-06", "packed: its logits differ", "1 of 10"],
        ["off", "–", "not checked", "none", "–"],
    ]
    notes = [cell.note for cell in table.rows[0].cells]
    assert notes[2] == "standard deviations, on 2 images"
    assert notes[4] == "10.0% [1.8, 40.4], Wilson; widest gap 0.031 nats"
    assert computations(RunDescription(models=(Model("m", {}, engines[2:]),)), {}) is None
    engines[1]["about"]["rendering"] = ["transformers 5.17.0, later 5.23.0", "image tokens: 4, later 9"]
    table = computations(RunDescription(models=(Model("m", {}, engines),)), {})
    rendered = ["none", "transformers 5.17.0, later 5.23.0; image tokens: 4, later 9"]
    assert [row[-1] for row in cells(table)] == rendered


def test_columns_without_any_number_are_left_out():
    """Imported replies have no tokens and no cost, and a model that was not run has no turns."""
    models = Model("a", {"engine": "imported"}, ({"turns": 20}, {"turns": 30})), Model("b", {"engine": "imported"})
    table = usage(RunDescription(models=models))
    assert [head.text for head in table.columns] == ["engine", "turns"]
    assert cells(table) == [["imported", "50"], ["imported", "–"]]
    spent = {"replies": 3, "input_tokens": 1234, "output_tokens": None, "usd": 0.25, "priced": 2}
    engines = ({"turns": 4, "reply_seconds": 1.5, "spent": spent}, {"turns": 4, "spent": spent | {"usd": None}})
    table = usage(RunDescription(models=(replace(models[0], engines=engines),)))
    assert cells(table) == [["imported", "8", "6", "2,468", "2", "0.2500"]]
    assert table.rows[0].cells[-1].note == "of 4 replies"


@pytest.mark.parametrize(
    ("redistribute", "images", "sentence"),
    [
        ((True, True), True, "The images in this report may be passed on."),
        ((True, False), True, "The images of B may not be passed on (see the terms)."),
        ((False, False), True, "The images of A and B may not be passed on (see the terms)."),
        ((False, True), False, "This report has no images."),
    ],
)
def test_the_page_says_which_images_may_not_be_passed_on(redistribute, images, sentence):
    data = tuple(Data(name, {}, None, None, {}, each) for name, each in zip("ab", redistribute, strict=True))
    description = RunDescription(data=data, images=images)
    page = shell.render(
        shell.environment(PrivateTexts({})),
        "provenance.html.j2",
        params(),
        file="provenance.html",
        description=description,
        titles={"a": "A", "b": "B"},
        usage=usage(description),
        computations=None,
    )
    text = " ".join(element.text for element in parse(page).all("main"))
    assert sentence in " ".join(text.split())


def test_own_questions_may_not_be_passed_on_and_rendered_ones_may(run, tmp_path):
    own = {"source": "folder", "path": "mine"}
    raw = params("multiple_choice").file.plain()
    raw["benchmarks"]["multiple_choice"]["data"]["pocket"] = own
    for chosen, restricted in ((params_from(raw), ["multiple_choice"]), (params("humblebench"), [])):
        described = describe_run(chosen, results=run.results, data=run.data, root=tmp_path)
        assert described.restricted == restricted

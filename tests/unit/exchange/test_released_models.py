"""Released replies of several models, imported in one process: what is imported again, and errors of one model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from known_unknowns import config, tables
from known_unknowns.benchmark.released import ReleasedCell, ReleasedFile, ReleasedTurn
from known_unknowns.config import Params
from known_unknowns.data.up_to_date import UpToDate
from known_unknowns.errors import DataError
from known_unknowns.exchange import released, released_models
from tests.factories import question
from tests.paths import ROOT

NAME, MODELS = "humblebench", ["Phi-4", "Gemma-3"]
QUESTIONS = [question(str(number)) for number in range(3)]


class Files:
    """Released files of every model. ``asked`` are the models whose replies were read."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def replies(self, raw, files, entry, model, variant, questions):
        self.asked.append(model)
        text = (raw / f"{model}.jsonl").read_text(encoding="utf-8")
        if text == "damaged":
            raise DataError("is damaged", file=raw / f"{model}.jsonl")
        return ReleasedCell({q.id: (ReleasedTurn(text),) for q in questions}, ())


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    tables.write_questions(tmp_path / "questions/original/seed0.parquet", QUESTIONS)
    for model in MODELS:
        (tmp_path / f"{model}.jsonl").write_text(f"reply of {model}", encoding="utf-8")
    found = Files()
    monkeypatch.setattr(released, "interface", lambda benchmark: found)
    fetched = [ReleasedFile(f"{model}.jsonl", "c", "b", f"{model}.jsonl") for model in MODELS]
    monkeypatch.setattr(released, "read_manifest", lambda raw: fetched)
    return found


def run(folder: Path, code: str = "") -> None:
    raw = json.loads(json.dumps(config.load(ROOT / "params.yaml", edition="released").raw))
    raw["editions"]["released"] |= {"benchmarks": [NAME], "models": MODELS}
    for model in MODELS:
        raw["models"][model]["cells"] = {NAME: {"original": [0]}}
    released_models.import_models(
        Params(raw),
        NAME,
        raw=folder,
        questions=folder / "questions",
        out=folder / "replies",
        up_to_date=UpToDate(folder / "made_from.json", code=code),
    )


def texts(folder: Path, model: str) -> list[str]:
    table = tables.read_replies(folder / "replies" / model / NAME / "original/seed0.parquet")
    return [turn.reply.text for turn in table]


def test_only_what_has_changed_is_imported_again(tmp_path, files):
    run(tmp_path)
    assert files.asked == MODELS
    assert [texts(tmp_path, model) for model in MODELS] == [[f"reply of {model}"] * 3 for model in MODELS]
    run(tmp_path)
    assert files.asked == MODELS
    (tmp_path / "replies" / MODELS[1] / NAME / "engine.json").unlink()
    run(tmp_path)
    assert files.asked == [*MODELS, MODELS[1]]
    (tmp_path / "Phi-4.jsonl").write_text("another reply", encoding="utf-8")
    run(tmp_path)
    assert texts(tmp_path, "Phi-4") == ["another reply"] * 3
    files.asked.clear()
    run(tmp_path, code="of another version")
    assert files.asked == MODELS


def test_an_error_names_the_model_and_the_file_and_the_others_are_imported(tmp_path, files):
    (tmp_path / "Phi-4.jsonl").write_text("damaged", encoding="utf-8")
    with pytest.raises(DataError, match=r"1 of 2 models(.|\n)*Phi-4: .*Phi-4\.jsonl.*is damaged"):
        run(tmp_path)
    assert texts(tmp_path, "Gemma-3") == ["reply of Gemma-3"] * 3
    (tmp_path / "Phi-4.jsonl").unlink()
    with pytest.raises(DataError, match=r"No such file.*Phi-4\.jsonl"):
        run(tmp_path)

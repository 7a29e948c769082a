"""Released replies to corrected questions: scores before and after without asking a model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from known_unknowns import config, tables
from known_unknowns.benchmark.released import ReleasedCell, ReleasedTurn
from known_unknowns.config import Params
from known_unknowns.data.released_cells import answered_as
from known_unknowns.exchange import released
from known_unknowns.exchange.released import import_released
from tests.cells import read_replies
from tests.factories import params_from, question
from tests.paths import ROOT

NAME, MODEL = "humblebench", "Phi-4"


@pytest.fixture
def params() -> Params:
    raw = config.load(ROOT / "params.yaml", edition="released").file.plain()
    raw["variants"]["corrected"] = {"corrections": "c.json"}
    raw["variants"]["corrected_cautiously"] = {
        "function": "corrected",
        "corrections": "c.json",
        "protocol": "cautious_prompt",
    }
    names = ["original", "corrected", "corrected_cautiously"]
    raw["editions"]["released"] |= {"benchmarks": [NAME], "models": [MODEL], "variants": {NAME: names}}
    raw["models"][MODEL]["cells"] = {NAME: {"original": [0], "corrected": [0]}}
    return params_from(raw)


def test_corrected_questions_are_answered_as_the_published_ones(params):
    assert answered_as(params, NAME, "original") == "original"
    assert answered_as(params, NAME, "corrected") == "original"
    assert answered_as(params, NAME, "corrected_cautiously") == "corrected_cautiously"  # another prompt: no replies


def test_replies_count_where_the_text_is_the_same(params, tmp_path, monkeypatch):
    published = [question(str(number)) for number in range(4)]
    corrected = [replace(published[0], answer=3), replace(published[1], text="Another text?"), published[3]]
    for variant, table in (("original", published), ("corrected", corrected)):
        tables.write_variant(tmp_path / "variants" / f"{variant}.parquet", {0: table})
    cell = ReleasedCell({q.id: (ReleasedTurn(f"reply {q.id}"),) for q in published}, ())
    asked = []

    class Files:
        def replies(self, raw, files, entry, model, variant, questions):
            asked.append((variant, len(questions)))
            return cell

    monkeypatch.setattr(released, "interface", lambda benchmark: Files())
    monkeypatch.setattr(released, "read_manifest", lambda raw: [])
    import_released(params, MODEL, NAME, raw=tmp_path, variants=tmp_path / "variants", out=tmp_path / "out")
    assert asked == [("original", 4), ("original", 4)]
    found = read_replies(tmp_path / "out/replies.parquet", "corrected")
    assert [(turn.question_id, turn.reply.text, turn.reply.error) for turn in found] == [
        ("0", "reply 0", None), ("1", "", "the correction changes the text that was asked"), ("3", "reply 3", None)
    ]  # fmt: skip

"""Replies that are exported and imported as another model are the same and give the same metrics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from known_unknowns import tables, variants
from known_unknowns.config import Params
from known_unknowns.edition_files import asked as asked_of
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.exchange.export import export
from known_unknowns.exchange.import_predictions import import_predictions
from known_unknowns.records import AnsweredTurn, Cell, Metric, Question, Reply
from known_unknowns.scoring.table import parse
from known_unknowns.tables import Part
from tests.asked_and_measured import measure
from tests.cells import read_replies, write_replies
from tests.factories import params_from, question
from tests.unit.metrics import answered

SAID = ["A", "B", "The answer is (C).", "", "E", "none of the above", "A or B", "Z", "E.", "a car"]


def params(*names: str, **models: dict) -> Params:
    raw = answered.params(names or ("original", "nota_only"), [0]).file.plain()
    return params_from(raw | {"models": models or {"other": {"engine": "respondent", "behaviour": "oracle"}}})


def questions(root: Path) -> dict[str, list[Question]]:
    """Ten questions in two variants, where the workflow has them."""
    original = [
        replace(
            question(str(n), answer=n % 5, group=f"image {n // 2}"),
            extra={"question_id": n, "label": "ABCDE"[n % 5], "image_path": f"{n // 2}.jpg"},
        )
        for n in range(10)
    ]
    found = {"original": original, "nota_only": [variants.nota_only(q) for q in original]}
    for name, varied in found.items():
        tables.write_variant(folder(root) / f"{name}.parquet", {0: varied})
    return found


def folder(root: Path) -> Path:
    return root / "results" / "pocket" / "variants" / "humblebench"


def ours(root: Path, asked: dict[str, list[Question]], chosen: Params) -> list[Metric]:
    """What the workflow makes of the same replies, of a model that it asked."""
    for name, varied in asked.items():
        replies = [
            AnsweredTurn(q.id, 0, "answer", "p", (), q.labels, "k", Reply(text))
            for q, text in zip(varied, SAID, strict=True)
        ]
        write_replies(root / "ours/replies.parquet", name, 0, replies)
    return measured(root, root / "ours/replies.parquet", chosen)


def measured(root: Path, replies: Path, chosen: Params) -> list[Metric]:
    """Scored and measured as the workflow does it."""
    answers = root / "answers.parquet"
    cells = chosen.cells("humblebench")
    parse(folder(root), replies, answers, cells=cells, parsers=chosen.parsers)
    measure(chosen, "m", "humblebench", answers=answers, out=root / "measured.parquet")
    return tables.read_metrics(root / "measured.parquet")


@pytest.mark.parametrize("format", ["humblebench", "csv"])
def test_export_and_import_give_the_same_metrics(tmp_path, format):
    asked, chosen = questions(tmp_path), params()
    expected = ours(tmp_path, asked, chosen)
    suffix = {"vlmevalkit": "tsv", "csv": "csv"}.get(format, "jsonl")
    results = tmp_path / "results/pocket/replies/theirs/humblebench/replies.parquet"
    for name in asked:
        out = tmp_path / f"{name}.{suffix}"
        export(format, asked_of(folder(tmp_path), name, 0), Part(tmp_path / "ours/replies.parquet", Cell(name, 0)), out)
        found = import_predictions(chosen, "theirs", "humblebench", [out], variant=name, root=tmp_path)
        assert {metric.name: metric.value for metric in found.metrics if accuracy(metric)} == {
            metric.name: metric.value for metric in expected if metric.variant == name and accuracy(metric)
        }
        replies = read_replies(results, name)
        assert [row.reply.text for row in replies] == SAID
        assert [row.images for row in replies] == [(q.images[0].sha256,) for q in asked[name]]
    assert [replace(metric, model="m") for metric in measured(tmp_path, results, chosen)] == expected


def accuracy(metric: Metric) -> bool:
    return metric.name.startswith("accuracy") and (metric.parser, metric.category) == ("robust", "Overall")


def plain(tmp_path: Path, said: list[str]) -> Path:
    path = tmp_path / "said.jsonl"
    lines = (json.dumps({"question_id": n, "prediction": text}) + "\n" for n, text in enumerate(said))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_note_has_the_entry_for_params_yaml_and_the_record_the_files(tmp_path):
    questions(tmp_path)
    file = plain(tmp_path, SAID)
    for name in ("nota_only", "original"):
        import_predictions(params(), "theirs", "humblebench", [file], variant=name, root=tmp_path)
    (advice,) = import_predictions(params(), "theirs", "humblebench", [file], variant="original", root=tmp_path).notes
    entry = yaml.safe_load(advice.split("`")[3])
    cells = {"humblebench": {"nota_only": [0], "original": [0]}}
    assert entry == {"theirs": {"engine": "imported", "cells": cells}}
    text = (tmp_path / "results/pocket/replies/theirs/humblebench/engine.json").read_text()
    record = json.loads(text)  # names the files of each cell; the second import replaced the first
    assert (record["entry"], record["turns"]) == ({"engine": "imported"}, 20) and str(tmp_path) not in text
    files = {cell: [each["file"] for each in found] for cell, found in record["facts"].items()}
    assert files == {"nota_only/seed0": ["said.jsonl"], "original/seed0": ["said.jsonl"]}
    listed = params(m={"engine": "imported", "published": "Qwen2.5-VL", "cells": cells})
    for name, notes in (("nota_only", 1), ("original", 0)):
        found = import_predictions(listed, "m", "humblebench", [file], variant=name, root=tmp_path)
        assert len(found.notes) == notes


@pytest.mark.parametrize(
    ("model", "variant", "reason"),
    [
        ("asked", "original", "'asked' has another engine"),
        ("../evil", "original", "not a valid name"),
        ("theirs", "noise", "does not ask humblebench in the variant 'noise'"),
    ],
)
def test_invalid_imports(tmp_path, model, variant, reason):
    questions(tmp_path)
    chosen = params(asked={"engine": "respondent", "behaviour": "oracle"})
    with pytest.raises(ConfigError, match=reason):
        import_predictions(chosen, model, "humblebench", [plain(tmp_path, SAID)], variant=variant, root=tmp_path)
    assert not (tmp_path / "results/pocket/replies").exists()


def test_replies_of_inference_are_not_overwritten(tmp_path):
    questions(tmp_path)
    path = tmp_path / "results/pocket/replies/theirs/humblebench/engine.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"entry": {"engine": "transformers"}}), encoding="utf-8")
    with pytest.raises(DataError, match="choose another name"):
        import_predictions(
            params(), "theirs", "humblebench", [plain(tmp_path, SAID)], variant="original", root=tmp_path
        )


def test_questions_must_exist_and_all_be_answered(tmp_path):
    with pytest.raises(DataError, match="make them with  make run EDITION=pocket ARGS=results/pocket/variants"):
        import_predictions(
            params(), "theirs", "humblebench", [plain(tmp_path, SAID)], variant="original", root=tmp_path
        )
    questions(tmp_path)
    with pytest.raises(DataError, match="1 of the 10 questions"):
        import_predictions(
            params(), "theirs", "humblebench", [plain(tmp_path, SAID[:9])], variant="original", root=tmp_path
        )
    assert not (tmp_path / "results/pocket/replies").exists()


def test_with_partial_the_replies_that_a_file_lacks_are_failed(tmp_path):
    """A model of the workflow has a reply to each question, so that its numbers are comparable with those of others."""
    asked = questions(tmp_path)["original"]
    found = import_predictions(
        params("original"),
        "theirs",
        "humblebench",
        [plain(tmp_path, ["A"] * 9)],
        variant="original",
        partial=True,
        root=tmp_path,
    )
    overall = {m.name: m.value for m in found.metrics if (m.parser, m.category) == ("robust", "Overall")}
    assert (found.n, overall["share_failed"], overall["accuracy"]) == (10, 1 / 10, 2 / 10)  # A is right in 0 and 5
    replies = read_replies(tmp_path / "results/pocket/replies/theirs/humblebench/replies.parquet", "original")
    assert [row.question_id for row in replies if row.reply.error] == ["9"] and len(replies) == len(asked)


def test_refused_questions_need_a_forced_choice(tmp_path):
    refused = question(
        "KnowVisQA-1", benchmark="mmsap", extra={"subset": "KnowVisQA", "question_id": "1", "image_path": "a.png"}
    )
    tables.write_variant(tmp_path / "results/pocket/variants/mmsap/original.parquet", {0: [refused]})
    raw = params().file.plain()
    chosen = params_from(raw | {"benchmarks": {"mmsap": {"variants": ["original"]}}})
    file = tmp_path / "said.csv"
    for forced, fails in (("", True), ("KnowVisQA-1,forced,A\n", False)):
        file.write_text(f"question_id,step,prediction\nKnowVisQA-1,answer,E\n{forced}")
        if fails:
            with pytest.raises(DataError, match="1 questions were refused and not asked again"):
                import_predictions(chosen, "theirs", "mmsap", [file], variant="original", root=tmp_path)
        else:
            found = import_predictions(chosen, "theirs", "mmsap", [file], variant="original", root=tmp_path)
            assert found.n == 1


def test_a_table_of_questions_made_with_another_limit_is_refused(tmp_path):
    """Otherwise the questions that the table lacks would count as left out of the variant."""
    asked, file = questions(tmp_path)["original"], plain(tmp_path, SAID)
    more = [replace(asked[0], id=str(n), group=f"image {n}") for n in (10, 11)]
    table = tmp_path / "data/pocket/questions/humblebench/questions.parquet"
    table.parent.mkdir(parents=True)
    tables.write_questions(table, [*asked, *more])
    with pytest.raises(
        DataError, match=r"has 10 questions, and with no limit the edition pocket asks 12: .* make run EDITION=pocket"
    ):
        import_predictions(params(), "theirs", "humblebench", [file], variant="original", root=tmp_path)
    assert not (tmp_path / "results/pocket/replies").exists()
    tables.write_questions(table, asked)
    assert import_predictions(params(), "theirs", "humblebench", [file], variant="original", root=tmp_path).n == 10


def test_samples_are_imported_and_measured(tmp_path):
    """The second sample has the replies in reverse order."""
    asked = questions(tmp_path)
    path = tmp_path / "said.jsonl"
    rows = [(n, sample, said[n]) for sample, said in enumerate([SAID, SAID[::-1]]) for n in range(10)]
    lines = (json.dumps({"question_id": n, "sample": sample, "prediction": text}) + "\n" for n, sample, text in rows)
    path.write_text("".join(lines), encoding="utf-8")
    found = import_predictions(params(), "m", "humblebench", [path], variant="original", root=tmp_path)
    assert (found.n, found.samples) == (10, 2)
    (advice,) = found.notes
    entry = yaml.safe_load(advice.split("`")[3])["m"]
    assert entry == {"engine": "imported", "cells": {"humblebench": {"original": [0]}}, "samples": 2}
    chosen = params(m=entry)
    assert chosen.cells("humblebench", "m") == [Cell("original", 0, 0), Cell("original", 0, 1)]
    replies = tmp_path / "results/pocket/replies/m/humblebench/replies.parquet"
    assert tables.cells_in(replies) == [Cell("original", 0, 0), Cell("original", 0, 1)]
    answers = tmp_path / "answers.parquet"
    cells = chosen.cells("humblebench", "m")
    parse(folder(tmp_path), replies, answers, cells=cells, parsers=chosen.parsers)
    measure(chosen, "m", "humblebench", answers=answers, out=tmp_path / "measured.parquet")
    measured = [m for m in tables.read_metrics(tmp_path / "measured.parquet") if m.parser != "judge"]
    assert [replace(m, model="m") for m in found.metrics] == measured
    assert len(asked["original"]) == 10
    with pytest.raises(DataError, match="as many samples of each variant and seed"):
        single = plain(tmp_path, SAID)
        import_predictions(chosen, "m", "humblebench", [single], variant="nota_only", root=tmp_path)

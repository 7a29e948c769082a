"""The question browser shows texts of data and models as they are, without keys; no text of the project is private."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from known_unknowns.records import Cell, Reply
from known_unknowns.report.browser import build
from known_unknowns.report.browser.shards import read
from known_unknowns.scoring.table import parse
from tests.cells import read_questions, read_replies, write_questions, write_replies
from tests.factories import params_from
from tests.unit.report.planted import KEY, PLANTED, TEXT, set_environment

from .tiny_run import BENCHMARK, VARIANTS, make

PATHS = "\U0001f600 /usr/bin/python and /opt/conda/bin/python"
QUESTION = f"Which is {PATHS}? Ask http://10.20.30.40:8000/v1."


def test_texts_of_data_and_models_are_as_written_and_others_not_private(tmp_path, monkeypatch):
    """Keys stand in a question and a reply; everything private in an error, the entries and the facts."""
    root = tmp_path / "project"
    set_environment(monkeypatch, tmp_path, root)
    run = make(root)
    questions = read_questions(run.folder / "variants" / BENCHMARK, "original")
    extra = {"file": "/data/mine/a.png"}
    questions[0] = replace(questions[0], id="/data/mine/q1", text=f"{QUESTION} {KEY}", extra=extra)
    write_questions(run.folder / "variants" / BENCHMARK, "original", 0, questions)
    for model in run.params.models:
        of_model = {kind: run.folder / kind / model / BENCHMARK / f"{kind}.parquet" for kind in ("replies", "answers")}
        replies, answers = of_model.values()
        turns = read_replies(replies, "original")
        turns[0] = replace(turns[0], question_id="/data/mine/q1", text=f"{QUESTION} {KEY}")
        turns[0] = replace(turns[0], reply=Reply("", error=TEXT))
        turns[1] = replace(turns[1], reply=Reply(f"{PATHS} {KEY}: the answer is B."))
        write_replies(replies, "original", 0, turns)
        cells = [Cell(variant, 0) for variant in VARIANTS]
        parse(run.folder / "variants" / BENCHMARK, replies, answers, cells=cells, parsers=run.params.parsers)
        engine = {"entry": {"source": "/srv/secret/model"}, "facts": {"x": TEXT}, "about": {TEXT: str(root)}}
        replies.with_name("engine.json").write_text(json.dumps(engine))
    raw = run.params.file.plain()
    raw["benchmarks"][BENCHMARK]["data"]["pocket"] = {"source": "folder", "path": "/data/outside/mine"}
    build(params_from(raw), results=run.folder, data=run.folder, out=run.page, root=root)
    contents = [read(path) for path in run.shards.glob("*.js")]

    for text in (QUESTION, "/data/mine/q1", "/data/mine/a.png"):
        assert any(text.encode() in content for content in contents), text
    for content in [run.page.read_bytes(), *contents]:
        rest = content.replace(QUESTION.encode(), b"")
        assert [text for text in [*PLANTED, str(tmp_path)] if text.encode() in rest] == []
    assert sum(b"[private address]" in content for content in contents) >= 2

    with_paths = [json.loads(content) for content in contents if b"the answer is B." in content]
    for part in with_paths:
        scores, text = part["scores"], f"{PATHS} [key]: the answer is B."
        assert text in part["reply"]
        first = scores["counts"][0]
        spans = list(zip(scores["start"], scores["end"], strict=True))[first : first + scores["counts"][1]]
        units = text.encode("utf-16-le")
        passages = {units[2 * start : 2 * end].decode("utf-16-le") for start, end in spans if start >= 0}
        assert passages == {"B"}, Path(part["reply"][1])
    assert with_paths

"""The question browser has no private text, and shows the passages of the texts that it has."""

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
from tests.unit.report.planted import PLANTED, TEXT, set_environment

from .tiny_run import BENCHMARK, VARIANTS, make

LLAVA = "\U0001f600 /srv/secret/llava says: the answer is B."


def test_no_shard_has_a_private_text(tmp_path, monkeypatch):
    """Planted in the question's text and other fields, a prompt, a reply, an error, the entries and the facts."""
    root = tmp_path / "project"
    set_environment(monkeypatch, tmp_path, root)
    run = make(root)
    questions = read_questions(run.folder / "variants" / BENCHMARK, "original")
    questions[0] = replace(questions[0], id="/srv/secret/q1", text=TEXT, extra={"file": "/data/outside/a.png"})
    write_questions(run.folder / "variants" / BENCHMARK, "original", 0, questions)
    for model in run.params.models:
        replies, scores = (run.folder / kind / model / BENCHMARK / f"{kind}.parquet" for kind in ("replies", "scores"))
        turns = read_replies(replies, "original")
        turns[0] = replace(turns[0], question_id="/srv/secret/q1", text=TEXT)
        turns[0] = replace(turns[0], reply=Reply(TEXT) if model == "pocket" else Reply("", error=TEXT))
        turns[1] = replace(turns[1], reply=Reply(LLAVA))
        write_replies(replies, "original", 0, turns)
        cells = [Cell(variant, 0) for variant in VARIANTS]
        parse(run.folder / "variants" / BENCHMARK, replies, scores, cells=cells, parsers=run.params.parsers)
        engine = {"entry": {"source": "/srv/secret/model"}, "facts": {"x": TEXT}, "about": {TEXT: str(root)}}
        replies.with_name("engine.json").write_text(json.dumps(engine))
    raw = run.params.file.plain()
    raw["benchmarks"][BENCHMARK]["data"]["pocket"] = {"source": "folder", "path": "/data/outside/mine"}
    build(params_from(raw), results=run.folder, data=run.folder, out=run.page, root=root)
    shards = {path.name: read(path) for path in run.shards.glob("*.js")}
    for name, content in {run.page.name: run.page.read_bytes(), **shards}.items():
        assert [text for text in [*PLANTED, str(tmp_path)] if text.encode() in content] == [], name
    assert sum(b"[private address]" in content for content in shards.values()) >= 4

    with_llava = [json.loads(content) for content in shards.values() if b"llava says" in content]
    for part in with_llava:
        scores, text = part["scores"], "\U0001f600 llava says: the answer is B."
        assert text in part["reply"]
        first = scores["counts"][0]
        spans = list(zip(scores["start"], scores["end"], strict=True))[first : first + scores["counts"][1]]
        units = text.encode("utf-16-le")
        passages = {units[2 * start : 2 * end].decode("utf-16-le") for start, end in spans if start >= 0}
        assert passages == {"B"}, Path(part["reply"][1])
    assert with_llava

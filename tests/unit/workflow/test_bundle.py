"""The bundle for static hosts: its files, what is not in it, and its results in the hub's form."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.config import Params
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.metrics.summary import COLUMNS
from known_unknowns.records import Metric
from known_unknowns.report.browser import shards
from known_unknowns.workflow import configuration
from known_unknowns.workflow.bundle import PrivateTexts, bundle
from tests.paths import ROOT

KEY = "sk-not-a-real-key-0123456789"
PHOTO = "data:image/png;base64,iVBORw0KGgo="
PRIVATE = ["/srv/checkpoints/llava", "http://10.1.2.3:8000/v1", "10.1.2.3:8000", KEY]


def params(**edition: Any) -> Params:
    """The pocket edition with a model behind a private address and one in a local folder."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    served = {"engine": "openai", "source": "m", "base_url": "http://10.1.2.3:8000/v1", "key_env": "MY_KEY"}
    local = {"engine": "transformers", "source": "/srv/checkpoints/llava", "dtype": "float32", "revision": "0" * 40}
    raw["models"] |= {"served": served, "local": local}
    raw["editions"]["pocket"] |= {"models": ["oracle", "served", "local"]} | edition
    return configuration.check(raw | {"edition": "pocket"})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MY_KEY", KEY)
    root = tmp_path / "project"
    results = root / "results/pocket"
    page = f'<p title="{root}/x">/srv/checkpoints/llava at http://10.1.2.3:8000/v1 with {KEY}</p><img src="{PHOTO}">'
    files = {
        "report/index.html": page,
        "report/humblebench.html": json.dumps({"host": "10.1.2.3:8000"}),
        "report/figures/a.svg": "<svg/>",
        "report/photo.png": "photo",
        "headline.csv": "model\n",
        "comparison.parquet": "PAR1",
        "metrics/oracle/humblebench/metrics.parquet": "PAR1",
        "metrics/removed/humblebench/metrics.parquet": "PAR1",  # of a model that is no longer in the edition
        "replies/served/humblebench/engine.json": json.dumps({"facts": {"endpoint": "http://10.1.2.3:8000/v1"}}),
    }
    for name, text in files.items():
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(text, encoding="utf-8")
    common = {"benchmark": "humblebench", "parser": "robust", "low": 0.25, "high": 0.875, "n": 20}
    numbers = [
        common
        | {
            "number": name,
            "metric": name,
            "label": name,
            "variant": variant,
            "value": value,
            "method": "Wilson",
            "caveat": "c",
        }
        for name, variant, value in (("dual_accuracy", "original+nota_only", 0.5), ("accuracy", "original", 0.75))
    ]
    with (results / "leaderboard.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows({"model": m, **number} for m in ("local", "oracle", "served") for number in numbers)
    for model in ("local", "served"):
        of_model = (model, "humblebench", "original+nota_only", 0, "robust", "Overall", "dual_accuracy")
        metric = Metric(*of_model, 0.5, 0.25, 0.875, 20, "modified Wilson")
        tables.write_metrics(results / f"metrics/{model}/humblebench/metrics.parquet", [metric])
    return root


def contents(folder: Path) -> Mapping[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_files(project):
    written = bundle(params(), project / "out", root=project)
    files = contents(project / "out")
    exchanged = [name for name in files if name.startswith("every_eval_ever/")]
    assert set(files) == {
        *(
            ".nojekyll",
            "bundle.json",
            "index.html",
            "humblebench.html",
            "figures/a.svg",
            "photo.png",
            "leaderboard.csv",
        ),
        *("tables/headline.csv", "tables/comparison.parquet"),
        *(f"tables/metrics/{model}/humblebench/metrics.parquet" for model in ("local", "oracle", "served")),
        *exchanged,
    }
    assert sorted(name.rpartition("/")[0] for name in exchanged) == [  # scripted respondents are no models
        "every_eval_ever/data/humblebench/endpoint/m",
        "every_eval_ever/data/humblebench/local/local",
    ]
    assert (written.files, written.left_out) == (len(files) - 1, {})
    rows = list(csv.DictReader(files["leaderboard.csv"].decode().splitlines()))
    assert [(row["model"], row["baseline"]) for row in rows[::2]] == [
        ("local", "false"),
        ("oracle", "true"),
        ("served", "false"),
    ]
    assert [rows[1][name] for name in ("number", "value", "low", "high", "n")] == [
        *("accuracy", "0.75", "0.25", "0.875", "20")
    ]


def test_nothing_private_is_in_it(project):
    bundle(params(), project / "out", root=project)
    files = contents(project / "out")
    for private in [*PRIVATE, str(project)]:
        assert [name for name, content in files.items() if private.encode() in content] == []
    assert b'<p title="./x">llava at (private address) with (key)</p>' in files["index.html"]


def test_the_same_results_give_the_same_bytes(project, tmp_path):
    bundle(params(), project / "out", root=project)
    first = contents(project / "out")
    bundle(params(), project / "out", root=project)  # in the place of the first
    assert contents(project / "out") == first
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(project, elsewhere)
    page = elsewhere / "results/pocket/report/index.html"
    page.write_text(page.read_text(encoding="utf-8").replace(str(project), str(elsewhere)), encoding="utf-8")
    bundle(params(), elsewhere / "other", root=elsewhere)
    assert contents(elsewhere / "other") == first


def test_the_numbers_are_in_the_schema_of_every_eval_ever(project):
    """tests/peers validates such files with the published schema."""
    bundle(params(), project / "out", root=project)
    (path,) = (project / "out/every_eval_ever/data/humblebench/local/local").iterdir()
    log = json.loads(path.read_text(encoding="utf-8"))
    (result,) = log["evaluation_results"]
    assert result["evaluation_result_id"] == "original+nota_only/0/robust/dual_accuracy"
    assert result["score_details"]["score"] == 0.5 and "detailed_evaluation_results" not in log
    assert "rendered questions" in result["source_data"]["additional_details"]["note"]


def test_the_passages_of_replies_move_with_replaced_texts(project):
    """Three questions: two turns, none, one. By hand: the private path has 22 letters and becomes "llava" (5), so a
    place behind it moves by 17; an emoji counts as two code units; a passage inside of the path is all of "llava"."""
    replies = [
        "no path: A",  # not changed
        "\U0001f600 /srv/checkpoints/llava says B",  # B is at 2 + 1 + 22 + 6 = 31, then at 14
        "B, from /srv/checkpoints/llava or /srv/checkpoints/llava",
    ]
    part = {
        "turns": [2, 0, 1],
        "reply": replies,
        "prompt": [0, 0, 1],
        "scores": {
            "counts": [2, 0, 4],
            "turn": [0, 1, 0, 0, 0, 0],
            "start": [9, 31, 0, 13, -1, 34],  # 13 to 24: "checkpoints"
            "end": [10, 32, 1, 24, -1, 56],
        },
    }
    report = project / "results/pocket/report"
    name = shards.ShardFolder(report / "questions").write_json(part)
    (report / "questions.html").write_text(f'<p data-index="{name}">', encoding="utf-8")
    bundle(params(), project / "out", root=project)
    (written,) = (project / "out/questions").glob("*.js")
    found = json.loads(shards.read(written))
    assert found["reply"] == ["no path: A", "\U0001f600 llava says B", "B, from llava or llava"]
    assert found["scores"]["start"] == [9, 14, 0, 8, -1, 17]
    assert found["scores"]["end"] == [10, 15, 1, 13, -1, 22]
    assert {key: found[key] for key in ("turns", "prompt")} == {"turns": [2, 0, 1], "prompt": [0, 0, 1]}
    assert written.stem in (project / "out/questions.html").read_text(encoding="utf-8")


def test_images_that_may_not_be_redistributed_are_left_out(project):
    published = params(data="full", benchmarks=["humblebench"])
    report = project / "results/pocket/report"
    (report / "questions").mkdir()
    for name in ("questions.html", "questions/0123456789abcdef.js"):
        (report / name).write_text("a question")
    written = bundle(published, project / "out", root=project)
    assert set(written.left_out) == {"humblebench"}
    files = contents(project / "out")
    assert not {"photo.png", "questions.html", "questions/0123456789abcdef.js"} & files.keys()
    assert PHOTO.encode() not in files["index.html"] and b'<img src="data:image/gif' in files["index.html"]
    (report / "questions/0123456789abcdef.js").unlink()
    written = bundle(published, project / "out", redistribute=["humblebench"], root=project)
    assert written.left_out == {}
    assert {"photo.png", "questions.html"} <= contents(project / "out").keys()


def test_a_shard_with_a_private_text_is_written_again(project):
    from known_unknowns.report.browser.shards import ShardFolder, read

    folder = project / "results/pocket/report/questions"
    writer = ShardFolder(folder)
    kept = writer.write_json(["nothing private"])
    private = writer.write_json({"error": "10.1.2.3:8000 refused"})
    index = writer.write_json({"shards": [kept, private]})
    (folder.parent / "questions.html").write_text(f"<script>start('{index}')</script>", encoding="utf-8")
    bundle(params(), project / "out", root=project)
    out = project / "out/questions"
    (listed,) = (path for path in out.glob("*.js") if b"shards" in read(path))
    assert listed.stem in (project / "out/questions.html").read_text(encoding="utf-8")
    names = json.loads(read(listed))["shards"]
    assert names[0] == kept and names[1] != private
    assert json.loads(read(out / f"{names[1]}.js")) == {"error": "(private address) refused"}
    assert len(list(out.iterdir())) == 3


def test_mistakes_say_what_to_do(project):
    (project / "taken").mkdir()
    (project / "taken/file").write_text("mine")
    with pytest.raises(ConfigError, match="is no bundle; name another folder"):
        bundle(params(), project / "taken", root=project)
    with pytest.raises(ConfigError, match="did you mean 'mmsap'"):
        bundle(params(), project / "out", redistribute=["mmsab"], root=project)
    shutil.rmtree(project / "results/pocket/report")
    with pytest.raises(DataError, match="make run EDITION=pocket"):
        bundle(params(), project / "out", root=project)


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        ("http://gpu1:8000/v1", "see http://gpu1:8000/v1, gpu1:8000", "see (private address), (private address)"),
        ("https://me:pass@host.example.org/v1", "at https://me:pass@host.example.org/v1", "at (private address)"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("C:\\models\\x", '{"source": "C:\\\\models\\\\x"}', '{"source": "x"}'),
        ("~/models/x & y", "~/models/x &amp; y", "x &amp; y"),
        ("/no_think", "write /no_think", "write /no_think"),
        ("sqlite:////var/lib/runs.db", "/var/lib/runs.db", "runs.db"),
        ("http://data/x", "http://data/x: data", "(private address): data"),
    ],
)
def test_private_texts(tmp_path, value, text, shown):
    raw = {"models": {"m": {"value": value}}}
    assert PrivateTexts.of(Params(raw), [], tmp_path).replaced(text) == shown

"""Results in the schema of Every Eval Ever, validated with the schemas and by the command of its own package.

The package asks for Python 3.12, but its validation runs with 3.11 and needs only packages that are in the lock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

import jsonschema
import pytest
import yaml

from known_unknowns import tables
from known_unknowns.benchmark.registry import pocket_of
from known_unknowns.config import Params
from known_unknowns.data.questions import normalise
from known_unknowns.data.variant_tables import vary
from known_unknowns.edition_files import EditionFiles
from known_unknowns.exchange import every_eval_ever
from known_unknowns.inference.asking import Asking
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.model_runs.model_run import cells_of
from known_unknowns.records import OVERALL, Reply
from known_unknowns.scoring.table import parse
from known_unknowns.workflow import configuration
from tests.asked_and_measured import measure
from tests.paths import ROOT

SCHEMAS = Path(sys.prefix) / "peers/every_eval_ever/schemas"
pytestmark = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason=f"every-eval-ever is not in {SCHEMAS.parents[1]}: `make test` installs it"
)
MODEL = "small"
DECODING = {"do_sample": False, "max_new_tokens": 8, "top_k": None}
VARIANTS = {"humblebench": ["original", "nota_only", "noise"], "mmsap": ["original"]}


class Replies:
    """An engine that gives a letter, a text without an answer, a failure and the refusal in turn."""

    scripted, notes = False, None
    facts = MappingProxyType({"engine": "x"})
    about = MappingProxyType({})

    def __init__(self) -> None:
        self._asked = 0

    def answer(self, turns, *, folder):
        texts = [
            Reply("A", input_tokens=9, output_tokens=1),
            Reply("Hm. \u00e4\n"),
            Reply("", error="timeout"),
            Reply("E"),
        ]
        for place in range(len(turns)):
            self._asked += 1
            yield [(place, texts[self._asked % 4])]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Params]:
    """A finished edition of two benchmarks, one with dialogues, and a model of the hub."""
    root = tmp_path_factory.mktemp("project")
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["models"][MODEL] = {
        "engine": "transformers",
        "source": "someone/small-vl",
        "dtype": "float32",
        "revision": "main",
    }
    mine = {"data": "pocket", "benchmarks": list(VARIANTS), "models": [MODEL], "seeds": [0], "variants": VARIANTS}
    raw["editions"]["mine"] = mine
    params = configuration.check(raw | {"edition": "mine", "parsers": ["official", "robust"]})
    files = EditionFiles.of(params, root)
    for benchmark, names in VARIANTS.items():
        rendered = pocket_of(benchmark)
        assert rendered is not None
        images = {"mmsap": 24}.get(benchmark, 4)
        rendered.render(files.raw(benchmark), seed=1, images=images, questions_per_image=2)
        normalise(benchmark, files.raw(benchmark), files.questions(benchmark), settings=params.data(benchmark))
        folder = files.variants(benchmark)
        for name in names:
            vary(params.variant(name), files.question_table(benchmark), folder / f"{name}.parquet", seeds=[0])
        cells = cells_of(Asking.of(params, MODEL, benchmark), benchmark, folder)
        with Journal(root / "journal.jsonl") as journal:
            outcome = run(cells, Replies(), journal, folder=files.questions(benchmark))
        replies, answers = files.replies(MODEL, benchmark), files.answers(MODEL, benchmark)
        tables.write_replies(replies, outcome.replies)
        files.engine(MODEL, benchmark).write_text(json.dumps({"facts": {"decoding": DECODING}}))
        parse(folder, replies, answers, cells=list(cells), parsers=["official", "robust"])
        out = files.metrics(MODEL, benchmark)
        measure(params, MODEL, benchmark, answers=answers, out=out)
    return root, params


def schema(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads((SCHEMAS / name).read_text(encoding="utf-8")))


@pytest.mark.parametrize("benchmark", VARIANTS)
def test_both_files_are_valid_and_belong_together(benchmark, project, tmp_path):
    root, params = project
    aggregate, samples = every_eval_ever.write(params, MODEL, benchmark, tmp_path, root=root)
    log = json.loads(aggregate.read_text(encoding="utf-8"))
    lines = samples.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    schema("eval.schema.json").validate(log)
    for row in rows:
        schema("instance_level_eval.schema.json").validate(row)
    assert aggregate.parent == tmp_path / f"data/{benchmark}/someone/small-vl"
    assert samples.name == f"{aggregate.stem}_samples.jsonl"
    found = log["detailed_evaluation_results"]
    assert found["file_path"] == samples.relative_to(tmp_path).as_posix() and found["total_rows"] == len(rows)
    assert found["checksum"] == sha256(samples.read_bytes()).hexdigest()
    assert {(row["evaluation_id"], row["model_id"]) for row in rows} == {(log["evaluation_id"], "someone/small-vl")}
    assert log["evaluation_results"][0]["generation_config"] == {
        "generation_args": {"temperature": 0.0, "max_tokens": 8}
    }
    known = Counter(result["evaluation_result_id"] for result in log["evaluation_results"])
    assert set(known.values()) == {1} and {row["evaluation_result_id"] for row in rows} <= known.keys()


def test_the_package_itself_accepts_the_files(project, tmp_path):
    root, params = project
    for benchmark in VARIANTS:
        every_eval_ever.write(params, MODEL, benchmark, tmp_path, root=root)
    command = [sys.executable, "-m", "every_eval_ever", "validate", "data/*/*/*/*.json*"]
    environment = os.environ | {"PYTHONPATH": str(SCHEMAS.parents[1])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr  # 2 with warnings
    assert "4 passed, 0 warning-only, 0 failed" in done.stdout


def test_the_numbers_are_those_of_the_tables_and_of_the_samples(project, tmp_path):
    root, params = project
    aggregate, samples = every_eval_ever.write(params, MODEL, "humblebench", tmp_path, root=root)
    results = {r["evaluation_result_id"]: r for r in json.loads(aggregate.read_text())["evaluation_results"]}
    metrics = tables.read_metrics(EditionFiles.of(params, root).metrics(MODEL, "humblebench"))
    of_table = {f"{m.variant}/{m.seed}/{m.sample}/{m.parser}/{m.name}": m for m in metrics if m.category == OVERALL}
    for name, result in results.items():
        metric, score = of_table[name], result["score_details"]
        assert score["score"] == metric.value and score["uncertainty"]["num_samples"] == metric.n
        assert score["uncertainty"]["confidence_interval"]["lower"] == metric.low
        assert result["metric_config"]["lower_is_better"] == metric.name.startswith("share_")
    assert "original+nota_only/0/0/robust/dual_accuracy" in results
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    for variant in ("original", "nota_only"):
        name = f"{variant}/0/0/robust/accuracy"
        scores = [row["evaluation"]["score"] for row in rows if row["evaluation_result_id"] == name]
        assert sum(scores) / len(scores) == pytest.approx(results[name]["score_details"]["score"])
    # noise has no accuracy, and the schema requires a row to say whether it is correct
    assert {row["metadata"]["variant"] for row in rows} == {"original", "nota_only"}
    assert "noise/0/0/robust/accuracy" not in results and any(name.startswith("noise/") for name in results)
    outcomes = Counter(row["metadata"]["outcome"] for row in rows)
    assert {"answered", "refused", "unparsed", "failed"} <= outcomes.keys()
    assert {row["error"] for row in rows if row["metadata"]["outcome"] == "failed"} == {"timeout"}
    removed = [row for row in rows if row["metadata"]["variant"] == "nota_only"]
    assert {tuple(row["input"]["reference"]) for row in removed} == {("E",)}
    assert {len(row["input"]["choices"]) for row in removed} == {4, 5}  # 5 where E is right as published


def test_a_dialogue_has_all_messages(project, tmp_path):
    root, params = project
    _, samples = every_eval_ever.write(params, MODEL, "mmsap", tmp_path, root=root)
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    dialogues = [row for row in rows if row["interaction_type"] == "multi_turn"]
    assert dialogues and len(dialogues) < len(rows)
    for row in dialogues:
        assert [message["role"] for message in row["messages"]] == ["user", "assistant"] * row["evaluation"][
            "num_turns"
        ]
        place = row["answer_attribution"][0]["turn_idx"]
        assert row["answer_attribution"][0]["source"] == f"messages[{place}].content" and place % 2 == 1


def test_the_same_results_give_the_same_files(project, tmp_path):
    root, params = project
    first = every_eval_ever.write(params, MODEL, "humblebench", tmp_path / "a", root=root)
    second = every_eval_ever.write(params, MODEL, "humblebench", tmp_path / "b", root=root)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    aggregate, samples = first
    found = json.loads(aggregate.read_text(encoding="utf-8"))["detailed_evaluation_results"]
    assert found["checksum"] == sha256(samples.read_bytes()).hexdigest()

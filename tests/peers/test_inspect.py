"""Our questions as tasks of inspect_ai, answered by its mock model: its log gives the numbers of `evaluate`.

inspect_ai is not among the packages of ``make setup``, so it runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import known_unknowns
from known_unknowns import tables
from known_unknowns.data.questions import normalise
from known_unknowns.exchange.import_predictions import import_predictions
from known_unknowns.exchange.rescore import rescore
from known_unknowns.records import OVERALL, Metric
from known_unknowns.workflow import configuration
from known_unknowns_pocket.editions import HUMBLEBENCH
from tests.cells import read_replies
from tests.paths import ROOT

PEERS = Path(sys.prefix) / "peers"
pytestmark = pytest.mark.skipif(
    not (PEERS / "inspect_ai").is_dir(), reason=f"inspect_ai is not in {PEERS}: `make test` installs it"
)

ANSWER = '''
REPLIES = ["A", "The answer is B.", "E", "E. None of the above", "I cannot tell.", "C or D", "", "<think>A?</think>C"]

def answer(prompt, images):
    """A reply that depends on every character and on the pixels, which is an exception now and then."""
    means = [int(value) for image in images for value in np.asarray(image).mean(axis=(0, 1))]
    number = sum(map(ord, prompt)) + sum(means)
    if number % 11 == 0:
        raise RuntimeError("no reply")
    return REPLIES[number % len(REPLIES)]
'''
ASK = """
import base64, io, json, sys
import numpy as np
from PIL import Image
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from known_unknowns_inspect import TASKS

arguments = json.loads(sys.argv[1])

def output(messages, tools, choice, config):
    (message,) = messages
    files = [base64.b64decode(part.image.partition("base64,")[2]) for part in message.content if part.type == "image"]
    prompt = "\\n".join(part.text for part in message.content if part.type == "text")
    text = answer(prompt, [Image.open(io.BytesIO(file)) for file in files])
    usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return ModelOutput.from_content("mockllm/model", text).model_copy(update={"usage": usage})

model = get_model("mockllm/model", custom_outputs=output)
(log,) = eval(
    TASKS[arguments["benchmark"]](**arguments["task"]), model=model, log_dir=arguments["logs"], display="none",
    fail_on_error=False, **arguments["settings"],
)
accuracies = {score.name: score.metrics["accuracy"].value for score in log.results.scores}
print(json.dumps({"log": log.location, "accuracies": accuracies, "task": log.eval.task_registry_name}))
"""


def ask(benchmark: str, folder: Path, *, settings: dict[str, Any] | None = None, **task: Any) -> dict[str, Any]:
    """Run a task in another process; the path of its log, and the accuracies of its scorers."""
    arguments = {"benchmark": benchmark, "task": task, "logs": str(folder / "logs"), "settings": settings or {}}
    done = in_process(["-c", ANSWER + ASK, json.dumps(arguments)], folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def in_process(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(PEERS), "PYTHONUTF8": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def questions(tmp_path_factory) -> Path:
    """Thirty questions on six scenes."""
    folder = tmp_path_factory.mktemp("rendered")
    pocket = HUMBLEBENCH
    pocket.render(folder / "raw", seed=1, images=6, questions_per_image=5)
    entry = configuration.load(ROOT / "params.yaml", edition="pocket").data("humblebench")
    normalise("humblebench", folder / "raw", folder / "questions", settings=entry)
    return folder / "questions"


def numbers(metrics: list[Metric] | tuple[Metric, ...], variant: str) -> dict[tuple[str, str, str], tuple]:
    return {
        (m.parser, m.category, m.name): (m.value, m.low, m.high, m.n, m.denominator)
        for m in metrics
        if m.variant == variant and m.seed is not None
    }


@pytest.mark.parametrize("variant", ["original", "nota_only"])
def test_the_log_gives_the_numbers_of_evaluate(tmp_path, questions, variant):
    found = ask("humblebench", tmp_path, variant=variant, data=str(questions), limit=20)
    assert found["task"] == "known_unknowns/humblebench"
    scope: dict[str, Any] = {"np": np}
    exec(ANSWER, scope)
    evaluated = known_unknowns.evaluate(scope["answer"], "humblebench", limit=20, data=questions)
    expected = numbers(evaluated.metrics, variant)
    rescored = rescore("humblebench", [Path(found["log"])])
    assert (rescored.variant, rescored.n) == (variant, 20)
    assert numbers(rescored.metrics, variant) == expected
    accuracies = {parser: expected[parser, OVERALL, "accuracy"] for parser in ("official", "robust")}
    assert expected["robust", OVERALL, "share_unparsed"] != expected["official", OVERALL, "share_unparsed"]
    failed = expected["robust", OVERALL, "share_failed"][0]
    assert failed > 0  # inspect_ai has no score for a sample that failed
    assert found["accuracies"] == pytest.approx({name: value[0] / (1 - failed) for name, value in accuracies.items()})
    assert not [note for note in rescored.notes if "in the file" in note]


def test_epochs_come_back_as_samples_of_an_imported_model(tmp_path, questions):
    root = tmp_path / "project"
    (root / "data/pocket/questions").mkdir(parents=True)
    (root / "data/pocket/questions/humblebench").symlink_to(questions)
    (root / "params.yaml").write_text((ROOT / "params.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    published = tables.read_questions(questions / "questions.parquet")
    tables.write_variant(root / "results/pocket/variants/humblebench/original.parquet", {0: published})
    log = ask("humblebench", root, data="pocket", settings={"epochs": 2, "temperature": 0.5})["log"]
    params = configuration.load(root / "params.yaml", edition="pocket")
    found = import_predictions(params, "mock", "humblebench", [Path(log)], variant="original", root=root)
    assert (found.n, found.samples) == (30, 2)
    replies = root / "results/pocket/replies/mock/humblebench/replies.parquet"
    assert len(read_replies(replies, "original")) == 30
    engine = json.loads((replies.parent / "engine.json").read_text(encoding="utf-8"))
    states = engine["facts"]["original/seed0"][0]["states"]
    assert states["settings"] == {"temperature": 0.5, "epochs": 2} and states["model"] == "mockllm/model"


def test_a_log_of_another_benchmark_is_refused(tmp_path, questions):
    log = ask("humblebench", tmp_path, data=str(questions), limit=4)["log"]
    with pytest.raises(known_unknowns.errors.DataError, match="a question of humblebench, not of multiple_choice"):
        rescore("multiple_choice", [Path(log)])


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("mmsap", "mmsap asks original by the protocol forced_choice, a dialogue"),
        ("humblebench -T variant=nota_onl", "'nota_onl' is not known; did you mean 'nota_only'?"),
    ],
)
def test_a_dialogue_and_unknown_names_are_refused(tmp_path, task, message):
    name, *options = task.split()
    arguments = ["-m", "inspect_ai", "eval", f"known_unknowns/{name}", *options, "-T", "limit=4"]
    done = in_process([*arguments, "--model", "mockllm/model", "--display", "none"], tmp_path)
    assert done.returncode != 0 and message in done.stdout + done.stderr

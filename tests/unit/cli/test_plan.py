"""The command that plans a run on a sample of the published questions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns import cli, tables
from known_unknowns.data.sample import sample
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.metrics.power import sample_power
from tests.factories import question
from tests.paths import ROOT

WHOLE = 4000


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["editions"]["pocket"]["models"] = ["oracle", "sampled"]
    raw["models"]["sampled"] = {
        "engine": "openai",
        "source": "gpt-4o-2024-08-06",
        "decoding": {"temperature": 1},
        "samples": 3,
    }
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw))
    every = [
        question(f"q{n}", n % 5, group=f"g{n // 2}", category=("Object", "Relation")[n // 2 % 2]) for n in range(WHOLE)
    ]
    tables.write_questions(tmp_path / "data/pocket/questions/humblebench/questions.parquet", every)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan(*arguments: str) -> str:
    done = CliRunner().invoke(cli.app, ["plan", "sample", "humblebench", *arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def test_the_smallest_sample_and_its_cost(project):
    text = plan("--decide", "differs by 3 points", "--power", "0.8")
    n = int(re.search(r"LIMIT=(\d+)", text)[1])
    # by hand: (1.96 + 0.84)^2 x 0.25 x (1 + 0.2) / 0.03^2 = 2,613; with the correction n / (1 + n / 4000) = 1,581
    assert n == pytest.approx(1581, rel=0.01) and n % 2 == 0
    sizes = {limit: [2] * (limit // 2) for limit in (n, n - 2)}
    assert sample_power(sizes[n], WHOLE, 0.03) >= 0.8 > sample_power(sizes[n - 2], WHOLE, 0.03)
    assert f"{n:,} of {WHOLE:,} questions, on {n // 2:,} of {WHOLE // 2:,} images" in text
    table = project / "data/pocket/questions/humblebench/questions.parquet"
    drawn = sample(tables.read_questions(table), n)
    objects = [q for q in drawn if q.category == "Object"]
    refused = sum(q.answer == q.refusal for q in objects)
    assert f"Object: {len(objects):,} questions, the refusal is right in {refused:,}" in text
    assert f"make run EDITION=pocket LIMIT={n}" in text
    assert f"sampled: {n:,} questions in 12 variants, 3 samples of each, about " in text and "USD" in text
    assert f"oracle: {n:,} questions in 12 variants" in text


def test_all_questions_decide_everything(project):
    assert f"LIMIT={WHOLE}" in plan("--decide", "differs by 0.01 points")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["--decide", "is better"], ConfigError, "is not of the form"),
        (["--decide", "differs by 0 points"], ConfigError, "is not of the form"),
        (["--power", "1"], ConfigError, "--power"),
        (["--accuracy", "0"], ConfigError, "--accuracy"),
        (["--icc", "2"], ConfigError, "--icc"),
        (["--edition", "full"], DataError, "make run EDITION=full"),
    ],
)
def test_mistakes(project, arguments, error, message):
    with pytest.raises(error, match=re.escape(message) if message != "make run EDITION=full" else message):
        plan(*arguments)


def test_the_power_of_a_sample():
    assert sample_power([1] * 100, 100, 0.001) == 1  # nothing is random
    assert sample_power([100], 200, 0.5) == 0  # one image has no standard error
    # n = 400 of 800 with p = 0.5: the standard error is 0.025 x sqrt(1 / 2); 2.8 of them are found with 80%
    assert sample_power([1] * 400, 800, 2.8 * 0.025 * 0.5**0.5) == pytest.approx(0.8, abs=0.01)

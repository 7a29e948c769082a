"""Paired comparisons of a small run, by the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from known_unknowns import cli, tables
from known_unknowns.comparison.model_pairs import Selection, as_text, compare_selection
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.records import Score
from tests.cells import write_scores
from tests.factories import question
from tests.unit.metrics.answered import params as params_of

QUESTIONS = 6
RIGHT = {  # number of right answers, the first ones
    ("m", "original", "robust"): 6,
    ("m", "original", "official"): 5,
    ("m", "nota_only", "robust"): 0,
    ("m", "nota_only", "official"): 0,
    ("m", "noise", "robust"): 0,
    ("o", "noise", "robust"): 6,
    ("o", "original", "robust"): 0,
    ("o", "original", "official"): 2,
}
PARAMS = params_of(["original", "nota_only", "noise"], [0], parsers=["official", "robust"])
PARAMS = type(PARAMS)(
    {**PARAMS.raw, "models": {name: {"engine": "respondent", "behaviour": "oracle"} for name in "mo"}}
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    asked = [question(f"q{number}", group=f"i{number}") for number in range(QUESTIONS)]
    for model, variant in {key[:2] for key in RIGHT}:
        tables.write_variant(tmp_path / f"variants/humblebench/{variant}.parquet", {0: asked})
        scores = [
            Score(asked[place].id, 0, "answer", parser, "answered", "A", 0, place < right)
            for (m, v, parser), right in RIGHT.items()
            if (m, v) == (model, variant)
            for place in range(QUESTIONS)
        ]
        write_scores(tmp_path / "scores" / model / "humblebench/scores.parquet", variant, 0, scores)
    return tmp_path


def compared(run: Path, models: str, variants: list[str], parsers: list[str]) -> list[tuple[object, ...]]:
    selection = Selection(list(models), ["humblebench"], variants, parsers)
    rows = compare_selection(PARAMS, selection, EditionFiles(run, run))
    assert all(row.p_holm == row.p and row.pairs == 1 for row in rows)
    return [(getattr(row.a, c), getattr(row.b, c), row.difference, row.p) for row in rows if (c := selection.compared)]


def test_models_variants_and_parsers(run: Path) -> None:
    robust, both = ["robust"], ["official", "robust"]
    # McNemar: six of six discordant, 2 / 2^6; three of three, 2 / 2^3; one of one, 1
    assert compared(run, "mo", ["original"], robust) == [("m", "o", 1.0, pytest.approx(2 / 64))]
    assert compared(run, "om", ["original"], both) == [
        ("o", "m", -0.5, pytest.approx(0.25)),
        ("o", "m", -1.0, pytest.approx(2 / 64)),
    ]
    assert compared(run, "m", ["original", "nota_only"], robust) == [
        ("original", "nota_only", 1.0, pytest.approx(2 / 64))
    ]
    assert compared(run, "m", ["original"], both) == [("official", "robust", pytest.approx(-1 / 6), 1.0)]


def test_the_text_has_each_family_once(run: Path) -> None:
    selection = Selection(["m", "o"], ["humblebench"], ["original"], ["robust", "official"])
    text = as_text(compare_selection(PARAMS, selection, EditionFiles(run, run)), "model")
    assert re.findall(r"^humblebench.*$", text, re.MULTILINE) == [
        "humblebench, original, robust (exact McNemar)",
        "humblebench, original, official (exact McNemar)",
    ]
    assert "m and o: no interval (none: " in text and "+50.0" in text


@pytest.mark.parametrize(
    ("models", "variants", "parsers"),
    [
        ("m", ["original"], ["robust"]),
        ("m", ["original", "nota_only"], ["robust", "official"]),
        ("mo", ["orignal"], ["robust"]),
        ("mo", [], ["robot"]),
        ("mx", [], ["robust"]),
    ],
)
def test_what_is_no_pair_is_refused(run: Path, models: str, variants: list[str], parsers: list[str]) -> None:
    with pytest.raises(ConfigError):
        compared(run, models, variants, parsers)


def test_missing_scores_are_an_error(run: Path) -> None:
    with pytest.raises(DataError, match="nota_only"):
        compared(run, "mo", ["nota_only"], ["robust"])


def test_variants_without_content_are_not_compared(run: Path) -> None:
    """``o`` is right under noise, ``m`` is not."""
    with pytest.raises(ConfigError, match="'noise' has no content"):
        compared(run, "mo", ["noise"], ["robust"])
    params = type(PARAMS)(json.loads(json.dumps(PARAMS.raw)))
    params.raw["benchmarks"]["humblebench"]["variants"].remove("nota_only")
    every = Selection(["m", "o"], ["humblebench"], [], ["robust"])
    assert [row.variant_a for row in compare_selection(params, every, EditionFiles(run, run))] == ["original"]


def test_power_prints_the_plan() -> None:
    plan = [
        "plan",
        "comparison",
        "--n",
        "660",
        "--images",
        "330",
        "--accuracy",
        "0.8",
        "--difference",
        "0.05",
        "--correlation",
        "0.4",
    ]
    output = CliRunner().invoke(cli.app, plan).output
    assert "power for a difference of 5 points: 80.2%" in output  # R: 0.8020839636, see tests of metrics.power
    assert "images needed for 80% power: 329, with 2 questions each" in output
    failed = CliRunner().invoke(cli.app, [*plan[:-4], "--difference", "0.3"])
    assert isinstance(failed.exception, ConfigError)

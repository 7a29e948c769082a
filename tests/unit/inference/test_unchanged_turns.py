"""A variant that changes the right answer, and not what a model is shown, is an error before a model is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from known_unknowns.config import Params, load
from known_unknowns.data.questions import normalise
from known_unknowns.data.variant_tables import vary
from known_unknowns.errors import ConfigError
from tests.asked_and_measured import infer
from tests.factories import data_entry
from tests.paths import ROOT
from tests.unit.benchmarks.multiple_choice.own_files import own_folder, row

LISTED = "{question}\n{options}"
UNLISTED = "{question}\nAnswer with a letter."


def asked(tmp_path: Path, variant: str, rows: list[dict[str, Any]], **settings: Any) -> None:
    """Ask a scripted respondent the questions of the user's own in one variant."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["editions"]["mine"] |= {"models": ["uniform"], "variants": {"multiple_choice": [variant]}}
    raw["benchmarks"]["multiple_choice"].pop("seeds")
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    params: Params = load(tmp_path / "params.yaml", edition="mine")
    entry = data_entry("folder", **settings)
    normalise("multiple_choice", own_folder(tmp_path / "own", rows), tmp_path / "questions", settings=entry)
    table = tmp_path / "questions/questions.parquet"
    vary(params.variant(variant), table, tmp_path / f"variants/{variant}.parquet", seeds=params.seeds)
    infer(
        params,
        "uniform",
        "multiple_choice",
        questions=tmp_path / "questions",
        variants=tmp_path / "variants",
        out=tmp_path / "out",
        journal=tmp_path / "journal.jsonl",
    )


@pytest.mark.parametrize("variant", ["nota_only", "nota_only_relettered", "shuffled_options"])
def test_the_variant_is_named_and_nothing_is_asked(variant, tmp_path):
    with pytest.raises(ConfigError) as caught:
        asked(tmp_path, variant, [row(number) for number in range(3)], prompt=UNLISTED)
    message = str(caught.value)
    assert f"variants.{variant}" in message and " of 3 questions have another right answer" in message
    assert not (tmp_path / "journal.jsonl").exists()


@pytest.mark.parametrize("variant", ["original", "nota_only", "shuffled_options", "noise", "text_only"])
def test_variants_that_change_what_is_shown_are_asked(variant, tmp_path):
    asked(tmp_path, variant, [row(number) for number in range(3)], prompt=LISTED)
    assert (tmp_path / "out/replies.parquet").is_file()


@pytest.mark.parametrize("prompt", [LISTED, UNLISTED])
def test_equal_options_that_change_places_and_answers_that_stay_are_no_error(prompt, tmp_path):
    rows = [row(number, A="Green", B="Green", C="Green", answer="A") for number in range(3)]
    asked(tmp_path, "shuffled_options", rows, prompt=prompt)
    assert (tmp_path / "out/replies.parquet").is_file()


def test_a_refusal_that_was_right_before_may_stay_so(tmp_path):
    asked(tmp_path, "nota_only", [row(number, answer="D") for number in range(3)], prompt=UNLISTED)
    assert (tmp_path / "out/replies.parquet").is_file()

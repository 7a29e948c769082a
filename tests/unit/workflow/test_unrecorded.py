"""Results of other settings that Snakemake has no record of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from known_unknowns import json_files
from known_unknowns.config import Params
from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration, unrecorded
from known_unknowns.workflow.run import write_settings
from known_unknowns.workflow.selection import compared
from tests.factories import params_from, with_keys
from tests.paths import ROOT

OF = {"model": "oracle", "benchmark": "humblebench"}
REPLIES = "results/pocket/replies/oracle/humblebench/replies.parquet"
RAW, QUESTIONS = "data/pocket/raw/humblebench", "data/pocket/questions/humblebench/questions.parquet"
ANSWERS, METRICS = (f"results/pocket/{name}/oracle/humblebench/{name}.parquet" for name in ("answers", "metrics"))


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """The configuration of a finished run of one model and benchmark, in its folder."""
    raw = configuration.load(ROOT / "params.yaml").file.plain()
    raw["editions"] = raw["editions"] | {"pocket": {"benchmarks": ["humblebench"], "models": ["oracle"], "seeds": [0]}}
    monkeypatch.chdir(tmp_path)
    params = params_from(raw)
    for path in (REPLIES, ANSWERS, METRICS, "results/pocket/comparison.parquet"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()
    json_files.write(Path(REPLIES).with_name("engine.json"), {"settings": compared(params, "infer", **OF)})
    write_settings(params, Path("results/pocket/params.yaml"))
    return params


def changed(params: Params, path: str, value: Any) -> Params:
    return with_keys(params, **{path.replace(".", "__"): value})


def nothing(path: str) -> bool:
    """Snakemake has no record of any file."""
    return False


def files_of(params: Params, *arguments: str) -> list[str]:
    """The files that are to be made again."""
    with pytest.raises(ConfigError) as raised:
        unrecorded.check(params, nothing, arguments)
    return str(raised.value).partition(" --forcerun ")[2].split()


def test_results_of_this_configuration_are_used(params):
    unrecorded.check(params, nothing)
    unrecorded.check(changed(params, "models.oracle.seconds_per_reply", 3), lambda path: "comparison" in path)


def test_results_with_a_record_are_left_to_snakemake(params):
    unrecorded.check(changed(params, "models.oracle.behaviour", "always_a"), lambda path: True)


def test_replies_of_another_entry_or_protocol_are_asked_for_again(params):
    for path, value in (("models.oracle.behaviour", "always_a"), ("protocols.single_turn.max_new_tokens", 3)):
        assert files_of(changed(params, path, value)) == [REPLIES]  # the files made of them follow


def test_replies_of_an_earlier_version_are_compared_as_well(params):
    """It recorded the data apart, and no names of the edition's models and benchmarks."""
    settings = compared(params, "infer", **OF)
    data = settings["benchmarks"]["humblebench"].pop("data")
    for name in ("benchmarks", "models"):
        del settings["editions"]["pocket"][name]
    source = {
        "benchmarks": {"humblebench": {"data": data}},
        "edition": "pocket",
        "editions": {"pocket": {"data": "pocket"}},
    }
    json_files.write(Path(REPLIES).with_name("engine.json"), {"settings": settings | {"before": source}})
    unrecorded.check(params, nothing)
    assert files_of(changed(params, "models.oracle.behaviour", "always_a")) == [REPLIES]


def test_the_command_repeats_the_arguments(params):
    other = changed(params, "models.oracle.behaviour", "always_a")
    with pytest.raises(
        ConfigError, match=rf"make them again:  snakemake --config edition=pocket --forcerun {REPLIES}$"
    ):
        unrecorded.check(other, nothing, ["--config", "edition=pocket"])


def test_the_first_step_with_other_settings_is_named(params):
    raw, questions, noise = RAW, QUESTIONS, "results/pocket/variants/humblebench/noise.parquet"
    for path in (questions, noise):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()
    Path(raw).mkdir(parents=True)
    data = "benchmarks.humblebench.data.pocket"
    assert files_of(changed(params, f"{data}.images", 3)) == [raw]
    assert files_of(changed(params, f"{data}.start_seed", 3)) == [questions]  # the rendered files stay
    assert files_of(changed(params, "variants.noise.noise_seed", 7)) == [noise]
    with pytest.raises(ConfigError, match=r"no record of them .*: humblebench from the step vary on"):
        unrecorded.check(changed(params, "variants.noise.noise_seed", 7), nothing)


def test_the_data_of_another_edition_are_compared_and_other_data_are_not(params):
    Path(RAW).mkdir(parents=True)
    edition = params.selected.plain() | {"data": "pocket"}
    other = with_keys(params, edition="other", editions__other=edition)
    assert files_of(changed(other, "benchmarks.humblebench.data.pocket.images", 3)) == [RAW]
    full = changed(params, "edition", "full")  # its data may be there from a run of long ago
    Path("data/full/raw/humblebench").mkdir(parents=True)
    unrecorded.check(full, nothing)


def test_answers_and_metrics_of_other_settings(params):
    assert files_of(changed(params, "parsers", ["official"])) == [ANSWERS]
    assert files_of(changed(params, "statistics.confidence", 0.9)) == [METRICS]


def test_tables_of_the_edition(params):
    assert files_of(changed(params, "models.oracle.seconds_per_reply", 3)) == ["results/pocket/comparison.parquet"]


def test_what_the_command_line_forces_is_not_reported(params):
    other = changed(params, "models.oracle.behaviour", "always_a")
    for arguments in (["--forcerun", REPLIES], ["-R", "infer"], ["-F"], ["--force", REPLIES]):
        unrecorded.check(other, nothing, arguments)
    assert files_of(other, REPLIES) == [REPLIES]  # a target alone is not forced


def test_imported_replies_and_new_models_have_no_settings(params):
    json_files.write(Path(REPLIES).with_name("engine.json"), {"entry": {"engine": "imported"}})
    other = changed(params, "models.oracle.behaviour", "always_a")
    assert files_of(other) == [ANSWERS]
    Path("results/pocket/params.yaml").unlink()
    unrecorded.check(other, nothing)

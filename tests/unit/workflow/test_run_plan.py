"""The plan of a run before it starts: what is new, and what it takes. Unknown is never zero."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.config import Params
from known_unknowns.data.questions import normalise
from known_unknowns.data.variant_tables import vary
from known_unknowns.errors import ConfigError
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.shards import replies_of
from known_unknowns.model_runs import lazy_engine
from known_unknowns.records import Reply
from known_unknowns.workflow import configuration, run_plan, run_settings
from known_unknowns.workflow.rule_functions import with_shards
from tests.asked_and_measured import infer
from tests.factories import published_row, variant_entry, with_keys, write_published
from tests.paths import ROOT

VARIANTS = ["original", "blank", "nota_only"]
QUESTIONS, EQUAL = 20, 4
"""Questions, and those of them that nota_only leaves as they are, because their answer is the refusal."""
TURNS = 3 * QUESTIONS
HOSTED = {"engine": "openai", "source": "gpt-4o-mini", "concurrency": 4}
CARD = {"family": "F", "licence": "MIT", "parameters": 8}
LOCAL = {"engine": "transformers", "source": "o/n", "revision": "0" * 40, "dtype": "bfloat16", "card": CARD}
SERVER = {"engine": "openai", "source": "o/n", "launch": {"tensor_parallel_size": 4}}
MODELS = {
    "oracle": {"engine": "respondent", "behaviour": "oracle"},
    "slow": {"engine": "respondent", "behaviour": "oracle", "seconds_per_reply": 1.8},
    "hosted": HOSTED,
    "priceless": HOSTED | {"source": "someone's"},
    "thinks": HOSTED | {"reasoning": {"effort": "low"}},
    "thinks_briefly": HOSTED | {"reasoning": {"tokens": 99}},
    "local": LOCAL,
    "without_card": {key: value for key, value in LOCAL.items() if key != "card"} | {"source": "o/other"},
    "server": SERVER | {"card": CARD},
}


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """A configuration of one benchmark from the hub, in a folder without a run."""
    monkeypatch.chdir(tmp_path)
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw |= {"edition": "one", "models": MODELS}
    raw["editions"] = {"one": {"data": "full", "benchmarks": ["humblebench"], "models": list(MODELS), "seeds": [0]}}
    raw["benchmarks"] = {"humblebench": raw["benchmarks"]["humblebench"] | {"variants": VARIANTS, "seeds": {}}}
    Path("params.yaml").write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return configuration.load()


@pytest.fixture
def made(params: Params) -> Params:
    """The same after its data and variants were made."""
    raw, questions = Path("data/full/raw/humblebench"), Path("data/full/questions/humblebench")
    write_published(raw, [published_row(i) for i in range(QUESTIONS)])
    normalise("humblebench", raw, questions)
    for variant in VARIANTS:
        out = Path("results/one/variants/humblebench", f"{variant}.parquet")
        vary(variant_entry(variant), questions / "questions.parquet", out, seeds=[0])
    return params


def plan(params: Params, gpus: int = 1) -> dict[str, dict[str, Any]]:
    found = run_plan.of_run(with_shards(params, gpus), gpus)
    assert found.gpus == gpus
    return {each.model: {name: getattr(each, name) for name in each.__dataclass_fields__} for each in found.models}


def ask(params: Params, model: str, variants: list[str]) -> None:
    infer(
        with_keys(params, editions__one__variants={"humblebench": variants}),
        model,
        "humblebench",
        questions=Path("data/full/questions/humblebench"),
        variants=Path("results/one/variants/humblebench"),
        out=Path("elsewhere"),
        journal=Path("journal", model, "humblebench.jsonl"),
    )


def test_before_the_data_are_there_the_published_number_of_questions_counts(params: Params) -> None:
    found = plan(params)
    assert {each["new"] for each in found.values()} == {3 * 22831}
    assert not any(each["at_most"] for each in found.values())
    assert run_plan.of_run(params, 1).data == {"humblebench": None}
    limited = with_keys(params, editions__one__limit=100)
    assert {each["new"] for each in plan(limited).values()} == {300}


def test_what_is_not_known_is_none(params: Params) -> None:
    found = plan(params)
    size = 16_000_000_000  # 8 billion parameters in 16 bits
    assert {name: each["download"] for name, each in found.items()} == {
        **dict.fromkeys(("oracle", "slow", "hosted", "priceless", "thinks", "thinks_briefly"), 0),
        **{"local": size, "without_card": None, "server": size},
    }
    usd = {name: each["usd"] for name, each in found.items()}
    assert usd["thinks"] is None and usd["thinks_briefly"] == pytest.approx(usd["hosted"] + 3 * 22831 * 99 * 0.6 / 1e6)
    assert usd["priceless"] is None and usd["hosted"] > 0 and usd["local"] == usd["server"] == usd["oracle"] == 0


def test_the_gpus_are_those_of_the_jobs(params: Params) -> None:
    jobs = {gpus: {name: (each["jobs"], each["gpus"]) for name, each in plan(params, gpus).items()} for gpus in (1, 8)}
    assert jobs[1]["local"] == (1, 1) and jobs[8]["local"] == (8, 1)
    assert jobs[1]["server"] == (1, 4) and jobs[8]["server"] == (2, 4)
    assert jobs[8]["oracle"] == jobs[8]["hosted"] == (1, 0)
    assert "server needs 4 GPUs, which are not there." in run_plan.as_text(run_plan.of_run(params, 1))
    assert "which are not there" not in run_plan.as_text(run_plan.of_run(params, 8))


@pytest.mark.parametrize(
    ("changed", "gpu_gib", "expected"),
    [
        ({}, 80, "needs 136.7 GiB for its weights on its GPU, and the GPU has 80.0 GiB"),  # 73.4e9 x 2 / 2**30
        ({}, 136, "needs 136.7 GiB for its weights on its GPU, and the GPU has 136.0 GiB"),
        ({}, 137, None),
        ({}, None, None),  # the memory is unknown
        ({"card": CARD}, 80, None),
        ({"card": {"family": "F", "licence": "MIT"}}, 80, None),  # the number of parameters is unknown
        ({"dtype": "float32"}, 137, "needs 273.4 GiB for its weights on its GPU, and the GPU has 137.0 GiB"),
        ({"device": "cpu"}, 80, None),
        ({"job": {"gpus": 2}}, 80, "needs 136.7 GiB for its weights on its GPU, and the GPU has 80.0 GiB"),
    ],
)
def test_a_model_that_outgrows_the_gpu_is_refused(
    params: Params, changed: dict[str, Any], gpu_gib: float | None, expected: str | None
) -> None:
    large = LOCAL | {"card": CARD | {"parameters": 73.4}} | changed
    found = run_plan.of_run(with_keys(params, models__local=large), 8, gpu_gib)
    assert next(each.refused for each in found.models if each.model == "local") == expected


def test_the_gpus_of_a_server_share_its_weights_and_a_refused_model_is_in_no_sum(params: Params) -> None:
    large = {"source": "o/n", "engine": "openai", "card": CARD | {"parameters": 73.4}}
    on_one, on_two = (
        with_keys(params, models__server=large | {"launch": {"tensor_parallel_size": number}}) for number in (1, 2)
    )
    text = run_plan.as_text(run_plan.of_run(on_two, 8, 60))
    assert "is not known" not in text and "memory of the GPUs is not known" in run_plan.as_text(
        run_plan.of_run(on_two, 8)
    )
    assert "server needs 68.4 GiB for its weights on each of its 2 GPUs, and the GPU has 60.0 GiB." in text
    assert ["server", "refused", "1", "x", "2", "-", "-"] in [line.split() for line in text.splitlines()]
    of_others = [each for each in run_plan.of_run(on_two, 8, 80).models if each.model != "server"]
    total = next(line for line in text.splitlines() if line.startswith("all "))
    assert f"{sum(each.new or 0 for each in of_others):,}" in total
    assert "server needs" not in run_plan.as_text(run_plan.of_run(on_two, 8, 80))
    assert "server needs 136.7 GiB for its weights on its GPU" in run_plan.as_text(run_plan.of_run(on_one, 8, 80))
    quantised = with_keys(params, models__server=large | {"launch": {"quantization": "fp8"}})
    assert "refused" not in run_plan.as_text(run_plan.of_run(quantised, 8, 80))


def test_what_the_journal_has_is_not_new(made: Params) -> None:
    assert plan(made)["oracle"]["new"] == TURNS
    ask(made, "oracle", ["original", "blank"])
    assert (plan(made)["oracle"]["new"], plan(made)["oracle"]["at_most"]) == (QUESTIONS - EQUAL, False)
    assert plan(made)["slow"]["new"] == TURNS
    ask(made, "oracle", VARIANTS)
    assert plan(made)["oracle"]["new"] == 0


def test_money_follows_from_the_recorded_replies(made: Params) -> None:
    replies = [Reply("A", input_tokens=tokens, output_tokens=10) for tokens in (500, 1500)]
    for name in ("hosted", "local"):
        with Journal(Path("journal", name, "humblebench.jsonl")) as journal:
            journal.append([(f"{name} {i}", reply) for i, reply in enumerate(replies)])  # of another edition
    found = plan(made, gpus=2)
    turns = found["hosted"]["new"]
    assert turns < TURNS == found["local"]["new"]  # the questions on a blank image are equal turns
    assert (found["hosted"]["at_most"], found["local"]["at_most"]) == (False, True)
    assert found["hosted"]["usd"] == pytest.approx(turns * (1000 * 0.15 + 10 * 0.60) / 1e6)
    table = "as_of: '2026-11-01'\nmodels: {gpt-4o-mini: {input: 1, output: 10}, someone's: {input: 2, output: 2}}\n"
    Path("prices.yaml").write_text(table, encoding="utf-8")
    usd = {name: each["usd"] for name, each in plan(made).items()}
    assert usd["hosted"] == pytest.approx(turns * (1000 + 100) / 1e6) and usd["priceless"] > 0
    assert "prices of 2026-11-01" in run_plan.as_text(run_plan.of_run(made, 1))


def rows_of(params: Params) -> dict[str, str]:
    """The rows of the printed plan by model, with one space between words."""
    lines = run_plan.as_text(run_plan.of_run(params, 8)).splitlines()
    return {line.split()[0]: " ".join(line.split()) for line in lines if line}


def test_turns_and_money_of_dialogues_are_at_least(made: Params) -> None:
    assert "at least" not in run_plan.as_text(run_plan.of_run(made, 8)).lower()
    dialogues = with_keys(made, benchmarks__humblebench__protocol="forced_choice")
    rows = rows_of(dialogues)
    assert rows["oracle"] == "oracle at least 60 - - -"
    # 60 prompts of 1,500 tokens at 0.15 USD per million, and 16 tokens of a reply at 0.60
    assert rows["hosted"] == "hosted at least 60 - the server has it at least 0.01"
    assert rows["all"].startswith("all at least 540 ") and rows["all"].endswith(" at least 0.03 + unknown")
    ask(dialogues, "oracle", VARIANTS)
    assert rows_of(dialogues)["oracle"] == "oracle 0 - - -"
    assert rows_of(with_keys(made, editions__one__confidence=["verbalised"]))["slow"] == "slow at least 60 - - -"


def test_a_finished_model_needs_no_weights(made: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(made, "oracle", VARIANTS)
    shutil.copytree("journal/oracle", "journal/local")
    engine = lazy_engine.without_loading("oracle", made.model("oracle"), Path("journal/oracle/humblebench.jsonl"))
    monkeypatch.setattr(lazy_engine, "without_loading", lambda *_: engine)  # as if it had been asked
    assert {name: plan(made)["local"][name] for name in ("new", "download")} == {"new": 0, "download": 0}


def test_the_command_prints_one_table_with_a_total_or_json(params: Params) -> None:
    text = CliRunner().invoke(cli.app, ["plan", "run", "--gpus", "8"])
    assert text.exit_code == 0, text.output
    lines = text.output.splitlines()
    assert lines[0] == "Plan of the edition one with at most 8 GPUs; nothing is started"
    rows = {line.split()[0]: line.split() for line in lines[3:13]}
    assert rows["local"] == ["local", "68,493", "8", "x", "1", "16.0", "GB", "-"]
    assert " ".join(rows["priceless"]) == "priceless 68,493 - the server has it unknown"
    size, usd = ["32.0", "GB", "+", "unknown"], ["36.21", "+", "unknown"]
    assert rows["all"] == ["all", "616,437", *size, *usd]
    assert "Data to download: humblebench unknown." in lines
    found = json.loads(CliRunner().invoke(cli.app, ["plan", "run", "--json"]).output)
    assert found["edition"] == "one" and found["models"][3]["usd"] is None
    mistake = CliRunner().invoke(cli.app, ["plan", "run", "--edition", "no"]).exception
    assert isinstance(mistake, ConfigError) and mistake.exit_code == 2


def test_tables_of_a_pilot_are_not_those_of_the_whole(made: Params) -> None:
    """A pilot of 5 questions was asked. The whole asks the other 15; afterwards the pilot asks none."""
    pilot, folder = with_keys(made, editions__one__limit=5), Path("results/one/variants/humblebench")
    table = Path("data/full/questions/humblebench/questions.parquet")
    for variant in VARIANTS:
        vary(variant_entry(variant), table, folder / f"{variant}.parquet", seeds=[0], limit=5)
    run_settings.end(pilot)
    ask(pilot, "oracle", VARIANTS)
    assert plan(pilot)["oracle"]["new"] == 0
    whole = plan(made)["oracle"]
    asked = len(replies_of(Path("journal/oracle/humblebench.jsonl")))
    assert (whole["new"], whole["at_most"]) == (TURNS - EQUAL - asked, False)


def test_a_clone_without_variants_finds_the_replies_of_its_journal(made: Params) -> None:
    ask(made, "oracle", VARIANTS)
    shutil.rmtree("results")
    assert plan(made)["oracle"]["new"] == 0

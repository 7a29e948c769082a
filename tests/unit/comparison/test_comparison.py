from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from known_unknowns import config, tables
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison import (
    COMPATIBLE,
    DIFFERS,
    IDENTICAL,
    NOT_COMPARABLE,
    NOT_RUN,
    PARSER,
    REPRODUCED,
    ComparisonRow,
    Conditions,
    compare,
    compare_cells,
    load,
    read_comparison,
    write_comparison,
)
from known_unknowns.comparison.margins import Flips
from known_unknowns.config import Params
from known_unknowns.errors import ConfigError
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.records import OVERALL, Metric
from tests.factories import params_from
from tests.paths import ROOT

REPOSITORY = ROOT
CELL = PublishedCell(
    "humblebench", "Table 3", "Qwen", "Overall", "original", OVERALL, "accuracy", 72.2, 2, "A paper", questions=300
)
EXACT = replace(CELL, table="Figure 4", variant="nota_only", metric="exact_refusal_recall", value=10.0)


def metric(
    parser: str = "official",
    value: float | None = 0.72,
    low: float | None = 0.71,
    high: float | None = 0.73,
    *,
    model: str = "ours",
    variant: str = "original",
    name: str = "accuracy",
    seed: int | None = 0,
    n: int = 300,
) -> Metric:
    return Metric(
        model,
        "humblebench",
        variant,
        seed,
        None if seed is None else 0,
        parser,
        OVERALL,
        name,
        value,
        low,
        high,
        n,
        "wilson",
    )


def verdicts(cells: list[PublishedCell], metrics: list[Metric], **options: object) -> dict[str, ComparisonRow]:
    settings: dict = {"published_rows": {"ours": "Qwen"}, "parsers": ["official", "robust"]} | options
    return {row.parser: row for row in compare_cells(cells, metrics, **settings)}


def test_a_published_number_within_the_margin_is_reproduced() -> None:
    rows = verdicts([CELL], [metric(), metric("robust", 0.72195, 0.715, 0.735)])
    official = rows["official"]
    assert (official.verdict, rows["robust"].verdict) == (REPRODUCED, IDENTICAL)
    # Binomial(300, 0.005) is at most 4 with probability 0.98, and at most 3 with 0.93.
    assert official.margin_flips == pytest.approx(100 * 4 / 300)
    assert (official.margin_rounding, official.margin_spread) == (0.005, 0.0)
    assert official.margin == pytest.approx(0.005 + 100 * 4 / 300)
    assert official.flips_source == "at most 0.5% of the answers, the default"
    assert (official.matches, official.rivals, official.supporting, official.supporting_of) == (0, 0, 1, 1)
    assert (official.published, official.value, official.n) == (72.2, pytest.approx(72.0), 300)
    assert (official.low, official.high, official.model) == (pytest.approx(71.0), pytest.approx(73.0), "ours")


@pytest.mark.parametrize(
    ("low", "high", "decimals", "verdict"),
    [
        (0.72205, 0.80, 2, COMPATIBLE),  # 72.205 is printed as 72.20 or 72.21
        (0.7221, 0.80, 2, DIFFERS),
        (0.62, 0.72195, 2, COMPATIBLE),
        (0.62, 0.7219, 2, DIFFERS),
        (0.725, 0.80, 0, COMPATIBLE),
    ],
)
def test_rounding_is_given_half_a_unit_of_the_last_place(low: float, high: float, decimals: int, verdict: str) -> None:
    cell = replace(CELL, decimals=decimals)
    assert verdicts([cell], [metric(value=(low + high) / 2, low=low, high=high)])["official"].verdict == verdict


def test_a_number_that_only_the_official_parser_reproduces() -> None:
    robust = metric("robust", 0.95, 0.92, 0.97)
    rows = verdicts([CELL], [metric(), robust])
    assert (rows["official"].verdict, rows["robust"].verdict) == (PARSER, DIFFERS)
    assert "95.0 [92.0, 97.0]" in rows["official"].reason


def test_the_note_of_a_verdict_says_how_many_replies_are_left_out() -> None:
    """By the parser likelihood, of all 300 replies 45 with a label after other text, and none of a category."""
    cell = replace(CELL, note="From a figure.", parser="likelihood")
    part = replace(cell, column="Object", category="Object")
    follows = replace(metric("likelihood", 45 / 300, 0.1, 0.2, name="label_follows_text"), denominator=300.0)
    ours = [
        metric("likelihood"),
        replace(metric("likelihood"), category="Object"),
        follows,
        replace(follows, category="Object", value=0.0),
    ]
    whole, category = compare_cells([cell, part], ours, published_rows={"ours": "Qwen"}, parsers=["official"])
    assert whole.note == "From a figure. 45 of 300 replies left out: the label follows other text."
    assert category.note == "From a figure."
    assert (whole.verdict, category.verdict) == (REPRODUCED, REPRODUCED)


def test_an_official_only_metric_is_compared_with_its_substitute() -> None:
    ours = [
        metric(variant="nota_only", name="exact_refusal_recall", value=0.1, low=0.07, high=0.13),
        metric("robust", 0.55, 0.5, 0.6, variant="nota_only", name="refusal_recall"),
    ]
    rows = verdicts([EXACT], ours)
    assert (rows["official"].verdict, rows["official"].our_metric) == (PARSER, "exact_refusal_recall")
    assert (rows["robust"].our_metric, rows["robust"].value) == ("refusal_recall", pytest.approx(55.0))


def test_the_published_number_may_be_that_of_the_denominator() -> None:
    """A share of the 60 questions labelled E, of data with 300 questions."""
    labelled = replace(CELL, table="Log", metric="exact_refusal_recall", questions=60)
    ours = [metric(), replace(metric(name="exact_refusal_recall"), denominator=60.0)]
    rows = compare_cells([CELL, labelled], ours, published_rows={"ours": "Qwen"}, parsers=["official"])
    assert NOT_COMPARABLE not in {row.verdict for row in rows}


def test_a_named_revision_is_recognised_by_its_numbers_of_questions() -> None:
    """Our data have as many questions in total, but not of each category."""
    part = replace(CELL, column="Object", category="Object", value=50.0, questions=100)
    ours = [metric(), replace(metric(value=0.5, low=0.4, high=0.6, n=120), category="Object")]
    whole, category = compare_cells([CELL, part], ours, published_rows={"ours": "Qwen"}, parsers=["official"])
    assert (whole.verdict, whole.obstacle) == (NOT_COMPARABLE, "revision")
    assert whole.reason == "the published data have 100 questions of Object, ours have 120"
    assert (category.verdict, category.obstacle) == (NOT_COMPARABLE, "n")


COMMIT, RENDERED = replace(CELL, revision="0ff007b870b7"), Conditions(other_questions="rendered")
TWICE = Conditions(other_protocols={"original": "original is asked in two turns"})
OBSTACLES = {
    "no model": (CELL, metric(model="theirs"), {"published_rows": {"ours": "Gemma"}}, NOT_RUN, "model", "for Qwen"),
    "rendered": (CELL, metric(), {"conditions": RENDERED}, NOT_COMPARABLE, "questions", "rendered"),
    "another metric": (CELL, metric(name="f1"), {}, NOT_RUN, "metric", "was not measured"),
    "no variant": (CELL, metric(variant="noise"), {}, NOT_RUN, "variant", "was not measured"),
    "undefined": (CELL, metric(value=None, low=None, high=None), {}, NOT_RUN, "metric", "undefined"),
    "fewer": (CELL, metric(n=80), {}, NOT_COMPARABLE, "n", "published of 300 questions, ours are 80"),
    "unknown number": (replace(CELL, questions=None), metric(), {}, NOT_COMPARABLE, "n", "no source states"),
    "other data": (COMMIT, metric(), {"conditions": Conditions(revision="1ff007b870b7156b")}, NOT_COMPARABLE,
                   "revision", "published of revision 0ff007b870b7, ours is 1ff007b870b7"),
    "unknown data": (COMMIT, metric(), {}, NOT_COMPARABLE, "revision", "ours is unknown"),
    "other protocol": (CELL, metric(), {"conditions": TWICE}, NOT_COMPARABLE, "protocol", "in two turns"),
}  # fmt: skip


@pytest.mark.parametrize("case", OBSTACLES.values(), ids=OBSTACLES)
def test_a_number_without_a_verdict_says_why(case: tuple[PublishedCell, Metric, dict, str, str, str]) -> None:
    cell, ours, options, verdict, obstacle, reason = case
    row = verdicts([cell], [ours], **options)["official"]
    assert (row.verdict, row.obstacle, row.margin, row.matches) == (verdict, obstacle, None, None)
    assert reason in row.reason
    has_model, is_measured = (
        obstacle not in ("model", "questions"),
        verdict == NOT_COMPARABLE and obstacle != "questions",
    )
    assert (row.model, row.value) == ("ours" if has_model else None, pytest.approx(72.0) if is_measured else None)


def test_conditions_that_are_the_published_ones() -> None:
    own = verdicts([replace(CELL, n=80)], [metric(n=80)])["official"]
    assert (own.verdict, own.published_n) == (REPRODUCED, 80)
    same = verdicts([COMMIT], [metric()], conditions=Conditions(revision="0ff007b870b7156b"))["official"]
    assert (same.verdict, same.revision, same.published_revision) == (REPRODUCED, "0ff007b870b7156b", "0ff007b870b7")


def test_other_rows_of_the_column_are_counted() -> None:
    """The interval contains two of three other rows; a row of the same model is not another row."""
    values = {"Qwen": 72.2, "A": 70.5, "B": 73.5, "C": 60.0}
    cells = [replace(CELL, row=row, model=row, value=value) for row, value in values.items()]
    cells += [replace(CELL, row="Qwen + prompt", model="Qwen", value=72.1), replace(CELL, table="Table 4", value=72.0)]
    ours = metric(value=0.74, low=0.70, high=0.78)
    row = next(r for r in compare_cells(cells, [ours], published_rows={"ours": "Qwen"}, parsers=["official"]))
    assert (row.verdict, row.matches, row.rivals) == ("inconclusive", 2, 3)
    assert row.reason == "74.0 [70.0, 78.0] contains 72.20 and 2 of 3 other rows"


def test_the_turns_of_a_variant_change_the_margin() -> None:
    """Of 2,560 turns none changed. They are as many as 640 questions of four turns."""
    cell, flips = replace(CELL, questions=22831), {"ours": Flips(0, 2560)}
    conditions = Conditions(flips=flips, turns=lambda model, variant: {("ours", "original"): 4.0}[model, variant])
    row = verdicts([cell], [metric(n=22831)], conditions=conditions)["official"]
    assert row.flip_rate == pytest.approx(1 - 0.05 ** (1 / (597.6474 + 640)))
    assert row.flips_source == "at most 0.24% of the answers of 4.0 turns on average; 0 of 2560 turns measured"


def test_two_models_may_stand_for_one_row() -> None:
    published_rows = {"ours": "Qwen", "theirs": "Qwen"}
    other = metric(model="theirs", value=0.6, low=0.5, high=0.7)
    rows = compare_cells([CELL], [metric(), other], published_rows=published_rows, parsers=["official"])
    assert [(r.model, r.verdict) for r in rows] == [("ours", REPRODUCED), ("theirs", DIFFERS)]


def test_the_pooled_row_counts_where_there_are_several_seeds() -> None:
    numbers = MetricIndex([metric(seed=0, value=0.1), metric(seed=None, value=0.2), metric(seed=1, value=0.3)])
    assert numbers.get("ours", "humblebench", "original", "official", "accuracy").value == 0.2
    assert MetricIndex([metric(seed=2)]).get("ours", "humblebench", "original", "official", "accuracy").seed == 2
    assert numbers.get("ours", "humblebench", "noise", "official", "accuracy") is None


def edition(name: str, **model: object) -> Params:
    raw = config.load(REPOSITORY / "params.yaml", edition=name).file.plain()
    weights = {"engine": "transformers", "source": "x/Qwen2.5-VL-7B-Instruct", "revision": "0", "dtype": "bfloat16"}
    models = {"ours": weights | {"decoding": {"sampling": "checkpoint", "max_new_tokens": 128}} | model}  # as published
    editions = {n: dict(e) | {"models": ["ours"], "benchmarks": ["humblebench"]} for n, e in raw["editions"].items()}
    return params_from(raw | {"models": models, "editions": editions, "parsers": ["official", "robust"]})


def test_the_table_of_the_full_edition(tmp_path: Path) -> None:
    source, out = tmp_path / "metrics.parquet", tmp_path / "comparison.parquet"
    tables.write_metrics(source, [metric(n=22831), metric("robust", n=22831)])
    compare(edition("full", published="Qwen2.5-VL"), [source], out)
    rows = read_comparison(out)
    assert pq.read_schema(out).equals(tables.schema_of(ComparisonRow))
    assert len(rows) == 2 * len(load("humblebench"))
    judged = [row for row in rows if row.verdict != NOT_RUN]
    assert [(r.row, r.column, r.published, r.verdict) for r in judged] == [
        ("Qwen2.5-VL", "Overall", 72.2, REPRODUCED)
    ] * 2
    again = tmp_path / "again.parquet"
    write_comparison(again, rows)
    assert again.read_bytes() == out.read_bytes()


def test_an_unknown_published_row_names_the_key(tmp_path: Path) -> None:
    source = tmp_path / "metrics.parquet"
    tables.write_metrics(source, [metric()])
    with pytest.raises(ConfigError, match=r"models\.ours\.published: .*did you mean 'Qwen2\.5-VL'"):
        compare(edition("full", published="Qwen2.5VL"), [source], tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        # 75 of 300 questions: the interval 0.70 to 0.74 around 0.72 is sqrt(1 - 75 / 300) = 0.866 times as wide
        (72.0, COMPATIBLE),  # equal as printed, and still an estimate
        (73.7, COMPATIBLE),
        (73.8, DIFFERS),
    ],
)
def test_a_sample_of_the_published_questions(value, verdict):
    ours = [metric(value=0.72, low=0.70, high=0.74, n=75)]
    cell = replace(CELL, value=value)
    row = verdicts([cell], ours, parsers=["official"], conditions=Conditions(limit=80))["official"]
    assert (row.verdict, row.n, row.published_n) == (verdict, 75, 300)
    assert "72.0 [70.3, 73.7] (sample of 75 of 300 questions)" in row.reason
    assert (row.low, row.high) == (pytest.approx(72 - 2 * 0.75**0.5), pytest.approx(72 + 2 * 0.75**0.5))


def test_a_sample_needs_the_published_number_and_a_limit_that_is_reached():
    unknown = verdicts([replace(CELL, questions=None)], [metric(n=75)], conditions=Conditions(limit=80))["official"]
    assert (unknown.verdict, unknown.obstacle) == (NOT_COMPARABLE, "n")
    limited, whole = (verdicts([CELL], [metric()], conditions=Conditions(limit=limit)) for limit in (300, None))
    assert limited == whole and limited["official"].verdict == REPRODUCED

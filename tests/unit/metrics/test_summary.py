from __future__ import annotations

import csv
import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from known_unknowns import config, tables
from known_unknowns.cli import app
from known_unknowns.config import Params
from known_unknowns.errors import ConfigError
from known_unknowns.metrics.summary import (
    COLUMNS,
    headline_of,
    leaderboard_rows,
    lookup_in,
    numbers_of,
    read_leaderboard,
    summarise,
    variant_headline,
    write_all_metrics,
)
from known_unknowns.records import Metric
from known_unknowns.variants.of_benchmark import content_free
from tests.factories import params_from
from tests.paths import ROOT


def metric(name: str, value: float | None, **changes) -> Metric:
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    base = Metric("m", "humblebench", "original", 0, 0, "robust", "Overall", name, value, low, high, 10, "wilson")
    return replace(base, **changes)


def params(**edition) -> Params:
    """The pocket edition with other keys."""
    raw = config.load(ROOT / "params.yaml", edition="pocket").file.plain()
    raw["editions"]["pocket"] |= edition
    return params_from(raw)


def rows_of(metrics: list[Metric], benchmark: str = "humblebench", **edition) -> dict[str, dict]:
    """The rows of the leaderboard by the name of their number."""
    return {row["number"]: row for row in leaderboard_rows(params(**edition), "m", benchmark, metrics)}


@pytest.fixture
def summary(tmp_path):
    first = [
        metric("accuracy", 2 / 3),
        metric("share_A", 0.25),
        metric("accuracy", 0.9, category="Object"),
        metric("refusal_precision", None, n=0, method="undefined: nothing in the denominator"),
        metric("accuracy", 0.5, parser="likelihood"),
        metric("accuracy", 0.3, variant="nota_only", seed=0),
        metric("accuracy", 0.5, variant="nota_only", seed=1),
        metric("accuracy", 0.4, variant="nota_only", seed=None, spread=0.14),
        metric("exact_refusal_recall", 0.125, variant="nota_only", parser="official"),
    ]
    other = [metric("accuracy", 0.75, model="another", variant="noise")]
    tables.write_metrics(tmp_path / "m.parquet", first)
    tables.write_metrics(tmp_path / "another.parquet", other)
    files = {"out": tmp_path / "metrics.json", "models": tmp_path / "models", "plot": tmp_path / "plot.csv"}
    files["leaderboard_table"] = tmp_path / "leaderboard.csv"
    summarise(params(), [tmp_path / "m.parquet", tmp_path / "another.parquet"], **files)
    return files


def test_all_metrics_as_csv_once_and_in_a_fixed_order(summary, tmp_path):
    out = tmp_path / "all.csv"
    assert write_all_metrics([tmp_path / "another.parquet", tmp_path / "m.parquet"], out, chosen={}) == 10
    with out.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == tables.METRICS.names
    keys = [(r["model"], r["variant"], r["parser"], r["category"], r["name"], r["seed"]) for r in rows]
    assert keys == [
        ("another", "noise", "robust", "Overall", "accuracy", "0"),
        ("m", "nota_only", "official", "Overall", "exact_refusal_recall", "0"),
        ("m", "nota_only", "robust", "Overall", "accuracy", ""),
        ("m", "nota_only", "robust", "Overall", "accuracy", "0"),
        ("m", "nota_only", "robust", "Overall", "accuracy", "1"),
        ("m", "original", "likelihood", "Overall", "accuracy", "0"),
        ("m", "original", "robust", "Overall", "accuracy", "0"),
        ("m", "original", "robust", "Overall", "refusal_precision", "0"),
        ("m", "original", "robust", "Overall", "share_A", "0"),
        ("m", "original", "robust", "Object", "accuracy", "0"),
    ]
    assert float(rows[6]["value"]) == 2 / 3  # in full, not rounded
    assert (rows[7]["value"], rows[7]["low"], rows[7]["n"]) == ("", "", "0")
    assert "nan" not in out.read_text(encoding="utf-8").lower()


def test_chosen_metrics_as_csv(summary, tmp_path):
    out = tmp_path / "some.csv"
    assert write_all_metrics([tmp_path / "m.parquet"], out, chosen={"name": "accuracy", "category": "Object"}) == 1
    assert (
        out.read_text(encoding="utf-8")
        .splitlines()[1]
        .startswith("m,humblebench,original,0,0,robust,Object,accuracy,0.9,")
    )


def test_values_that_no_metric_has_are_named(summary, tmp_path):
    for chosen, message in (
        ({"name": "acuracy"}, "--name: 'acuracy' is not known; did you mean 'accuracy'?"),
        ({"variant": "blank"}, "--variant: 'blank' is not known; known are nota_only, original"),
        ({"variant": "nota_only", "category": "Object"}, "no metric has all these values: nota_only, Object"),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            write_all_metrics([tmp_path / "m.parquet"], tmp_path / "none.csv", chosen=chosen)
    assert not (tmp_path / "none.csv").exists()


def test_models_that_were_removed_from_the_edition_are_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    for model in ("oracle", "removed"):
        table = tmp_path / "results/pocket/metrics" / model / "humblebench/metrics.parquet"
        tables.write_metrics(table, [metric("accuracy", 0.5, model=model)])
    assert CliRunner().invoke(app, ["tables", "metrics", "--out", "all.csv"]).exit_code == 0
    with (tmp_path / "all.csv").open(encoding="utf-8") as lines:
        assert [row["model"] for row in csv.DictReader(lines)] == ["oracle"]


def test_records_of_former_models_are_removed_and_other_files_are_kept(summary):
    tables.write_metrics(summary["out"].with_name("only.parquet"), [metric("accuracy", 0.5, model="m")])
    others = {"list.json": "[]", "other.json": '{"key": 1}', "broken.json": "{"}
    for name, text in others.items():
        (summary["models"] / name).write_text(text, encoding="utf-8")
    summarise(params(), [summary["out"].with_name("only.parquet")], **summary)
    assert {path.name for path in summary["models"].iterdir()} == {"m.json", *others}


def test_the_record_of_each_model(summary):
    records = {
        "another": {},
        "m": {"humblebench": {"accuracy": 0.666667, "refused": 0.4, "unusable": None}},
    }
    assert json.loads(summary["out"].read_text(encoding="utf-8")) == records
    for model, record in records.items():
        assert json.loads((summary["models"] / f"{model}.json").read_text(encoding="utf-8")) == record


def test_the_leaderboard_has_a_row_a_model_benchmark_and_number(summary):
    with summary["leaderboard_table"].open(newline="", encoding="utf-8") as lines:
        assert tuple(next(csv.reader(lines))) == COLUMNS
    accuracy, refused = read_leaderboard(summary["leaderboard_table"])  # of `another`, noise has no ranking
    assert accuracy == {
        "model": "m",
        "benchmark": "humblebench",
        "number": "accuracy",
        "label": "accuracy",
        "metric": "accuracy",
        "variant": "original",
        "parser": "robust",
        "value": 0.666667,
        "low": 0.566667,
        "high": 0.766667,
        "n": 10,
        "denominator": None,
        "method": "wilson",
        "unusable": None,
        "unusable_replies": None,
        "caveat": "rendered questions, not the published ones",
    }
    assert (refused["number"], refused["variant"], refused["value"]) == ("refused", "nota_only", 0.4)


def test_the_primary_number_is_the_dual_accuracy_of_a_pair_with_content():
    pairs = [("original+noise", 0.9), ("original+nota_only", 0.5)]
    rows = rows_of(
        [metric("accuracy", 0.75), *(metric("dual_accuracy_answerable", v, variant=name) for name, v in pairs)]
    )
    assert list(rows) == ["dual_accuracy_answerable", "accuracy"]
    row = rows["dual_accuracy_answerable"]
    assert (row["variant"], row["value"]) == ("original+nota_only", 0.5)


def test_without_content_only_what_was_recognised_is_a_headline_number():
    parts = {"recognised": 0.75, "recognised_refused": 0.5, "recognised_abstained": 0.25, "accuracy": 0.9}
    rows = rows_of([metric("accuracy", 0.6), *(metric(n, v, variant="blank") for n, v in parts.items())])
    assert {name: row["value"] for name, row in rows.items()} == {
        "accuracy": 0.6,
        "recognised": 0.75,
        "recognised_refused": 0.5,
        "recognised_abstained": 0.25,
    }


@pytest.mark.parametrize("benchmark", ["humblebench", "mmsap", "actiview"])
def test_declared_numbers_are_those_that_the_edition_asks_for(benchmark):
    found = {number.name: variant for number, variant in numbers_of(params(), benchmark)}
    primary = {"humblebench": "original+nota_only", "mmsap": "shuffled_options+nota_only", "actiview": "zooming"}
    assert next(iter(found.values())) == primary[benchmark]
    if benchmark == "actiview":
        assert list(found.values())[:5] == ["zooming", "shifting_r", "mixed", "average", "full_image"]
        fewer = params(variants={"actiview": ["full_image", "mixed"]})
        assert [variant for _, variant in numbers_of(fewer, benchmark)] == ["mixed", "full_image"]
    if benchmark == "mmsap":
        assert found["score_sa"] == "shuffled_options"


def test_a_variant_is_found_by_its_function():
    raw = params(variants={"humblebench": ["original", "empty", "without"]}).file.plain()
    raw["variants"] |= {"empty": {"function": "blank"}, "without": {"function": "nota_only"}}
    found = {number.name: variant for number, variant in numbers_of(params_from(raw), "humblebench")}
    assert found["dual_accuracy_answerable"] == "original+without" and found["refused"] == "without"
    assert (found["recognised"], found["accuracy"]) == ("empty", "original")
    rows = [metric("accuracy", 0.9, variant="empty"), metric("recognised", 0.5, variant="empty")]
    shown = variant_headline(rows, "robust", content_free(params_from(raw), "humblebench"))
    assert {name: each.value for name, each in shown.items()} == {"recognised": 0.5}


def test_a_number_of_another_parser_is_used_if_the_main_one_has_none():
    rows = rows_of([metric("aurc", 0.2, parser="likelihood", variant="shuffled_options")], "mmsap")
    assert rows["aurc"]["parser"] == "likelihood"


def test_unusable_replies_are_those_of_the_worst_variant_of_a_number():
    """Of 10 replies without the right option, 1 is right, 3 are cut, and 5 unparsed; 4 of these name the option."""
    shares = {"original": (0.1, 0.0, 0.1), "nota_only": (0.5, 0.3, 0.0)}
    metrics = [
        metric(f"share_{outcome}", value, variant=variant)
        for variant, values in shares.items()
        for outcome, value in zip(("unparsed", "cut", "failed"), values, strict=True)
    ]
    metrics += [metric("dual_accuracy_answerable", 0.5, variant="original+nota_only"), metric("accuracy", 0.5)]
    metrics += [metric("accuracy", 0.1, variant="nota_only"), metric("accuracy_high_bound", 0.5, variant="nota_only")]
    dual, accuracy, _ = headline_of(params(), "humblebench", lookup_in(metrics))
    assert (dual.unusable.variant, dual.unusable.replies, dual.unusable.excludes) == ("nota_only", 4, True)
    assert dual.unusable.counts == {"unparsed": 1, "cut": 3, "failed": 0}
    assert (accuracy.unusable.variant, accuracy.unusable.share, accuracy.unusable.excludes) == ("original", 0.2, False)
    assert rows_of(metrics)["dual_accuracy_answerable"]["unusable"] == pytest.approx(0.4)


def test_a_sample_says_so():
    row = rows_of([metric("accuracy", 0.5)], limit=50)["accuracy"]
    assert row["caveat"].endswith("; sample of at most 50 questions of a benchmark")


def test_the_plot_has_a_row_a_model_and_gaps_where_nothing_was_run(summary):
    assert summary["plot"].read_text(encoding="utf-8").splitlines() == [
        "benchmark,model,original,nota_only,nota_only_exact,noise",
        "humblebench,another,,,,0.75",
        "humblebench,m,0.666667,0.4,0.125,",
    ]


def test_the_same_metrics_in_another_order_give_the_same_bytes(summary, tmp_path):
    again = {name: tmp_path / "again" / path.name for name, path in summary.items()}
    summarise(params(), [tmp_path / "another.parquet", tmp_path / "m.parquet"], **again)
    for name, path in summary.items():
        assert name == "models" or again[name].read_bytes() == path.read_bytes()


def test_other_parsers_have_the_accuracy_and_only_the_papers_parser_more():
    rows = [metric(name, 0.5, parser=parser) for parser in ("robust", "official", "likelihood")
            for name in ("accuracy", "above_chance", "exact_refusal_recall", "share_A")]  # fmt: skip
    assert list(variant_headline(rows, "robust", ())) == [
        *("accuracy", "above_chance", "exact_refusal_recall"),
        *("official.accuracy", "official.exact_refusal_recall", "likelihood.accuracy"),
    ]
    assert variant_headline(rows, "robust", ("original",)) == {}

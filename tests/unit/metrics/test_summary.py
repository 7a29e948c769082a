from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest

from known_unknowns import tables
from known_unknowns.metrics.summary import COLUMNS, model_headline, summarise
from known_unknowns.records import Metric


def metric(name: str, value: float | None, **changes) -> Metric:
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    base = Metric("m", "humblebench", "original", 0, "robust", "Overall", name, value, low, high, 10, "wilson")
    return replace(base, **changes)


@pytest.fixture
def summary(tmp_path):
    first = [
        metric("share_A", 0.25),
        metric("accuracy", 2 / 3),
        metric("accuracy", 0.9, category="Object"),
        metric("refusal_precision", None, n=0, method="undefined: nothing in the denominator"),
        metric("accuracy", 0.5, scorer="likelihood"),
        metric("accuracy", 0.3, variant="nota_only", seed=0),
        metric("accuracy", 0.5, variant="nota_only", seed=1),
        metric("accuracy", 0.4, variant="nota_only", seed=None, spread=0.14),
        metric("exact_refusal_recall", 0.125, variant="nota_only", scorer="official"),
    ]
    other = [metric("accuracy", 0.75, model="another", variant="noise")]
    tables.write_metrics(tmp_path / "m.parquet", first)
    tables.write_metrics(tmp_path / "another.parquet", other)
    files = {"out": tmp_path / "metrics.json", "table": tmp_path / "metrics.csv", "plot": tmp_path / "plot.csv"}
    files["headline_table"] = tmp_path / "headline.csv"
    summarise([tmp_path / "m.parquet", tmp_path / "another.parquet"], **files)
    return files


def test_the_table_has_every_metric_once_and_in_a_fixed_order(summary):
    with summary["table"].open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert tuple(rows[0]) == COLUMNS
    keys = [(r["model"], r["variant"], r["scorer"], r["category"], r["name"], r["seed"]) for r in rows]
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


def test_the_headline_numbers(summary):
    assert json.loads(summary["out"].read_text(encoding="utf-8")) == {
        "another": {"humblebench": {"noise": {"robust": {"accuracy": 0.75, "low": 0.65, "high": 0.85, "n": 10}}}},
        "m": {
            "humblebench": {
                "nota_only": {
                    "official": {"exact_refusal_recall": 0.125},
                    "robust": {"accuracy": 0.4, "low": 0.3, "high": 0.5, "n": 10},
                },
                "original": {
                    "robust": {
                        "accuracy": 0.666667,
                        "low": 0.566667,
                        "high": 0.766667,
                        "n": 10,
                        "refusal_precision": None,
                    }
                },
            }
        },
    }


def test_the_headline_table_has_a_row_a_model_variant_and_scorer(summary):
    with summary["headline_table"].open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    shown = ("model", "variant", "scorer", "accuracy", "low", "high", "n", "method", "exact_refusal_recall")
    assert [tuple(row[name] for name in shown) for row in rows] == [
        ("another", "noise", "robust", "0.75", "0.65", "0.85", "10", "wilson", ""),
        ("m", "nota_only", "official", "", "", "", "", "", "0.125"),
        ("m", "nota_only", "robust", "0.4", "0.3", "0.5", "10", "wilson", ""),
        ("m", "original", "robust", "0.666667", "0.566667", "0.766667", "10", "wilson", ""),
    ]


def test_the_numbers_that_compare_models():
    rows = [
        metric("accuracy", 0.5),
        metric("refusal_recall", 0.25),
        metric("accuracy", 0.9, scorer="official"),
        metric("share_A", 0.1),
        metric("accuracy", 0.125, variant="nota_only"),
        metric("refusal_recall", 1.0, variant="nota_only"),
    ]
    assert {name: m.value for name, m in model_headline(rows, "robust").items()} == {
        "humblebench.accuracy": 0.5,
        "humblebench.refusal_recall": 0.25,
        "humblebench.nota_only.accuracy": 0.125,
    }


def test_the_plot_has_a_row_a_model_and_gaps_where_nothing_was_run(summary):
    assert summary["plot"].read_text(encoding="utf-8").splitlines() == [
        "benchmark,model,original,nota_only,nota_only_exact,noise",
        "humblebench,another,,,,0.75",
        "humblebench,m,0.666667,0.4,0.125,",
    ]


def test_the_same_metrics_in_another_order_give_the_same_bytes(summary, tmp_path):
    again = {name: tmp_path / "again" / path.name for name, path in summary.items()}
    summarise([tmp_path / "another.parquet", tmp_path / "m.parquet"], **again)
    for name, path in summary.items():
        assert again[name].read_bytes() == path.read_bytes()
    assert "nan" not in summary["table"].read_text(encoding="utf-8").lower()

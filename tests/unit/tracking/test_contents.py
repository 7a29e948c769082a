from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.records import OVERALL, Metric
from known_unknowns.tracking.contents import allowed_name, metric_table


@given(st.text(min_size=1, max_size=40))
def test_mlflow_takes_every_name(name: str) -> None:
    from mlflow.utils.validation import _validate_param_name

    _validate_param_name(f"engine.{allowed_name(name)}")


def test_undefined_values_are_null_in_the_table() -> None:
    undefined = Metric("m", "b", "original", 0, 0, "robust", OVERALL, "f1", None, None, None, 7, "wilson")
    found = json.loads(metric_table([undefined]))
    assert "model" not in found["columns"]
    (row,) = [dict(zip(found["columns"], row, strict=True)) for row in found["data"]]
    assert (row["name"], row["value"], row["low"], row["n"], row["method"]) == ("f1", None, None, 7, "wilson")

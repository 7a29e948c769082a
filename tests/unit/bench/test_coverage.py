"""The compared methods against R 4.2.2 with survey 4.1-1.

Each y is 1 for a right and 0 for a wrong answer of group g:

    d <- svydesign(ids = ~g, weights = ~1, data = data.frame(y = y, g = g))
    svymean(~y, d); svyciprop(~y, d, method = "xlogit", df = degf(d)); svyciprop(~y, d, method = "beta", df = degf(d))
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

_FILE = Path(__file__).parents[3] / "bench/coverage/methods.py"
_SPEC = importlib.util.spec_from_file_location("coverage_methods", _FILE)
methods = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(methods)

EVEN = [5, 4, 5, 5, 3, 5, 5, 2, 5, 5, 4, 5], [5] * 12
UNEVEN = [1, 0, 2, 6, 0, 9, 3, 0], [1, 2, 3, 7, 4, 12, 3, 1]


@pytest.mark.parametrize(
    ("groups", "mean", "logit", "beta"),
    [
        (
            EVEN,
            (0.8833333333, 0.003308080808, 11),
            (0.6891179506, 0.9627723298),
            (0.6956546658, 0.975226173),
        ),
        (
            UNEVEN,
            (0.6363636364, 0.0147791102, 7),
            (0.3356706828, 0.8583775098),
            (0.3167196305, 0.885584247),
        ),
    ],
)
def test_compared_methods_are_those_of_svyciprop(groups, mean, logit, beta):
    right, asked = (np.array(values, dtype=float) for values in groups)
    found = [methods.linearised, methods.logit_t, methods.korn_graubard]
    for method, expected in zip(found, (mean, logit, beta), strict=True):
        assert [float(np.squeeze(v)) for v in method(right[None], asked)] == pytest.approx(expected, rel=1e-8)

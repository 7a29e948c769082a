"""The READMEs of the packages: their examples run, and the names in their tables exist."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from tests.paths import ROOT

READMES = {
    "known_unknowns": "src/known_unknowns/README.md",
    "known_unknowns.benchmark": "src/known_unknowns/benchmark/README.md",
    "known_unknowns.scoring": "src/known_unknowns/scoring/README.md",
    **{
        name: f"src/{name}/README.md"
        for name in (
            "known_unknowns_audit",
            "known_unknowns_benchmarks",
            "known_unknowns_construction",
            "known_unknowns_pocket",
        )
    },
}
OUTPUT = {
    "known_unknowns": [
        *("What colour is the ball?", "B. Blue", "C. Green", "D. None of the above"),
        *("refused D. None of the above", "20 of 30: 0.35 to 0.88"),
    ],
    "known_unknowns.scoring": ["abstained None"],
    "known_unknowns_audit": [
        *(
            "Overall 75.5 No count among 30 questions gives it; the nearest is 76.7.",
            "Overall 75.5 The parts give 76.67.",
        ),
        "[17] []",
    ],
    "known_unknowns_benchmarks": [
        "MM-SAP: 363 published numbers; protocols: none of its own",
        *("A -> answered", "E -> refused", "E. None of the above -> refused"),
    ],
    "known_unknowns_construction": [
        "How many buses are there in the image? ('4', '1', '0', '3', 'None of the above') B",
        *("duplicate: 1 of 9 dropped", "contradiction: 0 of 8 dropped"),
        "8 kept; not applied: solvable, models_disagree",
    ],
    "known_unknowns_pocket": ["(256, 256)", "How many large objects are there in the image? D. 2"],
}
"""Lines that the examples print."""


@pytest.mark.parametrize("package", OUTPUT)
def test_the_example_runs(package, capsys):
    text = (ROOT / READMES[package]).read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    exec(compile(code, READMES[package], "exec"), {"__name__": "example"})
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in OUTPUT[package]] == OUTPUT[package]


@pytest.mark.parametrize("package", READMES)
def test_the_names_exist(package):
    text = (ROOT / READMES[package]).read_text(encoding="utf-8")
    names = re.findall(r"^\| `(\w+\.[\w.]+)` \|", text, flags=re.MULTILINE)
    assert names
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(f"{package}.{module}"), attribute)

"""The simulation of verdicts: every benchmark that its command runs can be simulated and is in the documentation."""

from __future__ import annotations

import re

from bench.verdicts import world as worlds
from tests.paths import ROOT


def test_the_command_simulates_the_benchmarks_of_the_documented_table():
    page = (ROOT / "bench/verdicts/README.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| (\w+) \| same model \|", page, re.MULTILINE))
    assert documented == set(worlds.simulated())
    assert all(worlds.build(name).rows for name in documented)

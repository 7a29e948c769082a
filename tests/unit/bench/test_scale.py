"""The measurement at full size: Snakemake plans every step of the generated edition, and fetches nothing."""

from __future__ import annotations

import re

import pytest

from bench.scale import full
from bench.scale.measure import run_workflow


def test_the_generated_edition_is_planned_from_its_published_files(tmp_path) -> None:
    full.generate(tmp_path, 40, ["a", "b"], seeds=2)
    run_workflow(tmp_path, "full", 1, "--dry-run", "--quiet", "reason")
    log = (tmp_path / "log.txt").read_text(encoding="utf-8")
    planned = dict(re.findall(r"^ *([a-z]+)[^\n]*? (\d+) *$", log, re.MULTILINE))
    assert (planned["infer"], planned["parse"], planned["track"], planned["report"]) == ("2", "2", "1", "1")
    assert "fetch" not in planned
    full.generate(tmp_path, 40, ["a", "b"], seeds=2)  # a measurement that continues
    with pytest.raises(SystemExit, match="use another --folder"):
        full.generate(tmp_path, 41, ["a", "b"], seeds=2)

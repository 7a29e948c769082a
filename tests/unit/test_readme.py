"""The numbers of README are those that its commands print."""

from __future__ import annotations

import re

from typer.testing import CliRunner

from known_unknowns import cli
from tests.paths import ROOT

README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_the_first_screen_comes_first():
    """What the reader can do: the workflow, a function, the tools; then what it gave and what it found."""
    parts = (
        "make run # data",
        "make test",
        "pip install .",
        "known_unknowns.evaluate(",
        "snakemake --cores all",
        "mlflow ui ",
        "dvc repro",
        "dvc pull",
        "| Table 2",
        "**No published model has been asked",
        "**Two findings**",
        "<img",
    )
    places = [README.index(part) for part in parts]
    assert places == sorted(places) and places[-1] < README.index("## ")


def test_the_model_that_is_named_needs_what_is_said(monkeypatch):
    monkeypatch.chdir(ROOT)
    printed = CliRunner().invoke(cli.app, ["models", "list", "--needs", "--edition", "full"]).output
    (gib,) = re.search(r"^qwen2\.5-vl-7b +in process +\S+ +(\S+)$", printed, re.MULTILINE).groups()
    assert float(gib) * 2**30 < 24e9 and "one GPU with 24 GB" in README

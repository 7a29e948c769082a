"""The command of a run, in a checkout and in a project."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from known_unknowns.run_command import run_command

PRINT = "import sys; print(sys.argv[1:])"


@pytest.fixture(params=["checkout", "project"])
def folder(request, tmp_path, monkeypatch):
    """A folder in which the programs print their arguments."""
    if request.param == "checkout":
        (tmp_path / "Makefile").write_text(f"run:\n\t@$(PYTHON) -c '{PRINT}' EDITION $(EDITION) $(ARGS)\n")
    monkeypatch.chdir(tmp_path)
    return request.param


@pytest.mark.parametrize(
    ("arguments", "made", "plain"),
    [
        ((), "make run", "snakemake"),
        (("full",), "make run EDITION=full", "snakemake --config edition=full"),
        (("full", "--forcerun", "report"), "make run EDITION=full ARGS='--forcerun report'", None),
    ],
)
def test_the_command_is_that_of_the_folder(folder, arguments, made, plain):
    command = run_command(*arguments)
    if folder == "checkout":
        assert command == made
        edition = arguments[:1]
        printed = subprocess.run(
            f"{command} PYTHON={sys.executable}",
            shell=True,
            capture_output=True,
            text=True,
            check=True,
            # Under `make test`, make would take this for a part of its own run, and print the folder.
            env={name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "ARGS"))},
        )
        assert printed.stdout == f"{['EDITION', *edition, *arguments[1:]]}\n"
    else:
        assert command == (plain or "snakemake --forcerun report --config edition=full")

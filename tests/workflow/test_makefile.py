"""The Makefile, without installing all packages again."""

from __future__ import annotations

import shutil

import pytest

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def test_help_is_the_default_and_lists_the_commands(untouched):
    printed = untouched.run("make").stdout
    for command in ("make run", "make open", "make test", "make lint", "make lock", "make pin"):
        assert f"\n{command} " in printed


def test_an_old_python_is_refused_with_instructions(fresh):
    old = fresh.root / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\nexit 1\n')
    old.chmod(0o755)
    printed = fresh.run("make", "run", f"PYTHON={old}", code=2).stdout
    assert "Python 3.11 or newer is needed" in printed
    assert "make run PYTHON=" in printed
    assert not (fresh.root / ".venv").exists()


def test_a_run_that_only_fetched_is_continued(fresh):
    """Snakemake is a script here that asks for a second run in its first one."""
    script = fresh.root / ".venv/bin/snakemake"
    script.parent.mkdir(parents=True)
    (fresh.root / ".venv/.installed").touch()
    again = ".snakemake/known-unknowns.again"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> calls\n[ $(wc -l < calls) -gt 1 ] || {{ mkdir .snakemake; : > {again}; }}\n'
    )
    script.chmod(0o755)
    fresh.run("make", "run", "EDITION=released", "CORES=2")
    call = "--config edition=released --cores 2\n"
    assert (fresh.root / "calls").read_text(encoding="utf-8") == 2 * call
    assert not (fresh.root / again).exists()
    fresh.run("make", "run", "EDITION=released", "CORES=2")
    assert (fresh.root / "calls").read_text(encoding="utf-8") == 3 * call
    printed = fresh.run("make", "construct", "NAME=poket", code=2).stdout
    assert "construction: 'poket' is not known; did you mean 'pocket'?" in printed

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

"""The README of the package: its example runs, and the names in its table exist."""

from __future__ import annotations

import re
from importlib import import_module

from tests.paths import SOURCE

TEXT = (SOURCE / "README.md").read_text(encoding="utf-8")


def test_the_example_runs(capsys):
    (code,) = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    prompt, _, rest = capsys.readouterr().out.partition("refused")
    assert prompt == "What colour is the ball?\nB. Blue\nC. Green\nD. None of the above\n"
    assert rest.splitlines() == [" D. None of the above", "20 of 30: 0.35 to 0.88"]


def test_the_names_exist():
    names = re.findall(r"^\| `([\w.]+)` \|", TEXT, flags=re.MULTILINE)
    assert len(names) == 5
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(f"known_unknowns.{module}"), attribute)

"""The example of the README runs, and its replies are those of ``generate``."""

from __future__ import annotations

import re

import pytest

torch = pytest.importorskip("torch")

import prefix_sharing
from tests.paths import ROOT


def test_the_example_runs_and_equals_generate(capsys):
    text = (ROOT / "src/prefix_sharing/README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    names: dict = {}
    torch.manual_seed(0)
    exec(compile(code, "README.md", "exec"), names)
    assert "'packed'" in capsys.readouterr().out
    assert names["logits"].shape == (3, 100)
    assert 0 < max(names["differences"].values()) < 1e-4
    assert names["decoder"].disabled_plans == []
    for prompt, reply in zip(names["prompts"], names["replies"], strict=True):
        expected = names["model"].generate(**prompt.whole_inputs(), max_new_tokens=5, do_sample=False)
        assert expected[0, len(prompt.ids) :].tolist() == reply


def test_the_table_names_the_interface():
    text = (ROOT / "src/prefix_sharing/README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)) == sorted(prefix_sharing.__all__)

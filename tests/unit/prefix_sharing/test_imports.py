"""The package needs torch and transformers only."""

from __future__ import annotations

import ast
import sys

from tests.paths import ROOT


def test_it_imports_nothing_but_torch_and_transformers():
    imported = set()
    for path in (ROOT / "src/prefix_sharing").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
            imported |= {name.partition(".")[0] for name in names}
    assert imported - sys.stdlib_module_names == {"torch", "transformers", "prefix_sharing"}

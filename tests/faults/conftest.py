"""The workflow without its data and results, for real Snakemake processes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.workflow.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The rules and the package, in a folder whose name is shell code, with a Snakefile that has no rule yet."""
    root = tmp_path / "it's $(touch executed) here"
    root.mkdir()
    for name in ("rules", "src"):
        shutil.copytree(ROOT / name, root / name)  # with the compiled package: else every process compiles it again
    (root / "models").symlink_to(ROOT / "models")
    shutil.copy(ROOT / "params.yaml", root)
    (root / "Snakefile").write_text('include: "rules/common.smk"\n\nrule all:\n    default_target: True\n')
    return Project(root)

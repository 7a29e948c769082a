"""The wheel: it is built, and its project plans outside a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an unpacked wheel, which was built from the files that Git tracks or does not ignore."""
    folder = tmp_path_factory.mktemp("wheel")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if not name.startswith(("tests/", "bench/", "docs/")) and (ROOT / name).is_file():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / "source" / name)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        ".",
        "./source",
    ]
    subprocess.run(build, cwd=folder, check=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def test_a_project_of_the_wheel_plans_outside_a_checkout(installed, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(installed)}

    def run(*command: str, folder: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    assert "Created a project" in run("known_unknowns", "init", "mine", folder=tmp_path)
    planned = run("snakemake", "--dry-run", "results/pocket/metrics/oracle/mmsap.parquet", folder=tmp_path / "mine")
    assert "infer_mmsap" in planned
    assert not (tmp_path / "mine/src").exists()

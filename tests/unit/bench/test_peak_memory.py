"""Each step of a workflow records what it used."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bench.scale.measure import HOOK


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_step_of_the_workflow_records_what_it_used(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = os.environ | {"PYTHONPATH": path, "KNOWN_UNKNOWNS_USED": str(tmp_path / "used.txt")}
    script = tmp_path / ".snakemake/scripts/tmp1.metrics.py"  # as Snakemake names the script of a rule's job
    script.parent.mkdir(parents=True)
    script.write_text("print()", encoding="utf-8")
    subprocess.run([sys.executable, script], env=environment, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True)  # no step
    (line,) = (tmp_path / "used.txt").read_text(encoding="utf-8").splitlines()
    step, seconds, mib, wall = line.split()
    assert step == "metrics" and 0 < float(seconds) < 60 and 5 < float(mib) < 300 and float(wall) > 0

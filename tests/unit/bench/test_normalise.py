"""The image normalisation benchmark runs, and the number of processes changes no byte."""

from __future__ import annotations

import subprocess
import sys

from tests.paths import ROOT


def test_every_loop_is_measured():
    command = [
        sys.executable,
        "bench/normalise/normalise.py",
        "--images",
        "80",
        "--workers",
        "1",
        "2",
        "--repeats",
        "1",
    ]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines()[2:]]
    assert [row[:2] for row in rows] == [["80", "bare loop"], ["80", "1 process"], ["80", "2 processes"]]
    assert all(float(row[2].split()[0]) > 0 and float(row[3]) > 0 and int(row[4]) > 0 for row in rows)
    assert [int(row[5]) > 0 for row in rows] == [False, False, True]

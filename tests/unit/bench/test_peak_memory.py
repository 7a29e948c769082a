"""The peak memory of a measured step is its own."""

from __future__ import annotations

import sys

import pytest

from bench.scale.measure import run


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_the_process_that_measures_does_not_count(tmp_path):
    held = bytearray(b"x" * 400_000_000)  # 381 MiB, all of it written
    found = run(tmp_path, "--version")
    assert len(held) == 400_000_000
    assert 5 < found["peak_mib"] < 300 and found["step"] == "--version"

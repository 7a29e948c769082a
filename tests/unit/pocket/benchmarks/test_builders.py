"""What all builders of pocket benchmarks have in common."""

import os
import subprocess
import sys

import pytest

from known_unknowns_pocket.benchmarks import actiview, humblebench, mmsap

PROGRAM = """
import sys
from hashlib import sha256
from pathlib import Path
from known_unknowns_pocket.benchmarks import actiview, humblebench, mmsap
for builder, images in ((actiview, 1), (humblebench, 1), (mmsap, 3)):
    folder = Path(sys.argv[1], builder.__name__)
    print(builder.content_digest(builder.build(folder, seed=3, images=images)))
    print(*(sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*.*"))))
"""
TOO_FEW = {actiview: 0, humblebench: 0, mmsap: 2}


def test_builds_are_equal_in_any_process(tmp_path):
    printed = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / hash_seed)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "5")
    }
    assert len(printed) == 1


@pytest.mark.parametrize(
    ("builder", "name", "number"),
    [
        *((builder, "images", number) for builder, number in TOO_FEW.items()),
        (humblebench, "questions_per_image", 0),
        (humblebench, "questions_per_image", humblebench.MOST_QUESTIONS + 1),
    ],
)
def test_invalid_arguments_are_refused_before_anything_is_written(tmp_path, builder, name, number):
    with pytest.raises(ValueError, match=name):
        builder.build(tmp_path / "new", **{"seed": 1, name: number})
    assert not (tmp_path / "new").exists()

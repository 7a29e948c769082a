"""What all builders of pocket benchmarks have in common."""

import os
import subprocess
import sys

import pytest

from known_unknowns_pocket.benchmarks import actiview, humblebench, mmsap

PROGRAM = """
import sys
from pathlib import Path
from known_unknowns_pocket.benchmarks import actiview, humblebench, mmsap
for builder, images in ((actiview, 1), (humblebench, 1), (mmsap, 3)):
    folder = Path(sys.argv[1], builder.__name__)
    print(builder.content_digest(builder.build(folder, seed=3, images=images)))
"""
TOO_FEW = {actiview: 0, humblebench: 0, mmsap: 2}


def test_builds_are_equal_in_another_process(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "theirs")]
    environment = {**os.environ, "PYTHONHASHSEED": "5"}
    theirs = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    ours = []
    for builder, images in ((actiview, 1), (humblebench, 1), (mmsap, 3)):
        folder = builder.build(tmp_path / builder.__name__, seed=3, images=images)
        ours.append(builder.content_digest(folder))
    assert theirs == ours


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

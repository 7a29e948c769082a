"""A real model that is killed while it answers ends with the bits of one that was not."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.data.questions import normalise, vary
from known_unknowns.variants import VARIANTS
from tests.factories import published_row, variant_entry, write_published
from tests.paths import ROOT

pytest.importorskip("transformers")


ASKED = ("original", "nota_only")
KILLS = 2


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["benchmarks"]["humblebench"]["variants"] = list(ASKED)
    raw["benchmarks"]["humblebench"]["seeds"] = {}
    raw["models"]["pocket"] |= {"source": str(ROOT / "models/pocket"), "device": "cpu", "batch_size": 4}
    (folder / "params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    write_published(folder / "raw", [published_row(i) for i in range(20)])
    normalise("humblebench", folder / "raw", folder / "questions")
    for variant in ASKED:
        assert variant in VARIANTS
        out = folder / "variants" / f"{variant}.parquet"
        vary(variant_entry(variant), folder / "questions/questions.parquet", out, seeds=[0])
    return folder


def start(setup, out, journal):
    command = [
        *(sys.executable, "-m", "known_unknowns", "step", "infer", "pocket", "humblebench"),
        *("--params", setup / "params.yaml", "--questions", setup / "questions", "--variants", setup / "variants"),
        *("--out", out, "--journal", journal),
    ]
    return subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)


def finish(setup, out, journal):
    process = start(setup, out, journal)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return (out / "replies.parquet").read_bytes()


def test_a_killed_run_is_resumed(setup, tmp_path):
    unbroken = finish(setup, tmp_path / "unbroken", tmp_path / "unbroken.jsonl")
    assert tables.cells_in(tmp_path / "unbroken/replies.parquet") == [(variant, 0) for variant in ASKED]
    rng, journal = random.Random(3), tmp_path / "killed.jsonl"
    for _ in range(KILLS):
        size = journal.stat().st_size if journal.exists() else 0
        process = start(setup, tmp_path / "killed", journal)
        while process.poll() is None and not (journal.exists() and journal.stat().st_size > size):
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "the run ended before it was killed"
    assert finish(setup, tmp_path / "killed", journal) == unbroken

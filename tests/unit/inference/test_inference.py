"""Inference in a process that is killed at any time or has a full disk."""

import json
import random
import shutil
import signal
import subprocess
import time

import pytest
import yaml

from known_unknowns.config import load
from known_unknowns.data.questions import normalise, vary
from tests import scripts
from tests.cells import read_replies
from tests.factories import published_row, write_published
from tests.paths import ROOT

KILLS = 3


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    """Sixty questions in all variants and two seeds, and a params file with a slow, a fast and an absent model."""
    folder = tmp_path_factory.mktemp("inference")
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    raw["editions"]["pocket"] |= {"models": ["uniform"], "seeds": [0, 1]}
    del raw["benchmarks"]["humblebench"]["seeds"]
    raw["models"]["slow"] = {"engine": "respondent", "behaviour": "uniform", "seconds_per_reply": 0.004}
    (folder / "params.yaml").write_text(yaml.safe_dump(raw))
    write_published(folder / "raw", [published_row(i) for i in range(60)])
    normalise("humblebench", folder / "raw", folder / "questions")
    params = load(folder / "params.yaml")
    for variant in params.variants("humblebench"):
        out = folder / "variants" / f"{variant}.parquet"
        vary(params.variant(variant), folder / "questions/questions.parquet", out, seeds=params.seeds)
    return folder


def command(setup, model, out, journal):
    paths = {"questions": setup / "questions", "folder": setup / "variants", "out": out, "journal": journal}
    return scripts.infer(setup, load(setup / "params.yaml"), model, "humblebench", **paths)


def infer(setup, model, out, journal, *, prefix=()):
    """Run a job, and return its exit code and its log."""
    return scripts.run([*prefix, *command(setup, model, out, journal)], setup)


def replies(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


def test_a_run_that_is_killed_repeatedly_gives_the_tables_of_an_uninterrupted_run(setup, tmp_path):
    unbroken = infer(setup, "slow", tmp_path / "unbroken", tmp_path / "unbroken.jsonl")
    assert unbroken[0] == 0, unbroken
    rng, kills, journal = random.Random(7), 0, tmp_path / "killed.jsonl"
    while kills < KILLS:
        job = command(setup, "slow", tmp_path / "killed", journal)
        process = subprocess.Popen(job, cwd=setup, stderr=subprocess.DEVNULL)
        start = time.monotonic()
        size = journal.stat().st_size if journal.exists() else 0
        # Most kills fall into the asking, some into the start: wait for the first new reply, then a random while.
        while kills % 3 and process.poll() is None and not (journal.exists() and journal.stat().st_size > size):
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.25))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, f"the run ended {time.monotonic() - start:.1f} s before it was killed"
        kills += 1
        assert replies(tmp_path / "killed") == {}, "a killed run left a table that looks finished"
    finished = infer(setup, "slow", tmp_path / "killed", journal)
    assert finished[0] == 0, finished
    assert replies(tmp_path / "killed") == replies(tmp_path / "unbroken")
    keys = [json.loads(line)["key"] for line in journal.read_text().splitlines()]
    assert len(keys) == len(set(keys)), "a reply that the journal had was asked again"
    engine = json.loads((tmp_path / "killed/engine.json").read_text())
    assert engine["newly_asked"] < len(keys), "the last run asked everything anew"
    assert engine["turns"] == 60 * 8 * 2  # questions, variants, seeds
    # A question answered E is the same in original, nota_only and relettered: 2 x 12 fewer, for each seed.
    assert len(keys) <= 960 - 2 * 24
    rows = read_replies(tmp_path / "killed/replies.parquet", "nota_only", 1)
    assert [row.question_id for row in rows] == [str(i + 1) for i in range(60)]


def test_a_full_disk_loses_nothing_and_leaves_no_table(setup, tmp_path):
    """On a small file system: one error with exit code 4, and the same command then finishes."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("mounting a small tmpfs needs unshare and user namespaces")
    small, kept = tmp_path / "small", tmp_path / "kept"
    for folder in (small, kept):
        folder.mkdir()
    script = f'mount -t tmpfs -o size=64k tmpfs {small} && {{ "$@"; code=$?; cp -r {small}/. {kept}; exit $code; }}'
    failed = infer(setup, "slow", small / "out", small / "j", prefix=["unshare", "-rm", "sh", "-c", script, "sh"])
    code, said = failed
    assert code == 4, said
    assert "the disk is full" in said and "small/j" in said and "Traceback" not in said
    assert replies(kept) == {}
    asked = len((kept / "j").read_text().splitlines())
    assert asked > 100
    assert infer(setup, "slow", kept / "out", kept / "j")[0] == 0
    engine = json.loads((kept / "out/engine.json").read_text())
    assert engine["newly_asked"] == len((kept / "j").read_text().splitlines()) - asked

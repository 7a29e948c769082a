"""Inference in a process that has a full disk. tests/workflow/test_killed.py has one that is killed."""

import json
import shutil
import subprocess

import pytest
import yaml

from known_unknowns.config import load
from known_unknowns.data.questions import normalise
from known_unknowns.data.variant_tables import vary
from tests import scripts
from tests.factories import published_row, write_published
from tests.paths import ROOT


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


def infer(setup, model, out, journal, *, prefix=()):
    """Run a job, and return its exit code and its log."""
    paths = {"questions": setup / "questions", "folder": setup / "variants", "out": out, "journal": journal}
    command = scripts.infer(setup, load(setup / "params.yaml"), model, "humblebench", **paths)
    return scripts.run([*prefix, *command], setup)


def replies(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


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

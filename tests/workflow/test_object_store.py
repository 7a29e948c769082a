"""The workflow with its files in an object store: a local S3 server, by Snakemake's storage plugin.

The plugin is in tests/peers.txt and not among the locked packages, because Snakemake imports every installed plugin at
each start.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from known_unknowns import tables
from tests.paths import ROOT
from tests.servers import object_store
from tests.servers.object_store import ObjectStore
from tests.workflow.conftest import VARIANTS
from tests.workflow.project import Project

PEERS = Path(sys.prefix) / "peers"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (PEERS / "snakemake_storage_plugin_s3").is_dir(),
        reason="snakemake-storage-plugin-s3 is not installed: make test installs tests/peers.txt",
    ),
]


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    """An S3 server with an empty bucket."""
    pytest.importorskip("moto.server")
    with object_store.started() as running:
        yield running


@pytest.fixture
def stored(untouched: Project, store: ObjectStore, tmp_path: Path) -> Project:
    """A project without a run whose programs have the storage plugin, and the server's address and key."""
    packages = os.pathsep.join([str(PEERS), os.environ.get("PYTHONPATH", "")])
    return Project(untouched.twin(tmp_path / "project").root, {**store.environment, "PYTHONPATH": packages})


def test_a_run_leaves_its_tables_in_the_bucket(stored, store, finished, tmp_path):
    """They equal those of a run without an object store. The next run has nothing to do. MLflow's store is local."""
    stored.change_params(lambda params: params["editions"]["pocket"].update(models=["oracle"]))
    path, runs = "results/pocket/metrics/oracle/humblebench/metrics.parquet", "results/pocket/tracking.json"
    printed = stored.snakemake(*store.options)
    assert f"Results    {store.address}/results/pocket/" in printed
    assert "Storing in storage" not in printed
    assert not (stored.root / path).exists()
    store.download(path, tmp_path / "metrics.parquet")
    assert tables.read_metrics(tmp_path / "metrics.parquet") == tables.read_metrics(finished[0].root / path)
    for name in (runs, "results/pocket/report/index.html", "results/pocket/report/questions.html"):
        store.download(name, tmp_path / Path(name).name)
    for name in ("results/pocket/checks/humblebench.json", "data/pocket/questions/humblebench/LICENCE.md"):
        store.download(name, tmp_path / Path(name).name)
    checked = json.loads((tmp_path / "humblebench.json").read_text(encoding="utf-8"))
    assert checked["raw"] == "data/pocket/raw/humblebench"
    assert "Licence: MIT" in (tmp_path / "LICENCE.md").read_text(encoding="utf-8")
    assert len(json.loads((tmp_path / "tracking.json").read_text(encoding="utf-8"))["runs"]) == len(VARIANTS)
    assert "Nothing to be done" in stored.snakemake(*store.options)


def test_pins_and_local_weights_are_found_with_a_default_storage_provider(stored, store):
    """A .dvc file that Git tracks, and the pocket model's weights, are on this disk and not in the bucket."""
    pins = stored.root / "data/pocket/raw"
    pins.mkdir(parents=True)
    shutil.copy(ROOT / "data/pocket/raw/humblebench.dvc", pins)
    stored.change_params(lambda params: params["editions"]["pocket"]["models"].append("pocket"))
    planned = stored.snakemake("--dry-run", "results/pocket/metrics/pocket/humblebench/metrics.parquet", *store.options)
    jobs = dict(re.findall(r"^ (\w[\w ]*?) +(\d+) *$", planned, re.MULTILINE))
    assert jobs["fetch"] == "1" and jobs["infer humblebench"] == "5"  # four respondents and the pocket model

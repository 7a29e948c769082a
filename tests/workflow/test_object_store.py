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
from typing import Any

import pytest

from known_unknowns import tables
from tests.paths import ROOT
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
BUCKET = "bucket"
STORAGE = ("--default-storage-provider", "s3", "--default-storage-prefix", f"s3://{BUCKET}/known-unknowns")


def client(address: str) -> Any:
    import boto3

    keys = {"aws_access_key_id": "reader", "aws_secret_access_key": "not-a-key", "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=address, **keys)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an S3 server with an empty bucket."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    client(address).create_bucket(Bucket=BUCKET)
    try:
        yield address
    finally:
        server.stop()


@pytest.fixture
def stored(untouched: Project, store: str, tmp_path: Path) -> Project:
    """A project without a run whose programs have the storage plugin, and the server's address and key."""
    environment = {
        "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": store,
        "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "reader",
        "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "not-a-key",
        "PYTHONPATH": os.pathsep.join([str(PEERS), os.environ.get("PYTHONPATH", "")]),
    }
    return Project(untouched.twin(tmp_path / "project").root, environment)


def test_a_run_leaves_its_tables_in_the_bucket(stored, store, finished, tmp_path):
    """They equal those of a run without an object store. The next run has nothing to do. MLflow's store is local."""
    stored.change_params(lambda params: params["editions"]["pocket"].update(models=["oracle"]))
    path, runs = "results/pocket/metrics/oracle/humblebench.parquet", "results/pocket/tracking.json"
    printed = stored.snakemake(*STORAGE)
    assert f"Results    s3://{BUCKET}/known-unknowns/results/pocket/" in printed
    assert not (stored.root / path).exists()
    client(store).download_file(BUCKET, f"known-unknowns/{path}", str(tmp_path / "metrics.parquet"))
    assert tables.read_metrics(tmp_path / "metrics.parquet") == tables.read_metrics(finished[0].root / path)
    for name in (runs, "results/pocket/report/index.html", "results/pocket/report/questions.html"):
        client(store).download_file(BUCKET, f"known-unknowns/{name}", str(tmp_path / Path(name).name))
    assert len(json.loads((tmp_path / "tracking.json").read_text(encoding="utf-8"))["runs"]) == len(VARIANTS)
    assert "Nothing to be done" in stored.snakemake(*STORAGE)


def test_pins_and_local_weights_are_found_with_a_default_storage_provider(stored):
    """A .dvc file that Git tracks, and the pocket model's weights, are on this disk and not in the bucket."""
    pins = stored.root / "data/pocket/raw"
    pins.mkdir(parents=True)
    shutil.copy(ROOT / "data/pocket/raw/humblebench.dvc", pins)
    stored.change_params(lambda params: params["editions"]["pocket"]["models"].append("pocket"))
    planned = stored.snakemake("--dry-run", "results/pocket/metrics/pocket/humblebench.parquet", *STORAGE)
    jobs = dict(re.findall(r"^ (\w[\w ]*?) +(\d+) *$", planned, re.MULTILINE))
    assert jobs["fetch"] == "1" and jobs["infer humblebench"] == "5"  # four respondents and the pocket model

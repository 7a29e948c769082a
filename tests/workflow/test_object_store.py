"""The workflow with its files in an object store: planning against a local S3 server, by Snakemake's storage plugin.

The plugin is in tests/peers.txt and not among the locked packages, because Snakemake imports every installed plugin at
each start.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT
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


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an S3 server with an empty bucket."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    import boto3

    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    client = boto3.client("s3", endpoint_url=address, aws_access_key_id="reader", aws_secret_access_key="not-a-key")
    client.create_bucket(Bucket=BUCKET)
    try:
        yield address
    finally:
        server.stop()


def test_pins_and_local_weights_are_found_with_a_default_storage_provider(untouched, store, tmp_path):
    """A .dvc file that Git tracks, and the pocket model's weights, are on this disk and not in the bucket."""
    environment = {
        "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": store,
        "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "reader",
        "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "not-a-key",
        "PYTHONPATH": os.pathsep.join([str(PEERS), os.environ.get("PYTHONPATH", "")]),
    }
    copied = untouched.twin(tmp_path / "project")
    project = Project(copied.root, environment)
    pins = project.root / "data/pocket/raw"
    pins.mkdir(parents=True)
    shutil.copy(ROOT / "data/pocket/raw/humblebench.dvc", pins)
    project.change_params(lambda params: params["editions"]["pocket"]["models"].append("pocket"))
    storage = ("--default-storage-provider", "s3", "--default-storage-prefix", f"s3://{BUCKET}/known-unknowns")
    planned = project.snakemake("--dry-run", "results/pocket/metrics/pocket/humblebench.parquet", *storage)
    jobs = dict(re.findall(r"^ (\w[\w ]*?) +(\d+) *$", planned, re.MULTILINE))
    assert jobs["fetch"] == "1" and jobs["infer humblebench"] == "5"  # four respondents and the pocket model

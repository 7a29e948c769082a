"""A local S3 server (moto) with one empty bucket."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

KEY, SECRET, REGION = "reader", "not-a-key", "us-east-1"


@dataclass(frozen=True)
class ObjectStore:
    """A running server. ``url`` is its address, ``bucket`` the name of the bucket."""

    url: str
    bucket: str = "bucket"
    prefix: str = "known-unknowns"

    @property
    def address(self) -> str:
        """The address of the project's files, as Snakemake's storage plugin takes it."""
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def options(self) -> tuple[str, ...]:
        """Options of snakemake for files in this store."""
        return ("--default-storage-provider", "s3", "--default-storage-prefix", self.address)

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for programs that use the store."""
        keys = {"ENDPOINT_URL": self.url, "ACCESS_KEY": KEY, "SECRET_KEY": SECRET}
        return {f"SNAKEMAKE_STORAGE_S3_{name}": value for name, value in keys.items()} | {"AWS_DEFAULT_REGION": REGION}

    @cached_property
    def client(self) -> Any:
        """A client of boto3."""
        import boto3

        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": REGION}
        return boto3.client("s3", endpoint_url=self.url, **keys)

    def download(self, name: str, path: Path) -> None:
        """Write a file of the project to ``path``."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.client.download_file(self.bucket, f"{self.prefix}/{name}", str(path))

    def names(self) -> list[str]:
        """Return the names of the project's files."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=f"{self.prefix}/")
        return [found["Key"].removeprefix(f"{self.prefix}/") for page in pages for found in page.get("Contents", [])]


@contextmanager
def started() -> Iterator[ObjectStore]:
    """Run the server in threads of this process. ImportError if moto's server is not installed."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # else it prints every request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    store = ObjectStore(f"http://{host}:{port}")
    store.client.create_bucket(Bucket=store.bucket)
    try:
        yield store
    finally:
        server.stop()

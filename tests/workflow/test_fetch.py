"""The rule `fetch` with a real Snakemake and a hub: it fetches again when the lock's entry changes, and at no other
time."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.factories import PUBLISHED, published_row
from tests.servers.hub import Hub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
REPOSITORY = "maifoundations/HumbleBench"
OUT = "data/full/raw/humblebench"


def parquet(rows: int) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([published_row(number) for number in range(rows)], schema=PUBLISHED), sink)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with Hub() as hub:
        hub.commit(REPOSITORY, {"README.md": b"one", "data/train.parquet": parquet(5)})
        hub.commit("Elliotwang/MM-SAP", {"BasicVisQA.json": b"[]"})
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        yield hub


def test_changes_that_rerun_the_rule_fetch(hub, fresh):
    project = fresh

    def lock(*arguments: str) -> None:
        project.run("known-unknowns", "data", "lock", *arguments)

    def fetched() -> bool:
        """Whether a run wrote the folder again."""
        hub.log.clear()
        return "Nothing to be done" not in project.snakemake(OUT, "--config", "edition=full")

    assert fetched()
    assert (project.root / OUT / "data/train.parquet").read_bytes() == parquet(5)

    lock("mmsap")  # another entry
    hub.commit(REPOSITORY, {"README.md": b"two", "data/train.parquet": parquet(5)})  # not in the lock
    assert not fetched()

    lock("humblebench", "--update")
    assert fetched()
    assert (project.root / OUT / "README.md").read_bytes() == b"two"
    assert hub.sent() == 3  # the Parquet file is the same
    assert not fetched()


def test_a_run_that_fails_or_is_deleted_continues(hub, fresh):
    project = fresh
    hub.faults["data/train.parquet"] = ["flip"]
    told = project.snakemake(OUT, "--config", "edition=full", code=1)
    assert "is not the pinned" in told
    assert not (project.root / OUT).exists()
    hub.log.clear()
    project.snakemake(OUT, "--config", "edition=full")
    assert hub.sent() == len(parquet(5))
    assert (project.root / OUT / "README.md").read_bytes() == b"one"

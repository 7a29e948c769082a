"""A data set of a hub under every fault of the transfer."""

from __future__ import annotations

import errno
import pathlib
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest
from huggingface_hub import constants
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from known_unknowns.config import locked_commits
from known_unknowns.data import download, lock_file
from known_unknowns.errors import ConfigError, DataError, MachineError
from tests.servers.hub import Hub

from .conftest import REPOSITORY, Place

LARGE = random.Random(1).randbytes(300_000)
OTHER = random.Random(2).randbytes(5_000)
FILES = {"README.md": b"# HumbleBench\n", "data/train-0.parquet": LARGE, "data/train-1.parquet": OTHER}


def hash_of(content):
    return sha256(content).hexdigest()


@pytest.fixture
def hub(serve):
    hub = serve()
    hub.commit(REPOSITORY, FILES)
    return hub


def contents(hub):
    """The files whose content was requested."""
    return [request for request in hub.log if "/resolve/" in request.path or "/cdn/" in request.path]


def test_all_files_come_and_are_locked(hub, place):
    place.fetch()
    assert place.files() == FILES
    locked = locked_commits.read(place.lock_path)[f"hub:datasets/{REPOSITORY}@main"]
    assert locked.commit == hub.repositories["dataset", REPOSITORY].branches["main"]
    assert {path: file.size for path, file in locked.files.items()} == {path: len(FILES[path]) for path in FILES}
    assert locked.files["data/train-0.parquet"].sha256 == hash_of(LARGE)
    assert locked.files["README.md"].git is not None


def test_a_rerun_sends_no_request_and_writes_nothing(hub, place):
    place.fetch()
    before = {path: path.stat().st_mtime_ns for path in place.folder.rglob("*.parquet")}
    hub.log.clear()
    place.fetch()
    assert hub.log == []
    assert {path: path.stat().st_mtime_ns for path in place.folder.rglob("*.parquet")} == before


def test_a_deleted_folder_is_restored_without_a_connection(hub, place):
    place.fetch()
    shutil.rmtree(place.out)
    hub.down = True
    place.fetch()
    assert place.files() == FILES


def test_manual_changes_are_reverted(hub, place, capsys):
    place.fetch()
    (place.out / "data/train-1.parquet").unlink()
    (place.out / "data/train-1.parquet").write_bytes(OTHER[:-1] + b"!")
    (place.out / "data/train-2.parquet").write_bytes(b"of another version")
    place.fetch()
    assert place.files() == FILES

    (place.out / "data/train-2.parquet").write_bytes(b"of another version")
    (place.out / ".snakemake_timestamp").touch()
    place.fetch()
    assert place.files() == FILES
    assert "data/train-2.parquet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "path"),
    [("flip", "README.md"), ("short", "data/train-0.parquet"), ("long", "data/train-0.parquet")],
)
def test_a_wrong_file_is_refused_with_both_hashes_and_not_stored(serve, place, fault, path):
    hub = serve({path: [fault]})
    hub.commit(REPOSITORY, FILES)
    with pytest.raises(DataError) as refused:
        place.fetch()
    right = FILES[path]
    wrong = {"short": right[:-7], "long": right + b"more"}.get(fault)
    told = str(refused.value)
    assert path in told
    if path != "README.md":
        assert hash_of(right) in told
        assert wrong is None or hash_of(wrong) in told
        assert told.count("sha256") >= 1
    assert not place.out.exists()
    assert not [path for path in (place.folder / "raw/.fetched/files").iterdir() if path.stat().st_size == len(right)]

    hub.log.clear()
    place.fetch()
    assert place.files() == FILES
    assert hub.sent() == len(right)  # the others were kept


def test_a_persistent_mismatch_keeps_the_existing_files(hub, place):
    place.fetch()
    hub.commit(REPOSITORY, FILES | {"data/train-1.parquet": OTHER[::-1]})
    with lock_file.update(place.lock_path) as entries:
        key = f"hub:datasets/{REPOSITORY}@main"
        entries[key] = lock_file.resolve(locked_commits.Source("dataset", REPOSITORY, "main"), None)
    hub.faults["data/train-1.parquet"] = ["flip"]
    with pytest.raises(DataError):
        place.fetch()
    assert place.files() == FILES
    place.fetch()
    assert place.files()["data/train-1.parquet"] == OTHER[::-1]


def test_every_kind_of_transfer_fault_is_retried(serve, place):
    hub = serve({"data/train-0.parquet": ["500", "cut", "429", "cut_at_once"], "data/train-1.parquet": ["429", "cut"]})
    hub.commit(REPOSITORY, FILES)
    place.fetch()
    assert place.files() == FILES
    assert hub.sent() == sum(map(len, FILES.values()))


def test_a_partial_file_with_other_content_is_downloaded_again(hub, place):
    parts = place.folder / "raw/.fetched/parts/humblebench"
    parts.mkdir(parents=True)
    (parts / f"sha256-{hash_of(LARGE)}").write_bytes(bytes(100_000))
    place.fetch()
    assert place.files() == FILES


def test_a_listing_with_several_pages(serve, place):
    files = {f"images/{number:03}.png": b"%d" % number for number in range(50)}
    serve(page=7).commit(REPOSITORY, files)
    place.fetch()
    assert place.files() == files


def test_a_path_outside_the_folder_is_refused(serve, place):
    serve().commit(REPOSITORY, {"ok": b"1", "data/../../evil": b"2"})
    with pytest.raises(DataError, match="leads out of"):
        place.fetch()
    assert not list(place.folder.rglob("*evil"))
    assert not place.lock_path.exists()


def test_the_token_is_sent_only_to_the_hub_and_not_printed(serve, place, monkeypatch, capfd):
    hub = serve({"data/train-0.parquet": ["flip"], "data/train-1.parquet": ["missing"]}, token="hf_secret")
    hub.commit(REPOSITORY, FILES)
    with pytest.raises(MachineError, match="HF_TOKEN") as no_token:
        place.fetch()
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    told = [str(no_token.value)]
    for _ in range(3):
        try:
            place.fetch()
        except (DataError, MachineError) as error:
            told.append(str(error))
    assert place.files() == FILES
    assert len(told) >= 2
    assert {request.token for request in hub.asked("/cdn/")} == {None}
    assert "hf_secret" not in "".join([*told, *capfd.readouterr()])
    assert "Signature" not in "".join(told)


def test_an_unlocked_source_without_a_connection_is_an_error(place, serve, monkeypatch):
    serve()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(MachineError, match=r"HF_HUB_OFFLINE is set.*known-unknowns data lock humblebench"):
        place.fetch()


def test_two_data_sets_with_a_common_file_are_fetched_concurrently(serve, place):
    hub = serve(pace=0.02)
    hub.commit(REPOSITORY, FILES)
    hub.commit("Elliotwang/MM-SAP", FILES | {"BasicVisQA.json": b"[]"})
    with ThreadPoolExecutor() as pool:
        outs = list(pool.map(place.fetch, ["humblebench", "mmsap"]))
    assert [(out / "data/train-0.parquet").read_bytes() for out in outs] == [LARGE, LARGE]


@given(
    plans=st.dictionaries(
        st.sampled_from(sorted(FILES)), st.lists(st.sampled_from(sorted({*Hub.BEHAVIOURS} - {"endless"})), max_size=4)
    )
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_after_any_fault_the_folder_is_complete_or_absent(serve, full, tmp_path_factory, plans):
    small = FILES | {"data/train-0.parquet": LARGE[:70_000]}
    place = Place(tmp_path_factory.mktemp("place"), full)
    hub = serve(plans)
    hub.commit(REPOSITORY, small)
    for _ in range(8):
        try:
            place.fetch()
        except (DataError, MachineError):
            assert not place.out.exists()
        else:
            break
    assert place.files() == small


def test_an_unknown_name_is_an_error(place):
    with pytest.raises(ConfigError, match="did you mean 'humblebench'"):
        place.fetch("humblebenhc")


class Killed(BaseException):
    """The end of the process: handlers of Exception do not run."""


@pytest.mark.parametrize(("call", "at"), [("rename", 0), ("rename", 1), ("mkdir", 2)])
def test_a_fetch_killed_during_assembly_is_repeated(hub, place, monkeypatch, call, at):
    place.fetch()
    (place.out / "README.md").unlink()
    broken = place.files()
    calls = []
    real = getattr(pathlib.Path, call)

    def dying(self, *arguments, **options):
        calls.append(self)
        if len(calls) > at:
            raise Killed
        return real(self, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, call, dying)
        with pytest.raises(Killed):
            place.fetch()
        assert place.files() in ({}, broken)
    place.fetch()
    assert place.files() == FILES
    assert not [path for path in (place.folder / "raw/.fetched").iterdir() if path.suffix in (".new", ".old")]


def test_a_full_disk_is_an_error_of_the_machine(hub, place, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "download", full)
    with pytest.raises(MachineError, match="the disk is full"):
        place.fetch()
    monkeypatch.undo()
    assert not place.out.exists()

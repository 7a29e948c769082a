"""Files with an HTTP address, and one without: the data that HumbleBench was constructed from."""

from __future__ import annotations

import random
from hashlib import sha256

import pytest

from known_unknowns.config import locked_commits
from known_unknowns.data import lock_command
from known_unknowns.data.fetch import default_out, fetch
from known_unknowns.errors import ConfigError, DataError, MachineError
from tests.factories import params_from, with_keys

IMAGES = random.Random(1).randbytes(300_000)
GRAPHS = b'{"data": []}'


@pytest.fixture
def psg(serve, place, tmp_path):
    """A data set with one file at an address of the hub and one without an address, and a folder with the latter."""
    hub = serve()
    raw = place.params.file.plain()
    address = hub.address("val2017.zip", IMAGES)
    raw["benchmarks"]["humblebench"]["sources"]["psg"]["files"] = {"psg.json": None, "coco/val2017.zip": address}
    place.params, place.hub, place.mine = params_from(raw), hub, tmp_path / "mine"
    (place.mine / "openpsg").mkdir(parents=True)
    (place.mine / "openpsg/psg.json").write_bytes(GRAPHS)
    return place


def test_the_first_fetch_locks_downloaded_and_provided_files(psg):
    psg.hub.faults["val2017.zip"] = ["500", "cut"]
    out = psg.fetch("psg", user_folder=psg.mine)
    assert (out / "psg.json").read_bytes() == GRAPHS
    assert (out / "coco/val2017.zip").read_bytes() == IMAGES
    assert sum(request.sent for request in psg.hub.log) == len(IMAGES)
    files = locked_commits.read(psg.lock_path)["http:psg"].files
    assert files["psg.json"].as_dict() == {"size": len(GRAPHS), "sha256": sha256(GRAPHS).hexdigest()}
    assert files["coco/val2017.zip"].sha256 == sha256(IMAGES).hexdigest()


def test_a_file_without_an_address_is_named(psg):
    with pytest.raises(MachineError, match=r"psg\.json has no permanent address.*--from FOLDER"):
        psg.fetch("psg")
    assert not psg.lock_path.exists()


def test_ambiguous_files_are_an_error(psg):
    (psg.mine / "other").mkdir()
    (psg.mine / "other/psg.json").write_bytes(b"{}")
    with pytest.raises(ConfigError, match=r"several files could be psg\.json"):
        psg.fetch("psg", user_folder=psg.mine)
    (psg.mine / "psg.json").write_bytes(GRAPHS)
    psg.fetch("psg", user_folder=psg.mine)


def test_files_that_differ_from_the_lock_are_refused(psg, tmp_path):
    out = psg.fetch("psg", user_folder=psg.mine)
    for path in psg.folder.joinpath("raw").rglob("*"):
        if path.is_file():
            path.unlink()
    (psg.mine / "openpsg/psg.json").write_bytes(b'{"data": [1]}')
    with pytest.raises(MachineError, match=r"psg\.json  12 bytes  sha256"):
        psg.fetch("psg", user_folder=psg.mine)
    psg.hub.address("val2017.zip", IMAGES[::-1])
    (psg.folder / "raw/.fetched/files" / f"sha256-{sha256(IMAGES).hexdigest()}").unlink(missing_ok=True)
    with pytest.raises(DataError, match=sha256(IMAGES[::-1]).hexdigest()):
        psg.fetch("psg", user_folder=psg.mine)
    assert not (out / "psg.json").exists()


def test_the_command_lock_downloads_files_with_an_address(psg, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MachineError, match=r"psg\.json has no permanent address"):
        lock_command.run(psg.params, ["psg"], lock_path=psg.lock_path)
    (address,) = filter(None, psg.params.sources["psg"].files.values())
    files = {"coco/val2017.zip": address}
    psg.params = with_keys(psg.params, benchmarks__humblebench__sources__psg__files=files)
    lock_command.run(psg.params, ["psg"], lock_path=psg.lock_path)
    asked = len(psg.hub.log)
    out = default_out(psg.params, "psg")
    assert out.as_posix() == "data/full/raw/psg"
    fetch("psg", psg.params.sources["psg"], out, lock_path=psg.lock_path)
    assert (out / "coco/val2017.zip").read_bytes() == IMAGES
    assert len(psg.hub.log) == asked
    assert lock_command.run(psg.params, ["psg"], check=True, lock_path=psg.lock_path)


def test_no_token_is_sent_to_an_address(psg, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    psg.fetch("psg", user_folder=psg.mine)
    assert {request.token for request in psg.hub.log} == {None}

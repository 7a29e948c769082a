"""Download of one file over an unreliable connection."""

from __future__ import annotations

import random

import pytest
from huggingface_hub.errors import HfHubHTTPError

from known_unknowns.data import download
from known_unknowns.data.download import Remote
from known_unknowns.errors import DataError

CONTENT = random.Random(1).randbytes(400_000)
HALF = 200_000


@pytest.fixture
def got(tmp_path):
    """Download from an address of the hub; return the bytes and the progress."""

    def get(hub, *, size=len(CONTENT), content=CONTENT):
        told = []
        part = tmp_path / "part"
        download.download(Remote(hub.address("f", content)), part, size=size, advance=told.append)
        return part.read_bytes(), sum(told)

    get.part = tmp_path / "part"
    return get


def ranges(hub):
    return [request.range for request in hub.log]


def test_persistent_server_errors_stop_the_download(serve, got):
    with pytest.raises(HfHubHTTPError):
        got(serve({"f": ["500"] * 50}))
    with pytest.raises(download.FAILURES):
        got(serve({"f": ["cut_at_once"] * 50}))


def test_a_partial_file_of_unknown_size_continues_only_with_a_validator(serve, got):
    hub = serve({"f": ["cut"] + ["cut_at_once"] * 4})
    with pytest.raises(download.FAILURES):
        got(hub, size=None)
    assert got.part.stat().st_size == HALF
    other = random.Random(2).randbytes(300_000)
    assert got(hub, size=None, content=other)[0] == other  # the file has changed meanwhile
    assert hub.log[-1].if_range is not None

    got.part.write_bytes(CONTENT[:HALF])  # nobody knows of which file
    assert got(hub, size=None)[0] == CONTENT
    assert hub.log[-1].range is None


def test_a_partial_file_that_is_too_long_is_discarded(serve, got):
    got.part.write_bytes(bytes(500_000))
    hub = serve()
    assert got(hub) == (CONTENT, len(CONTENT) - 500_000)
    assert ranges(hub) == ["bytes=500000-", None]


def test_an_endless_body_is_not_read_completely(serve, got):
    with pytest.raises(DataError, match="sends more than the 400000 bytes"):
        got(serve({"f": ["endless"]}))


def test_errors_contain_no_secret(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_abcdef")
    error = HfHubHTTPError.__new__(HfHubHTTPError)
    error.args = ("403 for https://me:pass@cdn.example/f?Signature=xyz with hf_abcdef\nmore",)
    error.response = None
    told = download.reason(error)
    assert told == "403 for https://cdn.example/f with ***"
    assert "hf_secret" not in repr(Remote("https://x", {"authorization": "Bearer hf_secret"}))

"""One file over HTTP: continued where it was cut, patient with a busy server, never trusted.

huggingface_hub 2 throws away what a process that ends has downloaded of a file, so the bytes are fetched here; its
connections (proxies, offline mode) and its patience with 429 and 5xx are used.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import constants, get_token
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.utils import hf_raise_for_status, http_stream_backoff

from known_unknowns.errors import DataError
from known_unknowns.progress import Advance

FAILURES = (HfHubHTTPError, httpx2.HTTPError, OfflineModeIsEnabled)
"""What a request may raise. Its cause for people: `reason`."""

PAUSE = 1.0
"""Seconds before a request is made again; they double each time."""

_ATTEMPTS = 5
_ATTEMPTS_TO_CONNECT = 3
_SPARE = 2**20
_BUSY = (408, 429, 500, 502, 503, 504)


class DownloadCancelled(Exception):
    """Another file has failed, so that this one is given up. What has come of it is kept."""


@dataclass(frozen=True)
class Remote:
    """Where a file is: an address, and the headers to ask with."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # a token may be among them


def download(
    remote: Remote, part: Path, *, size: int | None, advance: Advance, stop: threading.Event | None = None
) -> None:
    """Append to ``part`` what it lacks, and return when the server says that it is whole.

    ``size`` is the file's, where it is known: then what is in ``part`` is trusted to be its beginning, since the whole
    is checked later. Where it is not, it is trusted only as long as the server vouches for it (by an entity tag).
    ``advance`` gets bytes, fewer than none when some have to be fetched again.

    Raises one of `FAILURES` when the server cannot be had, DataError when it sends far more than ``size``, and
    `DownloadCancelled`.
    """
    stop = stop or threading.Event()
    failures = 0
    while True:
        had = _size(part)
        if size is not None and had == size:
            return
        try:
            return _stream(remote, part, size, advance, stop)
        except httpx2.TransportError as error:
            failures = 1 if _size(part) > had else failures + 1
            if failures >= (_ATTEMPTS_TO_CONNECT if isinstance(error, httpx2.ConnectError) else _ATTEMPTS):
                raise
            if stop.wait(PAUSE * 2 ** (failures - 1)):
                raise DownloadCancelled from error


def _stream(remote: Remote, part: Path, size: int | None, advance: Advance, stop: threading.Event) -> None:
    have, validator = _size(part), _validator_file(part)
    headers = dict(remote.headers) | {"Accept-Encoding": "identity"}  # a range of compressed bytes is of no use
    if have and size is None:
        if not validator.is_file():
            have = 0
        else:
            headers["If-Range"] = validator.read_text(encoding="utf-8")
    if have:
        headers["Range"] = f"bytes={have}-"
    with http_stream_backoff(
        "GET",
        remote.url,
        headers=headers,
        timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT,
        max_retries=_ATTEMPTS,
        base_wait_time=PAUSE,
        retry_on_exceptions=(),
        retry_on_status_codes=_BUSY,
    ) as response:
        if response.status_code == 416:  # it has less than we have, so that what we have is of another file
            part.unlink()
            advance(-have)
            raise httpx2.RemoteProtocolError("the server's file is shorter than what was kept of it")
        hf_raise_for_status(response)
        start = have if _continues(response, have) else 0
        if start == 0 and size is None:
            _keep(response.headers.get("ETag", ""), validator)
        advance(start - have)
        _write(response, part, start, size, advance, stop)
    validator.unlink(missing_ok=True)


def _write(response: Any, part: Path, start: int, size: int | None, advance: Advance, stop: threading.Event) -> None:
    with part.open("ab") as file:
        file.truncate(start)
        for chunk in response.iter_bytes():
            file.write(chunk)
            file.flush()  # what has come is kept, whatever happens next
            advance(len(chunk))
            if size is not None and file.tell() > size + _SPARE:
                raise DataError(f"the server sends more than the {size} bytes that the file has", file=part.name)
            if stop.is_set():
                raise DownloadCancelled


def _continues(response: Any, have: int) -> bool:
    """Whether the server sends what follows the first ``have`` bytes; one that knows no ranges begins anew."""
    found = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return bool(have) and response.status_code == 206 and found is not None and int(found[1]) == have


def _keep(tag: str, validator: Path) -> None:
    """Keep an entity tag by which the server can be asked whether the file is the same; a weak one says too little."""
    if tag and not tag.startswith("W/"):
        validator.write_text(tag, encoding="utf-8")
    else:
        validator.unlink(missing_ok=True)


def _validator_file(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def is_offline(error: Exception) -> bool:
    """Whether nothing answered: no connection, or HF_HUB_OFFLINE."""
    return isinstance(error, (OfflineModeIsEnabled, httpx2.TransportError))


def reason(error: Exception) -> str:
    """A request's failure in one line, without anything secret."""
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set"
    status = getattr(getattr(error, "response", None), "status_code", None)
    first = str(error).strip().split("\n", 1)[0].strip() or type(error).__name__
    if status in (401, 403):
        first = f"status {status}: the server wants a token (HF_TOKEN) of somebody who may read it"
    return redacted(first)


def redacted(text: str) -> str:
    """``text`` without the token, and without what addresses can hold of secrets: passwords and signatures."""
    if token := get_token():
        text = text.replace(token, "***")
    return re.sub(r"https?://[^\s'\"<>()]+", lambda found: _plain(found[0]), text)


def _plain(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

"""Download of one file over HTTP, with continuation and retries.

huggingface_hub 2 discards partial downloads when its process ends, so the bytes are fetched here. Its connections
(proxies, offline mode) and its retries for 429 and 5xx are used.
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
"""Errors that a request may raise. `reason` gives their message."""

PAUSE = 1.0
"""Seconds before the first retry. Each further pause is twice as long."""

_ATTEMPTS = 5
_ATTEMPTS_TO_CONNECT = 3
_SPARE = 2**20
_BUSY = (408, 429, 500, 502, 503, 504)


class DownloadCancelled(Exception):
    """The download was cancelled because another file failed. The partial file is kept."""


@dataclass(frozen=True)
class Remote:
    """The address of a file, and the headers of its request."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # may contain a token


def download(
    remote: Remote, part: Path, *, size: int | None, advance: Advance, stop: threading.Event | None = None
) -> None:
    """Download a file, continuing a partial one (``part``), to which bytes are appended.

    If the size is known, the content of ``part`` is taken as the file's beginning, because the caller checks the hash.
    If it is None, ``part`` is continued only if its entity tag is still valid. ``advance`` receives numbers of bytes; a
    negative number if bytes are fetched again.

    Raises
    ------
    FAILURES
        If the server does not answer.
    DataError
        If the server sends far more than ``size`` bytes.
    DownloadCancelled
        If ``stop`` is set.
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
    headers = dict(remote.headers) | {"Accept-Encoding": "identity"}  # ranges of compressed bytes cannot be joined
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
        if response.status_code == 416:  # the server's file is shorter, so the partial file is of another one
            part.unlink()
            advance(-have)
            raise httpx2.RemoteProtocolError("the server's file is shorter than the partial download")
        hf_raise_for_status(response)
        start = have if _continues(response, have) else 0
        if start == 0 and size is None:
            _store_validator(response.headers.get("ETag", ""), validator)
        advance(start - have)
        _write(response, part, start, size, advance, stop)
    validator.unlink(missing_ok=True)


def _write(response: Any, part: Path, start: int, size: int | None, advance: Advance, stop: threading.Event) -> None:
    with part.open("ab") as file:
        file.truncate(start)
        for chunk in response.iter_bytes():
            file.write(chunk)
            file.flush()  # the bytes survive a kill
            advance(len(chunk))
            if size is not None and file.tell() > size + _SPARE:
                raise DataError(f"the server sends more than the {size} bytes that the file has", file=part.name)
            if stop.is_set():
                raise DownloadCancelled


def _continues(response: Any, have: int) -> bool:
    """Whether the response continues after ``have`` bytes. A server without ranges sends the whole file."""
    found = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return bool(have) and response.status_code == 206 and found is not None and int(found[1]) == have


def _store_validator(tag: str, validator: Path) -> None:
    """Store a strong entity tag, which identifies the content. Weak tags do not."""
    if tag and not tag.startswith("W/"):
        validator.write_text(tag, encoding="utf-8")
    else:
        validator.unlink(missing_ok=True)


def _validator_file(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def is_offline(error: Exception) -> bool:
    """Whether there is no connection, or HF_HUB_OFFLINE is set."""
    return isinstance(error, (OfflineModeIsEnabled, httpx2.TransportError))


def reason(error: BaseException) -> str:
    """Return the cause of a failed request in one line, without secrets."""
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set"
    status = getattr(getattr(error, "response", None), "status_code", None)
    first = str(error).strip().split("\n", 1)[0].strip() or type(error).__name__
    if status in (401, 403):
        first = f"status {status}: the server requires an access token (HF_TOKEN)"
    return redacted(first)


def redacted(text: str) -> str:
    """Remove the token from ``text``, and passwords and signatures from its addresses."""
    if token := get_token():
        text = text.replace(token, "***")
    return re.sub(r"https?://[^\s'\"<>()]+", lambda found: _plain(found[0]), text)


def _plain(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

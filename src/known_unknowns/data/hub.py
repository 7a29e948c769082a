"""A hub of data sets and models: commits of branches, and addresses of files. HF_ENDPOINT names a mirror."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from huggingface_hub import HfApi, constants, hf_hub_url, try_to_load_from_cache
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, http_backoff

from known_unknowns.data import download
from known_unknowns.errors import DataError, MachineError
from known_unknowns.files.pins import FilePin, Files, difference, safe


def resolve(repository: str, revision: str, kind: str) -> tuple[str, dict[str, FilePin]]:
    """Return the commit of a branch, a tag or a commit, and the hashes of its files. ``kind`` is "dataset" or "model".

    The hub lists the sha256 of files in large storage, and the git blob name of all others.

    Raises
    ------
    download.FAILURES
        If a request fails.
    DataError
        If a path leads out of the repository, or the repository is empty.
    MachineError
        If the answer is not that of a hub.
    """
    try:
        commit = revision if re.fullmatch(r"[0-9a-f]{40}", revision) else _commit(repository, revision, kind)
        listed = HfApi(endpoint=constants.ENDPOINT).list_repo_tree(
            repository, repo_type=kind, revision=commit, recursive=True
        )
        entries = [entry for entry in listed if isinstance(entry, RepoFile)]
    except (ValueError, KeyError, TypeError) as error:
        where = download.redacted(constants.ENDPOINT)
        raise MachineError(f"{where} does not answer like a hub; HF_ENDPOINT names another one ({error!r})") from error
    return commit, _files(repository, entries)


def _commit(repository: str, revision: str, kind: str) -> str:
    response = http_backoff(
        "GET",
        f"{constants.ENDPOINT}/api/{kind}s/{repository}/revision/{quote(revision, safe='')}",
        headers=build_hf_headers(),
        timeout=constants.HF_HUB_ETAG_TIMEOUT,
        max_retries=3,
        base_wait_time=download.PAUSE,
    )
    hf_raise_for_status(response)
    return response.json()["sha"]


def _files(repository: str, entries: Iterable[RepoFile]) -> dict[str, FilePin]:
    files = {}
    for entry in entries:
        try:
            path = safe(entry.path)
        except ValueError as error:
            raise DataError(f"{error}; the repository is not fetched", file=repository) from error
        large = entry.lfs
        files[path] = FilePin(large.size, sha256=large.sha256) if large else FilePin(entry.size, git=entry.blob_id)
    if not files:
        raise DataError("the repository holds no files", file=repository)
    return dict(sorted(files.items()))


def remote(repository: str, commit: str, kind: str, path: str) -> download.Remote:
    """Return the address of a file of a commit."""
    url = hf_hub_url(repository, path, repo_type=kind, revision=commit, endpoint=constants.ENDPOINT)
    return download.Remote(url, build_hf_headers())


def cached(repository: str, commit: str, files: Files) -> dict[str, str]:
    """Return the model's files in the local cache of the hub, with their paths on disk."""
    found = {path: try_to_load_from_cache(repository, path, revision=commit) for path in files}
    return {path: place for path, place in found.items() if isinstance(place, str)}


def check_cached(repository: str, commit: str, files: Files) -> None:
    """Compare the model's files in the local cache of the hub with their pins. DataError if one differs.

    The hub's client does not hash cached files, nor files downloaded over plain HTTP.
    """
    for name, place in cached(repository, commit, files).items():
        wrong = difference(files[name].of(Path(place)), files[name])
        if wrong is not None:
            raise DataError(f"{wrong}; delete it, and the next run downloads it again", file=place)


def commit_in_cache(repository: str, revision: str) -> str | None:
    """Return the commit that the local cache of the hub has for a model's branch or tag; None if there is none."""
    place = try_to_load_from_cache(repository, "config.json", revision=revision)
    return Path(place).parent.name if isinstance(place, str) else None

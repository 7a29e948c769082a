"""Released replies: some files of several commits of a git repository.

Only files that match the patterns of params.yaml are fetched. Git gets the lists of files first (a partial clone), then
one file after the other, so that an interrupted fetch continues. Git checks each file: its name in git is a hash of its
content.

    data/released/raw/<benchmark>/<path>                          of the first commit that has the path
    data/released/raw/<benchmark>/other_versions/<commit>/<path>  another content in a later commit
    data/released/raw/<benchmark>/released.json                   the commit and the hash of each file

A server cannot be asked for an abbreviated commit. Git then gets the commits of all branches without their files, and
completes the name. `known_unknowns.data.fetch` writes the full name to the lock, and gives it here from then on.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from hashlib import sha1
from pathlib import Path

from known_unknowns.benchmark.released import ReleasedFile
from known_unknowns.config import ReleasedData
from known_unknowns.data.download import redacted
from known_unknowns.data.files import safe
from known_unknowns.data.store import Store, replace_folder
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.files import COMPRESSED, link_or_copy, write_text
from known_unknowns.progress import progress

MANIFEST = "released.json"
OTHERS = "other_versions"
FULL = re.compile(r"[0-9a-f]{40}")
"""A commit that is not abbreviated."""
_NO_COMMIT = "not our ref"
"""Part of a server's answer if it has no commit of that name."""
_FILE_MODE = "100"
"""Modes of regular files start with this. Links and submodules are not fetched."""


def revisions(entry: ReleasedData) -> list[str]:
    """Return the commits of an entry, in order, as they are in params.yaml."""
    return [entry.revision, *entry.further_revisions]


def fetch(
    name: str,
    entry: ReleasedData,
    store: Store,
    *,
    user_folder: Path | None = None,
    full_names: Mapping[str, str] | None = None,
    on_names: Callable[[Mapping[str, str]], None] = lambda names: None,
) -> None:
    """Put the files into ``store.out``. Files that are there are not fetched again.

    Parameters
    ----------
    name : str
    entry : ReleasedData
        The data's entry in params.yaml.
    store : Store
    user_folder : Path, optional
        A clone that has the commits, which is used instead of the repository.
    full_names : mapping, optional
        Abbreviated commits of the entry to the full names that are locked.
    on_names : callable, optional
        Called with the full name of each commit of the entry, before files are fetched.

    Raises
    ------
    ConfigError
        If several commits have the abbreviated name.
    MachineError
        If git cannot get a commit or a file. Fetched files are kept.
    DataError
        If no file matches the patterns.
    """
    folder = user_folder or store.root / f"{store.out.name}.git"
    repository = _Repository(_git(name), folder, entry.repository, user_folder is not None)
    names = repository.open(revisions(entry), full_names or {})
    on_names(names)
    commits = list(dict.fromkeys(names.values()))
    files = list(_chosen(repository, commits, entry.files))
    if not files:
        raise DataError(_no_file(repository, commits, entry.files), file=name)
    blobs = store.root / "released"
    blobs.mkdir(exist_ok=True)
    with progress(f"fetching {name} (files)", len(files)) as advance:
        for file in files:
            repository.write(file.blob, blobs / file.blob)
            advance(1)
    _assemble(store, blobs, files, entry)
    if user_folder is None:
        shutil.rmtree(repository.folder, ignore_errors=True)


def full_name(repository: str, revision: str) -> str:
    """Return the full name of an abbreviated commit of a git repository.

    Raises
    ------
    ConfigError
        If several commits have the abbreviated name.
    MachineError
        If the repository cannot be read, or no branch has the commit.
    """
    with tempfile.TemporaryDirectory() as folder:
        return _Repository(_git(repository), Path(folder, "git"), repository, False).open([revision], {})[revision]


def _git(name: str) -> str:
    git = shutil.which("git")
    if git is None:
        raise MachineError(f"git is not installed, and {name} is fetched with it; install it and run again")
    return git


def _assemble(store: Store, blobs: Path, files: Sequence[ReleasedFile], entry: ReleasedData) -> None:
    new = store.root / f"{store.out.name}.new"
    shutil.rmtree(new, ignore_errors=True)
    for file in files:
        (new / file.place).parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(blobs / file.blob, new / file.place)
    sized = [replace(file, size=(new / file.place).stat().st_size) for file in files]
    content = {"entry": entry.as_dict(), "files": [asdict(file) for file in sized]}
    write_text(new / MANIFEST, json.dumps(content, indent=1) + "\n")
    replace_folder(new, store.out, store.root / f"{store.out.name}.old")


def read_manifest(raw: Path, entry: ReleasedData | None = None) -> list[ReleasedFile] | None:
    """Return the files of a fetched folder; None if it was not fetched, or not with this entry of params.yaml."""
    try:
        content = json.loads((raw / MANIFEST).read_text(encoding="utf-8"))
        files = [ReleasedFile(**file) for file in content["files"]]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"not the list of fetched files ({error}); fetch again", file=raw / MANIFEST) from error
    return files if entry is None or content.get("entry") == entry.as_dict() else None


def _chosen(repository: _Repository, commits: Sequence[str], patterns: Sequence[str]) -> Iterator[ReleasedFile]:
    """Yield each content under a path once. Of the first commit that has the path, it keeps its place."""
    seen: dict[str, set[str]] = {}
    for commit in commits:
        for path, blob in repository.listed(commit):
            versions = seen.setdefault(path, set())
            if blob in versions or not any(fnmatchcase(path, pattern) for pattern in patterns):
                continue
            place = f"{OTHERS}/{commit[:12]}/{path}" if versions else path
            versions.add(blob)
            yield ReleasedFile(safe(path), commit, blob, place)


def _no_file(repository: _Repository, commits: Sequence[str], patterns: Sequence[str]) -> str:
    """Why no file was found, with the compressed files that would match without their suffix."""
    message = f"no file matches {', '.join(patterns)} in {', '.join(commits)}"
    for commit in commits:
        for path, _ in repository.listed(commit):
            plain = path.removesuffix(Path(path).suffix)
            if path.endswith(COMPRESSED) and any(fnmatchcase(plain, pattern) for pattern in patterns):
                return f"{message}; compressed files, such as {path}, are not read"
    return message


@dataclass(frozen=True)
class _Repository:
    """A partial clone in ``folder``, or a clone of the user, which is only read."""

    git: str
    folder: Path
    address: str
    is_of_user: bool

    def open(self, asked: Sequence[str], full_names: Mapping[str, str]) -> dict[str, str]:
        """Get the commits; return their full names in the same order."""
        if not self.is_of_user and not (self.folder / "config").is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._run("init", "--quiet", "--bare", "--template=")
            for key, value in (
                ("core.repositoryformatversion", "1"),
                ("extensions.partialClone", "origin"),
                ("remote.origin.url", self.address),
                ("remote.origin.promisor", "true"),
                ("remote.origin.partialclonefilter", "blob:none"),
            ):
                self._run("config", key, value)
        names = {revision: full_names.get(revision, revision) for revision in asked}
        # The branches come first: a later fetch of single commits makes the clone shallow.
        for revision in sorted(names.values(), key=lambda name: FULL.fullmatch(name) is not None):
            self._get(revision)
        return {revision: self._full_name(name) for revision, name in names.items()}

    def _get(self, revision: str) -> None:
        if self._has(revision):
            return
        if self.is_of_user:
            raise MachineError(
                f"{self.folder} is not a git repository with the commit {revision}; on a machine with a connection, "
                f"run git clone {redacted(self.address)}, and name that folder"
            )
        options = ["--quiet", "--no-tags", "--filter=blob:none"]
        if FULL.fullmatch(revision):
            try:
                self._run("fetch", *options, "--depth=1", "origin", revision)
            except MachineError as error:
                if _NO_COMMIT not in str(error):
                    raise
                message = f"{redacted(self.address)} has no commit {revision}; correct it in params.yaml"
                raise MachineError(message) from error
        else:
            self._run("fetch", *options, "origin", "+refs/heads/*:refs/remotes/origin/*")
            if not self._has(revision):
                raise MachineError(
                    f"no branch of {redacted(self.address)} has the commit {revision}; write its full name "
                    "in params.yaml"
                )

    def _has(self, revision: str) -> bool:
        """Whether the clone has the commit. A full name that is absent would be fetched by other commands."""
        if FULL.fullmatch(revision) and not self.is_of_user:
            marker = self.folder / "shallow"
            return marker.is_file() and revision in marker.read_text(encoding="ascii").split()
        return bool(self._commits(revision))

    def _commits(self, revision: str) -> list[str]:
        """Return the commits of the clone whose names begin with ``revision``."""
        command = [self.git, "-C", str(self.folder), "rev-parse", f"--disambiguate={revision}"]
        done = subprocess.run(command, capture_output=True, check=False, env=_environment())
        form = "--batch-check=%(objectname) %(objecttype)"
        described = self._run("cat-file", form, given=done.stdout) if not done.returncode and done.stdout else b""
        return [line.split()[0] for line in described.decode().splitlines() if line.endswith(" commit")]

    def _full_name(self, revision: str) -> str:
        if FULL.fullmatch(revision):
            return revision
        found = self._commits(revision)
        if len(found) > 1:
            raise ConfigError(
                f"{len(found)} commits of {redacted(self.address)} begin with {revision} ({', '.join(sorted(found))}); "
                "write the full name in params.yaml"
            )
        return found[0]

    def listed(self, commit: str) -> Iterator[tuple[str, str]]:
        """Yield the path and the blob of each regular file of a commit."""
        for line in self._run("ls-tree", "-r", "-z", commit).split(b"\0"):
            about, _, path = line.decode("utf-8", "surrogateescape").partition("\t")
            if path and about.startswith(_FILE_MODE):
                yield path, about.split()[2]

    def write(self, blob: str, out: Path) -> None:
        """Write the content of a blob to ``out``, unless it is there. Git gets it from the repository if need be."""
        if out.is_file() and _blob_of(out.read_bytes()) == blob:
            return
        content = self._run("cat-file", "blob", blob)
        if _blob_of(content) != blob:
            raise MachineError(f"git gave another content for {blob}; remove {self.folder} and run again")
        part = out.with_name(out.name + ".part")
        part.write_bytes(content)
        part.replace(out)

    def _run(self, *arguments: str, given: bytes = b"") -> bytes:
        command = [self.git, "-C", str(self.folder), *arguments]
        done = subprocess.run(command, capture_output=True, check=False, input=given, env=_environment())
        if done.returncode:
            words = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise MachineError(
                f"cannot fetch {redacted(self.address)} ({redacted(words[-1])}). Check the connection and "
                "run again: what was fetched is kept. Or name a clone with --from FOLDER"
            )
        return done.stdout


def _blob_of(content: bytes) -> str:
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _environment() -> dict[str, str]:
    return os.environ | {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}

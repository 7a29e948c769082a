"""Files of commits of a git repository. Git names each content by its hash, so that every file is checked.

All regular files of one commit (``source: git``), or those of several commits that match patterns (``source:
released``). The lists of files come first; for patterns, the contents come one by one (a partial clone), so that an
interrupted fetch continues.

    data/<edition>/raw/<benchmark>/<path>                          of the first commit that has the path
    data/<edition>/raw/<benchmark>/other_versions/<commit>/<path>  another content in a later commit
    data/<edition>/raw/<benchmark>/.git-files.json                 the commit and the hash of each file

A user's folder that is no clone is taken as it is: its files are hashed, and their commit is `NO_COMMIT`.

A server cannot be asked for an abbreviated commit. Git then gets the commits of all branches without their files, and
completes the name. `known_unknowns.data.fetch` writes the full name to the lock, and gives it here from then on.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryDirectory

from known_unknowns.benchmark.released import ReleasedFile
from known_unknowns.config import GitData, ReleasedData
from known_unknowns.config.locked_commits import FULL, revisions
from known_unknowns.data.download import redacted
from known_unknowns.data.store import MANIFEST, Store
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.files import COMPRESSED
from known_unknowns.files.pins import FilePin, safe
from known_unknowns.progress import progress

NO_COMMIT = "no commit"
"""The commit of files that were taken from a folder which is no clone."""
_OTHERS = "other_versions"
_NOT_THERE = "not our ref"
"""Part of a server's answer if it has no commit of that name."""
_FILE_MODE = "100"
"""Modes of regular files start with this. Links and submodules are not fetched."""


def fetch(
    name: str,
    entry: GitData | ReleasedData,
    store: Store,
    *,
    user_folder: Path | None = None,
    full_names: Mapping[str, str] | None = None,
    on_names: Callable[[Mapping[str, str]], None] = lambda names: None,
) -> None:
    """Put the files into ``store.out``. Contents that are in the store are not fetched again.

    ``user_folder`` is used instead of the repository: a clone that has the commits, or a folder with the files alone,
    of which no commit is known (`NO_COMMIT`). ``full_names`` are the
    locked full names of abbreviated commits. ``on_names`` is called with the full name of each commit of the entry,
    before files are fetched.

    Raises
    ------
    ConfigError
        If several commits have the abbreviated name.
    MachineError
        If git cannot get a commit or a file. Fetched files are kept.
    DataError
        If no file matches the patterns.
    """
    asked, patterns = ([entry.revision], ["*"]) if isinstance(entry, GitData) else (revisions(entry), entry.files)
    if isinstance(entry, GitData) and _is_there(store, entry):
        return
    if user_folder is not None and not is_repository(user_folder):
        _take_files(name, entry, user_folder, patterns, store)
        return
    with _clone(name, entry.repository, store.root, user_folder, partial=patterns != ["*"]) as clone:
        names = clone.open([(full_names or {}).get(revision, revision) for revision in asked])
        on_names(dict(zip(asked, names, strict=True)))
        commits = list(dict.fromkeys(names))
        files = list(_chosen(clone, commits, patterns))
        if not files:
            paths = [path for commit in commits for path, _ in clone.listed(commit)]
            raise DataError(_no_file(paths, patterns, where=", ".join(commits)), file=name)
        sizes = {}
        with progress(f"fetching {name} (files)", len(files)) as advance:
            for file in files:
                sizes[file.place] = clone.write(file.blob, store)
                advance(1)
    _assemble(entry, files, sizes, store)


def _assemble(
    entry: GitData | ReleasedData, files: Sequence[ReleasedFile], sizes: Mapping[str, int], store: Store
) -> None:
    """Make the fetched folder of files in the store."""
    pins = {file.place: FilePin(sizes[file.place], git=file.blob) for file in files}
    sized = [asdict(file) | {"size": sizes[file.place]} for file in files]
    store.assemble(pins, manifest=json.dumps({"entry": entry.plain(), "files": sized}, indent=1) + "\n")


def is_repository(folder: Path) -> bool:
    """Whether a folder is a clone: it has .git, or is a bare one."""
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def _take_files(name: str, entry: GitData | ReleasedData, folder: Path, patterns: Sequence[str], store: Store) -> None:
    """Take the files that match patterns from a folder, which does not say of which commit they are."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    by_name = {path.relative_to(folder).as_posix(): path for path in paths}
    visible = {place: path for place, path in by_name.items() if not any(p.startswith(".") for p in place.split("/"))}
    files, sizes = [], {}
    for place, path in visible.items():
        if not any(fnmatchcase(place, pattern) for pattern in patterns):
            continue
        content = path.read_bytes()
        blob = _blob_of(content)
        _put(blob, content, store)
        files.append(ReleasedFile(place, NO_COMMIT, blob, place))
        sizes[place] = len(content)
    if not files:
        reason = _no_file(list(visible), patterns, where="the folder, with the paths of the repository")
        raise DataError(f"{reason}. It is no clone of {redacted(entry.repository)} either", file=folder)
    text = (
        f"{name}: {len(files)} files of {folder}; no commit shows that they are those of {redacted(entry.repository)}"
    )
    print(text, file=sys.stderr)
    _assemble(entry, files, sizes, store)


def full_name(repository: str, revision: str) -> str:
    """Return the full name of an abbreviated commit of a git repository.

    Raises ConfigError if several commits have the abbreviated name, and MachineError if no branch has the commit, or
    the repository cannot be read.
    """
    with TemporaryDirectory() as folder, _clone(repository, repository, Path(folder), None) as clone:
        return clone.open([revision])[0]


def read_manifest(raw: Path, entry: GitData | ReleasedData | None = None) -> list[ReleasedFile] | None:
    """Return the files of a fetched folder; None if it was not fetched, or not with this entry of params.yaml."""
    try:
        content = json.loads((raw / MANIFEST).read_text(encoding="utf-8"))
        files = [ReleasedFile(**file) for file in content["files"]]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"not the list of fetched files ({error}); fetch again", file=raw / MANIFEST) from error
    return files if entry is None or content.get("entry") == entry.plain() else None


def is_without_commit(raw: Path) -> bool:
    """Whether the files of a fetched folder were taken from a folder that is no clone."""
    return any(file.commit == NO_COMMIT for file in read_manifest(raw) or ())


def _is_there(store: Store, entry: GitData) -> bool:
    try:
        files = read_manifest(store.out, entry)
    except DataError:
        return False
    pins = {file.place: FilePin(file.size, git=file.blob) for file in files or ()}
    return bool(pins) and not store.missing_in_folder(pins) and not store.unexpected_files(pins)


def _chosen(clone: _Clone, commits: Sequence[str], patterns: Sequence[str]) -> Iterator[ReleasedFile]:
    """Yield each content under a path once. Of the first commit that has the path, it keeps its place."""
    seen: dict[str, set[str]] = {}
    for commit in commits:
        for path, blob in clone.listed(commit):
            versions = seen.setdefault(path, set())
            if blob in versions or not any(fnmatchcase(path, pattern) for pattern in patterns):
                continue
            try:
                place = f"{_OTHERS}/{commit[:12]}/{safe(path)}" if versions else safe(path)
            except ValueError as error:
                raise DataError(f"{error}; the repository is not fetched", file=clone.address) from error
            versions.add(blob)
            yield ReleasedFile(path, commit, blob, place)


def _no_file(paths: Sequence[str], patterns: Sequence[str], *, where: str) -> str:
    """Why no file was found, with the compressed files that would match without their suffix."""
    message = f"no file matches {', '.join(patterns)} in {where}"
    for path in (path for path in paths if path.endswith(COMPRESSED)):
        if any(fnmatchcase(path.removesuffix(Path(path).suffix), pattern) for pattern in patterns):
            return f"{message}; compressed files, such as {path}, are not read"
    return message


@contextmanager
def _clone(name: str, address: str, root: Path, user_folder: Path | None, *, partial: bool = True) -> Iterator[_Clone]:
    """Give the user's clone, or a new one below ``root``, which is removed at the end.

    Each fetch has a clone of its own: a git process that outlives a killed fetch may still write into its clone, and
    leaves lock files there.
    """
    git = shutil.which("git")
    if git is None:
        raise MachineError(f"git is not installed, and {name} is fetched with it; install it and run again")
    if user_folder is not None:
        yield _Clone(git, user_folder, address, is_of_user=True)
        return
    prefix = re.sub(r"\W", "-", name) + ".git-"
    for left in root.glob(f"{prefix}*"):  # left by killed fetches
        shutil.rmtree(left, ignore_errors=True)
    with TemporaryDirectory(prefix=prefix, dir=root, ignore_cleanup_errors=True) as folder:
        clone = _Clone(git, Path(folder), address, filters=("--filter=blob:none",) if partial else ())
        clone.run("init", "--quiet", "--bare", "--template=")
        clone.run("config", "remote.origin.url", address)
        if partial:
            for key, value in (
                ("core.repositoryformatversion", "1"),
                ("extensions.partialClone", "origin"),
                ("remote.origin.promisor", "true"),
                ("remote.origin.partialclonefilter", "blob:none"),
            ):
                clone.run("config", key, value)
        yield clone


@dataclass(frozen=True)
class _Clone:
    """A new clone in ``folder``, or a clone of the user, which is only read."""

    git: str
    folder: Path
    address: str
    filters: Sequence[str] = ()
    is_of_user: bool = False

    def open(self, asked: Sequence[str]) -> list[str]:
        """Get the commits; return their full names in the same order."""
        # The branches come first: a later fetch of single commits makes the clone shallow.
        for revision in sorted(set(asked), key=lambda name: FULL.fullmatch(name) is not None):
            self._get(revision)
        return [self._full_name(revision) for revision in asked]

    def _get(self, revision: str) -> None:
        if self.is_of_user:
            if not self._commits(revision):
                kind = "a shallow clone without" if self._is_shallow() else "not a git repository with"
                raise MachineError(
                    f"{self.folder} is {kind} the commit {revision}; on a machine with a connection, run "
                    f"git clone {redacted(self.address)}, and name that folder"
                )
            return
        options = ["--quiet", "--no-tags", *self.filters]
        if FULL.fullmatch(revision):
            try:
                self.run("fetch", *options, "--depth=1", "origin", revision)
            except MachineError as error:
                if _NOT_THERE not in str(error):
                    raise
                message = f"{redacted(self.address)} has no commit {revision}; correct it in params.yaml"
                raise MachineError(message) from error
            return
        self.run("fetch", *options, "origin", "+refs/heads/*:refs/remotes/origin/*")
        if not self._commits(revision):
            raise MachineError(
                f"no branch of {redacted(self.address)} has the commit {revision}; write its full name in params.yaml"
            )

    def _is_shallow(self) -> bool:
        return any((self.folder / place).is_file() for place in (".git/shallow", "shallow"))

    def _is_partial(self) -> bool:
        """Whether git gets contents of the clone only when they are needed."""
        try:
            return bool(self.run("config", "--get-regexp", r"^remote\..*\.promisor$"))
        except MachineError:  # there is no such key
            return False

    def _commits(self, revision: str) -> list[str]:
        """Return the commits of the clone whose names begin with ``revision``."""
        try:
            names = self.run("rev-parse", f"--disambiguate={revision}")
            described = self.run("cat-file", "--batch-check=%(objectname) %(objecttype)", given=names)
        except MachineError:
            return []
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
        for line in self.run("ls-tree", "-r", "-z", commit).split(b"\0"):
            about, _, path = line.decode("utf-8", "surrogateescape").partition("\t")
            if path and about.startswith(_FILE_MODE):
                yield path, about.split()[2]

    def write(self, blob: str, store: Store) -> int:
        """Put a content into the store unless it is there, and return its size. A partial clone gets it now."""
        out = store.path_of(FilePin(0, git=blob))
        if out.is_file() and _blob_of(out.read_bytes()) == blob:
            return out.stat().st_size
        try:
            content = self.run("cat-file", "blob", blob)
        except MachineError as error:
            if not self.is_of_user or not self._is_partial():
                raise
            raise MachineError(
                f"{self.folder} is a partial clone (git clone --filter), which lacks the contents of files; on a "
                f"machine with a connection, run git clone {redacted(self.address)} without --filter, and name it"
            ) from error
        if _blob_of(content) != blob:
            raise MachineError(f"git gave another content for {blob}; run again")
        _put(blob, content, store)
        return len(content)

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Run git in the clone and return its output."""
        command = [self.git, "-C", str(self.folder), *arguments]
        environment = os.environ | {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        done = subprocess.run(command, capture_output=True, check=False, input=given, env=environment)
        if done.returncode:
            words = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise MachineError(
                f"cannot fetch {redacted(self.address)} ({redacted(words[-1])}). Check the connection and "
                "run again: what was fetched is kept. Or name a clone, or a folder with the files, with --from FOLDER"
            )
        return done.stdout


def _put(blob: str, content: bytes, store: Store) -> None:
    """Put a content into the store."""
    out = store.path_of(FilePin(0, git=blob))
    part = out.with_name(out.name + ".part")
    part.write_bytes(content)
    part.replace(out)


def _blob_of(content: bytes) -> str:
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()

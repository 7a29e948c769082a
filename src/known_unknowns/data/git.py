"""The files of one commit of a git repository. Git checks them itself: a commit's name is a hash of its content."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from known_unknowns.config import GitData
from known_unknowns.data.download import redacted
from known_unknowns.data.files import FilePin, is_right, pin
from known_unknowns.data.store import Store, replace_folder
from known_unknowns.errors import MachineError
from known_unknowns.files import write_text
from known_unknowns.progress import progress

_RECEIVED = re.compile(rb"Receiving objects:\s+(\d+)%")


def check_out(name: str, entry: GitData, store: Store, *, user_folder: Path | None = None) -> None:
    """Put the files of a commit into ``store.out``, without the history, unless they are there and unchanged.

    The files are untrusted data: their links, hooks and filters are disabled.

    Parameters
    ----------
    name : str
    entry : GitData
        The data's entry in params.yaml.
    store : Store
    user_folder : Path, optional
        A clone that has the commit, which is used instead of the repository.

    Raises
    ------
    MachineError
        If git cannot get the commit. ``store.out`` is unchanged.
    """
    git = shutil.which("git")
    if git is None:
        raise MachineError(f"git is not installed, and {name} is fetched with it; install it and run again")
    if _is_there(store, entry.revision):
        return
    source = entry.repository if user_folder is None else _clone(git, user_folder, entry)
    for left in store.root.glob(f"{store.out.name}.work*"):  # left by killed fetches
        shutil.rmtree(left, ignore_errors=True)
    # A git process that outlives a killed fetch may still write into its folder, so each fetch has its own folder.
    work = Path(tempfile.mkdtemp(prefix=f"{store.out.name}.work-", dir=store.root))
    try:
        tree = work / "tree"  # with the permissions of any new folder
        tree.mkdir()
        _run([git, "init", "--quiet", "--template="], tree, entry)
        with progress(f"fetching {name} (%)", 100) as advance:
            command = [git, "fetch", "--progress", "--depth=1", "--", source, entry.revision]
            _run(command, tree, entry, advance)
        _run([git, "-c", "core.symlinks=false", "checkout", "--quiet", "FETCH_HEAD"], tree, entry)
        shutil.rmtree(tree / ".git")
        _write_stamp(store, tree, entry.revision)
        replace_folder(tree, store.out, store.root / f"{store.out.name}.old")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _clone(git: str, user_folder: Path, entry: GitData) -> str:
    command = [git, "-C", str(user_folder), "cat-file", "-e", f"{entry.revision}^{{commit}}"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise MachineError(
            f"{user_folder} is not a git repository with the commit {entry.revision}, so its files cannot be "
            f"checked; on a machine with a connection, run git clone {entry.repository}, and name that folder"
        )
    return str(user_folder.resolve())


def _run(command: list[str], folder: Path, entry: GitData, advance: Any = None) -> None:
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_LFS_SKIP_SMUDGE": "1"}
    output, percent_done = b"", 0
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        while chunk := process.stderr.read1(4096):
            output = (output + chunk)[-4096:]
            done = [int(percent) for percent in _RECEIVED.findall(output)]
            if advance is not None and done and done[-1] > percent_done:
                advance(done[-1] - percent_done)
                percent_done = done[-1]
    if process.returncode:
        words = output.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise MachineError(
            f"cannot fetch {redacted(entry.repository)} at {entry.revision} ({redacted(words[-1])}). Check the "
            f"connection and run again, or name a clone with --from FOLDER"
        )


def _stamp_path(store: Store) -> Path:
    return store.root / f"{store.out.name}.commit.json"


def _write_stamp(store: Store, folder: Path, commit: str) -> None:
    """Record the hashes of the commit's files, so that a rerun detects changes."""
    files = {path.relative_to(folder).as_posix(): pin(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    content = {"commit": commit, "files": {path: pinned.as_dict() for path, pinned in files.items()}}
    write_text(_stamp_path(store), json.dumps(content, indent=1) + "\n")


def _is_there(store: Store, commit: str) -> bool:
    try:
        stamp = json.loads(_stamp_path(store).read_text(encoding="utf-8"))
        files = {path: FilePin(**pinned) for path, pinned in stamp["files"].items()}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return (
        stamp["commit"] == commit
        and all(is_right(store.out / path, pinned) for path, pinned in files.items())
        and not store.unexpected_files(files)
    )

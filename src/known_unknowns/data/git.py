"""The files of one commit of a git repository, which git checks itself: a commit's name is a hash of all it holds."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from known_unknowns.data.download import redacted
from known_unknowns.data.files import Pinned, is_right, pin
from known_unknowns.data.store import Store, replace_folder
from known_unknowns.errors import MachineError
from known_unknowns.progress import progress
from known_unknowns.tables import write_text

_RECEIVED = re.compile(rb"Receiving objects:\s+(\d+)%")


def check_out(name: str, entry: Mapping[str, Any], store: Store, *, given: Path | None = None) -> None:
    """Put the files of the commit ``entry["revision"]`` into ``store.out``, without the history; nothing is done where
    they are there and unchanged. They are data: no link, hook or filter of theirs is followed.

    ``given`` is a clone that has the commit, and is asked instead of ``entry["repository"]``.
    Raises MachineError where git cannot get it. ``store.out`` is then as it was.
    """
    git = shutil.which("git")
    if git is None:
        raise MachineError(f"git is not installed, and {name} is fetched with it; install it and run again")
    if _is_there(store, entry["revision"]):
        return
    source = entry["repository"] if given is None else _clone(git, given, entry)
    for left in store.root.glob(f"{store.out.name}.work*"):  # by fetches that were killed
        shutil.rmtree(left, ignore_errors=True)
    # A git that outlived such a fetch may go on writing into its folder, and so keep it: each fetch has its own.
    work = Path(tempfile.mkdtemp(prefix=f"{store.out.name}.work-", dir=store.root))
    try:
        tree = work / "tree"  # with the permissions of any new folder
        tree.mkdir()
        _run([git, "init", "--quiet", "--template="], tree, entry)
        with progress(f"fetching {name} (%)", 100) as advance:
            command = [git, "fetch", "--progress", "--depth=1", "--", source, entry["revision"]]
            _run(command, tree, entry, advance)
        _run([git, "-c", "core.symlinks=false", "checkout", "--quiet", "FETCH_HEAD"], tree, entry)
        shutil.rmtree(tree / ".git")
        _note(store, tree, entry["revision"])
        replace_folder(tree, store.out, store.root / f"{store.out.name}.old")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _clone(git: str, given: Path, entry: Mapping[str, Any]) -> str:
    command = [git, "-C", str(given), "cat-file", "-e", f"{entry['revision']}^{{commit}}"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise MachineError(
            f"{given} is no git repository with the commit {entry['revision']}, so that nothing says whether its files "
            f"are those of the commit; make one where there is a connection (git clone {entry['repository']}) and "
            "name that"
        )
    return str(given.resolve())


def _run(command: list[str], folder: Path, entry: Mapping[str, Any], advance: Any = None) -> None:
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_LFS_SKIP_SMUDGE": "1"}
    said, told = b"", 0
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        while chunk := process.stderr.read1(4096):
            said = (said + chunk)[-4096:]
            done = [int(percent) for percent in _RECEIVED.findall(said)]
            if advance is not None and done and done[-1] > told:
                advance(done[-1] - told)
                told = done[-1]
    if process.returncode:
        words = said.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise MachineError(
            f"cannot fetch {redacted(entry['repository'])} at {entry['revision']} ({redacted(words[-1])}). Check the "
            f"connection and run again; without one, name a clone of it with --from FOLDER"
        )


def _receipt(store: Store) -> Path:
    return store.root / f"{store.out.name}.commit.json"


def _note(store: Store, folder: Path, commit: str) -> None:
    """Note what the commit's files are, so that a rerun can tell whether they are unchanged."""
    files = {path.relative_to(folder).as_posix(): pin(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    content = {"commit": commit, "files": {path: pinned.as_dict() for path, pinned in files.items()}}
    write_text(_receipt(store), json.dumps(content, indent=1) + "\n")


def _is_there(store: Store, commit: str) -> bool:
    try:
        noted = json.loads(_receipt(store).read_text(encoding="utf-8"))
        files = {path: Pinned(**pinned) for path, pinned in noted["files"].items()}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return (
        noted["commit"] == commit
        and all(is_right(store.out / path, pinned) for path, pinned in files.items())
        and not store.strangers(files)
    )

"""Pins of a finished run: its data and its journals, named by DVC with what may be done with them.

Each folder gets a .dvc file beside it, which git keeps. Journals and what may be passed on go into DVC's cache, and
from there, with `dvc push`, into shared storage. Of what may not be passed on only the hash is kept (``cache: false``
in its .dvc file): DVC never copies it, so that it cannot be pushed, and a clone's `dvc pull` leaves it out and ends
well, where ``push: false`` would end it with an error.

The licence and the citation stand in the .dvc file, under ``meta``, so that they go where the pin goes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from known_unknowns import tables
from known_unknowns.config import Params
from known_unknowns.data import licences
from known_unknowns.errors import ConfigError, DataError, MachineError, unknown_name

STAGED = "pocket"
"""The edition whose results are outputs of the stage in dvc.yaml, and so are pinned in dvc.lock."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A folder to pin. ``shared`` is whether its content may go into shared storage; ``meta`` says what it is."""

    folder: Path
    shared: bool
    meta: Mapping[str, Any]

    @property
    def file(self) -> Path:
        return self.folder.with_name(self.folder.name + ".dvc")


def pin(params: Params, *, redistribute: Collection[str] = (), root: Path = Path()) -> list[Pin]:
    """Pin the edition's data and journals that are there, below ``root``; tell what was pinned.

    Of the `STAGED` edition, dvc.lock is brought up to date too: without it, DVC would miss the stage's outputs.

    ``redistribute`` names benchmarks whose data the user may pass on, whatever their terms say; it has to be said each
    time: without it, a later pin takes their content out of what is pushed from then on.

    Raises ConfigError for a name that is no benchmark of the edition, DataError for a .dvc file that is none and when
    DVC refuses, MachineError when DVC is not installed.
    """
    for name in redistribute:
        if name not in params.benchmarks:
            raise ConfigError(unknown_name(name, params.benchmarks), path="--redistribute")
    pins = [pin for pin in _pins(params, redistribute, root) if pin.folder.is_dir()]
    for each in pins:
        _describe(each)
    if pins:
        _dvc("add", "--quiet", *(each.folder.relative_to(root) for each in pins), root=root)
    if params.edition == STAGED and (root / "dvc.yaml").is_file() and (root / "results" / STAGED).is_dir():
        _dvc("commit", "--quiet", "--force", "workflow", root=root)
    return pins


def _pins(params: Params, redistribute: Collection[str], root: Path) -> Iterator[Pin]:
    edition = params.edition
    for benchmark in params.benchmarks:
        terms = licences.terms_of(benchmark, params.data(benchmark))
        meta = terms.as_dict()
        if benchmark in redistribute and not terms.redistribute:
            meta |= {"redistribute": True, "why": f"the user allowed it when pinning; otherwise not: {terms.why}"}
        for step in ("raw", "questions"):
            yield Pin(root / "data" / params.data_name / step / benchmark, meta["redistribute"], meta)
    for model in params.models:
        yield Pin(root / "journal" / edition / model, True, _of_model(model, params.model(model)))


def _of_model(model: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    card = entry.get("card", {})
    known = {
        "title": f"replies of {model}, without the questions and images",
        "model": entry.get("source"),
        "licence of the model": card.get("licence"),
        "cite": card.get("paper"),
    }
    return {key: value for key, value in known.items() if value}


def _describe(pin: Pin) -> None:
    """Write what the pin is to say into its .dvc file, before DVC is asked to add the folder, which keeps all of it."""
    content: dict[str, Any] = {"outs": [{"path": pin.folder.name}]}
    if pin.file.is_file():
        try:
            content = yaml.safe_load(pin.file.read_text(encoding="utf-8"))
            names = [out["path"] for out in content["outs"]]
        except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise DataError("not a DVC file; restore it from git, or delete it", file=pin.file) from error
        if names != [pin.folder.name]:
            raise DataError(f"pins {', '.join(names)}, not {pin.folder.name}; restore it from git", file=pin.file)
    out = content["outs"][0]
    out.pop("push", None)
    out.pop("cache", None)
    if not pin.shared:
        out["cache"] = False
    text = yaml.safe_dump(content | {"meta": dict(pin.meta)}, sort_keys=False, allow_unicode=True, width=120)
    tables.write_text(pin.file, text)


def _dvc(command: str, *arguments: str | Path, root: Path) -> None:
    program = shutil.which("dvc", path=str(Path(sys.executable).parent)) or shutil.which("dvc")
    if program is None:
        raise MachineError("dvc is not installed; it comes with the extra workflow: pip install -e '.[workflow]'")
    # The flag makes it wait for another dvc that is at work in this repository.
    line = [program, "--wait-for-lock", command, *map(str, arguments)]
    done = subprocess.run(line, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DataError(f"dvc {command} failed: {(done.stderr or done.stdout).strip()}", file=root)

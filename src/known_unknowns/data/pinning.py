"""DVC pins of a finished run: its data and its journals.

Each folder has a .dvc file beside it, which git tracks. Journals and data that may be redistributed go into DVC's cache
and, with `dvc push`, into shared storage. For other data, the .dvc file has only the hash (``cache: false``). DVC never
copies them, so they cannot be pushed, and `dvc pull` skips them. With ``push: false``, `dvc pull` would fail.

The .dvc file contains the licence and the citation under ``meta``.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from known_unknowns.config import ModelEntry, OpenAIModel, Params, TransformersModel
from known_unknowns.data.terms import terms_of
from known_unknowns.errors import ConfigError, DataError, MachineError, unknown_name
from known_unknowns.files import write_text
from known_unknowns.yaml_reader import parse_yaml


@dataclass(frozen=True, slots=True)
class Pin:
    """A folder to pin. ``shared`` is whether it may go into shared storage; ``meta`` is its description."""

    folder: Path
    shared: bool
    meta: Mapping[str, Any]

    @property
    def file(self) -> Path:
        return self.folder.with_name(self.folder.name + ".dvc")


def pin(params: Params, *, redistribute: Collection[str] = (), root: Path = Path()) -> list[Pin]:
    """Pin the existing data and journals of an edition, and return the pins.

    Results are recorded by `record_results` alone. ``redistribute`` are benchmarks whose data the user may redistribute
    although their licence does not allow it. It must be given for each pin; without it, the data are no longer pushed.

    Raises
    ------
    ConfigError
        If a name is not a benchmark of the edition, or the folder is in no repository of DVC.
    DataError
        If a .dvc file is not sound, or DVC fails.
    MachineError
        If DVC is not installed.
    """
    for name in redistribute:
        if name not in params.benchmarks:
            raise ConfigError(unknown_name(name, params.benchmarks), path="--redistribute")
    _repository(root)
    return _add([*_data_pins(params, redistribute, root), *_journal_pins(params, root)], root)


def record_results(params: Params, *, root: Path = Path()) -> bool:
    """Record the results of a finished run in dvc.lock, and pin its data, from which they were made.

    DVC then shows, compares and shares them. The journals are not pinned: the results include the replies. Nothing is
    recorded outside a repository of DVC, without a stage of this edition, or if an output is missing.

    Returns
    -------
    bool
        Whether they were recorded.
    """
    outputs = _outputs_by_stage(params.edition, root)
    if not (root / ".dvc").is_dir() or not outputs:
        return False
    if not all((root / path).exists() for paths in outputs.values() for path in paths):
        return False
    _add(_data_pins(params, (), root), root)
    for stage in outputs:
        _dvc("commit", "--force", stage, root=root)
    return True


def pin_folder(pin: Pin, *, root: Path = Path()) -> Path:
    """Pin a folder that belongs to no edition, and return its .dvc file. Raises as `pin` does."""
    _repository(root)
    _describe(pin)
    _dvc("add", pin.folder.relative_to(root), root=root)
    return pin.file


def _outputs_by_stage(edition: str, root: Path) -> dict[str, list[str]]:
    file = root / "dvc.yaml"
    if not file.is_file():
        return {}
    try:
        stages = parse_yaml(file.read_text(encoding="utf-8"))["stages"]
        outputs = {name: list(_outputs(stage)) for name, stage in stages.items()}
        below = Path("results", edition)
        return {
            name: paths for name, paths in outputs.items() if any(Path(path).is_relative_to(below) for path in paths)
        }
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, KeyError, TypeError) as error:
        raise DataError("not a DVC file; restore it from git", file=file) from error


def _outputs(stage: Mapping[str, Any]) -> Iterator[str]:
    """Paths of a stage's outputs. An output is a path, or a mapping of the path to its settings."""
    for kind in ("outs", "metrics", "plots"):
        for output in stage.get(kind, ()):
            yield output if isinstance(output, str) else next(iter(output))


def _add(pins: Iterable[Pin], root: Path) -> list[Pin]:
    """Pin those folders that exist, and return their pins."""
    existing = [pin for pin in pins if pin.folder.is_dir()]
    for pin in existing:
        _describe(pin)
    if existing:
        _dvc("add", *(pin.folder.relative_to(root) for pin in existing), root=root)
    return existing


def _data_pins(params: Params, redistribute: Collection[str], root: Path) -> Iterator[Pin]:
    for benchmark in params.benchmarks:
        terms = terms_of(benchmark, params.data(benchmark))
        meta = terms.as_dict()
        if benchmark in redistribute and not terms.redistribute:
            meta |= {"redistribute": True, "why": f"the user allowed it when pinning; otherwise not: {terms.why}"}
        for step in ("raw", "questions"):
            yield Pin(root / "data" / params.data_name / step / benchmark, meta["redistribute"], meta)


def _journal_pins(params: Params, root: Path) -> Iterator[Pin]:
    for model in params.models:
        yield Pin(root / "journal" / model, True, _of_model(model, params.model(model)))


def _of_model(model: str, entry: ModelEntry) -> dict[str, Any]:
    known: dict[str, Any] = {"title": f"replies of {model}, without the questions and images"}
    if isinstance(entry, TransformersModel | OpenAIModel):
        card = entry.card
        known |= {
            "model": entry.source,
            "licence of the model": card.licence if card else None,
            "cite": card.paper if card else None,
        }
    return {key: value for key, value in known.items() if value}


def _describe(pin: Pin) -> None:
    """Write the description into the .dvc file. DVC keeps it when it adds the folder."""
    content: dict[str, Any] = {"outs": [{"path": pin.folder.name}]}
    if pin.file.is_file():
        try:
            content = parse_yaml(pin.file.read_text(encoding="utf-8"))
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
    write_text(pin.file, text)


def _dvc(command: str, *arguments: str | Path, root: Path) -> None:
    program = shutil.which("dvc", path=str(Path(sys.executable).parent)) or shutil.which("dvc")
    if program is None:
        raise MachineError("dvc is not installed; it comes with the extra workflow: pip install -e '.[workflow]'")
    _remove_damaged_lock(_repository(root) / ".dvc" / "tmp")
    # With this flag, it waits for other dvc processes in this repository.
    line = [program, "--wait-for-lock", command, *map(str, arguments)]
    done = subprocess.run(line, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"
        raise DataError(f"dvc {command} failed: {reason}", file=root)


def _repository(root: Path) -> Path:
    """Return the DVC repository that a folder is in. ConfigError if it is in none."""
    for folder in (root.absolute(), *root.absolute().parents):
        if (folder / ".dvc").is_dir():
            return folder
    raise ConfigError(f"{root.absolute()} is in no repository of DVC; run  git init && dvc init  and pin again")


def _remove_damaged_lock(folder: Path) -> None:
    """Remove DVC's list of the files in use if a killed process left it damaged, since every command would fail."""
    file = folder / "rwlock"
    if not file.is_file():
        return
    with (folder / "rwlock.lock").open("a") as guard:  # DVC holds it while it writes the list
        try:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
            json.loads(file.read_text(encoding="utf-8"))
        except BlockingIOError:
            return
        except ValueError:
            file.unlink()

"""What a model's replies depend on, kept beside its journal, so that a finished journal is read without the model.

The journal knows a reply by a key that is made, among others, of the engine's facts, and those of a model that runs
in this process are known only when its weights are loaded. So the facts of a finished run are written beside the
journal, as <benchmark>.facts.json. A run that finds them there, under the same entry, folder, commit and code, takes
them as they are and makes the engine only when a question is left to ask. Whoever has somebody else's journal needs
neither the weights nor a GPU to read it. (The facts of a model behind an endpoint stand in its entry.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from known_unknowns import engines, tables
from known_unknowns.config import NOT_IN_THE_REPLY
from known_unknowns.engines import Engine
from known_unknowns.records import Reply, Turn

COSTLY = ("transformers",)
"""Engines whose facts are worth remembering; those of the others are known in no time."""
_FORMAT = 1


class FactsChanged(Exception):
    """The facts that were remembered are no longer those of the engine, which is at hand as ``engine``."""

    def __init__(self, engine: Engine) -> None:
        super().__init__("the engine's facts are no longer those that were remembered")
        self.engine = engine


class Remembered:
    """An `Engine` that knows its facts at once, and is made only when there is something to ask.

    ``answer`` raises `FactsChanged` when the engine, once made, has other facts: then nothing of the journal can be
    its own, and everything has to be asked of that engine instead.
    """

    scripted = False

    def __init__(self, name: str, entry: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
        self._name, self._entry = name, entry
        self._engine: Engine | None = None
        self._facts, self._about = kept["facts"], kept["about"]
        self.notes: Path | None = None

    @property
    def facts(self) -> Mapping[str, Any]:
        return self._facts

    @property
    def about(self) -> Mapping[str, Any]:
        """As it is now, if the engine was made, or else as it was when it was remembered."""
        return self._engine.about if self._engine is not None else self._about

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        if self._engine is None:
            engine = engines.create(self._name, self._entry)
            engine.notes = self.notes
            if _plain(engine.facts) != _plain(self._facts):
                raise FactsChanged(engine)
            self._engine = engine
        yield from self._engine.answer(turns, folder=folder)


def facts_file(journal: Path) -> Path:
    """Where the facts lie that belong to a journal."""
    return journal.with_suffix(".facts.json")


def engine(name: str, entry: Mapping[str, Any], journal: Path) -> Engine:
    """The engine of a model: remembered, where the facts beside ``journal`` are those of this entry, or newly made."""
    kept = _read(facts_file(journal)) if entry["engine"] in COSTLY else None
    if (
        kept is None
        or _plain(kept["of"]) != _plain(_of(entry))
        or not _is_locked_at(entry, kept["facts"].get("revision"))
    ):
        return engines.create(name, entry)
    return Remembered(name, entry, kept)


def remember(journal: Path, entry: Mapping[str, Any], engine: Engine) -> None:
    """Write the facts of an engine whose questions are all answered; nothing where they stand there already."""
    path = facts_file(journal)
    if entry["engine"] not in COSTLY:
        return
    kept = {"format": _FORMAT, "of": _of(entry), "facts": dict(engine.facts), "about": dict(engine.about)}
    text = json.dumps(kept, indent=2, sort_keys=True) + "\n"
    if not path.is_file() or path.read_bytes() != text.encode():
        tables.write_text(path, text)


def _of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What the facts follow from: the entry, the files of a model's own folder, and the code that makes them."""
    folder = Path(entry["source"]).expanduser()
    return {
        "entry": {key: value for key, value in entry.items() if key not in NOT_IN_THE_REPLY},
        "folder": _digest(folder, "*") if folder.is_dir() else None,
        "code": _digest(Path(engines.__file__).parent, "*.py"),
    }


def _digest(folder: Path, pattern: str) -> str:
    digest = sha256()
    for path in sorted(path for path in folder.rglob(pattern) if path.is_file()):
        with path.open("rb") as data:
            content = file_digest(data, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def _is_locked_at(entry: Mapping[str, Any], commit: str | None) -> bool:
    """Whether params.lock.yaml lets the entry be at this commit: it does unless it names another one."""
    from known_unknowns.data import lock_file

    source = lock_file.model_source(entry)
    locked = lock_file.read().get(source.key) if source is not None else None
    return locked is None or locked.commit is None or locked.commit == commit


def _read(path: Path) -> dict[str, Any] | None:
    """The file's content; None where there is none, or none that can be used: then the engine is made anew."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        sound = kept["format"] == _FORMAT and all(isinstance(kept[key], dict) for key in ("of", "facts", "about"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return kept if sound else None


def _plain(value: Any) -> str:
    """A JSON-able value as text that can be compared, whatever it was before it was written and read again."""
    return json.dumps(value, sort_keys=True)

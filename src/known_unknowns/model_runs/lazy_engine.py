"""Engines that load their model only if a question is missing from the journal.

The key of a reply in the journal contains the engine's facts. The facts of a model that runs in this process are known
only when its weights are loaded, those of a server that the job starts only when it runs. The facts of a finished run
are therefore written beside the journal, to <benchmark>.facts.json. A later run with the same entry, commit, code and
files of a local folder, wherever it lies, uses them, and creates the engine only if a question has to be asked. A
finished journal can thus be read without the weights and without a GPU: if a local folder is not there, its pinned
sha256 stands for it. (The facts of other engines follow from the entry alone; their files tell `has_finished` which
entry the last finished run had.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, TypeGuard

from known_unknowns import engines, json_files
from known_unknowns.config import ModelEntry, ModelSettings, OpenAIModel, TransformersModel, locked_commits
from known_unknowns.engine import Batches, Engine, RemembersSettings, RendersReference, ScriptedEngine, UsesProvenTurn
from known_unknowns.engines import launched_server
from known_unknowns.errors import DataError
from known_unknowns.records import Turn

_FORMAT = 1


class FactsChanged(Exception):
    """The stored facts differ from those of the loaded engine, which is ``engine``."""

    def __init__(self, engine: Engine) -> None:
        super().__init__("the engine's facts differ from the stored ones")
        self.engine = engine


class LazyEngine:
    """An `Engine` with the ``stored`` facts of a file, which creates the real one at the first turn."""

    scripted = False

    def __init__(self, name: str, entry: ModelEntry, stored: Mapping[str, Any]) -> None:
        self._name, self._entry = name, entry
        self._engine: Engine | None = None
        self.facts: Mapping[str, Any] = stored["facts"]
        self._about: Mapping[str, Any] = stored["about"]
        self.notes: Path | None = None
        self.proven: Turn | None = None

    @property
    def ends_requests(self) -> bool:
        """Whether the engine finishes the requests under way after a signal."""
        return getattr(self._engine, "ends_requests", False)

    @property
    def about(self) -> Mapping[str, Any]:
        """The engine's current information if it was created, else the stored one."""
        return self._engine.about if self._engine is not None else self._about

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Batches:
        """Answer every turn with the real engine.

        Raises FactsChanged if it has other facts than the stored ones, so that none of its replies is in the journal.
        """
        engine = self._created()
        if isinstance(engine, UsesProvenTurn):
            engine.proven = engine.proven or self.proven
        yield from engine.answer(turns, folder=folder)

    def reference_prompt(self) -> Mapping[str, Any] | None:
        """Return that of the real engine; None if it builds no prompts. Raises FactsChanged as `answer` does."""
        engine = self._created()
        return engine.reference_prompt() if isinstance(engine, RendersReference) else None

    def _created(self) -> Engine:
        if self._engine is None:
            engine: Engine = engines.create(self._name, self._entry)
            engine.notes = self.notes
            if _plain(engine.facts) != _plain(self.facts):
                raise FactsChanged(engine)
            self._engine = engine
        return self._engine


def facts_file(journal: Path) -> Path:
    """Return the path of the facts file of a journal."""
    return journal.with_suffix(".facts.json")


def engine(name: str, entry: ModelEntry, journal: Path) -> Engine | ScriptedEngine:
    """Return a model's engine: a `LazyEngine` if the facts beside ``journal`` apply to the entry, else a new one."""
    found = without_loading(name, entry, journal)
    return engines.create(name, entry) if found is None else found


def without_loading(name: str, entry: ModelEntry, journal: Path) -> Engine | ScriptedEngine | None:
    """Return the same engine; None if its facts are known only after the model is loaded, or its server is started."""
    if not _is_loaded(entry):
        created: Engine | ScriptedEngine = engines.create(name, entry)
        if isinstance(created, RemembersSettings):
            created.settings_folder = journal.parent
        return created
    stored = _read(facts_file(journal))
    if stored is not None and _is_of(stored, entry) and _is_locked_at(entry, stored["facts"]):
        return LazyEngine(name, entry, stored)
    return None


def write_facts(journal: Path, entry: ModelEntry, facts: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write the facts of an engine that has answered all questions, unless the file has them already."""
    if not isinstance(entry, ModelSettings):
        return  # scripted respondents
    path = facts_file(journal)
    stored = {"format": _FORMAT, "of": _origin(entry), "facts": dict(facts), "about": dict(about)}
    if not path.is_file() or path.read_bytes() != json_files.dumps(stored).encode():
        json_files.write(path, stored)


def has_finished(entry: ModelEntry, journals: Path) -> bool:
    """Return whether the last runs in a model's folder of journals, of whatever edition, finished with this entry.

    The model could then answer, and its journals have every reply, unless questions were added since.
    """
    files = {path for path in journals.glob("*.jsonl") if not path.name.endswith(".notes.jsonl")}
    stored = {path.stem: _read(facts_file(path)) for path in files}
    return bool(files) and all(
        each is not None and _plain(each["of"].get("entry")) == _plain(_settings(entry.asked_in(benchmark)))
        for benchmark, each in stored.items()
    )


def _settings(entry: ModelEntry) -> dict[str, Any]:
    """The keys of an entry that can change a reply. The sha256 of a local folder's weights is one; its path is none."""
    left_out = {"asked", "kept", "samples"}  # of other benchmarks, of parsers, of the turns
    if isinstance(entry, TransformersModel) and locked_commits.is_folder_pin(entry.revision):
        left_out.add("source")
    return {key: value for key, value in entry.reply_keys().items() if key not in left_out}


def _is_loaded(entry: ModelEntry) -> TypeGuard[TransformersModel | OpenAIModel]:
    """Whether the facts are known only after weights are loaded: in this process, or by a server that it starts."""
    return isinstance(entry, TransformersModel) or (isinstance(entry, OpenAIModel) and entry.launch is not None)


def _is_of(stored: Mapping[str, Any], entry: TransformersModel | OpenAIModel) -> bool:
    """Whether the stored facts are those of the entry. If its pinned folder is not there, the pin decides."""
    origin, of = _origin(entry), stored["of"]
    if isinstance(entry, OpenAIModel):
        return _plain(of) == _plain(origin)
    if origin["folder"] is None and locked_commits.is_folder_pin(entry.revision):
        if stored["facts"].get("revision") != entry.revision:
            return False
        of = of | {"folder": None}
    if origin["adapter"] is None:
        of = of | {"adapter": None}
    return _plain(of) == _plain(origin)


def _origin(entry: ModelSettings) -> dict[str, Any]:
    """What determines the facts: the entry and, in this process, the files of a local folder and the engines' code."""
    if not isinstance(entry, TransformersModel):
        origin = {"entry": _settings(entry)} | ({"code": _code()} if _is_loaded(entry) else {})
        if isinstance(entry, OpenAIModel) and entry.launch is not None:
            files = launched_server.config_files(launched_server.command_of(entry, entry.launch))
            origin |= {"files": files} if files else {}
        return origin
    folder, adapter = Path(entry.source).expanduser(), locked_commits.adapter_folder(entry.source, entry.adapter)
    return {
        "entry": _settings(entry),
        "folder": _digest(folder, "*") if folder.is_dir() else None,
        "adapter": _digest(adapter, "*") if adapter else None,
        "code": _code(),
    }


def _code() -> str:
    return _digest(Path(engines.__file__).parent, "*.py")


def _digest(folder: Path, pattern: str) -> str:
    digest = sha256()
    for path in sorted(path for path in folder.rglob(pattern) if path.is_file()):
        with path.open("rb") as data:
            content = file_digest(data, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def _is_locked_at(entry: ModelEntry, facts: Mapping[str, Any]) -> bool:
    """Whether params.lock.yaml allows the commit and the adapter of these facts. It does unless it names others."""
    locked, adapter = locked_commits.model_entry(entry), locked_commits.adapter_entry(entry)
    pins = {} if adapter is None else {name: pin.sha256 for name, pin in adapter.files.items() if pin.sha256}
    return (locked is None or locked.commit in (None, facts.get("revision"))) and all(
        pins.get(name, digest) == digest for name, digest in facts.get("adapter", {}).items()
    )


def _read(path: Path) -> dict[str, Any] | None:
    """The file's content, or None if it is missing, changed or invalid: the engine is then created."""
    try:
        stored = json_files.read(path)
        valid = stored["format"] == _FORMAT and all(isinstance(stored[key], dict) for key in ("of", "facts", "about"))
    except (OSError, DataError, KeyError, TypeError):
        return None
    return stored if valid else None


def _plain(value: Any) -> str:
    """A value as JSON, so that it compares equal to itself after it was written and read."""
    return json.dumps(value, sort_keys=True)

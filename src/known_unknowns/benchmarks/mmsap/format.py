"""MM-SAP's files on disk: which there are and what their fields are called.

The published field names are not known (see README.md), so they are settings: `Fields` holds them all, with the
names that the pocket edition writes as defaults. Each subset is a file, or several, of rows: JSON (a list of
objects), JSON lines or Parquet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from known_unknowns.benchmarks._loading import Row, json_rows, parquet_rows
from known_unknowns.benchmarks.mmsap.categories import SUBSETS
from known_unknowns.errors import ConfigError, DataError, unknown_name

REFUSAL = "Sorry, I can't help with it"
"""The text of the refusal option in every example of the papers, and in Section 4.5."""

SETTINGS = "benchmarks.mmsap.data.<edition>"
"""Where params.yaml describes the files."""

ANSWERS = ("auto", "text", "letter", "index")
SUFFIXES = (".json", ".jsonl", ".parquet")
_OPTIONAL = ("id", "sub_task")


@dataclass(frozen=True)
class Fields:
    """How the files are called and how their fields are, from params.yaml's ``benchmarks.mmsap.data.<edition>``.

    ``options`` is one field (a list of texts, or letter -> text) or several, one an option. ``id`` and ``sub_task``
    may be None where the files have none: questions are then numbered, and their category is their subset.
    ``answer`` holds the right option as ``answer_is`` says: its text, its letter, its index from 0, or ``auto``:
    whichever it can be, which is an error where that is more than one option. ``files`` has a path or pattern for
    each subset; ``images`` is the folder that image paths start from (None: that of the file).
    """

    id: str | None = "id"
    image: str = "image"
    question: str = "question"
    options: str | tuple[str, ...] = "options"
    answer: str = "answer"
    sub_task: str | None = "sub_task"
    answer_is: str = "auto"
    refusal: str = REFUSAL
    images: str | None = None
    files: Mapping[str, str] = field(default_factory=lambda: {subset: f"{subset}.json" for subset in SUBSETS})

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any] | None) -> Fields:
        """Read the data's entry of params.yaml: its keys fields, files, refusal, answer_is and images.

        Other keys are not about the files. Raises ConfigError, with the path of the key, for a name that is not known
        or a value that is no text.
        """
        settings = settings or {}
        fields = _texts(settings, "fields", ("id", "image", "question", "options", "answer", "sub_task"))
        files = _texts(settings, "files", SUBSETS)
        named = ("refusal", "answer_is", "images")
        if settings.get("source") == "scenes":
            named = named[:2]  # ``images`` is then the number of rendered images
        others = {name: settings[name] for name in named if name in settings}
        for name, value in others.items():
            if not isinstance(value, str) and not (name == "images" and value is None):
                raise ConfigError(f"is {value!r}, not a text", path=f"{SETTINGS}.{name}")
        if others.get("answer_is", "auto") not in ANSWERS:
            raise ConfigError(unknown_name(others["answer_is"], ANSWERS), path=f"{SETTINGS}.answer_is")
        return cls(**fields, **others, files=cls().files | files)

    def image_folder(self, row: Row, raw: Path) -> Path:
        """The folder that the image paths of a row start from."""
        return row.file.parent if self.images is None else raw / self.images

    @property
    def named(self) -> frozenset[str]:
        """The names of all fields that have a role."""
        options = (self.options,) if isinstance(self.options, str) else self.options
        names = (self.id, self.image, self.question, *options, self.answer, self.sub_task)
        return frozenset(name for name in names if name is not None)

    def value(self, row: Row, role: str, name: str | None = None) -> Any:
        """The field with this role ("image", "answer", ...) in a row; ValueError where it is missing or empty."""
        name = getattr(self, role) if name is None else name
        if name not in row.values:
            raise ValueError(
                f"no field {name!r}, which should hold the {role.replace('_', '-')}; there are "
                f"{', '.join(map(str, row.values)) or 'no fields'}. Set {SETTINGS}.fields.{role} in params.yaml "
                "to the field that does" + (", or to null" if role in _OPTIONAL else "")
            )
        if row.values[name] is None or row.values[name] == "":
            raise ValueError(f"the field {name!r} ({SETTINGS}.fields.{role}) is empty")
        return row.values[name]


def _texts(settings: Mapping[str, Any], section: str, known: tuple[str, ...]) -> dict[str, Any]:
    """A section of names; a list, which only the options may have, becomes a tuple."""
    entries = settings.get(section) or {}
    if not isinstance(entries, Mapping):
        raise ConfigError(f"is {entries!r}, not a list of names", path=f"{SETTINGS}.{section}")
    texts: dict[str, Any] = {}
    for key, value in entries.items():
        path = f"{SETTINGS}.{section}.{key}"
        if key not in known:
            raise ConfigError(unknown_name(key, known), path=path)
        if key == "options" and isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
            texts[key] = tuple(value)
        elif isinstance(value, str) or (value is None and section == "fields" and key in _OPTIONAL):
            texts[key] = value
        else:
            raise ConfigError(f"is {value!r}, not the name of a field or file", path=path)
    return texts


def rows(raw: Path, fields: Fields, subset: str) -> Iterator[Row]:
    """Every row of a subset's files, in the order of the files' names. DataError where there is none."""
    pattern = fields.files[subset]
    try:
        files = sorted(path for path in raw.glob(pattern) if path.is_file())
    except (ValueError, NotImplementedError) as error:
        raise ConfigError(f"{pattern!r} is no pattern below the folder ({error})", path=_setting(subset)) from error
    if not files:
        there = sorted(str(path.relative_to(raw)) for path in raw.rglob("*") if path.suffix in SUFFIXES)
        raise DataError(
            f"no file {pattern!r}, which should hold {subset}; there are {', '.join(there[:20]) or 'no data files'}. "
            f"Set {_setting(subset)} in params.yaml",
            file=raw,
        )
    for file in files:
        yield from parquet_rows(file) if file.suffix == ".parquet" else json_rows(file)


def _setting(subset: str) -> str:
    return f"{SETTINGS}.files.{subset}"

"""MM-SAP's files on disk: their names and their fields.

The published field names are not known (see README.md), so they are settings: `Fields` has all of them. The defaults
are the names that the pocket edition writes. Each subset is one or more files of rows: JSON (a list of objects), JSON
lines or Parquet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.loading import Row, json_rows, parquet_rows
from known_unknowns.config import DataEntry, FolderData, HubData
from known_unknowns.errors import ConfigError, DataError, unknown_name

BASIC, KNOW, BEYOND = "BasicVisQA", "KnowVisQA", "BeyondVisQA"
SUBSETS = (BASIC, KNOW, BEYOND)
SUB_TASKS: Mapping[str, tuple[str, ...]] = {
    BASIC: ("Action", "Color", "Counting", "Objects Recognition", "OCR", "Position", "Other"),
    KNOW: ("Animal & Plant", "Art", "Brand & Product", "Landmarks", "Organizations", "Food"),
    BEYOND: (
        "Nonexistent Objects",
        "Intractable Quantity",
        "Other modalities Information",
        "Missing Visual Information",
        "Temporal Unpredictability",
        "Background Information",
    ),
}
"""The 19 sub-tasks as Figure 3 (Figure 2 of the first preprint) spells them."""

REFUSAL = "Sorry, I can't help with it"
"""The text of the refusal option in every example of the papers, and in Section 4.5."""

SETTINGS = "benchmarks.mmsap.data.<edition>"
"""Where params.yaml describes the files."""

ANSWERS = ("auto", "text", "letter", "index")
SUFFIXES = (".json", ".jsonl", ".parquet")
_OPTIONAL = ("id", "sub_task")


@dataclass(frozen=True)
class Fields:
    """Names of the files and of their fields, from ``benchmarks.mmsap.data.<edition>`` in params.yaml."""

    # None if the files have no such field. Questions are then numbered, and their category is their subset.
    id: str | None = "id"
    # fields of the image, the text and the right option
    image: str = "image"
    question: str = "question"
    # one field (a list of texts, or a map from letter to text) or one field per option
    options: str | tuple[str, ...] = "options"
    answer: str = "answer"
    sub_task: str | None = "sub_task"
    # form of the right option: its text, its letter, its index from 0, or ``auto`` for each of them. With ``auto``,
    # an answer that could be more than one option is an error.
    answer_is: str = "auto"
    refusal: str = REFUSAL  # text of the refusal option
    images: str | None = None  # folder that image paths start from; None for the folder of the file
    # path or pattern of the files of each subset
    files: Mapping[str, str] = field(default_factory=lambda: {subset: f"{subset}.json" for subset in SUBSETS})

    @classmethod
    def from_settings(cls, settings: DataEntry | None) -> Fields:
        """Read the keys fields, files, refusal, answer_is and images of the data's entry in params.yaml.

        Rendered files and those of a git repository have the default names.

        Raises ConfigError for an unknown name, or a value that is not a text. It has the path of the key.
        """
        given = settings.plain() if isinstance(settings, HubData | FolderData) else {}
        fields = _texts(given, "fields", ("id", "image", "question", "options", "answer", "sub_task"))
        files = _texts(given, "files", SUBSETS)
        others = {name: given[name] for name in ("refusal", "answer_is", "images") if name in given}
        for name, value in others.items():
            if not isinstance(value, str) and not (name == "images" and value is None):
                raise ConfigError(f"is {value!r}, not a text", path=f"{SETTINGS}.{name}")
        if others.get("answer_is", "auto") not in ANSWERS:
            raise ConfigError(unknown_name(others["answer_is"], ANSWERS), path=f"{SETTINGS}.answer_is")
        return cls(**fields, **others, files={**cls().files, **files})

    def image_folder(self, row: Row, raw: Path) -> Path:
        """Return the folder that the image paths of a row start from."""
        return row.file.parent if self.images is None else raw / self.images

    @property
    def names(self) -> frozenset[str]:
        """The names of all fields that have a role."""
        options = (self.options,) if isinstance(self.options, str) else self.options
        names = (self.id, self.image, self.question, *options, self.answer, self.sub_task)
        return frozenset(name for name in names if name is not None)

    def value(self, row: Row, role: str, name: str | None = None) -> Any:
        """Return the field with this role ("image", "answer", ...) in a row; ValueError if it is missing or empty."""
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


def _texts(given: Mapping[str, Any], section: str, known: tuple[str, ...]) -> dict[str, Any]:
    """Read a section of names. Only the options may have a list, which becomes a tuple."""
    entries = given.get(section) or {}
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
    """Iterate over the rows of a subset's files, in the order of their names. DataError if there is no file."""
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

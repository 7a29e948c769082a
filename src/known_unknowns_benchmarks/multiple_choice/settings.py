"""The data's entry in params.yaml, and the columns that hold the parts of a question."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from known_unknowns.benchmark.question_text import COLUMNS
from known_unknowns.config import DataEntry, FolderData, HubData
from known_unknowns.config.sections import QuestionFiles
from known_unknowns.errors import ConfigError, unknown_name

RESHAPED: Mapping[str, str] = {
    "a text": 'frame["options"] = frame["options"].str.split("\\n")',
    "an object with the question": (
        'frame = frame.join(pandas.json_normalize(frame.pop("question")).rename(columns={"stem": "question"}))'
    ),
}
"""Options of other shapes, and the line of pandas that makes a list of them (docs/own_data.md)."""
LETTERS = string.ascii_uppercase
PLACEHOLDERS: dict[str, tuple[str, ...]] = {
    "prompt": ("question", "options", "hint"),
    "refusal_prompt": ("question", "options", "hint", "refusal"),
}
"""The names in braces that each template of a prompt may have."""
PLACEHOLDER = re.compile(r"\{(\w+)\}")
_OF_FILES = frozenset({"files", *QuestionFiles.model_fields})
_NUMBERED = re.compile(r"image_?(\d{1,2})")


class Settings(FolderData):
    """How the files are to be read: the data's entry in params.yaml, or the defaults for data of another source.

    ``fields`` maps a part of a question (`COLUMNS`) to its column; to several columns for ``options`` and ``image``.
    """

    source: Literal["folder"] = "folder"
    path: str = ""

    @classmethod
    def of(cls, entry: DataEntry | None) -> Settings:
        """Return the settings in an entry of params.yaml; the defaults without an entry.

        Raises ConfigError if ``fields`` names an unknown part of a question, or a template an unknown place.
        """
        if not isinstance(entry, FolderData | HubData):
            return cls()
        for part in entry.fields:
            if part not in COLUMNS:
                raise ConfigError(unknown_name(part, COLUMNS), path=f"fields.{part}")
        for name, known in PLACEHOLDERS.items():
            found = PLACEHOLDER.findall(getattr(entry, name) or "{question}")
            if unknown := [placeholder for placeholder in found if placeholder not in known]:
                raise ConfigError(unknown_name(unknown[0], known), path=name)
            if "question" not in found:
                raise ConfigError("the template has no {question}", path=name)
        given = {name: value for name, value in entry.plain().items() if name in _OF_FILES}
        if isinstance(entry, HubData) and entry.files:
            given["files"] = list(entry.files.values())
        return cls.model_validate(given)

    @property
    def refusals(self) -> tuple[str, ...] | None:
        """The texts of the refusal option; none if no option is a refusal.

        It is None if the entry has no key ``refusal``: options with a standard phrasing are then refusals.
        """
        if "refusal" not in self.model_fields_set:
            return None
        return (self.refusal,) if isinstance(self.refusal, str) else tuple(self.refusal or ())

    def column(self, part: str, values: Mapping[str, Any]) -> str | None:
        """Return the column of a part in a row: the configured one, or the first known one that is not empty.

        Raises ValueError if the configured column does not exist.
        """
        if part in self.fields:
            name = self.fields[part]
            if name is not None and not isinstance(name, str):
                raise ValueError(f"fields.{part} must name one column")
            if name is not None and name not in values:
                raise ValueError(f"no column {name!r}, which fields.{part} names; there are {', '.join(values)}")
            return name
        known = [name for name in COLUMNS[part] if name in values]
        return next((name for name in known if not is_empty(values[name])), known[0] if known else None)

    def image_columns(self, values: Mapping[str, Any]) -> Sequence[str]:
        """Return the columns with images: those of ``fields.image``, or ``image``, or ``image_1``, ``image_2``, ..."""
        listed = self.fields.get("image")
        if isinstance(listed, list):
            return self._existing("fields.image", listed, values)
        column = self.column("image", values)
        if "image" in self.fields or (column is not None and not is_empty(values[column])):
            return [column] if column else []
        numbered = {name: int(match[1]) for name in values if (match := _NUMBERED.fullmatch(name))}
        return sorted(numbered, key=lambda name: numbered[name]) or ([column] if column else [])

    def _existing(self, key: str, listed: list[str], values: Mapping[str, Any]) -> list[str]:
        missing = [name for name in listed if name not in values]
        if missing:
            raise ValueError(f"no column {missing[0]!r}, which {key} names; there are {', '.join(values)}")
        return listed

    def selects(self, values: Mapping[str, Any]) -> bool:
        """Return whether a row is a question: whether its columns have the values of ``only``.

        Raises ValueError if a column of ``only`` does not exist.
        """
        self._existing("only", list(self.only), values)
        wanted = {name: [given] if isinstance(given, str) else given for name, given in self.only.items()}
        return all(str(values[name]).strip() in texts for name, texts in wanted.items())

    def option_columns(self, values: Mapping[str, Any]) -> Sequence[str]:
        """Return the columns with one option each: those that ``fields.options`` lists, or A, B, C, ..."""
        listed = self.fields.get("options")
        if isinstance(listed, list):
            return self._existing("fields.options", listed, values)
        return [letter for letter in LETTERS if letter in values] if "options" not in self.fields else []


def is_empty(value: Any) -> bool:
    """Whether a cell is empty: null, NaN, white space, or a list of nothing."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or value != value or (isinstance(value, list | tuple) and not value)

"""The data's entry in params.yaml, and the columns that hold the parts of a question."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from known_unknowns.config import DataEntry, FolderData, HubData
from known_unknowns.errors import ConfigError, unknown_name

ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("question_id", "index", "id"),
    "image": ("image", "images", "image_path"),
    "question": ("question", "query"),
    "options": ("options", "choices"),
    "answer": ("answer", "label", "target"),
    "category": ("category", "subject", "topic"),
    "hint": ("hint",),
}
"""Part of a question to the columns that are searched for it, in this order, unless ``fields`` names another one."""
LETTERS = string.ascii_uppercase
_OF_FILES = frozenset({"files", "fields", "answer_is", "refusal", "images", "without_image"})


class Settings(FolderData):
    """How the files are to be read: the data's entry in params.yaml, or the defaults for data of another source.

    ``fields`` maps a part of a question (`ALIASES`) to its column; to several columns for ``options``.
    """

    source: Literal["folder"] = "folder"
    path: str = ""

    @classmethod
    def of(cls, entry: DataEntry | None) -> Settings:
        """Return the settings in an entry of params.yaml; the defaults without an entry.

        Raises
        ------
        ConfigError
            If ``fields`` names an unknown part of a question.
        """
        if not isinstance(entry, FolderData | HubData):
            return cls()
        for part in entry.fields:
            if part not in ALIASES:
                raise ConfigError(unknown_name(part, ALIASES), path=f"fields.{part}")
        given = {name: value for name, value in entry.as_dict().items() if name in _OF_FILES}
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

        Raises
        ------
        ValueError
            If the configured column does not exist.
        """
        if part in self.fields:
            name = self.fields[part]
            if name is not None and not isinstance(name, str):
                raise ValueError(f"fields.{part} must name one column")
            if name is not None and name not in values:
                raise ValueError(f"no column {name!r}, which fields.{part} names; there are {', '.join(values)}")
            return name
        known = [name for name in ALIASES[part] if name in values]
        return next((name for name in known if not is_empty(values[name])), known[0] if known else None)

    def option_columns(self, values: Mapping[str, Any]) -> Sequence[str]:
        """Return the columns with one option each: those that ``fields.options`` lists, or A, B, C, ..."""
        listed = self.fields.get("options")
        if isinstance(listed, list):
            missing = [name for name in listed if name not in values]
            if missing:
                raise ValueError(f"no column {missing[0]!r}, which fields.options names; there are {', '.join(values)}")
            return listed
        return [letter for letter in LETTERS if letter in values] if "options" not in self.fields else []


def is_empty(value: Any) -> bool:
    """Whether a cell is empty: null, NaN, white space, or a list of nothing."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or value != value or (isinstance(value, list | tuple) and not value)

"""The data's entry in params.yaml, and the columns that hold the parts of a question."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
RECOGNISE = "recognise"
"""``Settings.refusal`` if the entry has no key ``refusal``: options with a standard phrasing are refusals."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the files are to be read.

    Attributes
    ----------
    files : tuple of str
        Patterns of the files with questions, within the folder; all files with a known suffix, if empty.
    fields : mapping
        Part of a question to its column; several columns for ``options``; None if the files have none.
    answer_is : str
        "auto", "text", "letter", "index" (from 0) or "number" (from 1).
    refusal : str or tuple of str
        `RECOGNISE`, or the texts of the refusal option; empty if no option is a refusal.
    images : str
        Folder of the images within the folder; "" for the folder of the file that names them.
    without_image : bool
        Whether a question may have no image.
    """

    files: tuple[str, ...] = ()
    fields: Mapping[str, str | list[str] | None] = field(default_factory=dict)
    answer_is: str = "auto"
    refusal: str | tuple[str, ...] = RECOGNISE
    images: str = ""
    without_image: bool = False

    @classmethod
    def of(cls, entry: Mapping[str, Any] | None) -> Settings:
        """Return the settings in an entry of params.yaml; the defaults without an entry.

        Raises
        ------
        ConfigError
            If ``fields`` names an unknown part of a question.
        """
        entry = entry or {}
        files, refusal = entry.get("files", ()), entry.get("refusal", RECOGNISE)
        fields = dict(entry.get("fields", {}))
        for part in fields:
            if part not in ALIASES:
                raise ConfigError(unknown_name(part, ALIASES), path=f"fields.{part}")
        if refusal is None or "refusal" in entry:
            refusal = (refusal,) if isinstance(refusal, str) else tuple(refusal or ())
        return cls(
            files=tuple(files.values() if isinstance(files, Mapping) else files),
            fields=fields,
            answer_is=entry.get("answer_is", "auto"),
            refusal=refusal,
            images=entry.get("images") or "",
            without_image=bool(entry.get("without_image", False)),
        )

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

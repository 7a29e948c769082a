"""Typed format of params.lock.yaml. ``make schema`` writes its JSON schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from known_unknowns.config import Entry
from known_unknowns.config.schema import text

FILE = Path("rules/schemas/params.lock.schema.yaml")
_SOURCE = r"^(hub:(datasets|models)/.+@.+|https://.+@[0-9a-f]{7,40}|http:.+)$"
_Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class LockedFile(Entry):
    """The size of a file, and its sha256 or its name as a git blob."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 2, "maxProperties": 2})

    size: Annotated[int, Field(ge=0)]
    """Bytes."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    git: _Commit | None = None
    """The name as a git blob, which is all that a hub lists for small files."""

    @model_validator(mode="after")
    def _has_one_hash(self) -> LockedFile:
        if (self.sha256 is None) == (self.git is None):
            raise ValueError("a file has either sha256 or git")
        return self


class LockedSource(Entry):
    """The locked state of a source."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    commit: _Commit | None = None
    """The commit of the branch or tag."""
    files: dict[str, LockedFile] | None = None

    @model_validator(mode="after")
    def _is_locked(self) -> LockedSource:
        if self.commit is None and self.files is None:
            raise ValueError("a source has a commit, files or both")
        return self


class LockFile(Entry):
    """The whole of params.lock.yaml."""

    version: Literal[1]
    sources: Annotated[
        dict[Annotated[str, Field(pattern=_SOURCE)], LockedSource],
        Field(json_schema_extra={"additionalProperties": False}),
    ]
    """Keys: hub:datasets/OWNER/NAME@REVISION, hub:models/OWNER/NAME@REVISION, REPOSITORY_ADDRESS@COMMIT of git, or
    http:NAME for files at addresses."""


if __name__ == "__main__":
    FILE.write_text(text(LockFile), encoding="utf-8")

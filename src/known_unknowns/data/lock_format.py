"""Typed format of params.lock.yaml. schemas/params.lock.schema.yaml is its JSON schema."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from known_unknowns.config import Entry

_SOURCE = r"^(hub:(datasets|models)/.+@.+|https://.+@[0-9a-f]{40}|http:.+)$"
_Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class LockedFile(Entry):
    """The size of a file in bytes, and its sha256 or its name as a git blob."""

    size: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    git: _Commit | None = None

    @model_validator(mode="after")
    def _has_one_hash(self) -> LockedFile:
        if (self.sha256 is None) == (self.git is None):
            raise ValueError("a file has either sha256 or git")
        return self


class LockedSource(Entry):
    """The commit that a branch or tag was, and the files."""

    commit: _Commit | None = None
    files: dict[str, LockedFile] | None = None

    @model_validator(mode="after")
    def _is_locked(self) -> LockedSource:
        if self.commit is None and self.files is None:
            raise ValueError("a source has a commit, files or both")
        return self


class LockFile(Entry):
    """The whole of params.lock.yaml."""

    version: Literal[1]
    sources: dict[Annotated[str, Field(pattern=_SOURCE)], LockedSource]

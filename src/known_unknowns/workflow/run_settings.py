"""The settings of runs, which are beside their results.

- ``results/<edition>/run.yaml``: those of the last run that was started, complete or not.
- ``results/<edition>/params.yaml``: those of the last whole run, which made all results of the edition with them. A run
  with other settings removes it before its first job.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from known_unknowns.config import Params, parse, read, without_password
from known_unknowns.errors import ConfigError
from known_unknowns.files import write_text

WHOLE, STARTED = "params.yaml", "run.yaml"


def path_of(edition: str, name: str = STARTED) -> Path:
    """Return the file of an edition."""
    return Path("results", edition, name)


def started_run(edition: str) -> Params | None:
    """Return the configuration of the last run of an edition, without secrets; None if it is of another version.

    In a clone, it is that of the last whole run.
    """
    return _read(path_of(edition)) or whole_run(edition)


def whole_run(edition: str) -> Params | None:
    """Return the configuration with which all results of an edition were made; None if no whole run has written it."""
    return _read(path_of(edition, WHOLE))


def whole_runs() -> Iterator[Params]:
    """Yield that of each edition."""
    for path in sorted(Path("results").glob(f"*/{WHOLE}")):
        run = _read(path)
        if run is not None:
            yield run


def start(params: Params) -> None:
    """Write the settings of a run that begins, and remove those of the last whole run if they are others."""
    write(params, path_of(params.edition))
    whole = whole_run(params.edition)
    if whole is None or whole.shown() != params.shown():
        path_of(params.edition, WHOLE).unlink(missing_ok=True)


def end(params: Params) -> None:
    """Write the settings of a run that has made all results of its edition."""
    write(params, path_of(params.edition, WHOLE))


def write(params: Params, path: Path, *, secrets: bool = False) -> None:
    """Write a configuration after all overrides. An equal file is left alone."""
    shown = params if secrets else without_passwords(params)
    text = yaml.safe_dump(shown.file.plain(), sort_keys=False, allow_unicode=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def without_passwords(params: Params) -> Params:
    """Return the configuration with the password of the tracking server masked, for a copy that may be shared."""
    tracking = params.tracking.model_copy(update={"uri": without_password(params.tracking.uri)})
    return Params(params.file.model_copy(update={"tracking": tracking}))


def _read(path: Path) -> Params | None:
    try:
        return parse(read(path)) if path.is_file() else None
    except ConfigError:
        return None

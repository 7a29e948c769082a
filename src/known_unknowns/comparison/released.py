"""Numbers that were released with replies: cells like those of published.yaml, found when the files are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from known_unknowns import json_files
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.errors import DataError


def read_released(path: Path) -> tuple[list[PublishedCell], list[dict[str, Any]]]:
    """Read a file of released numbers.

    Parameters
    ----------
    path : Path
        The file that `known_unknowns.exchange.released.write_published` wrote.

    Returns
    -------
    tuple of list of PublishedCell and list of dict
        The numbers, and rows that say whether the released replies reproduce them.

    Raises
    ------
    DataError
        If the file is none.
    """
    try:
        content = json_files.read(path)
        return [PublishedCell(**cell) for cell in content["cells"]], list(content["rows"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"no table of released numbers ({error}); run again", file=path) from error

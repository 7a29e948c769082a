"""The published cells of a benchmark, with the notes of its audit."""

from __future__ import annotations

from known_unknowns.benchmark.published import MODEL, PublishedCell
from known_unknowns.comparison.audit import audit, published, with_notes


def load(benchmark: str) -> list[PublishedCell]:
    """Return the published numbers of models, in the order of the file.

    Parameters
    ----------
    benchmark : str
        The benchmark's name.

    Returns
    -------
    list of PublishedCell
        The cells of the kind "model", with the findings of the benchmark's audit as notes. Empty if the benchmark has
        no published.yaml.

    Raises
    ------
    DataError
        If a cell is not a printed number, names an unlisted source, or occurs twice. The message names the file, the
        table and the row.
    """
    return [cell for cell in with_notes(published(benchmark).cells, audit(benchmark)) if cell.kind == MODEL]

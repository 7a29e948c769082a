"""Published numbers, transcribed with their source, and the table that sets them beside ours.

One YAML file per benchmark, named after it; `load` reads it, `compare` writes results/<edition>/comparison.parquet.
"""

from known_unknowns.comparison.cells import PublishedCell, load
from known_unknowns.comparison.compare import (
    COMPARISON,
    DIFFERS,
    NOT_RUN,
    OFFICIAL,
    PARSER,
    REPRODUCED,
    VERDICTS,
    Compared,
    compare,
    compare_cells,
    read_comparison,
)
from known_unknowns.comparison.numbers import Numbers

__all__ = [
    "COMPARISON",
    "DIFFERS",
    "NOT_RUN",
    "OFFICIAL",
    "PARSER",
    "REPRODUCED",
    "VERDICTS",
    "Compared",
    "Numbers",
    "PublishedCell",
    "compare",
    "compare_cells",
    "load",
    "read_comparison",
]

"""Published numbers with their sources, and their comparison with the numbers of a run.

`load` reads the published cells of a benchmark, `compare` writes results/<edition>/comparison.parquet.
"""

from known_unknowns.comparison.cells import PublishedCell, load
from known_unknowns.comparison.compare import OFFICIAL, ROBUST, compare, compare_cells
from known_unknowns.comparison.metric_index import MetricIndex
from known_unknowns.comparison.rows import (
    COMPARISON,
    DIFFERS,
    NOT_RUN,
    PARSER,
    REPRODUCED,
    VERDICTS,
    ComparisonRow,
    read_comparison,
    write_comparison,
)

__all__ = [
    "COMPARISON",
    "DIFFERS",
    "NOT_RUN",
    "OFFICIAL",
    "PARSER",
    "REPRODUCED",
    "ROBUST",
    "VERDICTS",
    "ComparisonRow",
    "MetricIndex",
    "PublishedCell",
    "compare",
    "compare_cells",
    "load",
    "read_comparison",
    "write_comparison",
]

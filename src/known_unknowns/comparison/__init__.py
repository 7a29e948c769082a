"""Published numbers with their sources, and their comparison with the numbers of a run.

`load` reads the published cells of a benchmark, `compare` writes results/<edition>/comparison.parquet.
The module `models` compares models with each other on the same questions.
"""

from known_unknowns.comparison.cells import load
from known_unknowns.comparison.compare import OFFICIAL, ROBUST, compare, compare_cells
from known_unknowns.comparison.conditions import Conditions
from known_unknowns.comparison.metric_index import MetricIndex
from known_unknowns.comparison.rows import COMPARISON, ComparisonRow, read_comparison, write_comparison
from known_unknowns.comparison.summary import Summary, summarise
from known_unknowns.comparison.verdicts import (
    COMPATIBLE,
    DEFINITIONS,
    DIFFERS,
    IDENTICAL,
    INCONCLUSIVE,
    NOT_COMPARABLE,
    NOT_RUN,
    PARSER,
    REPRODUCED,
    UNJUDGED,
    VERDICTS,
)

__all__ = [
    "COMPARISON",
    "COMPATIBLE",
    "DEFINITIONS",
    "DIFFERS",
    "IDENTICAL",
    "INCONCLUSIVE",
    "NOT_COMPARABLE",
    "NOT_RUN",
    "OFFICIAL",
    "PARSER",
    "REPRODUCED",
    "ROBUST",
    "UNJUDGED",
    "VERDICTS",
    "ComparisonRow",
    "Conditions",
    "MetricIndex",
    "Summary",
    "compare",
    "compare_cells",
    "load",
    "read_comparison",
    "summarise",
    "write_comparison",
]

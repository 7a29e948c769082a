"""Published numbers with their sources, and their comparison with the numbers of a run.

`load` reads the published cells of a benchmark, `compare` writes results/<edition>/comparison.parquet.
The module `pairs` compares models with each other on the same questions.
"""

from known_unknowns.comparison.compare import OFFICIAL as OFFICIAL
from known_unknowns.comparison.compare import ROBUST as ROBUST
from known_unknowns.comparison.compare import ComparisonRow as ComparisonRow
from known_unknowns.comparison.compare import compare as compare
from known_unknowns.comparison.compare import compare_cells as compare_cells
from known_unknowns.comparison.compare import read_comparison as read_comparison
from known_unknowns.comparison.compare import write_comparison as write_comparison
from known_unknowns.comparison.conditions import Conditions as Conditions
from known_unknowns.comparison.published import load as load
from known_unknowns.comparison.summary import Summary as Summary
from known_unknowns.comparison.summary import summarise as summarise
from known_unknowns.comparison.verdicts import COMPATIBLE as COMPATIBLE
from known_unknowns.comparison.verdicts import DEFINITIONS as DEFINITIONS
from known_unknowns.comparison.verdicts import DIFFERS as DIFFERS
from known_unknowns.comparison.verdicts import IDENTICAL as IDENTICAL
from known_unknowns.comparison.verdicts import INCONCLUSIVE as INCONCLUSIVE
from known_unknowns.comparison.verdicts import NOT_COMPARABLE as NOT_COMPARABLE
from known_unknowns.comparison.verdicts import NOT_RUN as NOT_RUN
from known_unknowns.comparison.verdicts import PARSER as PARSER
from known_unknowns.comparison.verdicts import REPRODUCED as REPRODUCED
from known_unknowns.comparison.verdicts import UNJUDGED as UNJUDGED
from known_unknowns.comparison.verdicts import VERDICT as VERDICT
from known_unknowns.comparison.verdicts import VERDICTS as VERDICTS

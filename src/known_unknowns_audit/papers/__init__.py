"""What only the numbers of one paper imply, by the name of its benchmark.

The names of categories and tables are those that the papers print.
"""

from collections.abc import Callable, Iterable, Mapping

from known_unknowns.benchmark.published import AuditFinding, Published
from known_unknowns_audit.papers import actiview, humblebench, mm_upd, mmsap

OF_PAPERS: Mapping[str, Callable[[Published], Iterable[AuditFinding]]] = {
    "actiview": actiview.findings,
    "humblebench": humblebench.findings,
    "mm_upd": mm_upd.findings,
    "mmsap": mmsap.findings,
}

"""A yes/no benchmark in the published format of POPE: one folder, found through an entry point.

It has a variant and a pocket edition of its own. Moved to the folder of the other benchmarks, it is one of them.
"""

from __future__ import annotations

from known_unknowns.benchmark.interface import Benchmark, Lazy, Pocket

BENCHMARK = Benchmark(
    name="pope",
    title="POPE",
    package=__name__,
    load=Lazy(f"{__name__}.loader:load"),
    prompt=Lazy(f"{__name__}.loader:prompt"),
    official=Lazy(f"{__name__}.loader:official"),
    variants=Lazy(f"{__name__}.variants:VARIANTS"),
    pocket=Pocket.of(f"{__name__}.pocket"),
)

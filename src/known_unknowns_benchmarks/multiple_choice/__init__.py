"""Multiple choice: questions of the user's own, in the common table formats (README.md).

The registry object with the parts of the benchmark, by name (`known_unknowns.benchmark.interface.Benchmark`).
"""

from __future__ import annotations

from known_unknowns.benchmark.interface import Benchmark, Lazy

BENCHMARK = Benchmark(
    name="multiple_choice",
    title="Multiple choice",
    package=__name__,
    load=Lazy(f"{__name__}.loader:load"),
    contents=Lazy(f"{__name__}.loader:contents"),
    prompt=Lazy(f"{__name__}.prompts:prompt"),
    refusal_prompt=Lazy(f"{__name__}.prompts:refusal_prompt"),
    official=Lazy(f"{__name__}.prompts:official"),
    metrics=Lazy(f"{__name__}.metrics:METRICS"),
    forced_choice_metrics=frozenset({"refused_and_known", "known_of_refused", "forced_unread"}),
    check=Lazy(f"{__name__}.check:check"),
    report=Lazy(f"{__name__}.section:SECTION"),
)

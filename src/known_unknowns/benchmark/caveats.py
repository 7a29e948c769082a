"""What keeps the numbers of an edition from being those of the published questions, for everything that shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from known_unknowns.benchmark import registry

if TYPE_CHECKING:
    from known_unknowns.config import Params


def mark(params: Params, benchmark: str) -> str:
    """Return the short form: "(rendered)", "(sample)", "(rendered, sample)", or nothing."""
    kinds = ["rendered"] * (params.data(benchmark).source == "scenes") + ["sample"] * bool(params.limit)
    return f"({', '.join(kinds)})" if kinds else ""


def title(params: Params, benchmark: str) -> str:
    """Return the benchmark's title, with the short form."""
    return " ".join(filter(None, [registry.get(benchmark).title, mark(params, benchmark)]))


def caveat(params: Params, benchmark: str | None = None) -> str:
    """Return the long form, of the whole edition or of one benchmark: "rendered questions, not the published ones"."""
    names = params.benchmarks if benchmark is None else [benchmark]
    rendered = [name for name in names if params.data(name).source == "scenes"]
    some = len(rendered) < len(names)
    of = f" (of {', '.join(registry.get(name).title for name in rendered)})" if some else ""
    parts = [f"rendered questions, not the published ones{of}"] if rendered else []
    parts += [f"sample of at most {params.limit:,} questions of a benchmark"] if params.limit else []
    return "; ".join(parts)

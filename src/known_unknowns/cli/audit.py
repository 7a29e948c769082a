"""The command that recomputes published numbers: audit. `known_unknowns.cli` registers it."""

from __future__ import annotations

from typing import Annotated

import typer

from known_unknowns.benchmark import registry
from known_unknowns.comparison.audit import audit_published, output, published


def audit(
    benchmark: Annotated[
        list[str] | None, typer.Option(help="A benchmark's name; by default all. Repeat it for each benchmark.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list instead of text.")] = False,
) -> None:
    """Recompute what the published numbers imply, and list what does not agree.

    The checks are totals from their parts, averages from their rows, percentages that no count of n gives (GRIM),
    standard deviations that no counts in the runs give (GRIMMER), identical rows, one number that is printed twice,
    exchanged models, metrics against their definition, and the text against the tables. The command reads only the
    published numbers in the package: it needs no data and no params.yaml. docs/audit.md describes every check.

    An entry of the JSON list has the keys benchmark, table, row, column, printed, finding, arithmetic and
    strength ("impossible", "possible only if ...", or empty if neither was derived).

    The exit code is 0 with and without findings, and 2 if there is no such benchmark.

    \b
    Examples:
      known-unknowns audit
      known-unknowns audit --benchmark BENCHMARK --json
    """
    numbers = {name: published(name) for name in dict.fromkeys(benchmark or registry.names())}
    findings = {name: audit_published(read) for name, read in numbers.items()}
    if as_json:
        print(output.as_json(findings))
    else:
        print(output.as_text(findings, {name: len(read.cells) for name, read in numbers.items()}))

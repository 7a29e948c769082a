"""The command that recomputes published numbers: audit."""

from __future__ import annotations

from typing import Annotated

import typer

from known_unknowns.benchmark import registry
from known_unknowns.comparison.published import published
from known_unknowns_audit import output
from known_unknowns_audit.audit import findings_on
from known_unknowns_audit.issues import by_importance, grouped


def audit(
    benchmark: Annotated[
        list[str] | None, typer.Option(help="A benchmark's name; by default all. Repeat it for each benchmark.")
    ] = None,
    findings: Annotated[bool, typer.Option("--findings", help="Add every finding with its arithmetic.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON list of the findings instead of text.")
    ] = False,
) -> None:
    """Recompute what the published numbers imply, and list what does not agree.

    Findings with the same cause are one issue. Issues that change a rank or a sentence of the paper come first, then
    those that change a number, then those that change only a last digit or a word.

    The checks are totals from their parts, averages from their rows, percentages that no count of n gives (GRIM),
    standard deviations that no counts in the runs give (GRIMMER), identical rows, one number that is printed twice,
    exchanged models, metrics against their definition, and the text against the tables. The command reads only the
    published numbers in the package: it needs no data and no params.yaml. docs/comparison.md describes the checks.

    An entry of the JSON list has the keys benchmark, version (of the paper), table, row, column, printed, finding,
    arithmetic, strength ("not explained by rounding", "possible only if ...", or empty if neither was derived), issue,
    changes and cause.

    The exit code is 0 with and without findings, and 2 if there is no such benchmark.

    \b
    Examples:
      known-unknowns audit
      known-unknowns audit --benchmark BENCHMARK --findings
      known-unknowns audit --benchmark BENCHMARK --json
    """
    numbers = {name: published(name) for name in dict.fromkeys(benchmark or registry.names())}
    issues = [issue for read in numbers.values() for issue in grouped(read, findings_on(read))]
    issues = by_importance(issues)
    if as_json:
        print(output.as_json(issues, numbers))
    else:
        print(output.as_text(issues, numbers, findings=findings))

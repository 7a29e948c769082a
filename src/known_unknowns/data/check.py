"""What the papers promise against what the files hold: `known-unknowns check <benchmark>`.

A benchmark's check (`known_unknowns.benchmarks.Check`) reads the published files without stopping at what is wrong. A
loader stops at the first mistake.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from known_unknowns import benchmarks
from known_unknowns.benchmarks._checks import ERROR, NOTE, SEVERITIES, WARNING, Finding, Quantity
from known_unknowns.errors import ConfigError, DataError, unknown_name

EXIT_CODES = {None: 0, NOTE: 0, WARNING: 1, ERROR: 3}
"""Of the command, by the worst severity."""
_SHOWN = 5
"""So many findings of one code are told one by one in the table; the JSON has all."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """All that a check found, the worst findings first. A promise that is not kept is one, with the code "count"."""

    benchmark: str
    raw: Path
    held: tuple[Quantity, ...]
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> str | None:
        return max((finding.severity for finding in self.findings), key=SEVERITIES.index, default=None)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.worst]


def check(benchmark: str, raw: Path, *, settings: Mapping[str, Any] | None = None) -> CheckResult:
    """Check the published files of a benchmark under ``raw``, which ``settings`` (params.yaml's data entry) describe.

    Raises:
        ConfigError: a benchmark that is not known.
        DataError: there is no such folder.
    """
    if benchmark not in benchmarks.names():
        raise ConfigError(unknown_name(benchmark, ["params", *benchmarks.names()]))
    rules = benchmarks.get(benchmark).check
    if rules is None:
        raise ConfigError(f"the benchmark {benchmark} defines no check of its published files")
    if not raw.is_dir():
        raise DataError(f"no such folder: fetch the data first (known-unknowns fetch {benchmark})", file=raw)
    held, findings = rules.get()(raw, settings=settings)
    broken = [_broken(number) for number in held if number.agrees is False]
    codes = list(dict.fromkeys(finding.code for finding in (*broken, *findings)))
    ordered = sorted([*broken, *findings], key=lambda f: (-SEVERITIES.index(f.severity), codes.index(f.code)))
    return CheckResult(benchmark, raw, tuple(held), tuple(ordered))


def _broken(number: Quantity) -> Finding:
    text = f"{number.name}: {number.observed:g} where {number.source or 'the source'} promises {number.expected:g}"
    return Finding(WARNING, "count", "", text)


def as_json(checked: CheckResult) -> str:
    """One object: {"benchmark", "raw", "worst", "counts": {severity: n}, "held": [...], "findings": [...]}."""
    counts = Counter(finding.severity for finding in checked.findings)
    whole = {
        "benchmark": checked.benchmark,
        "raw": str(checked.raw),
        "worst": checked.worst,
        "counts": {severity: counts[severity] for severity in reversed(SEVERITIES)},
        "held": [number.as_json() for number in checked.held],
        "findings": [asdict(finding) for finding in checked.findings],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)


def as_table(checked: CheckResult) -> str:
    """What is held beside what was promised, then the findings, worst first."""
    lines = [f"{checked.benchmark} in {checked.raw}", ""]
    rows = [("", "found", "promised", ""), *(_held_row(number) for number in checked.held)]
    lines += _aligned(rows)
    counts = Counter(finding.severity for finding in checked.findings)
    lines += ["", ", ".join(f"{counts[name]} {name}{'s' * (counts[name] != 1)}" for name in reversed(SEVERITIES))]
    told: Counter[tuple[str, str]] = Counter()
    of_code = Counter((finding.severity, finding.code) for finding in checked.findings)
    for finding in checked.findings:
        kind = (finding.severity, finding.code)
        told[kind] += 1
        if told[kind] <= _SHOWN:
            where = f"{finding.where}: " if finding.where else ""
            lines.append(f"{finding.severity} {finding.code}: {where}{finding.text}")
        elif told[kind] == _SHOWN + 1:
            lines.append(f"{finding.severity} {finding.code}: and {of_code[kind] - _SHOWN} more (--json has all)")
    return "\n".join(lines)


def _held_row(number: Quantity) -> tuple[str, str, str, str]:
    if number.expected is None:
        return number.name, f"{number.observed:,.10g}", "", ""
    verdict = "" if number.agrees else f"not what {number.source or 'the source'} says"
    return number.name, f"{number.observed:,.10g}", f"{number.expected:,.10g}", verdict


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        f"{what:<{widths[0]}}  {found:>{widths[1]}}  {promised:>{widths[2]}}  {verdict}".rstrip()
        for what, found, promised, verdict in rows
    ]

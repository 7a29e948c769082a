"""Comparison of published files with their papers: ``known-unknowns check <benchmark>``.

A benchmark's check (`Benchmark.check`) reports all mistakes. A loader stops at the first one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from known_unknowns import json_files
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.checks import ERROR, NOTE, SEVERITIES, WARNING, Finding, Quantity
from known_unknowns.config import DataEntry
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.tables.aligned_text import align

EXIT_CODES = {None: 0, NOTE: 0, WARNING: 1, ERROR: 3}
"""Exit codes of the command by the worst severity."""
_SHOWN = 5
"""The number of findings of one code that the table lists. The JSON has all of them."""
_UNCHECKED = "the benchmark defines no check of its published files"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check, with the worst findings first. A wrong number is a finding with the code "count"."""

    benchmark: str
    raw: Path
    """The folder's name in the project."""
    quantities: tuple[Quantity, ...]
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> str | None:
        return max((finding.severity for finding in self.findings), key=SEVERITIES.index, default=None)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.worst]


def check(benchmark: str, raw: Path, *, settings: DataEntry | None = None, edition: str = "") -> CheckResult:
    """Check the published files of a benchmark. If it defines no check, the only finding is a note that says so.

    ``settings`` is the data's entry in params.yaml, and ``edition`` its edition, for the message of a missing folder.
    Raises ConfigError if there is no such benchmark, and DataError if there is no such folder.
    """
    if benchmark not in registry.names():
        raise ConfigError(unknown_name(benchmark, ["params", *registry.names()]))
    if not raw.is_dir():
        command = f"known-unknowns data fetch {benchmark}" + (f" --edition {edition}" if edition else "")
        raise DataError(f"no such folder: fetch the data first ({command})", file=raw)
    found = registry.get(benchmark).check(raw, settings=settings)
    if found is None:
        return CheckResult(benchmark, raw, (), (Finding(NOTE, "unchecked", "", _UNCHECKED),))
    quantities, findings = found
    broken = [_broken(number) for number in quantities if number.agrees is False]
    codes = list(dict.fromkeys(finding.code for finding in (*broken, *findings)))
    ordered = sorted([*broken, *findings], key=lambda f: (-SEVERITIES.index(f.severity), codes.index(f.code)))
    return CheckResult(benchmark, raw, tuple(quantities), tuple(ordered))


def _broken(number: Quantity) -> Finding:
    text = f"{number.name}: {number.observed:g} but {number.source or 'the source'} states {number.expected:g}"
    return Finding(WARNING, "count", "", text)


def as_json(checked: CheckResult) -> str:
    """Return one JSON object with a checksum.

    It is {"benchmark", "raw", "worst", "counts": {severity: n}, "quantities": [], "findings": [], "checksum"}.
    """
    counts = Counter(finding.severity for finding in checked.findings)
    whole = {
        "benchmark": checked.benchmark,
        "raw": str(checked.raw),
        "worst": checked.worst,
        "counts": {severity: counts[severity] for severity in reversed(SEVERITIES)},
        "quantities": [number.as_json() for number in checked.quantities],
        "findings": [asdict(finding) for finding in checked.findings],
    }
    return json_files.dumps(whole).removesuffix("\n")


def as_table(checked: CheckResult) -> str:
    """Return the numbers beside the expected ones, then the findings, worst first."""
    lines = [f"{checked.benchmark} in {checked.raw}", ""]
    rows = [("", "found", "expected", ""), *(_quantity_row(number) for number in checked.quantities)]
    lines += align(rows, right={1, 2})
    counts = Counter(finding.severity for finding in checked.findings)
    lines += ["", ", ".join(f"{counts[name]} {name}{'s' * (counts[name] != 1)}" for name in reversed(SEVERITIES))]
    shown: Counter[tuple[str, str]] = Counter()
    of_code = Counter((finding.severity, finding.code) for finding in checked.findings)
    for finding in checked.findings:
        kind = (finding.severity, finding.code)
        shown[kind] += 1
        if shown[kind] <= _SHOWN:
            where = f"{finding.where}: " if finding.where else ""
            lines.append(f"{finding.severity} {finding.code}: {where}{finding.text}")
        elif shown[kind] == _SHOWN + 1:
            lines.append(f"{finding.severity} {finding.code}: and {of_code[kind] - _SHOWN} more (--json has all)")
    return "\n".join(lines)


def _quantity_row(number: Quantity) -> tuple[str, str, str, str]:
    if number.expected is None:
        return number.name, f"{number.observed:,.10g}", "", ""
    remark = "" if number.agrees else f"differs from {number.source or 'the source'}"
    return number.name, f"{number.observed:,.10g}", f"{number.expected:,.10g}", remark

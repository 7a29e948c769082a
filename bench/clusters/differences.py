"""Compare all files of a run with those of a run on this machine: journals, data, results, MLflow and the report."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.kills import compare

FOLDERS = ("data/pocket/questions", "results/pocket")
QUESTIONS = "results/pocket/report/questions"
LAST_ATTEMPT = ("certificate", "sharing")
"""What engine.json says of attempts: the check of batches, with a sample of each, and how the last one shared."""
LAST_ATTEMPT_TEXTS = (r"(?:(?:packed|rows|separate) [\d,]+(?:, )?)+", r'"engine\.about\.certificate\.\w+", "[^"]*"')
"""The same in the report and in MLflow."""
SKIPPED = ("logs/", "benchmarks/", "report/", "params.yaml", "tracking.json")
LEFT_OUT = (".snakemake_timestamp",)


@dataclass
class Differences:
    """What differs between two runs. ``equal`` counts the files that do not; ``expected`` is what may differ."""

    equal: dict[str, int] = field(default_factory=dict)
    expected: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the result as lines."""
        lines = [f"equal: {count} {what}" for what, count in self.equal.items()]
        lines += [f"differs, as expected: {text}" for text in self.expected]
        lines += [f"DIFFERS: {text}" for text in self.unexpected]
        return "\n".join([*lines, f"{len(self.unexpected)} unexpected differences"])


def between(local: Path, other: Path) -> Differences:
    """Compare the files of two projects. Durations, and the report's lines with them, may differ."""
    found = Differences()
    _journals(local, other, found)
    for folder in FOLDERS:
        _files(local / folder, other / folder, found)
    mask, indices = _mask(local, other)
    found.expected += [f"report/{name}: index of a benchmark, with the last attempt's checks" for name in indices]
    one, two = compare.tracked(local, mask), compare.tracked(other, mask)
    found.equal["current MLflow runs"] = (one & two).total()
    found.unexpected += [f"MLflow run of one project only: {text[:300]}" for text in (*(one - two), *(two - one))]
    for text in compare.report_differences(local, other, mask):
        if text.partition(":")[0] not in indices:
            (found.expected if ": numbers of " in text else found.unexpected).append(f"report/{text}")
    return found


def _mask(local: Path, other: Path) -> tuple[re.Pattern[str], list[str]]:
    """Return what may differ in texts: the commits, the way of sharing prefixes, and names of the browser's files.

    The browser's file of a benchmark's index is named by its content, which has the checks of the last attempt. Also
    return these names.
    """
    commits = [_commit(root) for root in (local, other)]
    one, two = ({path.stem for path in (root / QUESTIONS).glob("*.js")} for root in (local, other))
    benchmarks = len(list((local / "results/pocket/checks").glob("*.json")))
    names = sorted(one ^ two) if len(one - two) == len(two - one) <= benchmarks else []
    masked = [*commits, *(commit[:12] for commit in commits), *names, *LAST_ATTEMPT_TEXTS]
    pattern = re.compile("|".join(masked))
    return pattern, [f"questions/{name}.js" for name in names]


def _commit(root: Path) -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _journals(local: Path, other: Path, found: Differences) -> None:
    """Compare keys and replies; a key that is in a journal twice is a question that was asked twice."""
    try:
        one, two = compare.journals(local), compare.journals(other)
    except ValueError as error:
        found.unexpected.append(str(error))
        return
    found.equal["replies in the journals, no question asked twice"] = 0
    for name in sorted(one.keys() | two.keys()):
        first, second = one.get(name, {}), two.get(name, {})
        if first.keys() != second.keys():
            found.unexpected.append(f"{name}: {len(first.keys() ^ second.keys())} keys are in one journal only")
        shared = first.keys() & second.keys()
        changed = [key for key in shared if first[key] != second[key]]
        found.equal["replies in the journals, no question asked twice"] += len(shared) - len(changed)
        if changed:
            texts = sum(first[key].get("text") != second[key].get("text") for key in changed)
            found.unexpected.append(f"{name}: {len(changed)} replies differ, {texts} of them in their text")


def _files(local: Path, other: Path, found: Differences) -> None:
    names = [set(_names(root)) for root in (local, other)]
    found.unexpected += [f"{local.name}/{name}: in one project only" for name in sorted(names[0] ^ names[1])]
    for name in sorted(names[0] & names[1]):
        how = _how_equal(local / name, other / name)
        if how is None:
            found.unexpected.append(f"{local.name}/{name}")
        else:
            key = f"files of {local.name}/{name.partition('/')[0]} ({how})"
            found.equal[key] = found.equal.get(key, 0) + 1


def _names(root: Path) -> Iterator[str]:
    """Yield the files but those that Git tracks, logs, marks, and the report, which is compared apart."""
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        marked = path.suffix == ".dvc" or path.name in LEFT_OUT
        if path.is_file() and not marked and not name.startswith(SKIPPED):
            yield name


def _how_equal(one: Path, two: Path) -> str | None:
    """Return in which way two files are equal; None if they are not."""
    if one.read_bytes() == two.read_bytes():
        return "byte by byte"
    if one.suffix == ".json":
        equal = _without_durations(one) == _without_durations(two)
        return "without durations, checksums and what the last attempt counted" if equal else None
    return None


def _without_durations(path: Path) -> Any:
    found = compare.without_timing(json.loads(path.read_text(encoding="utf-8")))
    if path.name == "engine.json":
        found["about"] = {key: value for key, value in found["about"].items() if key not in LAST_ATTEMPT}
    return found

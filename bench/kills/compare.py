"""Compare the files of a run that was killed again and again with those of an undisturbed run."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

TIMING = ("newly_asked", "reply_seconds", "checksum", "seconds", "duration")
"""Keys of JSON files that state how long something took, or what a run found in the journal."""
_NUMBERS = re.compile(r"\d+(\.\d+)?")
_IDS = re.compile(r"[0-9a-f]{32}")


def journals(root: Path) -> dict[str, dict[str, Any]]:
    """Return the replies of each journal by key, without their seconds. ValueError if a key is there twice."""
    found = {}
    for path in sorted((root / "journal").rglob("*.jsonl")):
        if path.name.endswith(".notes.jsonl"):
            continue
        entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if repeated := [key for key, count in Counter(entry["key"] for entry in entries).items() if count > 1]:
            raise ValueError(f"{path}: {len(repeated)} questions were asked twice")
        for entry in entries:
            entry["reply"].pop("seconds", None)  # 0.0 is left out
        found[path.relative_to(root).as_posix()] = {entry["key"]: entry["reply"] for entry in entries}
    return found


def tracked(root: Path, mask: re.Pattern[str] | None = None) -> Counter[str]:
    """Return the content of each current MLflow run as text, without ids, times, its number and matches of ``mask``."""
    with closing(sqlite3.connect(root / "mlflow.db")) as store:
        query = "SELECT run_uuid, name FROM runs WHERE lifecycle_stage = 'active'"
        found = Counter()
        for run, name in store.execute(query).fetchall():
            tags = dict(store.execute("SELECT key, value FROM tags WHERE run_uuid = ?", (run,)))
            if tags.get("superseded") == "true":
                name += " (superseded)"
            metrics = sorted(store.execute("SELECT key, value FROM latest_metrics WHERE run_uuid = ?", (run,)))
            params = sorted(store.execute("SELECT key, value FROM params WHERE run_uuid = ?", (run,)))
            kept = {key: value for key, value in tags.items() if not key.startswith("mlflow.") and "sharing" not in key}
            text = json.dumps([name, metrics, params, sorted(kept.items())])
            text = mask.sub("MASKED", text) if mask else text
            found[_IDS.sub("ID", text.replace(str(root), "ROOT"))] += 1
    return found


def results(root: Path) -> dict[str, bytes]:
    """Return the files of results whose bytes do not depend on durations: all but logs and the report's pages."""
    skipped = ("logs/", "benchmarks/", "report/", "params.yaml", "tracking.json")
    found = {}
    base = root / "results/pocket"
    for path in sorted(base.rglob("*")):
        name = path.relative_to(base).as_posix()
        if path.is_file() and not name.startswith(skipped):
            found[name] = _stable(path)
    return found


def _stable(path: Path) -> bytes:
    if path.suffix != ".json":
        return path.read_bytes()
    return json.dumps(without_timing(json.loads(path.read_text(encoding="utf-8"))), sort_keys=True).encode()


def without_timing(value: Any) -> Any:
    """Return a value of JSON without the keys of ``TIMING``."""
    if isinstance(value, dict):
        return {key: without_timing(item) for key, item in value.items() if key not in TIMING}
    return [without_timing(item) for item in value] if isinstance(value, list) else value


def report_differences(one: Path, other: Path, mask: re.Pattern[str] | None = None) -> Iterator[str]:
    """Yield what differs between two reports: files that only one has, and lines that differ, also in numbers only.

    Texts that match ``mask`` count as equal.
    """
    first, second = (
        {path.relative_to(root / "results/pocket/report").as_posix(): path for path in _files(root)}
        for root in (one, other)
    )
    for name in sorted(first.keys() ^ second.keys()):
        yield f"{name}: in one report only"
    for name in sorted(first.keys() & second.keys()):
        before, after = (_text(paths[name], root, mask) for paths, root in ((first, one), (second, other)))
        if before == after:
            continue
        lines = list(zip(before.splitlines(), after.splitlines(), strict=False))
        different = [(a, b) for a, b in lines if a != b]
        if len(before.splitlines()) != len(after.splitlines()):
            yield f"{name}: another number of lines"
        for a, b in different:
            timing = _NUMBERS.sub("0", a) == _NUMBERS.sub("0", b)
            yield f"{name}: {'numbers of' if timing else 'text of'} {_around(a, b)}"


def _around(a: str, b: str) -> str:
    place = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    return repr(a[max(0, place - 60) : place + 40])


def _files(root: Path) -> list[Path]:
    """Return the files of the report but the mark that Snakemake sets in a folder, and omits if it is killed first."""
    found = (root / "results/pocket/report").rglob("*")
    return sorted(path for path in found if path.is_file() and path.name != ".snakemake_timestamp")


def _text(path: Path, root: Path, mask: re.Pattern[str] | None) -> str:
    text = path.read_bytes().decode("utf-8", "replace").replace(str(root), "ROOT")
    return mask.sub("MASKED", text) if mask else text

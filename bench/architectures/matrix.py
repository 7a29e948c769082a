"""The matrix of architectures: every image-text-to-text class of transformers, tiny, in every way of batching.

    python -m bench.architectures.matrix              # all classes; about 10 minutes on 2 cores
    python -m bench.architectures.matrix janus gemma4 # some
    python -m bench.architectures.matrix --table      # only write the table in README.md

The results are in results.json, with the versions they were found with. Classes that need torchvision
or timm keep their results where these are not installed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results.json"
DOCS = FOLDER / "README.md"
BEGIN, END = "<!-- architectures: begin -->", "<!-- architectures: end -->"


def load() -> dict[str, dict[str, Any]]:
    """Return the recorded results by model type."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def run(names: list[str]) -> None:
    """Find the outcomes of some classes, all by default, and record them."""
    from dataclasses import asdict

    import torch
    import transformers

    from bench.architectures.build import CLASSES, packages_of
    from bench.architectures.outcomes import outcome

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    versions = {"transformers": transformers.__version__, "torch": torch.__version__.partition("+")[0]}
    known = load()
    for name in names or CLASSES:
        needed = {package: _version(package) for package in packages_of(name)}
        if missing := [package for package, found in needed.items() if found is None]:
            print(f"{name}: without {' and '.join(missing)} its result is kept", flush=True)
            continue
        started = time.perf_counter()
        result = outcome(name)
        known[name] = asdict(result) | versions | {package: str(of).partition("+")[0] for package, of in needed.items()}
        print(f"{name}: {result.status} {result.reason} ({time.perf_counter() - started:.0f} s)", flush=True)
        ordered = {name: known[name] for name in sorted(known) if name in CLASSES}
        RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def table() -> str:
    """Return the table for the documentation."""
    known = load()
    counts = Counter(row["status"] for row in known.values())
    summary = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    lines = [
        f"{len(known)} classes: {summary}. Versions: {_versions(known)}.",
        "",
        "| model type | class | result | images | note |",
        "|---|---|---|---|---|",
    ]
    for name, row in sorted(known.items()):
        note = "; ".join(filter(None, (row["reason"], row["batches"] and f"no padded batches: {row['batches']}")))
        note = note.replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| {name} | {row['model_class']} | {row['status']} | {row['images']} | {note} |")
    return "\n".join(lines)


def _versions(known: dict[str, dict[str, Any]]) -> str:
    found = {
        package: sorted({row[package] for row in known.values() if row.get(package)})
        for package in ("transformers", "torch", "torchvision", "timm")
    }
    return "; ".join(f"{package} {' and '.join(values)}" for package, values in found.items() if values)


def with_table(page: str) -> str:
    """Return a page with the table between the two marks."""
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise ValueError(f"{DOCS} must have {BEGIN} and {END} once each")
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.partition(END)[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_types", nargs="*", metavar="MODEL_TYPE", help="all classes by default")
    parser.add_argument("--table", action="store_true", help="only write the table in README.md")
    options = parser.parse_args()
    if not options.table:
        run(options.model_types)
    DOCS.write_text(with_table(DOCS.read_text(encoding="utf-8")), encoding="utf-8")
    faults = [name for name, row in load().items() if row["status"] in ("different", "failed")]
    if faults:
        sys.exit(f"different or failed: {', '.join(faults)}")


if __name__ == "__main__":
    main()

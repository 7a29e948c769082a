"""The matrix of architectures: every image-text-to-text class of transformers, tiny, in every way of batching.

    python -m bench.architectures.matrix              # all classes; about 10 minutes on 2 cores
    python -m bench.architectures.matrix janus gemma4 # some
    python -m bench.architectures.matrix --two-images # all classes, with two images a prompt
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


def run(names: list[str], *, two_images: bool) -> None:
    """Find the outcomes of some classes, all by default, and record them: with one image a prompt, or with two."""
    from dataclasses import asdict

    import torch
    import transformers

    from bench.architectures.build import CLASSES, packages_of
    from bench.architectures.outcomes import TURNS, TWO_IMAGES, outcome

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
        result = outcome(name, TWO_IMAGES if two_images else TURNS)
        found = versions | {package: str(of).partition("+")[0] for package, of in needed.items()}
        before = known.get(name, {})
        if two_images:
            with_two = {"status": result.status, "reason": result.reason, "batches": result.batches} | found
            known[name] = before | {"two_images": with_two}
        else:
            kept = {"two_images": before["two_images"]} if "two_images" in before else {}
            known[name] = asdict(result) | found | kept
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
    two = Counter(row["two_images"]["status"] for row in known.values() if "two_images" in row)
    with_two = ", ".join(f"{count} {status}" for status, count in two.most_common())
    lines = [
        f"{len(known)} classes: {summary}. With two images a prompt, of {two.total()}: {with_two}. "
        f"Versions: {_versions(known)}.",
        "",
        "| model type | class | result | two images | images | note |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in sorted(known.items()):
        two_images = row.get("two_images", {})
        notes = _notes(row)
        notes += [f"two images: {note}" for note in _notes(two_images) if note not in notes]
        note = "; ".join(notes).replace("|", "\\|").replace("<", "&lt;")
        results = f"{row['status']} | {two_images.get('status', '')}"
        lines.append(f"| {name} | {row['model_class']} | {results} | {row['images']} | {note} |")
    return "\n".join(lines)


def _notes(row: dict[str, Any]) -> list[str]:
    notes = [row["reason"]] if row.get("reason") else []
    return [*notes, f"no padded batches: {row['batches']}"] if row.get("batches") else notes


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
    parser.add_argument("--two-images", action="store_true", help="two images a prompt")
    parser.add_argument("--table", action="store_true", help="only write the table in README.md")
    options = parser.parse_args()
    if not options.table:
        run(options.model_types, two_images=options.two_images)
    DOCS.write_text(with_table(DOCS.read_text(encoding="utf-8")), encoding="utf-8")
    faults = faulty()
    if faults:
        sys.exit(f"different or failed: {', '.join(faults)}")


def faulty() -> list[str]:
    """Return the classes with other replies or an unexplained error."""
    found = []
    for name, row in load().items():
        if {row["status"], row.get("two_images", {}).get("status")} & {"different", "failed"}:
            found.append(name)
    return found


if __name__ == "__main__":
    main()

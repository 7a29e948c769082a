"""Print the agreement of the robust parser with labels of replies that HumbleBench's authors released.

Usage: ``python bench/parser/released.py FOLDER [--errors SPLIT]``. FOLDER has files of the repository
maifoundations/HumbleBench at the paths and commits that tests/labelled_replies/released.jsonl names. The replies are
not part of this project; that file has their labels only. Replies of absent files are skipped.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from bench.parser.agreement import REPLIES, Row, parse, read, table

LABELS = REPLIES.with_name("released.jsonl")
_OPTION = re.compile(r"([A-E])\.\s?(.*)")
_REFUSAL = "None of"


@cache
def replies(file: Path) -> dict[int, dict[str, Any]]:
    """Return the lines of a released file by question."""
    return {row["question_id"]: row for row in read(file)}


def labelled(folder: Path, labels: Path = LABELS) -> Iterator[Row]:
    """Yield the labelled replies whose files are in a folder, in the format of the other labelled replies."""
    for label in read(labels):
        file = folder / label["path"]
        if not file.is_file():
            continue
        row = replies(file)[label["question_id"]]
        lines = row["question"].splitlines()
        options = dict(match.groups() for match in map(_OPTION.fullmatch, lines) if match)
        stem = [line for line in lines if line.strip() and not _OPTION.fullmatch(line)][-1]
        yield {
            **label,
            "id": f"{label['path']} {label['question_id']}",
            "model": file.stem,
            "certain": "doubtful" if label["doubtful"] else "certain",
            "question": stem,
            "options": options,
            "refusal": next((name for name, text in options.items() if text.startswith(_REFUSAL)), None),
            "reply": row["prediction"],
        }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--errors", metavar="SPLIT", help="list the replies of this split that are parsed otherwise")
    arguments = parser.parse_args()
    rows = list(labelled(arguments.folder))
    if not rows:
        parser.error(f"none of the files of {LABELS.name} is in {arguments.folder}")
    print(f"{len(rows)} of {len(read(LABELS))} labelled replies\n")
    print(table(rows, ("split", "model")), table(rows, ("split", "model", "certain")), sep="\n\n")
    for row in rows:
        if row["split"] == arguments.errors and (parsed := parse(row)) != row["gold"]:
            print(f"\n{row['id']}: {row['gold']} parsed as {parsed}, {json.dumps(row['options'])}\n{row['reply']}")


if __name__ == "__main__":
    main()

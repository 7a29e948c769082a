"""Print the agreement of the robust parser with the labelled replies, and the agreement between the labelling passes.

Usage: ``python bench/parser/agreement.py [FILE] [--strata] [--errors SPLIT]``. docs/parsers.md explains the table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from known_unknowns.records import REFUSED, AnsweredTurn, Option, Question, Reply
from known_unknowns.scoring import robust

REPLIES = Path(__file__).parents[2] / "tests" / "labelled_replies" / "replies.jsonl"
REFUSAL, UNPARSED = "refusal", "unparsed"

Row = Mapping[str, Any]


def read(file: Path) -> list[Row]:
    """Read the labelled replies, one JSON object per line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def parse(row: Row) -> str:
    """Return the robust parser's label of one reply: an option's label, "refusal" or "unparsed"."""
    options = tuple(Option(label, text, f"{label}. ") for label, text in row["options"].items())
    labels = tuple(row["options"])
    refusal = None if row["refusal"] is None else labels.index(row["refusal"])
    question = Question(row["id"], "", row["question"], options, 0, refusal, (), "", "")
    parsed = robust(AnsweredTurn(row["id"], 0, "answer", "", (), labels, "", Reply(row["reply"])), question)
    if parsed.choice is None:
        return UNPARSED
    return REFUSAL if parsed.outcome == REFUSED else labels[parsed.choice]


def outcome(gold: str, parsed: str) -> str:
    """Return "agrees", "missed" (unparsed although labelled) or "wrong" (another option than the label)."""
    if parsed == gold:
        return "agrees"
    return "missed" if parsed == UNPARSED else "wrong"


def share(count: int, n: int) -> str:
    """Format a share of ``n`` in percent with its 95% Wilson interval."""
    interval = binomtest(count, n).proportion_ci(method="wilson")
    return f"{count / n:.1%} [{interval.low:.1%}, {interval.high:.1%}]"


def line(name: str, rows: Sequence[Row], parsed: Mapping[str, str]) -> str:
    """Format one row of the table of agreement."""
    outcomes = [outcome(row["gold"], parsed[row["id"]]) for row in rows]
    cells = [share(outcomes.count("agrees"), len(rows)), share(outcomes.count("wrong"), len(rows))]
    return f"| {name} | {len(rows)} | {cells[0]} | {cells[1]} | {outcomes.count('missed')} |"


def table(rows: Sequence[Row], keys: Iterable[str]) -> str:
    """Format the table of agreement by the values of ``keys``."""
    parsed = {row["id"]: parse(row) for row in rows}
    keys = tuple(keys)
    names = dict.fromkeys(" / ".join(row[key] for key in keys) for row in rows)
    lines = [f"| {', '.join(keys)} | n | agreement | wrong option | missed |", "|---|---|---|---|---|"]
    groups = {name: [row for row in rows if " / ".join(row[key] for key in keys) == name] for name in names}
    return "\n".join([*lines, *(line(name, group, parsed) for name, group in groups.items())])


def kappa(rows: Sequence[Row]) -> str:
    """Format the agreement between the two passes. Labels are compared as written."""
    first, second = ([row[name] for row in rows] for name in ("pass1", "pass2"))
    same = sum(a == b for a, b in zip(first, second, strict=True))
    return f"Passes agree on {same} of {len(rows)} replies; Cohen's kappa {cohen_kappa_score(first, second):.3f}."


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", nargs="?", type=Path, default=REPLIES)
    parser.add_argument("--strata", action="store_true", help="also print a table by stratum")
    parser.add_argument("--errors", metavar="SPLIT", help="list the replies of this split that are parsed otherwise")
    arguments = parser.parse_args()
    rows = read(arguments.file)
    print(kappa(rows), table(rows, ("split", "kind")), sep="\n\n")
    if arguments.strata:
        print("", table(rows, ("kind", "stratum")), sep="\n")
    for row in rows:
        parsed = parse(row)
        if row["split"] == arguments.errors and parsed != row["gold"]:
            print(f"{row['id']} {row['gold']} parsed as {parsed}: {row['reply']!r} {row['options']}")


if __name__ == "__main__":
    main()

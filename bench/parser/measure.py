"""Print how parsers agree with labels of real replies.

README.md has the usage and the result. The rule of another tool is measured if its folder is given.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from scipy.stats import binomtest

from bench.parser.split import half
from bench.parser.tools import Parsed, Parser, Row, tools
from known_unknowns.scoring.reply_parser import ParsedReply, parse_reply
from known_unknowns.scoring.reply_parser.rules import RULES

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("SHARED_DATA", ROOT.parent / "shared" / "data"))
KINDS = Path(__file__).with_name("kinds.jsonl")
UNPARSED = "unparsed"
ABSTAINING = ("abstained", "none_right")
"""Kinds of label of replies without an option that count as an abstention."""
OPTION = "option"
"""The kind of replies that give an option although the shared label says that they do not."""

Label = str | None


class Case(NamedTuple):
    """A reply with its label.

    ``right`` has the acceptable labels, of which None is no option. ``kind`` says why there is no option.
    """

    id: str
    source: str
    half: str
    human: bool
    row: Row
    right: frozenset[Label]
    kind: str | None = None


def shared_cases(folder: Path) -> Iterator[Case]:
    """Yield the shared real replies. There are none if the folder is absent."""
    places = (folder / "replies" / "labelled.jsonl", folder / "data" / "replies" / "labelled.jsonl")
    file = next(filter(Path.is_file, places), None)
    if file is None:
        return
    kinds = {row["id"]: row["kind"] for row in _read(KINDS)} if KINDS.is_file() else {}
    for row in _read(file):
        right = frozenset(None if label == UNPARSED else label for label in (row["label"], row["alt"] or row["label"]))
        where = half(row["source"], row["question"])
        yield Case(row["id"], row["source"], where, row["human"], row, right, kinds.get(row["id"]))


def _read(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def parse(row: Row) -> ParsedReply:
    return parse_reply(row["reply"], row["options"], row["refusal"], row["question"])


def robust(rows: Sequence[Row]) -> list[Parsed]:
    return [Parsed(parse(row).label) for row in rows]


def share(count: int, n: int) -> str:
    """Format a share in percent with its 95% Wilson interval."""
    if not n:
        return "-"
    interval = binomtest(count, n).proportion_ci(method="wilson")
    return f"{100 * count / n:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def table(cases: Sequence[Case], parsers: Mapping[str, Parser]) -> str:
    """Format agreement, wrong options, and replies without an option or with one drawn, of each parser and source."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, case in enumerate(cases):
        groups[case.source].append(place)
        groups["all"].append(place)
        if case.human:
            groups["labels by people"].append(place)
    lines = [
        "| source | n | parser | agreement | wrong | of these drawn | no option |",
        "|---|---|---|---|---|---|---|",
    ]
    parsed = {name: parser([case.row for case in cases]) for name, parser in parsers.items()}
    for source, places in groups.items():
        n = len(places)
        for name in parsers:
            agrees, wrong, drawn, none = 0, 0, 0, 0
            for place in places:
                reply = parsed[name][place]
                right = reply.label in cases[place].right
                agrees += right
                wrong += not right and reply.label is not None
                drawn += not right and reply.drawn
                none += reply.label is None
            cells = (
                source,
                n,
                name,
                share(agrees, n),
                share(wrong, n),
                f"{100 * drawn / n:.1f}",
                f"{100 * none / n:.1f}",
            )
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def rules_table(cases: Sequence[Case]) -> str:
    """Format the share of replies that each rule decides, and how many of them it decides as the label does."""
    decided: dict[str, Counter[bool]] = defaultdict(Counter)
    for case in cases:
        parsed = parse(case.row)
        decided[parsed.rule][parsed.label in case.right] += 1
    names = [rule.__name__ for rule in RULES]
    names = [name for rule in names for name in (rule, f"{rule}: several")] + [""]
    lines = ["| rule | replies | share | precision |", "|---|---|---|---|"]
    for name in names:
        if name in decided:
            n = decided[name].total()
            lines.append(f"| {name or '(none)'} | {n} | {share(n, len(cases))} | {share(decided[name][True], n)} |")
    return "\n".join(lines)


def abstention_table(cases: Sequence[Case]) -> str:
    """Format recall and precision of the outcome "abstained", by the kinds of replies without an option."""
    labelled = [case for case in cases if case.kind not in (None, OPTION) or None not in case.right]
    parsed = [parse(case.row).outcome for case in labelled]
    found = [outcome == "abstained" for outcome in parsed]
    gold = [case.kind in ABSTAINING for case in labelled]
    both = sum(a and b for a, b in zip(found, gold, strict=True))
    lines = [
        f"abstained: recall {share(both, sum(gold))}, n = {sum(gold)};"
        f" precision {share(both, sum(found))}, n = {sum(found)}",
        "",
    ]
    lines += ["| kind | n | outcomes |", "|---|---|---|"]
    for kind in sorted({case.kind for case in labelled if case.kind}):
        outcomes = Counter(outcome for case, outcome in zip(labelled, parsed, strict=True) if case.kind == kind)
        lines.append(
            f"| {kind} | {outcomes.total()} | {', '.join(f'{name} {n}' for name, n in outcomes.most_common())} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of the shared data")
    parser.add_argument("--half", choices=("tuning", "untouched"), help="only this half of the shared replies")
    parser.add_argument("--packages", type=Path, help="folder with the packages lm-eval and lmms-eval")
    parser.add_argument("--vlmevalkit", type=Path, help="clone of github.com/open-compass/VLMEvalKit")
    parser.add_argument("--mmlu-pro", type=Path, help="clone of github.com/TIGER-AI-Lab/MMLU-Pro")
    parser.add_argument(
        "--errors", action="store_true", help="list the shared replies that the parser robust parses otherwise"
    )
    arguments = parser.parse_args()
    cases = [case for case in shared_cases(arguments.shared) if arguments.half in (None, case.half)]
    if cases:
        others = tools(arguments.packages, arguments.vlmevalkit, arguments.mmlu_pro)
        print(table(cases, {"robust": robust, **dict(others)}), rules_table(cases), sep="\n\n")
        if any(case.kind for case in cases):
            print("", abstention_table(cases), sep="\n")
    if arguments.errors:
        for case in cases:
            parsed = parse(case.row)
            if parsed.label not in case.right:
                print("=" * 80, json.dumps([case.id, *parsed_fields(parsed), sorted(map(str, case.right))]), sep="\n")
                print(case.row["question"][-300:], case.row["options"], repr(case.row["reply"]), sep="\n")


def parsed_fields(parsed: ParsedReply) -> tuple[str | None, ...]:
    return parsed.outcome, parsed.label, parsed.rule


if __name__ == "__main__":
    main()

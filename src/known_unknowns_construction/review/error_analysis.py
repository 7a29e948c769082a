"""Shares of the kinds of wrong answers that reviewers tagged."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from io import StringIO
from pathlib import Path

from known_unknowns.files import write_text
from known_unknowns.files.csv_cells import escape_cell
from known_unknowns.metrics.intervals import clustered_interval
from known_unknowns.records import OVERALL
from known_unknowns.tables import Part
from known_unknowns_construction.review.decisions import (
    DISPUTED,
    PENDING,
    TAGGED,
    Decision,
    outcomes,
    read_decisions,
    standing,
)
from known_unknowns_construction.review.items import Source, error_source
from known_unknowns_construction.review.session import TAGS

EXAMPLES = 3
METHOD = "modified Wilson, clustered by image (docs/metrics.md#intervals)"


@dataclass(frozen=True, slots=True)
class ErrorShare:
    """The share of one kind of error."""

    category: str  # category of the questions, or "Overall"
    tag: str  # one of `known_unknowns_construction.review.session.TAGS`
    count: int  # number of wrong answers with this tag
    n: int  # number of wrong answers with a tag
    # ``count / n`` with its interval; None if nothing is tagged
    share: float | None
    low: float | None
    high: float | None
    # wrong answers without a tag yet, and those on which reviewers differ. They are not in n.
    pending: int
    disputed: int
    examples: tuple[str, ...]  # ids of the first questions
    method: str = METHOD  # method of the interval


def reviewed_part(source: Source, decisions: Sequence[Decision]) -> Source:
    """Return the wrong answers that some reviewer has tagged: of a sample, it is what was drawn and reached."""
    tagged = standing(decisions)
    return replace(source, items=[item for item in source.items if item.id in tagged])


def write_error_table(
    title: str,
    questions: Part,
    answers: Part,
    replies: Part,
    *,
    images: Path,
    tags: Path,
    out: Path,
    parser: str = "robust",
) -> None:
    """Write the `error_table` of a model's wrong answers to a variant and seed. ``tags`` is the reviewers' file."""
    source = error_source(title, questions, answers, replies, images=images, parser=parser)
    found = read_decisions([tags])
    write_table(error_table(reviewed_part(source, found), found), out)


def write_table(rows: Sequence[ErrorShare], out: Path) -> None:
    """Write the table as CSV. The examples are a JSON list."""
    lines = StringIO()
    writer = csv.DictWriter(lines, [field.name for field in fields(ErrorShare)], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        values = asdict(row) | {"examples": json.dumps(row.examples, ensure_ascii=False)}
        writer.writerow({name: escape_cell("" if value is None else value) for name, value in values.items()})
    write_text(out, lines.getvalue())


def error_table(
    source: Source, decisions: Sequence[Decision], *, required: int = 1, confidence: float = 0.95
) -> list[ErrorShare]:
    """Return the share of each tag among the tagged wrong answers, overall and for each category.

    The intervals are clustered by image. If the items are a random sample of all wrong answers, they are those of all.
    """
    after = outcomes({item.id: item.content for item in source.items}, decisions, required=required)
    rows = []
    categories = dict.fromkeys(item.category for item in source.items)
    for category in (OVERALL, *(categories if len(categories) > 1 else ())):
        items = [item for item in source.items if category in (OVERALL, item.category)]
        states = [after[item.id].state for item in items]
        tags = {item.id: after[item.id].decisions[0].tag for item in items if after[item.id].state == TAGGED}
        tagged = [item for item in items if item.id in tags]
        groups = list(dict.fromkeys(item.group for item in tagged))
        for tag in TAGS:
            right, asked = dict.fromkeys(groups, 0), dict.fromkeys(groups, 0)
            for item in tagged:
                asked[item.group] += 1
                right[item.group] += tags[item.id] == tag
            low, high = clustered_interval(list(right.values()), list(asked.values()), confidence)
            having = [item.id for item in tagged if tags[item.id] == tag]
            rows.append(
                ErrorShare(
                    category=category,
                    tag=tag,
                    count=len(having),
                    n=len(tagged),
                    share=len(having) / len(tagged) if tagged else None,
                    low=low,
                    high=high,
                    pending=states.count(PENDING),
                    disputed=states.count(DISPUTED),
                    examples=tuple(having[:EXAMPLES]),
                )
            )
    return rows

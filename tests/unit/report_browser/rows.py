"""Read the shards of a page as rows, as ``static/data.js`` does."""

from __future__ import annotations

from typing import Any


def rows_of(part: dict[str, Any]) -> list[Any]:
    """Return [turns, scores] of each question of a shard of replies, None for a question that was not asked."""
    scores, notes = part["scores"], dict(part["scores"]["notes"])
    turns_left, scores_left, logprobs = 0, 0, iter(part["logprobs"][2])
    rows: list[Any] = []
    for turns, results in zip(part["turns"], scores["counts"], strict=True):
        of_turns = [_turn(part, i, logprobs) for i in range(turns_left, turns_left + turns)]
        of_scores = [_score(scores, i, notes) for i in range(scores_left, scores_left + results)]
        turns_left, scores_left = turns_left + turns, scores_left + results
        rows.append([of_turns, of_scores] if turns or results else None)
    return rows


def _value(column: Any, i: int) -> Any:
    values, codes = column
    return values[codes[i]]


def _turn(part: dict[str, Any], i: int, logprobs: Any) -> list[Any]:
    labels = _value(part["logprobs"][:2], i)
    return [
        _value(part["step"], i), part["prompt"][i], part["images"][i], _value(part["labels"], i), part["key"][i],
        part["reply"][i], None if labels is None else [[label, next(logprobs)] for label in labels],
        [part[f"{name}_tokens"][i] for name in ("input", "visual", "output")],
        _value(part["finish"], i), _value(part["error"], i),
    ]  # fmt: skip


def _score(scores: dict[str, Any], i: int, notes: dict[int, int]) -> list[Any]:
    """[turn, parser, outcome, label, choice], and the start and end of the passage, or None, None and a note."""
    row = [
        scores["turn"][i],
        scores["parser"][i],
        scores["outcome"][i],
        _value(scores["label"], i),
        scores["choice"][i],
    ]
    if i in notes:
        return [*row, None, None, notes[i]]
    return row if scores["start"][i] < 0 else [*row, scores["start"][i], scores["end"][i]]

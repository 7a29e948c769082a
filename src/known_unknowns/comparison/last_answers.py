"""The scores of the answers to questions, among those of all turns of their dialogues."""

from __future__ import annotations

import pandas as pd

from known_unknowns.benchmark.protocol import ANSWER


def last_answers(scores: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Return the scores of the last answer to each question under each parser, and for each value of columns ``by``."""
    answers = scores[scores.step == ANSWER].sort_values("turn", kind="stable")
    return answers.drop_duplicates([*by, "question_id", "parser"], keep="last")

"""The last answers, and the disagreement of parsers."""

from __future__ import annotations

from pathlib import Path

from known_unknowns.edition_files import scores_table
from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, Score
from known_unknowns.scoring.dialogues import final_scores
from known_unknowns.tables import write_scores
from tests.cells import ONE

from .fake_run import params


def score(parser: str, turn: int, outcome: str, choice: int | None, *, question: str = "1") -> Score:
    letter = None if choice is None else "ABCDE"[choice]
    return Score(question, turn, "answer", parser, outcome, letter, choice, False)


def test_the_last_turn_has_the_answer() -> None:
    rows = [score("official", 1, REFUSED, 4), score("official", 0, ANSWERED, 1), score("robust", 0, UNPARSED, None)]
    assert final_scores(rows) == {"official": {"1": rows[0]}, "robust": {"1": rows[2]}}


def test_disagreement_of_parsers_counted_by_hand(tmp_path: Path) -> None:
    from known_unknowns.comparison import MetricIndex
    from known_unknowns.records import OVERALL, Metric
    from known_unknowns.report.parser_agreement import disagreement
    from known_unknowns.report.section import section
    from known_unknowns.report.tables import Run

    rows = [
        *(score("official", 0, ANSWERED, 0, question=q) for q in "1234"),
        *(score("robust", 0, ANSWERED, 0, question=q) for q in "12"),
        score("robust", 0, ANSWERED, 1, question="3"),
        score("robust", 0, UNPARSED, None, question="4"),
    ]
    write_scores(scores_table(tmp_path / "scores", "m", "humblebench"), {ONE: rows})
    write_scores(scores_table(tmp_path / "scores", "same", "humblebench"), {ONE: rows[:6]})
    metric = Metric("m", "humblebench", "original", 0, "robust", OVERALL, "accuracy", 0.5, 0.4, 0.6, 4, "wilson")
    run = Run(
        "humblebench", section("humblebench"), MetricIndex([metric]), ("m", "same"), ("original",),
        ("official", "robust"), {"original": (0,)}, params(),
    )  # fmt: skip
    found = disagreement(run, tmp_path)
    (row,) = found.table.rows
    assert (row.cells[0].text, row.cells[0].interval) == ("50.0", "(2)")
    assert found.table.columns[0].note == "n = 4"
    assert found.agreed == ("same",)


def test_a_model_without_log_probabilities_has_no_share_of_the_parser_likelihood(tmp_path: Path) -> None:
    """Two models with four replies each; only the first one has log-probabilities. The n of the others stays 4."""
    from known_unknowns.comparison import MetricIndex
    from known_unknowns.records import OVERALL, Metric
    from known_unknowns.report.parser_agreement import disagreement
    from known_unknowns.report.section import section
    from known_unknowns.report.tables import Run

    read = [score("robust", 0, ANSWERED, 0, question=q) for q in "1234"]
    other = [score("official", 0, ANSWERED, 1, question=q) for q in "1234"]
    likely = [score("likelihood", 0, ANSWERED, 1, question=q) for q in "1234"]
    write_scores(scores_table(tmp_path / "scores", "with", "humblebench"), {ONE: read + other + likely})
    write_scores(scores_table(tmp_path / "scores", "without", "humblebench"), {ONE: read + other})
    metric = Metric("with", "humblebench", "original", 0, "robust", OVERALL, "accuracy", 0.5, 0.4, 0.6, 4, "wilson")
    run = Run(
        "humblebench", section("humblebench"), MetricIndex([metric]), ("with", "without"), ("original",),
        ("official", "robust", "likelihood"), {"original": (0,)}, params(),
    )  # fmt: skip
    table = disagreement(run, tmp_path).table
    assert [column.note for column in table.columns] == ["n = 4"] * 3
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["100.0", "0.0", "100.0"],
        ["100.0", "–", "–"],
    ]

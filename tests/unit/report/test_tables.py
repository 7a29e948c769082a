"""Tables of metrics, of the disagreement of parsers, and of the kinds of errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from known_unknowns.edition_files import answers_table
from known_unknowns.errors import DataError
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.metrics.proportions import constant_answer
from known_unknowns.metrics.run import Run
from known_unknowns.records import ANSWERED, OVERALL, UNPARSED, Metric, Score
from known_unknowns.report.page import run_of
from known_unknowns.report.section import section
from known_unknowns.report.tables import all_variants, by_category, disagreement, error_shares, headline
from known_unknowns.workflow.rule_functions import error_tables
from known_unknowns_construction.review.error_analysis import ErrorShare, write_table
from tests.cells import write_answers

from .conftest import write
from .fake_run import make, params

HOSTILE = '"><img src=x onerror=alert(1)>'


FOOT = ("chance", "constant answer")


def metric(variant: str, parser: str, name: str, value: float) -> Metric:
    return Metric("oracle", "humblebench", variant, 0, 0, parser, OVERALL, name, value, None, None, 20, "none")


def test_what_a_wrong_reply_to_humblebench_e_was() -> None:
    """Of 20 replies, 8 are right, 2 name the removed letter, 3 none, and 1 failed: 6 name a remaining wrong option."""
    shares = {"accuracy": 0.4, "names_removed_letter": 0.1, "share_no_letter": 0.15, "share_failed": 0.05}
    rows = [metric("nota_only", "official", name, value) for name, value in shares.items()]
    rows += [metric("nota_only_relettered", "official", "accuracy", 0.4)]
    shown = run_of(params(), MetricIndex(rows), "humblebench")
    for table in (headline(shown), all_variants(shown)):
        labels = [head.text for head in table.columns]
        of_variant = {row.heads[-1].note: [cell.text for cell in row.cells] for row in table.rows}
        cells = next(texts for name, texts in of_variant.items() if name != "nota_only_relettered")
        named = dict(zip(labels, cells, strict=True))
        headings = [label for label in labels if "remaining wrong" in label or label == "a wrong option"]
        assert [named[heading] for heading in headings] == ["30.0"]
        if "nota_only_relettered" in of_variant:  # no letter is removed there
            others = dict(zip(labels, of_variant["nota_only_relettered"], strict=True))
            assert [others[heading] for heading in headings] == ["\u2013"]


def test_without_content_only_official_scores_and_what_was_recognised_are_shown() -> None:
    recognised = ("recognised", "recognised_refused", "recognised_abstained")
    rows = [
        metric(variant, parser, name, value)
        for variant, value in (("original", 0.75), ("noise", 0.25))
        for parser in ("official", "robust")
        for name in ("accuracy", "accuracy_high_bound", *recognised, "refusal_recall")
    ]
    shown = run_of(params(), MetricIndex(rows), "humblebench")
    assert shown.content_free & set(shown.variants) == {"noise"}
    table = all_variants(shown)
    labels = [head.text for head in table.columns]
    found = {
        row.heads[-1].note: dict(zip(labels, (cell.text for cell in row.cells), strict=True)) for row in table.rows
    }
    noise, original = found["noise"], found["original"]
    assert (original["robust"], noise["robust"], noise[shown.parser_name("official")]) == ("75.0", "–", "25.0")
    assert noise["right, unread all right"] == "–" and noise["recognised"] == noise["of it abstained"] == "25.0"
    headline_labels = [head.text for head in headline(shown).columns]
    assert headline_labels.count("robust") == 1 and headline_labels.count("of it refused") == 1


def test_the_constant_answer_stands_beside_chance_with_its_label() -> None:
    accuracy = replace(metric("original", "official", "accuracy", 0.75), n=4)
    rows = [accuracy, replace(accuracy, name="chance", value=0.2), constant_answer(accuracy, np.array(list("ACCB")))]
    shown = run_of(params(), MetricIndex(rows), "humblebench")
    chance, constant = ({row.heads[0].text: row.cells for row in headline(shown).foot}[name][0] for name in FOOT)
    assert (chance.text, constant.text, constant.note) == ("20.0", "50.0", "C")
    for table in (all_variants(shown), by_category(shown)):
        labels = [head.text for head in table.columns]
        cells = dict(zip(labels, table.rows[0].cells, strict=True))
        assert (cells["chance"].text, cells["constant answer"].text, cells["constant answer"].note) == (
            "20.0",
            "50.0",
            "C",
        )


def score(parser: str, outcome: str, choice: int | None, question: str) -> Score:
    letter = None if choice is None else "ABCDE"[choice]
    return Score(question, 0, "answer", parser, outcome, letter, choice, False)


def test_disagreement_of_parsers_counted_by_hand(tmp_path: Path) -> None:
    """The robust parser differs on questions 3 and 4; only some models have log-probabilities."""
    official = [score("official", ANSWERED, 0, q) for q in "1234"]
    robust = [*(score("robust", ANSWERED, 0, q) for q in "12"), score("robust", ANSWERED, 1, "3")]
    robust.append(score("robust", UNPARSED, None, "4"))
    likely = [score("likelihood", ANSWERED, 0, q) for q in "1234"]
    same = [score("robust", ANSWERED, 0, q) for q in "1234"]
    for model, rows in (("a", official + robust + likely), ("b", official + robust), ("same", official + same)):
        write_answers(answers_table(tmp_path / "answers", model, "humblebench"), "original", 0, rows)
    run = Run(
        "humblebench", section("humblebench"), MetricIndex([]), ("a", "b", "same"), ("original",),
        ("official", "robust", "likelihood"), {"original": (0,)}, params(),
    )  # fmt: skip
    found = disagreement(run, tmp_path)
    assert [column.note for column in found.table.columns] == ["n = 4"] * 3
    cells = [[", ".join(filter(None, (c.text, c.interval))) for c in row.cells] for row in found.table.rows]
    assert cells == [
        ["50.0, 2 of 4 replies", "0.0, 0 of 4 replies", "50.0, 2 of 4 replies"],
        ["50.0, 2 of 4 replies", "–", "–"],
    ]
    assert found.agreed == ("same",)


@pytest.mark.usefixtures("no_figures")
def test_kinds_of_errors_have_shares_and_examples(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["original"])
    model = run.params.models[0]
    rows = [
        ErrorShare("Overall", "perception", 1, 4, 0.25, 0.05, 0.7, 6, 0, ("12",)),
        ErrorShare("Overall", "counting", 3, 4, 0.75, 0.3, 0.95, 6, 0, ("3", HOSTILE, "/srv/mine/4")),
        ErrorShare("Overall", "parser", 0, 4, 0.0, 0.0, 0.4, 6, 0, ()),
        ErrorShare("Object", "counting", 3, 3, 1.0, 0.4, 1.0, 2, 0, ("3",)),
    ]
    write_table(rows, run.results / "errors" / model / "humblebench" / "original-seed0.csv")
    page = write(run)["benchmark-humblebench.html"]
    shown = " ".join(page["humblebench-errors"].text.split())
    assert "75.0 [30.0, 95.0] n = 4 6 pending3" in shown and "parser" not in shown
    links = [e.attributes["href"] for e in page.all("a") if "&question=" in e.attributes.get("href", "")]
    assert f"questions.html#benchmark=humblebench&question=3&model={model}&variant=original&seed=0" in links
    assert f"questions.html#benchmark=humblebench&question=/srv/mine/4&model={model}&variant=original&seed=0" in links
    shown = [e.text for e in page.all("a")]
    assert not page.all("img") and any(HOSTILE in text for text in shown) and "/srv/mine/4" in shown


def test_a_file_that_is_no_table_of_errors_is_named(tmp_path: Path) -> None:
    path = tmp_path / "errors" / "m" / "humblebench" / "original-seed0.csv"
    path.parent.mkdir(parents=True)
    path.write_text("tag\nx\n")
    with pytest.raises(DataError, match=r"original-seed0\.csv: not a table of errors"):
        error_shares(SimpleNamespace(models=("m",), benchmark="humblebench"), tmp_path)


def test_tables_of_errors_are_made_for_tagged_cells_of_the_edition_only(tmp_path: Path) -> None:
    found = params()
    model = found.models[0]
    for cell in (f"{model}/humblebench/original-seed0", f"{model}/humblebench/absent-seed0", "other/humblebench/x"):
        file = tmp_path / "reviews" / found.edition / "errors" / f"{cell}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    assert error_tables(found, tmp_path) == [f"<results>/errors/{model}/humblebench/original-seed0.csv"]

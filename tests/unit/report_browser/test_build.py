"""The content of the shards, computed by hand for the tiny run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.records import ABSTAINED, ANSWERED, CUT, FAILED, OUTCOMES, REFUSED, UNPARSED, Score
from known_unknowns.report.browser import build, columns, outcomes
from known_unknowns.report.browser.shards import read
from tests.cells import write_answers
from tests.factories import params_from, question

from .rows import rows_of
from .tiny_run import HOSTILE, KEY, LONG, TinyRun

R, W, F, X = outcomes.RIGHT, outcomes.WRONG, outcomes.REFUSED_RIGHTLY, outcomes.FAILED
U = outcomes.UNPARSED


def index_of(run: TinyRun):
    text = run.page.read_text(encoding="utf-8")
    manifest = json.loads(re.search(r'id="manifest">(.*?)</script>', text, re.DOTALL)[1])
    return manifest, json.loads(read(run.shards / f"{manifest['benchmarks'][0][3]}.js"))


def flags(run: TinyRun, model: int, cell: int, parser: int):
    _, index = index_of(run)
    row = next(entry[2] for entry in index["replies"] if entry[:2] == [model, cell])
    (of_models,) = index["cells"][cell][4]  # three models are one shard
    size = len(index["ids"])
    names = [of_models[kind][parser] for kind in (0, 1)]
    return [list(read(run.shards / f"{name}.js")[row * size : (row + 1) * size]) for name in names]


def test_the_index(run):
    manifest, index = index_of(run)
    assert manifest["models"] == [["pocket", False], ["pocket-never-refuses", False], ["always_a", True]]
    assert manifest["benchmarks"][0][:3] == ["humblebench", "HumbleBench", 6]
    assert index["ids"] == ["q1", "q2", "q3", "q4", "q5", "q6"]
    assert [index["categories"][code] for code in index["category"]][:3] == ["Object", "Object", "Relation"]
    assert [(cell[0], cell[2]) for cell in index["cells"]] == [("original", "0"), ("nota_only", "0"), ("noise", "0")]
    pairs = [(first, second, seeds, listed) for first, second, seeds, listed in index["relations"]]
    assert pairs == [("original", "nota_only", [["0", "0"]], 1), ("original", "noise", [["0", "0"]], 1)]


def test_confidences(run):
    """0.9, 0.6 and 0.2 of 254, plus 1; nothing of the other models and variants."""
    _, index = index_of(run)
    assert [name for name, _, present in index["sources"] if present] == ["letters"]
    place = [name for name, *_ in index["sources"]].index("letters")
    planes = [list(read(run.shards / f"{cell[4][0][3][place]}.js")) for cell in index["cells"]]
    assert planes == [[230, 153, 0, 0, 52, 0, *[0] * 12], [0] * 18, [0] * 18]


def test_outcomes_and_answers(run):
    _, index = index_of(run)
    robust = index["parsers"].index("robust")
    # The right options are A, B, E, D, B, A; pocket replies A, B, E, nothing, "... is B ...", markup.
    # An answer is 9 for the right option, the outcome without a choice, and else 10 plus the index of the option.
    assert flags(run, 0, 0, robust) == [[R, R, F, U, R, U], [9, 9, 9, U, 9, U]]
    # Without its right option, the question's refusal E is right. "B" and "C" remain wrong options where they remain.
    assert flags(run, 0, 1, robust) == [[F, U | outcomes.NAMES_LABEL, F, F, W, F], [9, U, 9, 9, 10 + 1, 9]]
    refusal_is_right = [list(read(run.shards / f"{cell[5]}.js")) for cell in index["cells"]]
    assert refusal_is_right == [[0, 0, 1, 0, 0, 0], [1] * 6, [1] * 6]
    assert flags(run, 1, 0, robust)[0][4] == X


def test_a_pair_of_parsers_disagrees_if_both_have_a_result():
    # The pairs of five parsers, in order: 01 02 03 04 12 13 14 23, and 24 34 in a second byte.
    answers = [np.array(values, np.uint8) for values in ([7, 9, 0], [7, 7, 7], [7, 0, 7], [7, 9, 8], [5, 9, 0])]
    first, second = outcomes.disagreements(answers)
    # 1: only parser 4 differs from all others; 2: parser 1 from 0, 3 and 4; 3: parser 3 from 1 and 2
    assert list(first) == [1 << 3 | 1 << 6, 1 << 0 | 1 << 5 | 1 << 6, 1 << 5 | 1 << 7]
    assert list(second) == [1 << 0 | 1 << 1, 0, 0]
    assert outcomes.disagreements(answers[:1]) == []


def outcomes_of(folder, size, place, scores):
    answers = folder / "answers.parquet"
    write_answers(answers, "original", 0, scores)
    ids = {str(number): number for number in range(size)}
    asked = columns.AskedQuestions([replace(question(answer=1), id=str(place))], ids)
    table = columns.OrderedTable(answers, tables.score_table(answers), asked)
    codes = outcomes.codes_of(table.values("outcome"), table.values("correct"), file=table.path)
    return [list(plane) for plane in outcomes.planes(table, codes, ["robust"], asked)["robust"]]


def test_the_last_answer_counts_and_the_forced_answer_is_a_bit(tmp_path):
    def score(turn, step, outcome, correct=False, choice=None):
        return Score("1", turn, step, "robust", outcome, None, choice, correct)

    scores = [
        score(3, "forced", ANSWERED, True, 1),  # the order of the rows does not matter
        score(0, "view", ANSWERED, True, 1),
        score(1, "answer", UNPARSED),
        score(2, "answer", REFUSED, False, 4),
    ]
    found = outcomes_of(tmp_path, 3, 1, scores)
    assert found == [[0, outcomes.REFUSED_WRONGLY | outcomes.FORCED_RIGHT, 0], [0, 10 + 4, 0]]
    failed = Score("0", 0, "answer", "robust", FAILED, None, None, False)
    assert outcomes_of(tmp_path, 1, 0, [failed]) == [[outcomes.FAILED], [outcomes.FAILED]]


def test_every_outcome_has_its_own_code_below_the_bits_of_the_forced_answer(tmp_path):
    results = [(ANSWERED, True), (ANSWERED, False), (REFUSED, True), (REFUSED, False)]
    results += [(outcome, False) for outcome in OUTCOMES if outcome not in (ANSWERED, REFUSED)]
    kinds = [outcomes.codes_of([outcome], [correct], file=tmp_path)[0] for outcome, correct in results]
    assert kinds == [R, W, F, outcomes.REFUSED_WRONGLY, outcomes.ABSTAINED, U, outcomes.CUT, X]
    assert len({outcomes.NOT_ASKED, *kinds}) == 9 and max(kinds) <= outcomes.OUTCOME_BITS < outcomes.FORCED_RIGHT
    assert max(kinds) < outcomes.RIGHT_OPTION < outcomes.FIRST_OPTION
    for outcome in (ABSTAINED, CUT):  # no option was chosen: the byte of the answer is the outcome
        score = Score("0", 0, "answer", "robust", outcome, None, None, False)
        code = outcomes.codes_of([outcome], [False], file=tmp_path)[0]
        assert outcomes_of(tmp_path, 1, 0, [score]) == [[code], [code]]


def test_the_page_has_the_codes_of_this_module():
    script = (Path(outcomes.__file__).parent / "static/filters.js").read_text(encoding="utf-8")
    line = next(line for line in script.splitlines() if line.startswith("const NOT_ASKED"))
    codes = dict(re.findall(r"(\w+) = (\d+)", line))
    assert {name: int(code) for name, code in codes.items()} == {name: getattr(outcomes, name) for name in codes}
    assert len(codes) == 9 and f"byte & {outcomes.OUTCOME_BITS}" in script
    assert f"RIGHT_OPTION = {outcomes.RIGHT_OPTION}, FIRST_OPTION = {outcomes.FIRST_OPTION}" in script


def test_an_impossible_outcome_is_named(tmp_path):
    with pytest.raises(DataError, match="'failed' with correct True"):
        outcomes_of(tmp_path, 1, 0, [Score("0", 0, "answer", "robust", FAILED, None, None, True)])
    with pytest.raises(DataError, match="question '7' is not among the questions"):
        outcomes_of(tmp_path, 1, 0, [Score("7", 0, "answer", "robust", FAILED, None, None, False)])


def test_replies_have_their_prompt_passage_and_key(run):
    _, index = index_of(run)
    entry = next(entry for entry in index["replies"] if entry[:2] == [0, 0])
    rows = rows_of(json.loads(read(run.shards / f"{entry[3][0]}.js")))
    shared = json.loads(read(run.shards / f"{index['cells'][0][3][0]}.js"))
    (turn,), scores = rows[4]
    assert turn[0] == "answer" and shared["prompts"][turn[1]].startswith("What colour is the chair?\nA. Red")
    assert turn[4] == KEY and turn[5] == LONG and turn[6][0] == ["A", -1.5]
    robust = next(score for score in scores if index["parsers"][score[1]] == "robust")
    assert LONG[robust[5] : robust[6]] == "B"
    assert rows[5][0][0][5] == HOSTILE


def test_an_earlier_folder_is_replaced_unless_a_table_is_missing(run, tmp_path):
    out, old = tmp_path / "questions.html", tmp_path / "questions" / "0123456789abcdef.js"
    with pytest.raises(DataError, match=r"original\.parquet: no such file"):
        build(run.params, results=tmp_path / "none", data=run.folder, out=out)
    assert not list(tmp_path.iterdir())
    old.parent.mkdir()
    old.write_text("old")
    without = params_from({**run.params.file.plain(), "report": {"images": False}})
    build(without, results=run.folder, data=run.folder, out=out)
    assert not old.exists() and not (tmp_path / "questions" / "images").exists()

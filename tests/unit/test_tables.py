import os
import random
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.files import atomic_path, write_text
from known_unknowns.records import AnsweredTurn, Cell, Metric, Reply, Score
from tests.cells import ONE, write_answers
from tests.factories import question


def test_questions_survive_the_round_trip(tmp_path):
    questions = [question(str(i), answer=i % 5) for i in range(7)]
    tables.write_questions(tmp_path / "q.parquet", questions)
    assert tables.read_questions(tmp_path / "q.parquet") == questions


text = st.text(st.characters(codec="utf-8"), max_size=30)
replies = st.builds(
    Reply,
    text=text,
    logprobs=st.none() | st.dictionaries(st.sampled_from("ABCDEFGH"), st.floats(-50, 0), max_size=5),
    input_tokens=st.none() | st.integers(0, 10**6),
    visual_tokens=st.none() | st.integers(0, 10**6),
    output_tokens=st.none() | st.integers(0, 10**6),
    finish=st.sampled_from(["stop", "length"]),
    error=st.none() | text,
)


@settings(max_examples=30, deadline=None)
@given(reply=replies, labels=st.none() | st.lists(st.sampled_from("ABCDE"), unique=True).map(tuple))
def test_replies_survive_the_round_trip(tmp_path_factory, reply, labels):
    path = tmp_path_factory.mktemp("replies") / "r.parquet"
    asked = AnsweredTurn("1", 0, "answer", "What?", ("a" * 64,), labels, "k", reply)
    tables.write_replies(path, {ONE: [asked]})
    assert tables.read_replies(path) == [asked]


def test_scores_and_metrics_survive_the_round_trip(tmp_path):
    scores = [Score("1", 0, "answer", "robust", "refused", "E", 4, True)]
    write_answers(tmp_path / "s.parquet", "original", 0, scores)
    assert tables.read_scores(tmp_path / "s.parquet") == scores
    where = ("m", "b", "original", None, None, "robust", "Overall", "accuracy_answered")
    metric = Metric(*where, None, None, None, 0, "undefined")
    tables.write_metrics(tmp_path / "m.parquet", [metric])
    (read,) = tables.read_metrics(tmp_path / "m.parquet")
    assert read == metric
    assert read.value is None  # undefined is null, never NaN


def test_a_table_without_a_field_of_a_list_is_named(tmp_path):
    """A cast would fill the field with nulls."""
    path = tmp_path / "answers.parquet"
    write_answers(path, "original", 0, [Score("1", 0, "answer", "robust", "answered", "A", 0, True)])
    table = pq.read_table(path)
    turns = [[{"turn": 0, "step": "answer", "outcome": "answered", "label": "A", "correct": True}]]
    place = table.column_names.index("turns")
    pq.write_table(table.set_column(place, "turns", pa.array(turns)), path)
    with pytest.raises(DataError, match=r"missing column\(s\): turns\.choice"):
        tables.read_scores(path)


def test_the_same_rows_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        tables.write_questions(tmp_path / name, [question(str(i)) for i in range(50)])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_part_of_a_table_is_read_without_the_others(tmp_path):
    """Also if a whole row group of another part is damaged."""
    path = tmp_path / "replies.parquet"
    rows = {
        Cell(variant, seed): [
            AnsweredTurn(
                str(i), 0, "answer", f"{variant} {seed}", (), None, "k", Reply(random.Random(i).randbytes(99).hex())
            )
            for i in range(seed + 40)
        ]
        for variant in ("original", "noise")
        for seed in (0, 1)
    }
    tables.write_replies(path, rows)
    assert tables.cells_in(path) == list(rows) and pq.read_metadata(path).num_row_groups == 4
    for cell, turns in rows.items():
        assert tables.read_replies(tables.Part(path, cell)) == turns
    assert tables.read_replies(path) == [turn for turns in rows.values() for turn in turns]
    assert tables.read_replies(tables.Part(path, Cell("noise", 7))) == []
    assert tables.has_rows(tables.Part(path, Cell("noise", 1))) and not tables.has_rows(
        tables.Part(path, Cell("blank", 1))
    )
    whole = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(3).column(pq.read_schema(path).get_field_index("reply"))
    whole[column.dictionary_page_offset + 500] ^= 1
    path.write_bytes(whole)
    assert tables.read_replies(tables.Part(path, Cell("original", 0))) == rows[Cell("original", 0)]
    with pytest.raises(DataError, match=r"replies\.parquet: not a readable table"):
        tables.read_replies(tables.Part(path, Cell("noise", 1)))


def test_a_variant_has_its_seeds_and_their_order(tmp_path):
    path, again = tmp_path / "noise.parquet", tmp_path / "again.parquet"
    by_seed = {seed: [question(f"{seed} {i}") for i in range(3)] for seed in (3, 0)}
    for file in (path, again):
        tables.write_variant(file, by_seed)
    assert path.read_bytes() == again.read_bytes()
    assert {seed: tables.read_questions(tables.Part(path, seed)) for seed in by_seed} == by_seed
    with pytest.raises(DataError, match=r"noise\.parquet \(seed 1\): there are no such questions"):
        tables.read_questions(tables.Part(path, 1))
    tables.write_questions(again, by_seed[0])
    with pytest.raises(DataError, match=r"missing column\(s\): seed"):
        tables.read_questions(tables.Part(again, 0))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "q.parquet"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(path) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "q.parquet"
    path.write_text("old")
    program = (
        "import os, signal, sys\nfrom known_unknowns.files import atomic_path\n"
        "with atomic_path(sys.argv[1]) as p:\n    p.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert killed.returncode == -9
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2  # the file and what the killed process left
    write_text(tmp_path / "other", "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "q.parquet"]


def test_the_file_that_another_process_writes_is_kept(tmp_path):
    """Two processes write in one folder. The second one starts while the first one has not finished."""
    path = tmp_path / "q.parquet"
    program = (
        "import sys\nfrom known_unknowns.files import atomic_path\n"
        "with atomic_path(sys.argv[1]) as p:\n    p.write_text('new')\n    print(flush=True)\n    input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        writer.stdout.readline()
        write_text(tmp_path / "other", "text")
        assert len(list(tmp_path.glob(".*.part"))) == 1
        writer.communicate("go on\n", timeout=60)
    assert writer.returncode == 0
    assert path.read_text() == "new"


def test_duplicate_question_ids_name_file_and_row(tmp_path):
    path = tmp_path / "q.parquet"
    tables.write_questions(path, [question("1"), question("2"), question("1")])
    with pytest.raises(DataError, match=r"q\.parquet, row 2: the question id '1' is a duplicate of row 0"):
        tables.read_questions(path)


def test_a_metric_that_stands_there_twice_names_the_file_and_the_metric(tmp_path):
    metric = Metric("m", "b", "original", 0, 0, "robust", "Overall", "accuracy", 0.5, 0.1, 0.9, 4, "wilson")
    tables.write_metrics(tmp_path / "m.parquet", [metric, replace(metric, name="f1"), replace(metric, value=0.6)])
    with pytest.raises(DataError, match=r"m\.parquet.*'robust', 'Overall', 'accuracy'.* twice"):
        tables.read_metrics(tmp_path / "m.parquet")


def test_a_truncated_table_names_the_file(tmp_path):
    path = tmp_path / "q.parquet"
    tables.write_questions(path, [question()])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"q\.parquet: not a readable table"):
        tables.read_questions(path)


def test_a_missing_column_is_named(tmp_path):
    path = tmp_path / "q.parquet"
    pq.write_table(pa.table({"id": ["1"]}), path)
    with pytest.raises(DataError, match="answer"):
        tables.read_questions(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        tables.read_scores(tmp_path / "none.parquet")


def test_files_get_the_usual_permissions(tmp_path):
    old = os.umask(0o022)
    try:
        write_text(tmp_path / "t", "x")
    finally:
        os.umask(old)
    assert (tmp_path / "t").stat().st_mode & 0o777 == 0o644

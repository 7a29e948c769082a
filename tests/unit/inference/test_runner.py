from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from known_unknowns import engines
from known_unknowns.benchmark.protocol import ask
from known_unknowns.engines.respondents import Respondent
from known_unknowns.errors import KnownUnknownsError
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.protocols import single_turn
from known_unknowns.records import Cell, Reply
from known_unknowns.variants import blank, noise, nota_only
from known_unknowns_benchmarks.humblebench.loader import prompt
from tests.factories import context, model_entry, question

QUESTIONS = [question(str(i), answer=i % 5) for i in range(10)]


class Scripted:
    """An engine that replies with a function's result in batches of three, and records its turns."""

    facts = {"engine": "scripted"}  # noqa: RUF012
    about = {}  # noqa: RUF012
    scripted = True

    def __init__(self, say=lambda turn, key: key.right):
        self.say, self.waves = say, []

    def answer_with_keys(self, turns, keys, *, folder):
        self.waves.append([(turn.question_id, turn.step) for turn in turns])
        for start in range(0, len(turns), 3):
            yield [(i, Reply(self.say(turns[i], keys[i]))) for i in range(start, min(start + 3, len(turns)))]


class Blind(Scripted):
    """An engine that receives turns only, as a model does."""

    scripted = False

    def answer(self, turns, *, folder):
        assert not any(hasattr(turn, name) for turn in turns for name in ("right", "refuse", "answer_key"))
        return super().answer_with_keys(turns, [None] * len(turns), folder=folder)

    def answer_with_keys(self, turns, keys, *, folder):
        raise AssertionError("a model never sees the answer key")


def asked_twice(q):
    """Ask, and ask again after a refusal: a protocol with one or two turns."""
    reply = yield ask(q, prompt(q))
    if reply.text == "E":
        yield replace(ask(q, prompt(q)), step="forced", labels=("A", "B", "C", "D"))


def go(tmp_path, engine, cells=None, protocol=partial(single_turn, context=context())):
    with Journal(tmp_path / "journal") as journal:
        cells = {cell: (protocol, questions) for cell, questions in (cells or {Cell("original", 0): QUESTIONS}).items()}
        return run(cells, engine, journal, folder=Path())


def test_protocols_advance_in_waves(tmp_path):
    engine = Scripted()
    outcome = go(tmp_path, engine, protocol=asked_twice)
    rows = outcome.replies[Cell("original", 0)]
    assert outcome.newly_asked == 12
    assert [row.reply.text for row in rows if not row.turn] == ["ABCDE"[i % 5] for i in range(10)]
    assert engine.waves == [[(str(i), "answer") for i in range(10)], [("4", "forced"), ("9", "forced")]]
    assert [(r.question_id, r.turn, r.step) for r in rows if r.question_id in "49"] == [
        ("4", 0, "answer"),
        ("4", 1, "forced"),
        ("9", 0, "answer"),
        ("9", 1, "forced"),
    ]


def test_a_second_run_sends_only_the_turns_of_new_cells(tmp_path):
    first = go(tmp_path, Scripted())
    engine = Scripted()
    again = go(tmp_path, engine)
    assert engine.waves == [] and again.newly_asked == 0 and again.replies == first.replies
    cells = {Cell("original", 0): QUESTIONS, Cell("nota_only", 0): [nota_only(q) for q in QUESTIONS]}
    assert go(tmp_path, engine, cells).newly_asked == 8  # questions 4 and 9 are answered E already: the same turn


def test_equal_turns_are_sent_once(tmp_path):
    engine = Blind(lambda turn, key: "B")
    cells = {Cell("noise", 0): [noise(q) for q in QUESTIONS], Cell("noise", 1): [noise(q) for q in QUESTIONS]}
    outcome = go(tmp_path, engine, cells)
    assert outcome.newly_asked == 1  # ten questions with the same words on the same noise, twice
    assert len(outcome.replies[Cell("noise", 0)]) == len(outcome.replies[Cell("noise", 1)]) == 10


@pytest.mark.parametrize("fault", ["skips", "repeats"])
def test_an_engine_that_skips_or_repeats_a_turn_is_an_error(tmp_path, fault):
    class Faulty(Scripted):
        def answer_with_keys(self, turns, keys, *, folder):
            batches = list(super().answer_with_keys(turns, keys, folder=folder))
            yield from batches[:-1] if fault == "skips" else [*batches, batches[0]]

    with pytest.raises(KnownUnknownsError, match="fault in the engine"):
        go(tmp_path, Faulty())


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [("oracle", ["A", "B", "C", "D", "E"]), ("always_refuse", ["E"] * 5), ("always_a", ["A"] * 5)],
)
def test_respondents_reply_as_their_names_say(tmp_path, behaviour, expected):
    engine = engines.create("x", model_entry("respondent", behaviour=behaviour))
    rows = go(tmp_path, engine, {Cell("original", 0): QUESTIONS[:5]}).replies[Cell("original", 0)]
    assert [row.reply.text for row in rows] == expected
    for row in rows:
        assert max(row.reply.logprobs, key=row.reply.logprobs.get) == row.reply.text


def test_seeds_reach_the_engine(tmp_path):
    uniform = Respondent("uniform", model_entry("respondent", behaviour="uniform"))
    many = [question(str(i)) for i in range(200)]
    outcome = go(tmp_path, uniform, {Cell("original", 0): many, Cell("original", 1): many})
    one, two = ([r.reply.text for r in outcome.replies[Cell("original", seed)]] for seed in (0, 1))
    assert one != two
    assert 20 < sum(a == b for a, b in zip(one, two, strict=True)) < 60  # one in five by chance: 40, sd 5.7


def test_uniform_draws_anew_for_other_images(tmp_path):
    """As the protocols of ActiView show a question with other images. Equal images and steps have equal draws."""
    uniform = Respondent("uniform", model_entry("respondent", behaviour="uniform"))
    many = [question(str(i)) for i in range(200)]
    blanked = [blank(each) for each in many]
    outcome = go(tmp_path, uniform, {Cell("original", 0): many, Cell("nota_only", 0): many, Cell("blank", 0): blanked})
    shown, same, other = (
        [row.reply.text for row in outcome.replies[Cell(name, 0)]] for name in ("original", "nota_only", "blank")
    )
    assert shown == same
    assert 20 < sum(a == b for a, b in zip(shown, other, strict=True)) < 60  # one in five by chance: 40, sd 5.7


def test_always_a_replies_a_even_if_it_was_removed(tmp_path):
    engine = engines.create("x", model_entry("respondent", behaviour="always_a"))
    (row,) = go(tmp_path, engine, {Cell("nota_only", 0): [nota_only(question(answer=0))]}).replies[Cell("nota_only", 0)]
    assert row.reply.text == "A" and row.labels == ("B", "C", "D", "E") and row.reply.logprobs is None

"""Questions that hold a control token which a checkpoint's processor cannot keep as text: failed, and nothing else is.

Idefics 3's would become an image that is not there; PaliGemma's would be lost with what tells the prompt from the
reply, and its attention would silently change.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns import tables
from known_unknowns.engines._prompts import PromptBuilder
from known_unknowns.errors import ConfigError
from known_unknowns.images import recipe_image
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.protocols import forced_choice
from known_unknowns.records import OVERALL, Turn
from known_unknowns.scoring.table import parse
from tests.factories import context, question
from tests.unit.engines import tiny
from tests.unit.metrics.answered import PARSERS, measured_again, pick

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

LETTERS = ("A", "B", "C", "D", "E")
CELL = ("original", 0)
BAD = 3


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    for name in ("idefics3", "paligemma", "llava", "mllama"):
        tiny.build(name, folder / name)
    return lambda name, **entry: tiny.engine(name, folder / name, **entry)


def turn(number: int, word: str = "it") -> Turn:
    text = f"What is {word}?\nA. Red {number}\nB. Blue"
    return Turn(
        str(number), "answer", (recipe_image("normal-noise", 32, 24, number % 3), text), LETTERS, max_new_tokens=4
    )


def answers(engine, turns) -> dict:
    pairs = [pair for batch in engine.answer(turns, folder=Path()) for pair in batch]
    assert sorted(index for index, _ in pairs) == list(range(len(turns)))
    return {index: dataclasses.replace(reply, seconds=0.0) for index, reply in pairs}


@pytest.mark.parametrize("sharing", ["on", "off"])
@pytest.mark.parametrize("name", ["idefics3", "paligemma"])
def test_a_failed_question_does_not_change_other_replies(name, sharing, checkpoints):
    good = [turn(number) for number in range(6)]
    expected = answers(checkpoints(name, batch_size=2, sharing=sharing), good)
    turns = [*good[:BAD], turn(BAD, "<image>"), *good[BAD:]]
    replies = answers(checkpoints(name, batch_size=2, sharing=sharing), turns)
    failed = replies.pop(BAD)
    assert (failed.text, failed.finish, failed.logprobs) == ("", "rejected", None)
    assert "holds one of the tokenizer's control tokens" in failed.error
    assert list(dict(sorted(replies.items())).values()) == list(dict(sorted(expected.items())).values())


def test_a_single_question_with_a_control_token_fails(checkpoints):
    """For example the last one of an interrupted run."""
    (reply,) = answers(checkpoints("paligemma"), [turn(0, "<image>")]).values()
    assert reply.finish == "rejected"


def test_the_run_stops_if_every_question_has_a_control_token(checkpoints):
    bad = [turn(number, "<image>") for number in range(20)]
    with pytest.raises(ConfigError, match=r"models\.idefics3: no question can be asked: .*control tokens"):
        next(checkpoints("idefics3").answer(bad, folder=Path()))
    engine = checkpoints("idefics3")
    replies = answers(engine, [*bad, turn(20)])
    assert [reply.finish for reply in replies.values()].count("rejected") == 20
    assert {reply.finish for reply in answers(engine, bad).values()} == {"rejected"}  # it is the questions, after all


@pytest.mark.parametrize(("name", "token", "kept"), [("llava", "<image>", True), ("mllama", "<|image|>", False)])
def test_control_tokens_that_the_tokenizer_does_not_list_are_found(name, token, kept, checkpoints):
    """Llama 3.2's tokenizer lists only a text's first and last token as special; the image token is one too."""
    checkpoint = checkpoints(name).checkpoint
    checkpoint.tokenizer.extra_special_tokens = []
    assert token not in checkpoint.tokenizer.all_special_tokens
    prompts = PromptBuilder(checkpoint, None)
    rejection_reason = prompts.rejection_reason(turn(0, token), Path())
    assert (rejection_reason is None) == kept
    if kept:
        number = checkpoint.tokenizer.convert_tokens_to_ids(token)
        tokens = [(prompts.build_batch([turn(0, word)], Path())["input_ids"] == number).sum() for word in (token, "it")]
        assert tokens[0] == tokens[1]


def questions() -> list:
    """Ten turns, three on each image; the fourth contains a control token."""
    return [
        question(
            str(number),
            number % 5,
            benchmark="humblebench",
            text=f"What is {'<image>' if number == BAD else number}?",
            images=(recipe_image("normal-noise", 32, 24, number // 3),),
            group=f"g{number // 3}",
            extra={"question_id": number, "label": LETTERS[number % 5], "image_path": "images/a.jpg"},
        )
        for number in range(10)
    ]


def asked(engine, journal: Path):
    protocol = partial(forced_choice, context=context(), max_new_tokens=4)
    with Journal(journal) as kept:
        return run({CELL: (protocol, questions())}, engine, kept, folder=Path()).replies[CELL]


def test_a_run_counts_a_failure_once(checkpoints, tmp_path):
    """A run with the real runner, journal, parsers and metrics."""
    rows = asked(checkpoints("idefics3", batch_size=2), tmp_path / "journal")
    failed = [row for row in rows if row.reply.error is not None]
    assert [(row.question_id, row.turn) for row in failed] == [(str(BAD), 0)]  # and it is not asked a second time
    tables.write_variant(tmp_path / "variants" / f"{CELL[0]}.parquet", {CELL[1]: questions()})
    replies, scores = tmp_path / "replies.parquet", tmp_path / "scores.parquet"
    tables.write_replies(replies, {CELL: rows})
    kept = next(row for row in tables.read_replies(replies) if row.question_id == str(BAD))
    assert kept.reply.finish == "rejected"
    assert "control tokens" in kept.reply.error
    parse(tmp_path / "variants", replies, scores, cells=[CELL], parsers=PARSERS)
    metrics = measured_again(tmp_path, {CELL: None})
    for parser in PARSERS:
        failing = pick(metrics, "share_failed", parser=parser, category=OVERALL)
        value = None if parser == "likelihood" else pytest.approx(1 / 10)  # random weights give the labels no mass
        assert (failing.value, failing.n) == (value, 10)
        assert pick(metrics, "accuracy", parser=parser).n == 10


def test_an_interrupted_run_ends_with_the_same_replies(checkpoints, tmp_path):
    class Cut(Exception):
        pass

    whole = asked(checkpoints("idefics3", batch_size=2), tmp_path / "whole")
    for batches in range(4):
        journal = tmp_path / f"cut{batches}"
        engine = checkpoints("idefics3", batch_size=2)
        answer = engine.answer

        def cut(turns, *, folder, answer=answer, batches=batches):
            for number, batch in enumerate(answer(turns, folder=folder)):
                if number == batches:
                    raise Cut
                yield batch

        engine.answer = cut
        with pytest.raises(Cut):
            asked(engine, journal)
        assert untimed(asked(checkpoints("idefics3", batch_size=2), journal)) == untimed(whole)


def untimed(rows):
    return [dataclasses.replace(row, reply=dataclasses.replace(row.reply, seconds=0.0)) for row in rows]

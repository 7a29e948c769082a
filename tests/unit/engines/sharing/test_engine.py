"""The transformers engine with shared prefixes: its caches, lack of memory, and its records."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tokenizers import AddedToken
from transformers import GenerationConfig

from known_unknowns.engines._batch_invariance import MAX_SAMPLES, BatchInvarianceCheck
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn
from prefix_sharing import SharedPrefixDecoder
from tests.unit.engines import tiny
from tests.unit.engines.tiny import answers

LETTERS = ("A", "B", "C", "D", "E")


def turn(number: int, image_seed: int, **changes) -> Turn:
    text = "What colour is it? " * (1 + number % 3) + f"\nA. Red {number}\nB. Blue\nE. None of the above"
    made = Turn(
        str(number), "answer", (recipe_image("normal-noise", 32, 24, image_seed), text), LETTERS, max_new_tokens=6
    )
    return dataclasses.replace(made, **changes)


TURNS = [turn(number, number % 4) for number in range(14)]


@pytest.fixture(scope="module")
def llava(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints") / "llava"
    tiny.build("llava", folder)
    return folder


@pytest.mark.parametrize("committed", [1, 3])
def test_a_resumed_run_gives_the_same_bits(llava, committed):
    """The first engine has cached images that the second computes again."""
    whole_engine = tiny.engine("llava", llava, batch_size=3)
    whole = answers(whole_engine, TURNS)
    running = whole_engine.answer(TURNS, folder=Path())
    done = dict(pair for _ in range(committed) for pair in next(running))
    running.close()
    left = [index for index in range(len(TURNS)) if index not in done]
    resumed = answers(tiny.engine("llava", llava, batch_size=3), [TURNS[index] for index in left])
    assert left and resumed == [whole[index] for index in left]


def test_a_second_wave_encodes_no_image_again(llava):
    """MM-SAP's second pass, ActiView's later steps."""
    engine = tiny.engine("llava", llava, batch_size=4)
    answers(engine, TURNS)
    prefixes = engine._decoder.prefixes
    assert prefixes.computed == 4
    second = [turn(number, number % 4, step="forced") for number in range(20, 24)]
    remembered = answers(engine, second)
    assert prefixes.computed == 4
    assert remembered == answers(tiny.engine("llava", llava, batch_size=4), second)
    # images that a wave does not ask about are forgotten
    answers(engine, [turn(30, 9)])
    answers(engine, second)
    assert prefixes.computed == 4 + 1 + 4


def test_an_added_token_at_the_start_is_not_shared(llava, tmp_path):
    """A token that was added but is not special may follow the image. It belongs to the question."""
    model, processor = tiny.CHECKPOINTS["llava"].make()
    words = len(processor.tokenizer)
    processor.tokenizer.add_tokens([AddedToken("What", normalized=False)])
    assert len(processor.tokenizer) == words  # it was there before, as a common one
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    texts = ("What is it?\nA. Red\nB. Blue", "Is it red?\nA. Yes\nB. No", "What is near?\nA. A cup\nB. A hat", "Red?")
    for first in range(len(texts)):
        order = (*texts[first:], *texts[:first])
        asked = [turn(k, 0, content=(*TURNS[0].content[:1], text)) for k, text in enumerate(order)]
        engine = tiny.engine("llava", tmp_path, sharing="on")
        shared = answers(engine, asked)
        assert engine.about["sharing"]["fell_back"] == []  # the check found nothing wrong
        alone = answers(tiny.engine("llava", tmp_path, sharing="off", batch_size=1), asked)
        for reply, expected in zip(shared, alone, strict=True):
            assert reply.text == expected.text
            assert reply.logprobs == pytest.approx(expected.logprobs, abs=2e-5)


def test_out_of_memory_halves_the_chunk(llava, monkeypatch):
    expected = answers(tiny.engine("llava", llava, batch_size=4), TURNS[:4])
    engine = tiny.engine("llava", llava, batch_size=4)
    answers(engine, TURNS[:2])
    write, sizes = engine._decoder.decode, []

    def scarce(prompts, limits, record):
        sizes.append(len(prompts))
        if len(prompts) > 1 or prompts[0].ids == unlucky:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB\nmore")
        return write(prompts, limits, record)

    unlucky = engine._prompts.build([TURNS[2]], Path())[0].ids
    monkeypatch.setattr(engine._decoder, "decode", scarce)
    replies = answers(engine, TURNS[:4])
    assert sizes == [4, 2, 1, 1, 2, 1, 1]
    assert (replies[2].error, replies[2].finish) == (
        "out of memory: CUDA out of memory. Tried to allocate 2.00 GiB",
        "error",
    )
    for index in (0, 1, 3):
        assert replies[index].text == expected[index].text
    assert engine.about["sharing"]["fell_back"] == []


def test_unsupported_generation_settings_disable_sharing_and_are_named(tmp_path):
    tiny.build("llava", tmp_path)
    settings = GenerationConfig.from_pretrained(tmp_path)
    settings.update(min_length=3)
    settings.save_pretrained(tmp_path)
    engine = tiny.engine("llava", tmp_path, decoding={"max_new_tokens": 5})
    assert engine.about["sharing"]["fell_back"] == [{"plan": "all", "why": "its generation settings have min_length"}]
    assert len(answers(engine, TURNS[:2])) == 2


def test_half_precision_is_certified_from_the_first_turn(llava, tmp_path):
    """One turn at first, then one of 32, in each attempt. Counts from before an interruption are kept."""
    assert "certificate" not in tiny.engine("llava", llava, sharing="off").about
    engine = tiny.engine("llava", llava, dtype="bfloat16", batch_size=4)
    engine.notes = tmp_path / "notes.jsonl"
    answers(engine, TURNS)
    first = engine.about["certificate"]
    assert first["compared"] == 1
    assert first["rate"] == first["flips"] / 1
    again = tiny.engine("llava", llava, dtype="bfloat16", batch_size=4)
    again.notes = engine.notes
    answers(again, TURNS[:4])
    assert again.about["certificate"]["compared"] == 1 + 1
    answers(again, TURNS * 3)  # 42 turns
    assert again.about["certificate"]["compared"] == 1 + 2
    other = tiny.engine("llava", llava, dtype="bfloat16", system="Be brief.")
    other.notes = engine.notes
    answers(other, TURNS[:1])
    assert other.about["certificate"]["compared"] == 1


def test_full_precision_is_checked_during_the_run(llava, monkeypatch, tmp_path):
    """A fault that comes after the check, in the logits of shared prompts: a wave later sharing is given up, also by
    the run that goes on when this one was cut off."""
    monkeypatch.setattr("known_unknowns.engines._batch_invariance.FLOAT32_STEP", 14)
    engine = tiny.engine("llava", llava)
    engine.notes = tmp_path / "notes.jsonl"
    right = answers(engine, TURNS)
    assert engine.about["certificate"]["compared"] == 1
    assert engine.about["certificate"]["apart"] < 1e-3
    assert "fell_back" not in engine.about["sharing"] or not engine.about["sharing"]["fell_back"]
    honest = type(engine._decoder)._pass

    def wrong(self, *asked):
        states = honest(self, *asked)
        for tree_pass in {id(state.tree_pass): state.tree_pass for state in states}.values():
            tree_pass.logits.add_(tree_pass.logits.new_tensor(range(tree_pass.logits.shape[-1])) * 0.01)
        return states

    monkeypatch.setattr(type(engine._decoder), "_pass", wrong)
    answers(engine, TURNS)
    (first, *_) = engine.about["sharing"]["fell_back"]
    assert "differs from generate's" in first["why"]
    assert engine.about["certificate"]["apart"] > 0.01
    after = answers(engine, TURNS)  # by generate
    assert [reply.text for reply in after] == [reply.text for reply in right]
    again = tiny.engine("llava", llava)
    again.notes = engine.notes
    resumed = answers(again, TURNS)
    assert again.about["sharing"]["prompts"] == {}
    assert "found in a previous run" in again.about["sharing"]["fell_back"][0]["why"]
    assert [reply.text for reply in resumed] == [reply.text for reply in right]


@pytest.mark.parametrize(("seconds", "shares"), [(0.0, True), (1e9, False)])
def test_auto_shares_if_it_is_faster_and_records_both_figures(seconds, shares, llava, monkeypatch, tmp_path):
    always = tiny.engine("llava", llava, sharing="on")
    expected = answers(always, TURNS)
    assert "seconds" not in always.about["sharing"]
    monkeypatch.setattr(SharedPrefixDecoder, "seconds", lambda self, prompts: seconds)
    engine = tiny.engine("llava", llava, sharing="auto")
    engine.notes = tmp_path / "notes.jsonl"
    replies = answers(engine, TURNS)
    assert [reply.text for reply in replies] == [reply.text for reply in expected]
    assert engine.facts == always.facts  # no question is asked again
    told = engine.about["sharing"]
    assert told["seconds"]["shared"] == seconds and 0 < told["seconds"]["generate"] < 600
    assert bool(told["prompts"]) == shares
    assert all("generate is faster on this machine" in each["why"] for each in told["fell_back"])
    assert bool(told["fell_back"]) != shares

    monkeypatch.setattr(SharedPrefixDecoder, "seconds", lambda self, prompts: pytest.fail("it was timed before"))
    resumed = tiny.engine("llava", llava, sharing="auto")
    resumed.notes = engine.notes
    assert answers(resumed, TURNS[4:])[0].text == expected[4].text
    assert resumed.about["sharing"]["seconds"] == told["seconds"]
    assert bool(resumed.about["sharing"]["prompts"]) == shares


def test_turns_that_share_nothing_are_not_timed(llava, monkeypatch):
    monkeypatch.setattr(SharedPrefixDecoder, "seconds", lambda self, prompts: pytest.fail("there is nothing to gain"))
    engine = tiny.engine("llava", llava, sharing="auto")
    answers(engine, [turn(number, number) for number in range(3)])
    assert "seconds" not in engine.about["sharing"]


def test_a_measurement_counts_no_prompt_and_keeps_no_prefix(llava):
    engine = tiny.engine("llava", llava, sharing="auto")
    answers(engine, TURNS)
    assert sum(engine.about["sharing"]["prompts"].values()) in (0, len(TURNS))


def test_flips_and_their_gaps_by_hand(tmp_path):
    """The same letter twice, and once another one where the two likeliest differ by 0.5 - 0.25."""
    notes = tmp_path / "notes.jsonl"
    flips = BatchInvarianceCheck({"model": "m"}, half=True)
    flips.load(notes)
    flips.add({"A": -0.5, "B": -1.5}, {"A": -0.6, "B": -1.4})
    assert flips.largest_difference == pytest.approx(0.1)
    flips.add({"A": -0.5, "B": -0.25, "C": -3.0}, {"A": -0.2, "B": -0.3, "C": -3.0})
    flips.add({"A": -2.0, "B": -1.0}, {"A": -2.0, "B": -1.0})
    assert flips.summary() == {"compared": 3, "flips": 1, "rate": 1 / 3, "gaps": [0.25], "apart": 0.3}
    with notes.open("a") as torn:
        torn.write('{"model": "half a li')
    again = BatchInvarianceCheck({"model": "m"}, half=True)
    again.load(notes)
    assert again.summary() == flips.summary()
    assert BatchInvarianceCheck({"model": "m"}, half=True).summary()["rate"] is None
    for _ in range(MAX_SAMPLES):
        again.add({"A": -1.0}, {"A": -1.0})
    assert not again.is_due(10**6)
    assert [BatchInvarianceCheck({"model": "n"}, half=True).is_due(answered) for answered in (0, 9)] == [True, True]
    assert [BatchInvarianceCheck({"model": "n"}, half=False).is_due(answered) for answered in (0, 255, 256)] == [
        False,
        False,
        True,
    ]


def test_yaml_reads_off_and_on_as_booleans(llava):
    assert tiny.engine("llava", llava, sharing=False).about["sharing"] == {"asked": "off"}
    assert tiny.engine("llava", llava, sharing=True).about["sharing"]["asked"] == "on"


def test_prompts_with_different_prefixes_share_nothing(llava, monkeypatch):
    """A prefix is shared only by prompts that begin with exactly its tokens."""
    engine = tiny.engine("llava", llava, sharing="on")
    prompts = engine._prompts
    cut = prompts._prefix_length
    monkeypatch.setattr(prompts, "_prefix_length", lambda ids: cut(ids) + 1)  # the question's first token with it
    asked = [
        turn(k, 0, content=(*TURNS[0].content[:1], text)) for k, text in enumerate(("What?", "Is it?", "What is?"))
    ]
    one, other, third = prompts.build(asked, Path())
    assert one.head == third.head != other.head
    found, expected = answers(engine, asked), answers(tiny.engine("llava", llava, sharing="on"), asked)
    for index, reply in enumerate(expected):  # the same up to rounding, as what is computed together is other tokens
        assert dataclasses.replace(found[index], logprobs=None) == dataclasses.replace(reply, logprobs=None)
        assert found[index].logprobs == pytest.approx(reply.logprobs, abs=2e-5)

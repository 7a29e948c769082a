"""Injected faults: the check against generate must detect each, and the replies must equal those of generate."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from known_unknowns.engines._prompts import PromptBuilder
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn
from prefix_sharing import prefix, rows, segments, shared_decoder, token_tree
from tests.unit.engines import tiny

ALL = {"packed", "rows", "separate"}
LETTERS = ("A", "B", "C", "D", "E")


def turn(number: int, image_seed: int) -> Turn:
    text = "What colour is it? " * (1 + number % 3) + f"\nA. Red {number}\nB. Blue\nE. None of the above"
    return Turn(
        str(number), "answer", (recipe_image("normal-noise", 32, 24, image_seed), text), LETTERS, max_new_tokens=4
    )


TURNS = [turn(number, number % 2) for number in range(8)]


@pytest.fixture(scope="module", params=["qwen2.5-vl", "llava-sliding"])
def checkpoint(request, tmp_path_factory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("checkpoints") / request.param
    tiny.build(request.param, folder)
    return request.param, folder


@pytest.fixture(scope="module")
def qwen(tmp_path_factory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("checkpoints") / "qwen2.5-vl"
    tiny.build("qwen2.5-vl", folder)
    return "qwen2.5-vl", folder


def replies(engine) -> list:
    return tiny.answers(engine, TURNS)


def caught(checkpoint, **entry) -> list[dict[str, str]]:
    """Answer with the fault; return the disabled plans."""
    engine = tiny.engine(*checkpoint, sharing="on", **entry)
    found = replies(engine)
    if entry.get("dtype", "float32") == "float32":
        plain = replies(tiny.engine(*checkpoint, sharing="off", batch_size=1))
        for reply, expected in zip(found, plain, strict=True):
            assert reply.text == expected.text
            assert reply.logprobs == pytest.approx(expected.logprobs, abs=2e-5)
    return engine.about["sharing"]["fell_back"]


def off_by_one(monkeypatch) -> None:
    new_prefix = prefix.new_prefix
    monkeypatch.setattr(
        prefix, "new_prefix", lambda *args: dataclasses.replace(whole := new_prefix(*args), delta=whole.delta + 1)
    )


def delta_ignored(monkeypatch) -> None:
    new_prefix = prefix.new_prefix
    monkeypatch.setattr(prefix, "new_prefix", lambda *args: dataclasses.replace(new_prefix(*args), delta=0))


def leak(monkeypatch) -> None:
    """A packed question attends to all questions packed before it."""

    def all_before(tree):
        return torch.ones(len(tree.tokens), len(tree.tokens), dtype=torch.bool).tril()

    monkeypatch.setattr(token_tree.TokenTree, "ancestors", all_before)


def window_forgotten_in_segments(monkeypatch) -> None:
    attend = segments._attend
    monkeypatch.setattr(
        segments,
        "_attend",
        lambda running, query, keys, values, _, scale: attend(running, query, keys, values, None, scale),
    )


def window_forgotten(monkeypatch) -> None:
    mask = shared_decoder.Architecture.mask

    def no_window(self, *args):
        return mask(dataclasses.replace(self, window=None), *args)

    monkeypatch.setattr(shared_decoder.Architecture, "mask", no_window)


def second_token_out_of_place(monkeypatch) -> None:
    step = rows.RowContinuation.step

    def late(self, tokens):
        self._positions = self._positions + 1
        return step(self, tokens)

    monkeypatch.setattr(rows.RowContinuation, "step", late)


def token_lost(monkeypatch) -> None:
    build_trees = token_tree.build_trees
    monkeypatch.setattr(
        shared_decoder,
        "build_trees",
        lambda place, asked, texts, limit: build_trees(place, asked, [t[1:] for t in texts], limit=limit),
    )
    segment = shared_decoder.Segment
    monkeypatch.setattr(
        shared_decoder,
        "Segment",
        lambda tokens, positions, cache: segment(tokens[1:], positions[..., 1:], cache),
    )


@pytest.mark.parametrize(
    ("fault", "dtype"),
    [
        (off_by_one, "float32"),
        (off_by_one, "bfloat16"),
        (second_token_out_of_place, "bfloat16"),
        (token_lost, "float32"),
    ],
)
def test_a_fault_in_all_plans_is_detected(checkpoint, monkeypatch, fault, dtype):
    """In bfloat16 too, where rounding hides a wrong position: the check uses float32."""
    fault(monkeypatch)
    given_up = caught(checkpoint, dtype=dtype)
    assert {entry["plan"] for entry in given_up} == ALL
    assert all("differ from generate's" in entry["why"] for entry in given_up)


def test_an_ignored_rope_delta_is_detected(qwen, monkeypatch):
    delta_ignored(monkeypatch)
    assert {entry["plan"] for entry in caught(qwen, dtype="bfloat16")} == ALL


def test_attention_between_questions_is_detected(checkpoint, monkeypatch):
    """Rows and separate questions cannot attend to other questions, so they are used instead."""
    leak(monkeypatch)
    assert [entry["plan"] for entry in caught(checkpoint)] == ["packed"]


def test_a_missing_window_is_detected(tmp_path, monkeypatch):
    tiny.build("llava-sliding", tmp_path)
    window_forgotten(monkeypatch)
    assert {entry["plan"] for entry in caught(("llava-sliding", tmp_path))} == {"packed", "rows"}
    monkeypatch.undo()
    window_forgotten_in_segments(monkeypatch)
    assert {entry["plan"] for entry in caught(("llava-sliding", tmp_path))} == {"separate"}


def test_a_later_error_disables_sharing_and_is_reported(qwen, monkeypatch):
    """The error occurs at the third chunk, after the check."""
    forward, calls = shared_decoder.SharedPrefixDecoder._pass, []

    def fails(*args):
        calls.append(args)
        if len(calls) > 5:
            raise RuntimeError("shape mismatch\nand a long story")
        return forward(*args)

    monkeypatch.setattr(shared_decoder.SharedPrefixDecoder, "_pass", fails)
    given_up = caught(qwen, batch_size=2)
    assert {entry["why"] for entry in given_up} == {
        "the model fails when it is computed in this way (RuntimeError: shape mismatch)"
    }


def test_without_memory_for_the_check_sharing_is_disabled(qwen, monkeypatch):
    def exhausted(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(shared_decoder.check, "reference", exhausted)
    given_up = caught(qwen)
    assert {entry["plan"] for entry in given_up} == {*ALL, "padded batches"}
    assert all("not enough memory" in entry["why"] for entry in given_up)


def test_correct_plans_pass(checkpoint):
    assert caught(checkpoint) == []
    assert caught(checkpoint, dtype="bfloat16") == []


@pytest.mark.parametrize("after", [0, 1], ids=["from the start", "after the check"])
def test_prompts_that_the_processor_cannot_batch_are_asked_one_by_one(qwen, monkeypatch, after):
    """As by Perception LM's, which cannot stack images with unequal numbers of tiles."""
    plain = replies(tiny.engine(*qwen, sharing="off", batch_size=1))
    build, found = PromptBuilder.build_batch, {}

    def alone_only(prompts, turns, folder):
        if len(turns) > 1 and len(found) >= after:
            raise ValueError("stack expects each tensor to be equal size")
        return build(prompts, turns, folder)

    monkeypatch.setattr(PromptBuilder, "build_batch", alone_only)
    engine = tiny.engine(*qwen, sharing="off", batch_size=2)
    for batch in engine.answer(TURNS, folder=Path()):
        found |= batch
    for index, reply in found.items():
        assert reply.error is None and reply.text == plain[index].text
        assert reply.logprobs == pytest.approx(plain[index].logprobs, abs=2e-5)
    given_up = engine.about["sharing"].get("fell_back", [])
    assert [entry["plan"] for entry in given_up] == ([] if after else ["padded batches"])
    assert all("stack expects each tensor to be equal size" in entry["why"] for entry in given_up)

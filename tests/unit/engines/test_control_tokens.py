"""Questions that hold a control token which a checkpoint's processor cannot keep as text: failed, and nothing else is.

Idefics 3's would become an image that is not there; PaliGemma's would be lost with what tells the prompt from the
reply, and its attention would silently change.
"""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.engines._prompts import PromptBuilder
from known_unknowns.errors import ConfigError
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn
from tests.unit.engines import tiny
from tests.unit.engines.tiny import answers

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

LETTERS = ("A", "B", "C", "D", "E")
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
    assert replies == expected


def test_the_run_stops_if_every_question_has_a_control_token(checkpoints):
    bad = [turn(number, "<image>") for number in range(20)]
    with pytest.raises(ConfigError, match=r"models\.idefics3: no question can be asked: .*control tokens"):
        next(checkpoints("idefics3").answer(bad, folder=Path()))
    engine = checkpoints("idefics3")
    replies = answers(engine, [*bad, turn(20)])
    assert [reply.finish for reply in replies].count("rejected") == 20
    assert {reply.finish for reply in answers(engine, bad)} == {"rejected"}  # it is the questions, after all


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

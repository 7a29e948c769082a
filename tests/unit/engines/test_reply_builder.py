"""Replies from generated tokens: reasoning whose marks are special tokens, or that the template opens."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from known_unknowns.engines._reply_builder import ReplyBuilder
from known_unknowns.records import Turn


class Tokenizer:
    """A tokenizer with a token per word; those in ``special`` are special."""

    def __init__(self, *special: str) -> None:
        self.all_special_tokens = ["<end>", *special]
        self._words: list[str] = ["<end>"]

    def tokens(self, text: str) -> list[int]:
        self._words += [word for word in text.split() if word not in self._words]
        return [self._words.index(word) for word in text.split()]

    def get_vocab(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self._words)}

    def decode(self, tokens: list[int], *, skip_special_tokens: bool) -> str:
        words = [self._words[token] for token in tokens]
        return " ".join(w for w in words if not (skip_special_tokens and w in self.all_special_tokens))


def built(prompt: str, reply: str, *special: str, stop: tuple[str, ...] = (), marks: list[str] | None = None):
    tokenizer = Tokenizer(*special)
    model = SimpleNamespace(config=SimpleNamespace(image_token_id=None))
    settings = SimpleNamespace(eos_token_id=0)
    checkpoint = SimpleNamespace(tokenizer=tokenizer, model=model, generation=settings, stop=stop)
    recorder = SimpleNamespace(sound=lambda row, length: True)
    free_text = Turn("q1", "answer", (), None)
    tokens, new = tokenizer.tokens(prompt), tokenizer.tokens(reply)
    return ReplyBuilder(checkpoint, "float32", marks).build(free_text, tokens, new, recorder, 0)


@pytest.mark.parametrize(
    ("prompt", "reply", "special", "text", "finish", "reasoning"),
    [
        ("Which?", "It is B <end>", (), "It is B", "stop", None),
        ("Which?", "<think> A? No. </think> B <end>", (), "B", "stop", "A? No."),
        ("Which?", "[THINK] A? No. [/THINK] B <end>", ("[THINK]", "[/THINK]"), "B", "stop", "A? No."),
        ("Which? <think>", "A? No. </think> B <end>", (), "B", "stop", "A? No."),
        ("Which? <think>", "The answer is A", (), "", "length", "The answer is A"),
        ("Is <think> a tag?", "Yes. <end>", (), "Yes.", "stop", None),
    ],
)
def test_the_answer_is_apart_from_the_reasoning(prompt, reply, special, text, finish, reasoning):
    made = built(prompt, reply, *special)
    assert (made.text, made.finish, made.error) == (text, finish, None)
    assert (made.details or {}).get("reasoning") == reasoning
    assert (made.raw is None) == (reasoning is None)


def test_the_reply_as_the_model_wrote_it_is_kept_beside_the_answer():
    """Special tokens are left out, as in the decoding of the authors of HumbleBench."""
    assert built("Which?", "<think> A? No. </think> B <end>", "<end>").raw == "<think> A? No. </think> B"
    assert built("Which? <think>", "It may be A", "<end>").raw == "It may be A"


def test_a_text_ends_the_reply_where_it_first_stands():
    reply = built("Which?", "It is B. Next question", stop=("Next", "is C"))
    assert (reply.text, reply.finish, reply.output_tokens) == ("It is B. ", "stop", 4)
    assert built("Which?", "It is B.", stop=("Next",)).finish == "length"


def test_the_marks_of_the_entry_set_reasoning_apart():
    reply = built("Which?", "### Steps A? No. ### Answer B <end>", "<end>", marks=["### Steps", "### Answer"])
    assert (reply.text, reply.details) == ("B", {"reasoning": "A? No."})


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("B <end>", 0),
        ("<think> It may be A </think> B <end>", 4),  # the label in the reasoning, not that of the answer
        ("<think> Hm. </think> B <end>", 3),
    ],
)
def test_the_log_probabilities_are_those_at_the_first_bare_label_of_all_tokens(reply, expected):
    """`known_unknowns.scoring.likelihood.label_follows_text` leaves those of a label in the reasoning out."""
    tokenizer = Tokenizer()
    tokenizer.tokens("A B")  # both labels are tokens of the vocabulary
    new = tokenizer.tokens(reply)
    model = SimpleNamespace(config=SimpleNamespace(image_token_id=None))
    settings = SimpleNamespace(eos_token_id=0)
    checkpoint = SimpleNamespace(tokenizer=tokenizer, model=model, generation=settings, stop=())
    steps = []
    recorder = SimpleNamespace(sound=lambda row, length: True, logprobs=lambda row, step, forms: steps.append(step))
    turn = Turn("q1", "answer", (), ("A", "B"))
    made = ReplyBuilder(checkpoint, "float32").build(turn, [], new, recorder, 0)
    assert (made.text.removesuffix(" <end>"), steps) == ("B", [expected])

"""Ways of batching that change replies are found and not used."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.engines import _prompts
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn
from tests.unit.engines import tiny

LABELS = ("A", "B", "C")
TURNS = [
    Turn(str(n), "answer", (recipe_image("normal-noise", 32, 24, n % 2), "What? " * (1 + 3 * n)), LABELS, 3)
    for n in range(6)
]


@pytest.fixture(scope="module")
def llava(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints") / "llava"
    tiny.build("llava", folder)
    return folder


def answers(engine):
    return {i: (r.text, r.logprobs) for batch in engine.answer(TURNS, folder=Path()) for i, r in batch}


@pytest.fixture(scope="module")
def alone(llava):
    return answers(tiny.engine("llava", llava, sharing="off", batch_size=1))


def equal(found, expected):
    return all(
        found[index][0] == text and found[index][1] == pytest.approx(logprobs, abs=1e-4)
        for index, (text, logprobs) in expected.items()
    )


def ignore_padding(monkeypatch):
    """The model attends to padding, as one does that ignores the mask."""
    encode = _prompts.PromptBuilder._encode

    def without_mask(self, turns, images):
        encoded = encode(self, turns, images)
        if len(turns) > 1:
            encoded["attention_mask"] = torch.ones_like(encoded["attention_mask"])
        return encoded

    monkeypatch.setattr(_prompts.PromptBuilder, "_encode", without_mask)


def test_padded_batches_are_compared_and_used_where_they_are_equal(llava, alone):
    engine = tiny.engine("llava", llava, sharing="off", batch_size=4)
    assert equal(answers(engine), alone)
    assert engine.about["sharing"]["differences"]["padded batches"] < 2e-3
    assert "fell_back" not in engine.about["sharing"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_padded_batches_that_change_replies_are_not_used(llava, alone, monkeypatch, dtype):
    ignore_padding(monkeypatch)
    engine = tiny.engine("llava", llava, sharing="off", batch_size=4, dtype=dtype)
    found = answers(engine)
    (given_up,) = engine.about["sharing"]["fell_back"]
    assert given_up["plan"] == "padded batches" and "each prompt alone, in float32" in given_up["why"]
    if dtype == "float32":
        assert equal(found, alone)


def test_padded_batches_are_compared_after_sharing_has_failed(llava, alone, monkeypatch):
    ignore_padding(monkeypatch)
    engine = tiny.engine("llava", llava, sharing="on", batch_size=4)
    monkeypatch.setattr(engine._decoder, "decode", lambda *_: (_ for _ in ()).throw(IndexError("a fault")))
    assert equal(answers(engine), alone)
    assert {plan["plan"] for plan in engine.about["sharing"]["fell_back"]} == {
        "packed",
        "rows",
        "separate",
        "padded batches",
    }


def test_a_difference_found_during_the_run_ends_padded_batches(llava, alone, monkeypatch):
    """The check at the first use sees two prompts only."""
    monkeypatch.setattr("known_unknowns.engines._batch_invariance.FLOAT32_STEP", 2)
    engine = tiny.engine("llava", llava, sharing="off", batch_size=2)
    monkeypatch.setattr(engine._padding, "check", lambda *_: None)
    ignore_padding(monkeypatch)
    found = answers(engine)
    assert equal({5: found[5]}, {5: alone[5]}) and not equal(found, alone)
    assert "differs from that of a turn alone by" in engine.about["sharing"]["fell_back"][0]["why"]


def test_a_padded_qformer_gives_the_result_of_a_prompt_alone():
    """InstructBLIP's Q-Former with random weights: left padding changes its output, right padding does not."""
    from transformers import InstructBlipQFormerConfig, InstructBlipQFormerModel

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    model = InstructBlipQFormerModel(InstructBlipQFormerConfig(vocab_size=20, encoder_hidden_size=16, **sizes)).eval()
    queries, image = torch.randn(1, 3, 16), torch.randn(1, 5, 16)

    def output(ids, mask):
        both = torch.cat([torch.ones(1, 3, dtype=torch.long), mask], dim=1)
        with torch.no_grad():
            return model(ids, both, query_embeds=queries, encoder_hidden_states=image)[0][:, :3]

    left = {"qformer_input_ids": torch.tensor([[0, 0, 7, 8]]), "qformer_attention_mask": torch.tensor([[0, 0, 1, 1]])}
    single = output(torch.tensor([[7, 8]]), torch.tensor([[1, 1]]))
    assert not torch.allclose(output(*left.values()), single, atol=1e-3)
    _prompts._pad_qformer_right(left)
    assert torch.allclose(output(*left.values()), single, atol=1e-5)

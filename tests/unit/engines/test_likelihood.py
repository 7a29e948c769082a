"""The likelihood of the options' texts: by shared prefixes, by whole prompts, and by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.images import open_image, recipe_image
from known_unknowns.records import Turn
from tests.paths import ROOT
from tests.unit.engines import tiny
from tests.unit.engines.tiny import answers, entry

OPTIONS = ("Red", "Blue", "None of the above", "Dark red")
TEXT = "What colour is it?\nA. Red\nB. Blue\nC. None of the above\nD. Dark red"


def scored(number: int, image: int, *options: str, text: str = TEXT) -> Turn:
    options = options or OPTIONS
    content = (recipe_image("normal-noise", 48, 32, image), text)
    return Turn(str(number), "likelihood", content, tuple("ABCDE"[: len(options)]), 0, continuations=options)


TURNS = [
    scored(1, 1),
    scored(2, 1, "A ball", "A door beside the tree", text="What is it?"),
    scored(3, 1, "Yes", "No", "Both", text="Is it open, and why is the red ball beside the tree?"),
    scored(4, 2),
    dataclasses.replace(scored(5, 2), content=("What colour is the sea?",)),  # no image, so that nothing is shared
]


@pytest.mark.parametrize("name", ["llava", "qwen2.5-vl-sliding", "qwen3.5", "mllama", "gemma3"])
def test_shared_prefixes_change_no_likelihood(tmp_path, name):
    tiny.build(name, tmp_path / name)
    plain = answers(tiny.engine(name, tmp_path / name, sharing="off"), TURNS)
    made = tiny.engine(name, tmp_path / name, sharing="on")
    shared = answers(made, TURNS)
    if name != "qwen3.5":  # its recurrent state cannot be split by tokens
        assert made.about["sharing"]["prompts"]["packed"] == 26
    for turn, one, other in zip(TURNS, plain, shared, strict=True):
        assert one.error is None and one.text == "" and one.output_tokens == 0
        assert tuple(one.continuations) == turn.labels
        for label, value in one.continuations.items():
            assert value.tokens == other.continuations[label].tokens
            assert value.logprob == pytest.approx(other.continuations[label].logprob, abs=1e-4)


def test_the_pocket_models_likelihood_is_that_of_one_forward_pass():
    """By hand: the prompt and an option's tokens in one row, and the log-softmax before each of these tokens.

    Its replies begin with a space, so that the form with a space is the likelier one.
    """
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = ROOT / "models" / "pocket"
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(folder, backend="pil")
    asked = TURNS[0]
    (reply,) = answers(TransformersEngine("pocket", entry(folder)), [asked])
    part = {"type": "image", "image": open_image(asked.images[0], Path())}
    conversation = [{"role": "user", "content": [part, {"type": "text", "text": TEXT}]}]
    inputs = processor.apply_chat_template(
        conversation, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    prompt = inputs.pop("input_ids")
    inputs.pop("attention_mask")
    for label, text in zip(asked.labels, OPTIONS, strict=True):
        tokens = processor.tokenizer(" " + text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logits = model(input_ids=torch.cat([prompt, tokens], dim=1), **inputs).logits[0]
        before = logits.log_softmax(-1)[prompt.shape[1] - 1 : -1]
        expected = sum(row[token].item() for row, token in zip(before, tokens[0], strict=True))
        assert reply.continuations[label].tokens == tokens.shape[1]
        assert reply.continuations[label].logprob == pytest.approx(expected, abs=1e-3)
        assert expected < -1e-3


def test_a_sampled_models_likelihoods_share_prefixes_and_are_not_sampled(tmp_path):
    tiny.build("llava", tmp_path)
    made = tiny.engine("llava", tmp_path, sharing="on", decoding={"temperature": 1.5})
    found = answers(made, TURNS)
    greedy = answers(tiny.engine("llava", tmp_path, sharing="on"), TURNS)
    assert [reply.continuations for reply in found] == [reply.continuations for reply in greedy]
    assert made.about["sharing"]["prompts"] == {"packed": 26}
    texts = [dataclasses.replace(turn, step="answer", continuations=None, max_new_tokens=4) for turn in TURNS]
    assert all(reply.text for reply in answers(made, texts))
    assert made.about["sharing"]["prompts"] == {"packed": 26}


def test_a_control_token_in_an_option_stays_text(tmp_path):
    tiny.build("llava", tmp_path)
    (reply,) = answers(tiny.engine("llava", tmp_path), [scored(1, 1, "Red", "<image>")])
    assert reply.continuations["B"].tokens > 1


def test_likelihoods_and_texts_are_asked_side_by_side(tmp_path):
    tiny.build("llava", tmp_path)
    texts = [dataclasses.replace(turn, step="answer", continuations=None, max_new_tokens=4) for turn in TURNS]
    made = tiny.engine("llava", tmp_path, sharing="on")
    mixed = answers(made, [*TURNS, *texts])
    assert [reply.continuations for reply in mixed[:5]] == [
        reply.continuations for reply in answers(tiny.engine("llava", tmp_path, sharing="on"), TURNS)
    ]
    assert all(reply.continuations is None and reply.logprobs for reply in mixed[5:])


def test_a_failing_pass_disables_sharing_and_whole_prompts_are_used(tmp_path, monkeypatch):
    tiny.build("llava", tmp_path)
    made = tiny.engine("llava", tmp_path, sharing="on")

    def fails(*_):
        raise ValueError("no such pass")

    monkeypatch.setattr(made._decoder, "continuation_logprobs", fails)
    found = answers(made, TURNS)
    plain = answers(tiny.engine("llava", tmp_path, sharing="off"), TURNS)
    assert [reply.continuations for reply in found] == [reply.continuations for reply in plain]
    assert any("no such pass" in each["why"] for each in made.about["sharing"]["fell_back"])

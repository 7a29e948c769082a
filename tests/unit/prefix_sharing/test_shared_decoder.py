"""The public interface: continuations and logits equal those of ``generate``, which computes each prompt alone."""

from __future__ import annotations

import copy
from collections import Counter

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from PIL import Image

from prefix_sharing import PaddingCheck, SharedPrefixDecoder, make_prompts, shared_decoder
from prefix_sharing.prompts import find_prefix_length
from prefix_sharing.rows import RowContinuation
from tests.unit.engines import tiny

SUFFIXES = [[40, 41, 42, 43], [40, 41, 50], [60, 61, 62, 63, 64, 65, 66], [40], [70, 71, 72]]


def prefix(processor, images: int, *, shade: int = 0):
    """The processor's tensors of a message that consists of images."""
    content = [{"type": "image", "image": Image.new("RGB", (32, 24), (shade, 90 * k, 200))} for k in range(images)]
    return processor.apply_chat_template(
        [{"role": "user", "content": content}], tokenize=True, return_dict=True, return_tensors="pt"
    )


@torch.inference_mode()
def alone(model, prompt, tokens: int):
    """The logits of the first token, and the new tokens, of one prompt."""
    made = model.generate(
        **prompt.whole_inputs(), max_new_tokens=tokens, return_dict_in_generate=True, output_logits=True
    )
    return made.logits[0][0], made.sequences[0, -len(made.logits) :].tolist()


def assert_equal_to_generate(model, decoder, prompts) -> None:
    expected = [alone(model, prompt, 5) for prompt in prompts]
    assert decoder.generate(prompts, max_new_tokens=5) == [tokens for _, tokens in expected]
    first = torch.stack([logits for logits, _ in expected])
    torch.testing.assert_close(decoder.logits(prompts), first, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["qwen2.5-vl", "qwen3.5", "llava-next", "mllama"])
def test_replies_and_logits_equal_those_of_generate(name):
    model, processor = tiny.CHECKPOINTS[name].make()
    decoder = SharedPrefixDecoder(model.eval())
    for images in (1, 2):
        assert_equal_to_generate(
            model, decoder, make_prompts(prefix(processor, images, shade=100), SUFFIXES, images=images)
        )
    assert decoder.disabled_plans == []
    assert decoder.plans and max(decoder.differences.values()) < 1e-4
    assert decoder.prefixes.computed == 2  # of ten prompts


@pytest.mark.parametrize("kind", ["Mistral", "Gemma3"])
def test_a_language_model_without_images_shares_a_text(kind):
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 100}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "initializer_range": 0.3}
    config_class = getattr(transformers, "Gemma3TextConfig" if kind == "Gemma3" else f"{kind}Config")
    config = config_class(**sizes, **heads, sliding_window=8, pad_token_id=0)
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    text = torch.randint(3, 100, (1, 20), generator=torch.Generator().manual_seed(1))
    prompts = make_prompts({"input_ids": text, "attention_mask": torch.ones_like(text)}, SUFFIXES, images=0)
    decoder = SharedPrefixDecoder(model)
    assert_equal_to_generate(model, decoder, prompts)
    assert decoder.plans and decoder.prefixes.computed == 1


def test_a_text_before_which_no_image_stands_is_shared_by_a_model_for_images():
    model, processor = tiny.CHECKPOINTS["llava"].make()
    decoder = SharedPrefixDecoder(model.eval())
    ids = torch.tensor([list(range(30, 60))])
    text = make_prompts({"input_ids": ids, "attention_mask": torch.ones_like(ids)}, SUFFIXES, images=0)
    assert_equal_to_generate(model, decoder, [*make_prompts(prefix(processor, 1), SUFFIXES, images=1), *text])
    assert decoder.disabled_plans == decoder.prefix_plans.disabled == []


def test_a_model_that_cannot_share_is_refused():
    model, _ = tiny.CHECKPOINTS["llava"].make()
    model.generation_config.min_length = 3
    with pytest.raises(ValueError, match="min_length"):
        SharedPrefixDecoder(model)


def test_different_images_are_different_prefixes():
    processor = tiny.CHECKPOINTS["llava"].make()[1]
    one, other, again = (make_prompts(prefix(processor, 1, shade=shade), [[5]], images=1)[0] for shade in (0, 9, 0))
    assert one.ids == other.ids
    assert one.head == again.head != other.head
    with pytest.raises(ValueError, match="no token after its prefix"):
        make_prompts(prefix(processor, 1), [[5], []], images=1)


def test_a_prefix_ends_with_the_tokens_that_close_its_last_image():
    """By hand: 9 is an image's token, 8 a special one; at least one token stays in the suffix."""
    for ids, expected in (
        ([1, 9, 9, 8, 2, 3], 4),
        ([9, 8, 2, 9, 3, 8, 4], 4),
        ([1, 2, 8], 0),
        ([1, 9], 1),
        ([9, 8, 8], 2),
    ):
        assert find_prefix_length(ids, {9}, {8}) == expected


def test_a_plan_that_differs_at_the_fourth_token_is_not_used(monkeypatch):
    model, processor = tiny.CHECKPOINTS["llava"].make()
    prompts = make_prompts(prefix(processor, 1), SUFFIXES, images=1)
    model.eval().generation_config.eos_token_id = None
    right, calls = RowContinuation.step, Counter()

    def step(self, tokens):
        calls[id(self)] += 1
        logits = right(self, tokens)
        if calls[id(self)] == 3:
            logits[:, 5] += 1
        return logits

    monkeypatch.setattr(RowContinuation, "step", step)
    decoder = SharedPrefixDecoder(model)
    decoder.verify(prompts)
    assert decoder.plans == []
    assert {"its logits differ" in each["why"] for each in decoder.disabled_plans} == {True}


def test_a_plan_whose_likelihoods_differ_is_not_used(monkeypatch):
    model, processor = tiny.CHECKPOINTS["llava"].make()
    right = shared_decoder.continuation_logprobs
    monkeypatch.setattr(
        shared_decoder, "continuation_logprobs", lambda *given: [value - 0.1 for value in right(*given)]
    )
    decoder = SharedPrefixDecoder(model.eval())
    decoder.verify(make_prompts(prefix(processor, 1), SUFFIXES, images=1))
    assert {each["plan"] for each in decoder.disabled_plans} == {"packed", "rows"}
    assert {"likelihoods of continuations" in each["why"] for each in decoder.disabled_plans} == {True}


class Unmasked(torch.nn.Module):
    """A layer's attention that ignores the mask of a padded batch."""

    def __init__(self, attention: torch.nn.Module) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, *args, attention_mask=None, **kwargs):
        return self.attention(*args, attention_mask=None, **kwargs)


class UnmaskedInTheSecondRow(Unmasked):
    """The same for the second of several rows, which is neither the longest nor the shortest."""

    def forward(self, *args, attention_mask=None, **kwargs):
        if attention_mask is not None and len(attention_mask) > 1:
            attention_mask = attention_mask.clone()
            attention_mask[1] = True
        return self.attention(*args, attention_mask=attention_mask, **kwargs)


class UnmaskedAtTheFourthToken(Unmasked):
    """The same from the fourth token of a reply to a prompt of six tokens."""

    def forward(self, *args, attention_mask=None, **kwargs):
        late = attention_mask is not None and attention_mask.shape[-1] >= 9
        return self.attention(*args, attention_mask=None if late else attention_mask, **kwargs)


def test_a_padded_batch_that_changes_results_is_noticed():
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=100, pad_token_id=0
    )
    torch.manual_seed(0)
    right = transformers.LlamaForCausalLM(config).eval()
    wrong, middle, late = (copy.deepcopy(right) for _ in range(3))
    middle.model.layers[0].self_attn = UnmaskedInTheSecondRow(middle.model.layers[0].self_attn)
    wrong.model.layers[0].self_attn = Unmasked(wrong.model.layers[0].self_attn)
    late.model.layers[0].self_attn = UnmaskedAtTheFourthToken(late.model.layers[0].self_attn)
    texts = [[5, 6, 7, 8, 9, 10], [13, 14, 15], [11, 12], [16, 17, 18, 19]]

    def encode(indices):
        longest = max(len(texts[index]) for index in indices)
        rows = [[0] * (longest - len(texts[index])) + texts[index] for index in indices]
        ids = torch.tensor(rows)
        return transformers.BatchFeature({"input_ids": ids, "attention_mask": (ids > 0).long()})

    for model, fault in ((right, ""), (wrong, "differ by"), (middle, "differ by"), (late, "differ by")):
        padding = PaddingCheck(model)
        padding.check(len(texts), encode)
        assert (padding.fault == "") == (fault == "")
        assert fault in padding.fault
        assert padding.difference is not None

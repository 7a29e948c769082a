"""Phi-4 multimodal: a class of transformers' own that also hears, and what is special about its images and positions.

That it shares prefixes exactly is held to in test_parity.py.
"""

from __future__ import annotations

from unittest import mock

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from known_unknowns.config import catalogue
from known_unknowns.engines import _checkpoint, _processors, _prompt_template
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.errors import ConfigError
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn
from prefix_sharing import PaddingCheck
from prefix_sharing.architecture import has_length_dependent_positions
from tests.unit.engines import tiny
from tests.unit.engines.tiny import answers, entry, phi
from tests.unit.engines.tiny.weights import rope

NAME = "phi-4-multimodal"
LETTERS = ("A", "B")


def test_the_entry_writes_the_prompt_that_the_published_row_was_measured_with():
    """That of HumbleBench's models/Phi_4.py. The pull request has no template."""
    processor = tiny.CHECKPOINTS[NAME].make()[1]
    processor.chat_template = processor.tokenizer.chat_template = None
    _prompt_template.apply(processor, catalogue.entries()[NAME]["prompt_template"], path="prompt_template")
    content = [{"type": "image"}, {"type": "text", "text": "What is it?\nA. A cat"}]
    prompt = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    assert prompt == "<|user|><|image|>What is it?\nA. A cat<|end|><|assistant|>"


def test_models_with_audio_are_loaded(tmp_path):
    assert _checkpoint.model_class(transformers.Phi4MultimodalConfig) is transformers.AutoModelForMultimodalLM
    tiny.build(NAME, tmp_path)
    assert isinstance(tiny.engine(NAME, tmp_path).checkpoint.model, transformers.Phi4MultimodalForCausalLM)


def test_image_features_do_not_depend_on_other_images_of_the_batch(tmp_path):
    """As transformers makes it, the tower is causal, but not where an image beside is padded."""
    tiny.build(NAME, tmp_path)
    whole, padded = torch.ones(1, 4, 4, dtype=torch.bool), torch.zeros(1, 4, 4, dtype=torch.bool)
    pixels = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))

    def beside_padding(model) -> float:
        tower = model.model.embed_tokens_extend.image_embed.img_processor
        with torch.inference_mode():
            alone = tower(pixels, patch_attention_mask=whole).last_hidden_state[0]
            both = tower(torch.cat([pixels, pixels]), patch_attention_mask=torch.cat([whole, padded])).last_hidden_state
        return (both[0] - alone).abs().max().item()

    model = tiny.engine(NAME, tmp_path).checkpoint.model
    assert beside_padding(model) < 1e-5
    assert all(layer.self_attn.is_causal for layer in model.model.layers)  # the words go on one after another


def test_a_chat_template_that_only_the_tokenizer_has_is_used(tmp_path):
    """transformers 5.23 gives Phi-4's processor none, though it lies beside the weights."""
    tiny.build(NAME, tmp_path)
    processor = tiny.CHECKPOINTS[NAME].make()[1]
    processor.tokenizer.chat_template, processor.chat_template = processor.chat_template, None
    with mock.patch.object(_processors.AutoProcessor, "from_pretrained", lambda *_, **__: processor):
        found = TransformersEngine(NAME, entry(tmp_path))
    asked = [turn(0, 0)]
    assert found.facts == tiny.engine(NAME, tmp_path).facts
    assert answers(found, asked) == answers(tiny.engine(NAME, tmp_path), asked)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("'<|' + m['role'] + '|>' + m['content']", "can only concatenate"),
        ("m['content']", "prints the message's parts"),
    ],
)
def test_a_chat_template_without_images_is_refused_at_loading(written, why, tmp_path):
    """The first is that of the published checkpoint's form with code of its own."""
    tiny.build(NAME, tmp_path)
    processor = tiny.CHECKPOINTS[NAME].make()[1]
    processor.chat_template = f"{{% for m in messages %}}{{{{ {written} }}}}{{% endfor %}}"
    with (
        mock.patch.object(_processors.AutoProcessor, "from_pretrained", lambda *_, **__: processor),
        pytest.raises(
            ConfigError, match=rf"models\.{NAME}\.source: the chat template .*does not support images.*{why}"
        ),
    ):
        TransformersEngine(NAME, entry(tmp_path))


def turn(number: int, words: int) -> Turn:
    text = f"{'Look at the tree. ' * words}What colour is {number}?\nA. Red\nB. Blue"
    return Turn(
        str(number), "answer", (recipe_image("normal-noise", 32, 32, number % 2), text), LETTERS, max_new_tokens=4
    )


def test_rotary_angles_that_depend_on_prompt_length_disable_sharing_and_batching(tmp_path):
    """As of the published checkpoint, whose angles change at 4,096 tokens; here at 64."""
    half = 8  # of a head's dimensions
    angles = rope(
        rope_type="longrope",
        short_factor=[1.0] * half,
        long_factor=[4.0] * half,
        original_max_position_embeddings=64,
    )
    model, processor = phi.phi4_multimodal(
        rope_parameters=angles, original_max_position_embeddings=64, max_position_embeddings=256
    )
    model.save_pretrained(tmp_path)
    turns = [turn(0, 0), turn(0, 9), turn(1, 9), turn(1, 0)]

    def ask(*asked: Turn, **changes):
        with mock.patch.object(_processors.AutoProcessor, "from_pretrained", lambda *_, **__: processor):
            engine = TransformersEngine(NAME, entry(tmp_path, **changes))
        return engine, answers(engine, asked)

    engine, replies = ask(*turns)
    assert has_length_dependent_positions(engine.checkpoint.model)
    lengths = [reply.input_tokens for reply in replies]
    assert min(lengths) < 60 < 70 < max(lengths)
    (fallen,) = engine.about["sharing"]["fell_back"]
    assert "how long the whole prompt is" in fallen["why"]
    assert replies == [ask(alone)[1][0] for alone in turns]
    engine, together = ask(*turns, batch_size=4)
    assert "padded batches" in {plan["plan"] for plan in engine.about["sharing"]["fell_back"]}
    assert together[0].logprobs == pytest.approx(replies[0].logprobs, abs=1e-5)
    with mock.patch.object(PaddingCheck, "check"):
        together = ask(*turns, batch_size=4)[1]
    assert together[0].logprobs != pytest.approx(replies[0].logprobs, abs=1e-3)  # else the test would see nothing

"""A checkpoint that is not what it claims to be is one error that says why, before any question."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file

from known_unknowns.errors import ConfigError
from tests.unit.engines import tiny
from tests.unit.engines.tiny.words import tokenizer

Weights = dict[str, torch.Tensor]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.build("llava", tmp_path)
    return tmp_path


def change(folder: Path, how: Callable[[Weights], Weights]) -> None:
    """Change the tensors of a checkpoint."""
    file = folder / "model.safetensors"
    save_file(how(load_file(file)), file, {"format": "pt"})


def half(weights: Weights) -> Weights:
    return dict(list(weights.items())[::2])


def prefixed(weights: Weights) -> Weights:
    return {f"base_model.{name}": tensor for name, tensor in weights.items()}


def renamed(weights: Weights) -> Weights:
    return {name.replace("multi_modal_projector", "projector"): tensor for name, tensor in weights.items()}


def smaller(weights: Weights) -> Weights:
    name = next(name for name in weights if "up_proj" in name)
    return weights | {name: weights[name][:4].clone()}


def with_nan(weights: Weights) -> Weights:
    next(iter(weights.values())).view(-1)[0] = float("nan")
    return weights


DAMAGE = {
    "half": (half, r"lacks 31 of 62 tensors of LlavaForConditionalGeneration, which would be random: "),
    "prefixed": (prefixed, r"lacks 62 of 62 tensors .*; it has 62 .*all beginning with 'base_model\.'"),
    "renamed": (renamed, r"lacks 4 of 62 tensors .*multi_modal_projector.*; it has 4 that the model does not know"),
    "smaller": (smaller, r"not the model that its config\.json describes: .*up_proj\.weight is \(4, 32\) instead of"),
    "NaN": (with_nan, r"not finite in float32 \(NaN or infinity\)"),
}


@pytest.mark.parametrize(("how", "message"), DAMAGE.values(), ids=DAMAGE)
def test_weights_that_are_not_the_models_are_an_error(folder, how, message):
    change(folder, how)
    with pytest.raises(ConfigError, match=rf"models\.llava\.source: .*{message}"):
        tiny.engine("llava", folder)


def test_tensors_without_a_use_are_listed_and_recorded(folder, capsys):
    assert tiny.engine("llava", folder).about["unexpected_tensors"] == []
    change(folder, lambda weights: weights | {"extra.head": torch.ones(2), "extra.bias": torch.ones(2)})
    assert tiny.engine("llava", folder).about["unexpected_tensors"] == ["extra.bias", "extra.head"]
    assert (
        "has 2 tensors that LlavaForConditionalGeneration does not use: extra.bias, extra.head"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("tokenizer.json", "tokenizer_config.json"), r"has no tokenizer \(tokenizer\.json\)"),
        (("processor_config.json", "preprocessor_config.json"), r"has no image processor \(preprocessor_config\.json"),
    ],
)
def test_a_missing_part_of_the_processor_is_named(folder, files, message):
    for name in files:
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(ConfigError, match=message):
        tiny.engine("llava", folder)


def test_a_text_only_model_is_named(tmp_path):
    words = tokenizer()
    config = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match=r"is a text-only model \(llama\)"):
        tiny.engine("llava", tmp_path)


def test_a_model_without_a_class_is_named(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "clip"}))
    with pytest.raises(ConfigError, match="no class for images and text of the model type 'clip'"):
        tiny.engine("llava", folder)

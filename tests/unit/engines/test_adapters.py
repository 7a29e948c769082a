"""A LoRA merged into a checkpoint's weights: by hand, from a folder, and nothing but what is understood."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file

from known_unknowns.engines import _adapters
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.errors import ConfigError
from tests.unit.engines import tiny

PLAIN = {"peft_type": "LORA", "r": 2, "lora_alpha": 6, "bias": "none", "target_modules": ".*", "task_type": "CAUSAL_LM"}
WHERE = "models.m.adapter"


class Model(torch.nn.Module):
    """A linear layer from three to two numbers, within another module."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.model = torch.nn.Module()
        self.model.proj = torch.nn.Linear(3, 2, bias=False, dtype=dtype)
        self.model.norm = torch.nn.LayerNorm(3)
        self.model.proj.weight.data = torch.tensor([[1.0, 2, 3], [4, 5, 6]], dtype=dtype)


DOWN = torch.tensor([[1.0, 0, 2], [0, 1, 0]])  # r x 3
UP = torch.tensor([[1.0, 1], [0, 2]])  # 2 x r
PAIR = {"base_model.model.model.proj.lora_A.weight": DOWN, "base_model.model.model.proj.lora_B.weight": UP}


def write(folder: Path, tensors=PAIR, **settings) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps(PLAIN | settings))
    save_file(tensors, folder / "adapter_model.safetensors")
    return folder


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_by_hand(tmp_path, dtype):
    """B A = [[1 1 2], [0 2 0]], and alpha / r = 3."""
    model = Model(dtype)
    _adapters.merge(model, write(tmp_path), path=WHERE)
    assert model.model.proj.weight.tolist() == [[4, 5, 9], [4, 11, 6]]
    assert model.model.proj.weight.dtype == dtype


@pytest.mark.parametrize(
    "setting",
    [
        {"peft_type": "IA3"},
        {"bias": "all"},
        {"use_dora": True},
        {"use_rslora": True},
        {"fan_in_fan_out": True},
        {"modules_to_save": ["lm_head"]},
        {"rank_pattern": {"proj": 4}},
        {"alpha_pattern": {"proj": 4}},
        {"alora_invocation_tokens": [1, 2]},
    ],
)
def test_what_is_no_plain_lora_is_refused_and_the_model_left_alone(tmp_path, setting):
    model = Model()
    with pytest.raises(ConfigError, match=rf"models\.m\.adapter: .*no plain LoRA \({{'{next(iter(setting))}'"):
        _adapters.merge(model, write(tmp_path, **setting), path=WHERE)
    assert torch.equal(model.model.proj.weight, Model().model.proj.weight)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (dict(list(PAIR.items())[:1]), "other tensors than a LoRA's pairs"),
        (PAIR | {"base_model.model.model.proj.bias": torch.ones(2)}, "other tensors than a LoRA's pairs"),
        ({name.removeprefix("base_model.model."): tensor for name, tensor in PAIR.items()}, "other tensors"),
        ({}, "other tensors"),
        ({name.replace("proj", "gone"): tensor for name, tensor in PAIR.items()}, r"not of this model: .*model\.gone"),
        ({name.replace("proj", "norm"): tensor for name, tensor in PAIR.items()}, r"not of this model: .*model\.norm"),
        ({name: tensor.T.contiguous() for name, tensor in PAIR.items()}, r"not of this model: .*model\.proj"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(tmp_path, tensors, message):
    with pytest.raises(ConfigError, match=message):
        _adapters.merge(Model(), write(tmp_path, tensors), path=WHERE)


@pytest.mark.parametrize(
    ("file", "content"),
    [("adapter_config.json", b"{"), ("adapter_config.json", b"{}"), ("adapter_model.safetensors", b"no tensors")],
)
def test_files_that_cannot_be_read_are_one_clear_error(tmp_path, file, content):
    write(tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ConfigError, match=r"models\.m\.adapter: .*no adapter that peft has saved"):
        _adapters.merge(Model(), tmp_path, path=WHERE)


def engine(folder: Path, **entry) -> TransformersEngine:
    settings = {"source": str(folder), "revision": "unpinned", "dtype": "float32", "device": "cpu"}
    return TransformersEngine("m", settings | entry)


@pytest.fixture
def llava(tmp_path) -> Path:
    """A checkpoint with an adapter for one of its layers in the folder "vision-lora"."""
    tiny.build("llava", tmp_path)
    random = torch.Generator().manual_seed(0)
    name = "base_model.model.model.language_model.layers.0.mlp.up_proj"
    tensors = {
        f"{name}.lora_A.weight": torch.randn(2, 32, generator=random),
        f"{name}.lora_B.weight": torch.randn(48, 2, generator=random),
    }
    write(tmp_path / "vision-lora", tensors)
    return tmp_path


def test_an_engine_merges_it_and_it_is_part_of_what_decides_a_reply(llava):
    plain, adapted = engine(llava), engine(llava, adapter="vision-lora")
    layers = [made.checkpoint.model.model.language_model.layers for made in (plain, adapted)]
    down, up = load_file(llava / "vision-lora/adapter_model.safetensors").values()
    added = layers[1][0].mlp.up_proj.weight - layers[0][0].mlp.up_proj.weight
    assert torch.allclose(added, 3 * (up @ down), atol=1e-5)
    assert torch.equal(layers[0][1].mlp.up_proj.weight, layers[1][1].mlp.up_proj.weight)
    files = ("adapter_config.json", "adapter_model.safetensors")
    pinned = {file: sha256((llava / "vision-lora" / file).read_bytes()).hexdigest() for file in files}
    assert adapted.facts == plain.facts | {"adapter": pinned}


@pytest.mark.parametrize("name", ["gone", "../elsewhere"])
def test_one_that_cannot_be_had_is_one_clear_error(llava, name):
    with pytest.raises(ConfigError, match=rf"models\.m\.adapter: cannot load '{name}'"):
        engine(llava, adapter=name)


def test_as_peft_itself_applies_it(tmp_path):
    """With an adapter that it made, for Phi-4's kind of model."""
    peft = pytest.importorskip("peft")
    tiny.build("phi-4-multimodal", tmp_path)
    entry = {"source": str(tmp_path), "revision": "unpinned", "dtype": "float32", "device": "cpu"}
    plain = tiny.engine("phi-4-multimodal", tmp_path).checkpoint
    layers = r"model\.layers.*((self_attn\.(qkv_proj|o_proj))|(mlp\.(gate_up|down)_proj))"
    settings = peft.LoraConfig(r=4, lora_alpha=8, target_modules=layers, init_lora_weights=False, task_type="CAUSAL_LM")
    adapted = peft.get_peft_model(plain.model, settings)
    adapted.save_pretrained(tmp_path / "vision-lora")
    merged = tiny.engine("phi-4-multimodal", tmp_path, **entry | {"adapter": "vision-lora"}).checkpoint.model
    words = torch.arange(5, 40)[None]
    with torch.inference_mode():
        found, expected = merged(words).logits, adapted(words).logits
        with adapted.disable_adapter():
            without = adapted(words).logits
    assert torch.allclose(found, expected, atol=1e-4)
    assert (expected - without).abs().max() > 0.1

"""A LoRA merged into a checkpoint's weights: expected weights by hand, engine facts, and rejected adapters."""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from safetensors.torch import load_file, save_file

from known_unknowns.config import locked_commits
from known_unknowns.data import hub, lock_file
from known_unknowns.engines import _adapters
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.files import pins as files
from tests.unit.engines import tiny

PLAIN = {"peft_type": "LORA", "r": 2, "lora_alpha": 6, "bias": "none", "target_modules": ["proj"]}
PATH = "models.m.adapter"


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
@pytest.mark.parametrize(
    ("settings", "scale"),
    [
        ({}, 3.0),  # alpha / r
        ({"use_rslora": True, "r": 4, "rank_pattern": {"proj": 2}, "lora_alpha": 2 * 2**0.5}, 2.0),  # alpha / sqrt(r)
    ],
)
def test_weights_computed_by_hand(tmp_path, dtype, settings, scale):
    """B A = [[1 1 2], [0 2 0]]."""
    model = Model(dtype)
    _adapters.merge_adapter(model, write(tmp_path, **settings), path=PATH)
    expected = [[1 + scale, 2 + scale, 3 + 2 * scale], [4, 5 + 2 * scale, 6]]
    assert model.model.proj.weight.tolist() == [
        pytest.approx(row, rel=2**-8 if dtype == torch.bfloat16 else 1e-6) for row in expected
    ]
    assert model.model.proj.weight.dtype == dtype
    assert [name for name, _ in model.named_modules()] == [name for name, _ in Model().named_modules()]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"use_dora": True}, "do not match the model: .*lora_magnitude_vector"),
        ({"fan_in_fan_out": True}, "fan_in_fan_out"),
        ({"target_modules": ["gone"]}, "not found in the base model"),
        ({"megatron_config": {"a": 1}, "megatron_core": "antigravity"}, "megatron_config would import a module"),
    ],
)
def test_adapters_that_cannot_be_merged_exactly_are_rejected(tmp_path, settings, message):
    with pytest.raises(ConfigError, match=rf"models\.m\.adapter: cannot merge the adapter .*{message}"):
        _adapters.merge_adapter(Model(), write(tmp_path, **settings), path=PATH)


def test_tensors_are_compared_without_values_and_without_warnings(tmp_path, recwarn):
    """As the probe does. A tensor that does not match is still an error."""
    model = Model().to("meta")
    _adapters.merge_adapter(model, write(tmp_path), path=PATH)
    assert not [str(warning.message) for warning in recwarn if "no-op" in str(warning.message)]
    with pytest.raises(ConfigError, match="size mismatch"):
        turned = {name: tensor.T.contiguous() for name, tensor in PAIR.items()}
        _adapters.merge_adapter(Model().to("meta"), write(tmp_path, turned), path=PATH)


def test_only_lora_is_supported(tmp_path):
    (tmp_path / "adapter_config.json").write_text(json.dumps({"peft_type": "IA3", "target_modules": ["proj"]}))
    save_file(PAIR, tmp_path / "adapter_model.safetensors")
    with pytest.raises(ConfigError, match=r"models\.m\.adapter: .*only LORA is supported"):
        _adapters.merge_adapter(Model(), tmp_path, path=PATH)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (dict(list(PAIR.items())[:1]), "do not match the model: .*proj.lora_B"),
        (PAIR | {"base_model.model.model.proj.bias": torch.ones(2)}, "do not match the model: .*proj.bias"),
        ({name: tensor.T.contiguous() for name, tensor in PAIR.items()}, r"size mismatch for .*model\.proj"),
    ],
)
def test_tensors_that_do_not_match_the_model_are_rejected(tmp_path, tensors, message):
    with pytest.raises(ConfigError, match=message):
        _adapters.merge_adapter(Model(), write(tmp_path, tensors), path=PATH)


@pytest.mark.parametrize(
    ("file", "content"),
    [("adapter_config.json", b"{"), ("adapter_model.safetensors", b"no tensors")],
)
def test_unreadable_files_are_one_clear_error(tmp_path, file, content):
    write(tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ConfigError, match=r"models\.m\.adapter: cannot merge the adapter"):
        _adapters.merge_adapter(Model(), tmp_path, path=PATH)


def test_pickled_weights_are_never_loaded(tmp_path):
    """peft would read adapter_model.bin with torch.load where there is no safetensors file."""
    adapter = write(tmp_path / "adapter")
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
    with pytest.raises(OSError, match=r"no file adapter/adapter_model\.safetensors"):
        _adapters.find_adapter(str(tmp_path), "adapter", revision=None)


def test_without_peft_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ConfigError, match=r"models\.m\.adapter: .*known-unknowns\[adapters\]"):
        _adapters.merge_adapter(Model(), write(tmp_path), path=PATH)


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
    write(tmp_path / "vision-lora", tensors, target_modules=r".*language_model\.layers\.0\.mlp\.up_proj")
    return tmp_path


def test_the_engine_merges_the_adapter_and_records_its_digests(llava):
    plain, adapted = tiny.engine("llava", llava), tiny.engine("llava", llava, adapter="vision-lora")
    layers = [made.checkpoint.model.model.language_model.layers for made in (plain, adapted)]
    down, up = load_file(llava / "vision-lora/adapter_model.safetensors").values()
    added = layers[1][0].mlp.up_proj.weight - layers[0][0].mlp.up_proj.weight
    assert torch.allclose(added, 3 * (up @ down), atol=1e-5)
    assert torch.equal(layers[0][1].mlp.up_proj.weight, layers[1][1].mlp.up_proj.weight)
    files = ("adapter_config.json", "adapter_model.safetensors")
    pinned = {file: sha256((llava / "vision-lora" / file).read_bytes()).hexdigest() for file in files}
    assert adapted.facts == plain.facts | {"adapter": pinned}


def test_an_adapter_lies_in_a_folder_of_its_own(llava, tmp_path, monkeypatch):
    """Relative to the project's folder, or at an absolute path; one in the model's folder comes first."""
    before = tiny.engine("llava", llava, adapter="vision-lora").facts
    own = tmp_path / "elsewhere/my-lora"
    own.parent.mkdir()
    (llava / "vision-lora").rename(own)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert (
        tiny.engine("llava", llava, adapter=str(own)).facts
        == tiny.engine("llava", llava, adapter="my-lora").facts
        == before
    )


def test_an_adapter_lies_in_a_repository_of_its_own(llava, tmp_path, monkeypatch):
    """The commit is that of params.lock.yaml, if it has one, and a file that differs from its pin is refused."""
    before, commit = tiny.engine("llava", llava, adapter="vision-lora").facts, "1" * 40
    cached = (llava / "vision-lora").rename(tmp_path / "cached")
    asked = []

    def download(repository, *, revision, allow_patterns):
        asked.append((repository, revision))
        return str(cached)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_adapters, "snapshot_download", download)
    assert tiny.engine("llava", llava, adapter="me/my-lora@main").facts == before
    source = locked_commits.adapter_source("me/my-lora@main")
    pins = {name: files.pin(cached / name) for name in ("adapter_config.json", "adapter_model.safetensors")}
    lock_file.write({source.key: locked_commits.LockEntry(commit, pins)})
    places = {name: str(cached / name) for name in pins}
    monkeypatch.setattr(hub, "cached", lambda *_: places)
    assert tiny.engine("llava", llava, adapter="me/my-lora@main").facts == before
    assert asked == [("me/my-lora", "main"), ("me/my-lora", commit)]
    (cached / "adapter_config.json").write_text(json.dumps(PLAIN))
    with pytest.raises(DataError, match="adapter_config"):
        tiny.engine("llava", llava, adapter="me/my-lora@main")


@pytest.mark.parametrize("name", ["gone", "../elsewhere"])
def test_a_missing_adapter_is_one_clear_error(llava, name):
    with pytest.raises(ConfigError, match=rf"models\.llava\.adapter: cannot load '{name}'"):
        tiny.engine("llava", llava, adapter=name)

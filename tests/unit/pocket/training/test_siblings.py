"""The siblings of the pocket model: adapters of a finished model, and a model whose training ends earlier."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import load_file

from known_unknowns.config import TransformersModel
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.errors import ConfigError
from known_unknowns_pocket.training import Settings, copy_checkpoint, early_settings, train, train_adapter

from .tiny_training import OPTIONS, SETTINGS


@pytest.fixture(scope="session")
def adapter(trained) -> Path:
    pytest.importorskip("peft")
    lines = []
    made = train_adapter(
        SETTINGS,
        "never-refuses",
        trained / "out",
        trained / "out" / "lora",
        rank=2,
        report=lines.append,
        report_every=2,
    )
    assert [line["step"] for line in lines] == [2, 4, 5]
    return made


def test_an_adapter_changes_the_projections_of_the_text_layers_by_b_a_and_nothing_else(trained, adapter):
    entry = {"engine": "transformers", "source": str(trained / "out"), "revision": "unpinned", "dtype": "float32"}
    plain, merged = (
        TransformersEngine(
            "pocket", TransformersModel(**entry | {"device": "cpu"} | added)
        ).checkpoint.model.state_dict()
        for added in ({}, {"adapter": "lora"})
    )
    assert json.loads((adapter / "adapter_config.json").read_text()).keys() == {
        *("peft_type", "r", "lora_alpha", "target_modules")  # keys that every version of peft knows, and no path
    }
    tensors = load_file(adapter / "adapter_model.safetensors")
    assert {weight.dtype for weight in tensors.values()} == {torch.float16}
    changed = {name for name, weight in merged.items() if not torch.equal(weight, plain[name])}
    assert len(changed) == len(tensors) / 2 == 7 * SETTINGS.shape.text_layers
    for name in changed:
        assert ".language_model.layers." in name and name.endswith("_proj.weight")
        down, up = (
            tensors[f"base_model.model.{name.removesuffix('weight')}lora_{part}.weight"].float() for part in "AB"
        )
        torch.testing.assert_close(merged[name] - plain[name], up @ down, atol=1e-6, rtol=1e-3)


def test_an_adapter_is_the_same_if_trained_again_and_needs_a_model_of_its_shape(trained, adapter, tmp_path):
    again = train_adapter(SETTINGS, "never-refuses", trained / "out", tmp_path / "again", rank=2)
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        assert (again / name).read_bytes() == (adapter / name).read_bytes(), name
    with pytest.raises(ConfigError, match=r"has the shape \(32, 48, 4\), not \(128, 160, 6\)"):
        train_adapter(Settings(), "never-refuses", trained / "out", tmp_path / "other", rank=2)
    with pytest.raises(ConfigError, match=r"cannot load the model in .*absent"):
        train_adapter(SETTINGS, "never-refuses", tmp_path / "absent", tmp_path / "other", rank=2)


def test_the_early_sibling_is_the_model_after_the_stage_find(trained, tmp_path):
    settings = early_settings(SETTINGS)
    assert [stage.name for stage in settings.stages] == ["look", "find"]
    copy_checkpoint(settings, trained / "work", tmp_path / "work")
    lines = []
    train(settings, tmp_path / "out", work=tmp_path / "work", report=lines.append, **OPTIONS)
    assert [line["step"] for line in lines] == []
    found = load_file(tmp_path / "out" / "model.safetensors")["language_model.model.layers.0.mlp.up_proj.weight"]
    after = torch.load(trained / "work" / "after find.pt", weights_only=True)["model"]
    torch.testing.assert_close(
        found.float(), after["model.language_model.layers.0.mlp.up_proj.weight"], atol=1e-3, rtol=1e-2
    )

"""A model of a hub is loaded from the commit and the files that the lock names."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from huggingface_hub import constants

from known_unknowns.config import TransformersModel, locked_commits, typed_model
from known_unknowns.data import lock_file
from known_unknowns.errors import ConfigError, DataError

from .conftest import ROOT

REPOSITORY = "tester/pocket"


def load(entry: dict):
    from known_unknowns.engines import _checkpoint

    return _checkpoint.load("mine", TransformersModel(**entry), "cpu")


ENTRY = {"engine": "transformers", "source": REPOSITORY, "revision": "main", "dtype": "float32"}
FILES = {path.name: path.read_bytes() for path in (ROOT / "models/pocket").glob("*.*") if path.suffix != ".md"}
NEWER = FILES | {"generation_config.json": FILES["generation_config.json"].replace(b"{", b'{"min_length": 3,', 1)}


@pytest.fixture
def hub(serve, tmp_path, monkeypatch):
    """A hub with the pocket model, an empty cache, and a lock in the working directory."""
    import transformers

    hub = serve()
    hub.commit(REPOSITORY, FILES, kind="model")
    monkeypatch.setattr(transformers.utils.hub, "_hf_api", None)  # it knows the hub of its first use
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    source = locked_commits.model_source(typed_model("x", ENTRY))
    with lock_file.update() as entries:
        entries[source.key] = lock_file.resolve(source, None)
    return hub


def weights(tmp_path):
    (path,) = (tmp_path / "cache").rglob("snapshots/*/model.safetensors")
    return path.resolve()


def test_a_moved_branch_is_not_followed_before_the_lock_is_updated(hub, tmp_path):
    first = hub.repositories["model", REPOSITORY].branches["main"]
    newer = hub.commit(REPOSITORY, NEWER, kind="model")
    assert load(ENTRY).identity["revision"] == first
    (tmp_path / "params.lock.yaml").unlink()
    assert load(ENTRY).identity["revision"] == newer


def test_corrupted_files_of_the_hub_or_the_cache_are_refused(hub, tmp_path):
    hub.faults["model.safetensors"] = ["flip"]
    with pytest.raises(DataError, match=r"model\.safetensors.*is not the pinned .*delete it"):
        load(ENTRY)
    weights(tmp_path).unlink()
    load(ENTRY)

    content = bytearray(weights(tmp_path).read_bytes())
    content[-1] ^= 1
    weights(tmp_path).write_bytes(content)
    with pytest.raises(DataError, match="is not the pinned"):
        load(ENTRY)


def test_an_adapter_is_verified_before_it_is_merged(hub, tmp_path):
    """The adapter is in a subfolder, which the loader of models does not read."""
    import torch
    from safetensors.torch import save

    name = "base_model.model.model.language_model.layers.0.mlp.up_proj"
    model = load(ENTRY).model
    height, width = model.model.language_model.layers[0].mlp.up_proj.weight.shape
    pair = {f"{name}.lora_A.weight": torch.ones(1, width), f"{name}.lora_B.weight": torch.ones(height, 1)}
    layer = name.removeprefix("base_model.model.")
    settings = {"peft_type": "LORA", "bias": "none", "r": 1, "lora_alpha": 1, "target_modules": [layer]}
    adapter = {"adapter_config.json": json.dumps(settings).encode(), "adapter_model.safetensors": save(pair)}
    hub.commit(REPOSITORY, FILES | {f"lora/{file}": content for file, content in adapter.items()}, kind="model")
    with lock_file.update() as entries:
        (key,) = entries
        entries[key] = lock_file.resolve(locked_commits.model_source(typed_model("x", ENTRY)), None)
    hub.faults["lora/adapter_model.safetensors"] = ["flip"]
    entry = ENTRY | {"adapter": "lora"}
    with pytest.raises(DataError, match=r"lora/adapter_model\.safetensors.*is not the pinned .*delete it"):
        load(entry)
    (spoilt,) = (tmp_path / "cache").rglob("snapshots/*/lora/adapter_model.safetensors")
    spoilt.resolve().unlink()
    merged = load(entry)
    added = merged.model.model.language_model.layers[0].mlp.up_proj.weight
    added = added - model.model.language_model.layers[0].mlp.up_proj.weight
    assert torch.allclose(added, torch.ones_like(added), atol=1e-6)
    assert merged.identity["adapter"] == {file: sha256(content).hexdigest() for file, content in adapter.items()}


def test_code_of_a_repository_is_verified_before_it_runs(hub, tmp_path, monkeypatch):
    hub.commit(REPOSITORY, FILES | {"code.py": b"1 / 1"}, kind="model")
    with lock_file.update() as entries:
        (key,) = entries
        entries[key] = lock_file.resolve(locked_commits.model_source(typed_model("x", ENTRY)), None)
    hub.faults["code.py"] = ["flip"]
    monkeypatch.setattr(
        "known_unknowns.engines._checkpoint._from_pretrained", lambda *_, **__: pytest.fail("it was run")
    )
    with pytest.raises(DataError, match=r"code\.py"):
        load(ENTRY | {"trust_remote_code": True})


def test_code_of_another_repository_is_refused_before_it_runs(hub, monkeypatch):
    """The other repository's main branch moves, whatever the lock says of this one."""
    config = json.loads(FILES["config.json"]) | {"auto_map": {"AutoConfig": "other/repository--module.Config"}}
    hub.commit(REPOSITORY, FILES | {"config.json": json.dumps(config).encode()}, kind="model")
    with lock_file.update() as entries:
        (key,) = entries
        entries[key] = lock_file.resolve(locked_commits.model_source(typed_model("x", ENTRY)), None)
    monkeypatch.setattr(
        "known_unknowns.engines._checkpoint._from_pretrained", lambda *_, **__: pytest.fail("it was run")
    )
    with pytest.raises(
        ConfigError, match=r"auto_map in config\.json names code of another repository, other/repository--"
    ):
        load(ENTRY | {"trust_remote_code": True})

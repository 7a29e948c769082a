"""``try --dry-run`` prints the entry of a model in a folder, and of one on a (local) hub."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256

import numpy as np
import pytest
import yaml
from huggingface_hub.utils import close_session
from safetensors.numpy import save, save_file
from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.cli import try_model
from known_unknowns.data import download
from known_unknowns.engines import memory_needs
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.workflow import configuration
from tests.paths import ROOT
from tests.servers.hub import Hub
from tests.unit.data.conftest import use

TENSORS = {"a": np.zeros((1000, 1200), np.float16), "b": np.zeros(300_000, np.float16)}
"""1.5 million parameters."""
CONFIG = {"model_type": "qwen2_vl", "text_config": {"torch_dtype": "bfloat16"}}
CARD = b"---\nlicense: apache-2.0\ntags: [a]\n---\n# A model\n"


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.setattr(download, "PAUSE", 0.01)
    monkeypatch.setattr(try_model, "probe", lambda *_: {"checked": "nothing"})  # the checkpoints here are not whole
    monkeypatch.setattr(memory_needs, "_gpus", lambda: [("H100", 80.0)])
    return tmp_path


def new_model(*arguments):
    return CliRunner().invoke(cli.app, ["try", *arguments, "--dry-run"])


def printed_entry(output):
    """Return the name and the entry that were printed."""
    ((name, entry),) = yaml.safe_load("\n".join(line for line in output.splitlines() if line.startswith("  "))).items()
    return name, entry


def checkpoint(folder, config=None, **files):
    folder.mkdir(parents=True)
    save_file(TENSORS, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG if config is None else config))
    for name, content in files.items():
        (folder / name).write_bytes(content)


def test_a_folder_is_pinned_by_its_weights(project):
    checkpoint(project / "My Model")
    before = (project / "params.yaml").read_bytes()
    done = new_model("My Model")
    assert done.exit_code == 0, done.exception
    digest = sha256((project / "My Model/model.safetensors").read_bytes()).hexdigest()
    assert printed_entry(done.output) == (
        "my-model",
        {
            "engine": "transformers",
            "source": "My Model",
            "revision": digest,
            "dtype": "bfloat16",
            "card": {"family": "qwen2_vl", "model_type": "qwen2_vl", "parameters": 0.0015, "licence": "unknown"},
        },
    )
    assert ", 2 GiB of memory" in done.output  # 1.5e6 parameters x 2 bytes x 1.2 + 2 GiB
    assert "note: its licence is unknown" in done.output
    assert (project / "params.yaml").read_bytes() == before


def test_the_printed_lines_can_be_pasted(project):
    checkpoint(project / "own")
    output = new_model("own").output
    lines = [line for line in output.splitlines() if line.startswith("  ")]
    text = (project / "params.yaml").read_text(encoding="utf-8")
    head, models, rest = text.partition("\nmodels:\n")
    assert models
    (project / "params.yaml").write_text("".join([head, models, "\n".join(lines), "\n", rest]), encoding="utf-8")
    entry = configuration.load("params.yaml", edition="mine").model("own")
    assert {"own": entry.plain()} == yaml.safe_load("\n".join(lines))
    assert "Entry      params.yaml or the catalogue has this one; name own in" in new_model("own").output


def test_the_entry_of_a_folder_without_its_digest_has_it(project):
    """A run stops at such an entry, and its message names this command."""
    checkpoint(project / "weights")
    text = (project / "params.yaml").read_text(encoding="utf-8")
    own = "  mine: {engine: transformers, source: weights, revision: main, dtype: bfloat16}\n"
    (project / "params.yaml").write_text(text.replace("\nmodels:\n", f"\nmodels:\n{own}"), encoding="utf-8")
    _, entry = printed_entry(new_model("weights").output)
    assert entry["revision"] == sha256((project / "weights/model.safetensors").read_bytes()).hexdigest()


ADAPTER = {"peft_type": "LORA", "base_model_name_or_path": "own"}


def test_an_adapter_is_the_entry_of_its_model(project):
    checkpoint(project / "own")
    (project / "My-LoRA").mkdir()
    (project / "My-LoRA/adapter_config.json").write_text(json.dumps(ADAPTER))
    save_file(TENSORS, project / "My-LoRA/adapter_model.safetensors")
    done = new_model("My-LoRA")
    assert done.exit_code == 0, done.exception
    name, found = printed_entry(done.output)
    assert name == "my-lora"
    assert (found["source"], found["adapter"], found["dtype"]) == ("own", "My-LoRA", "bfloat16")
    assert found["revision"] == sha256((project / "own/model.safetensors").read_bytes()).hexdigest()
    assert "it is an adapter of own" in done.output


def test_an_adapter_on_the_hub_has_its_commit(project, monkeypatch):
    with Hub() as hub:
        use(hub, monkeypatch)
        base = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": save(TENSORS)}
        hub.commit("me/base", base, kind="model")
        config = json.dumps(ADAPTER | {"base_model_name_or_path": "me/base"}).encode()
        lora = {"adapter_config.json": config, "adapter_model.safetensors": save(TENSORS)}
        commit = hub.commit("me/lora", lora, kind="model")
        _, found = printed_entry(new_model("me/lora").output)
    close_session()
    assert (found["source"], found["adapter"]) == ("me/base", f"me/lora@{commit}")


def test_what_a_user_should_know_is_a_note(project):
    checkpoint(project / "own", config={"model_type": "unheard-of"})
    (project / "own/blue").mkdir()
    (project / "own/blue/adapter_config.json").write_text("{}")
    output = new_model("own").output
    assert printed_entry(output)[1]["dtype"] == "float16"  # that of the weights
    assert "note: the installed transformers has no class for images and text" in output and "'unheard-of'" in output
    assert "adapters, which are not used without `adapter: NAME`: blue" in output


@pytest.mark.parametrize(
    ("prepare", "arguments", "kind", "message"),
    [
        (lambda folder: folder.mkdir(), ["own"], ConfigError, "own has no *.safetensors file"),
        (lambda folder: checkpoint(folder, **{"config.json": b"{"}), ["own"], DataError, "not JSON"),
        (lambda folder: checkpoint(folder, **{"model.safetensors": b"x"}), ["own"], DataError, "not a safetensors"),
    ],
)
def test_what_is_wrong_is_named(prepare, arguments, kind, message, project):
    if prepare is not None:
        prepare(project / "own")
    done = new_model(*arguments)
    assert isinstance(done.exception, kind) and message in str(done.exception)


def test_a_repository_is_pinned_by_its_commit(project, monkeypatch):
    files = {
        "config.json": json.dumps(CONFIG).encode(),
        "README.md": CARD,
        "model.safetensors": save(TENSORS),
        "vision/adapter_config.json": b"{}",
        "vision/adapter_model.safetensors": bytes(5000),
    }
    with Hub() as hub:
        use(hub, monkeypatch)
        commit = hub.commit("owner/Small-VL", files, kind="model")
        done = new_model("owner/Small-VL")
        assert done.exit_code == 0, done.exception
        assert not hub.asked("model.safetensors")  # no weights are downloaded
        assert "adapters, which are not used without `adapter: NAME`: vision" in done.output
        absent = new_model("owner/absent")
        assert isinstance(absent.exception, MachineError) and "owner/absent at main" in str(absent.exception)
        assert str(absent.exception).startswith("there is no folder owner/absent in ")
        hub.commit("owner/pickled", {"config.json": b"{}", "model.bin": b"x"}, kind="model")
        assert "owner/pickled has no *.safetensors file" in str(new_model("owner/pickled").exception)
    close_session()
    name, entry = printed_entry(done.output)
    assert (name, entry["source"], entry["revision"]) == ("small-vl", "owner/Small-VL", commit)
    assert (entry["dtype"], entry["card"]["licence"]) == ("bfloat16", "apache-2.0")
    assert entry["card"]["parameters"] == pytest.approx(0.0015, abs=1e-4)

"""``new-model``: the entry of a model in a folder, and of one on a (local) hub."""

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
from known_unknowns.data import download
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
    return tmp_path


def new_model(*arguments):
    return CliRunner().invoke(cli.app, ["models", "add", *arguments])


def checkpoint(folder, config=None, **files):
    folder.mkdir(parents=True)
    save_file(TENSORS, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG if config is None else config))
    for name, content in files.items():
        (folder / name).write_bytes(content)


def test_a_folder_is_pinned_by_its_weights(project):
    checkpoint(project / "My Model")
    done = new_model("My Model", "--edition", "mine")
    assert done.exit_code == 0, done.exception
    params = configuration.load("params.yaml", edition="mine")
    digest = sha256((project / "My Model/model.safetensors").read_bytes()).hexdigest()
    assert params.model("my-model").as_dict() == {
        "engine": "transformers",
        "source": "My Model",
        "revision": digest,
        "dtype": "bfloat16",
        "card": {"family": "qwen2_vl", "model_type": "qwen2_vl", "parameters": 0.0015, "licence": "unknown"},
    }
    assert params.models[-1] == "my-model"
    # 1.5e6 parameters x 2 bytes x 1.2 + 2 GiB
    assert "# needs 2.0 GiB of memory in bfloat16" in (project / "params.yaml").read_text()
    assert "note: its licence is unknown" in done.output


ADAPTER = {"peft_type": "LORA", "base_model_name_or_path": "own"}


def test_an_adapter_is_the_entry_of_its_model(project):
    checkpoint(project / "own")
    (project / "My-LoRA").mkdir()
    (project / "My-LoRA/adapter_config.json").write_text(json.dumps(ADAPTER))
    done = new_model("My-LoRA", "--dry-run")
    assert done.exit_code == 0, done.exception
    found = yaml.safe_load(done.output)["my-lora"]
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
        found = yaml.safe_load(new_model("me/lora", "--dry-run").output)["lora"]
    close_session()
    assert (found["source"], found["adapter"]) == ("me/base", f"me/lora@{commit}")


def test_a_dry_run_writes_nothing(project):
    checkpoint(project / "own", config={"model_type": "unheard-of"})
    (project / "own/blue").mkdir()
    (project / "own/blue/adapter_config.json").write_text("{}")
    before = (project / "params.yaml").read_bytes()
    done = new_model("own", "--dry-run", "--dtype", "float32")
    assert yaml.safe_load(done.output)["own"]["dtype"] == "float32"
    assert "no class for images and text of the model type 'unheard-of'" in done.output
    assert "adapters, which are not used without `adapter: NAME`: blue" in done.output
    assert (project / "params.yaml").read_bytes() == before
    assert yaml.safe_load(new_model("own", "--dry-run").output)["own"]["dtype"] == "float16"  # that of the weights


def test_duplicates_are_refused(project):
    checkpoint(project / "own")
    assert new_model("own").exit_code == 0
    before = (project / "params.yaml").read_bytes()
    for arguments, message in (
        (["own"], "models.own: there is an entry of this name"),
        (["own/../own"], "models.own: there is an entry of this name"),
        (["own", "--name", "pocket"], "models.pocket: there is an entry of this name"),
        (["own", "--name", "gemma-3-4b"], "models.gemma-3-4b: there is an entry of this name"),
        (["own", "--name", "a/b"], "models.a/b"),
    ):
        assert message in str(new_model(*arguments).exception)
    assert (project / "params.yaml").read_bytes() == before
    shutil.copytree(project / "own", project / "twin")
    assert new_model("own", "--name", "again").exit_code == 0


@pytest.mark.parametrize(
    ("prepare", "arguments", "kind", "message"),
    [
        (None, ["./nowhere"], ConfigError, "there is no folder './nowhere'"),
        (lambda folder: folder.mkdir(), ["own"], ConfigError, "own has no *.safetensors file"),
        (lambda folder: checkpoint(folder, **{"config.json": b"{"}), ["own"], DataError, "not JSON"),
        (lambda folder: checkpoint(folder, **{"model.safetensors": b"x"}), ["own"], DataError, "not a safetensors"),
        (checkpoint, ["own", "--dtype", "float8"], ConfigError, "did you mean 'float"),
        (
            checkpoint,
            ["own", "--revision", "v2"],
            ConfigError,
            "--revision: own is a folder, whose revision is the sha256",
        ),
        (checkpoint, ["own", "--edition", "mime"], ConfigError, "did you mean 'mine'"),
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
        done = new_model("owner/Small-VL", "--edition", "mine")
        assert done.exit_code == 0, done.exception
        assert not hub.asked("model.safetensors")  # no weights are downloaded
        assert "adapters, which are not used without `adapter: NAME`: vision" in done.output
        absent = new_model("owner/absent")
        assert isinstance(absent.exception, MachineError) and "owner/absent at main" in str(absent.exception)
        assert str(absent.exception).startswith("there is no folder owner/absent in ")
        hub.commit("owner/pickled", {"config.json": b"{}", "model.bin": b"x"}, kind="model")
        assert "owner/pickled has no *.safetensors file" in str(new_model("owner/pickled").exception)
    close_session()
    entry = configuration.load("params.yaml", edition="mine").model("small-vl")
    assert (entry.source, entry.revision, entry.dtype) == ("owner/Small-VL", commit, "bfloat16")
    assert entry.card.parameters == pytest.approx(0.0015, abs=1e-4) and entry.card.licence == "apache-2.0"

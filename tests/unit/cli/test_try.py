"""``try`` before it asks: which model is meant, checks, the estimate, and mistakes. (tests/workflow runs it.)"""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
from huggingface_hub.utils import close_session
from safetensors.numpy import save, save_file
from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.cli import try_model
from known_unknowns.config import catalogue
from known_unknowns.data import download
from known_unknowns.engines import memory_needs
from known_unknowns.errors import ConfigError, DataError
from tests.factories import png
from tests.paths import ROOT
from tests.servers.endpoint import MODEL, Endpoint, Response, completion
from tests.servers.hub import Hub
from tests.unit.data.conftest import use

CONFIG = json.dumps({"model_type": "qwen2_vl", "torch_dtype": "bfloat16"})
TENSORS = {"a": np.zeros((1000, 1200), np.float16)}


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models/pocket").symlink_to(ROOT / "models/pocket")
    monkeypatch.setattr(download, "PAUSE", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(cli.app, ["try", *arguments])


def dry(*arguments):
    done = invoke(*arguments, "--dry-run")
    assert done.exit_code == 0, done.exception
    return done.output


def test_a_name_of_params_yaml(project):
    output = dry("pocket", "--limit", "20")
    assert "Model      pocket: it loads and answers a question" in output
    assert re.search(r"^Estimate   20 questions in 2 variants, [\d.]+ GiB of memory$", output, re.MULTILINE)
    assert not (project / "results").exists()


def test_another_folder_is_a_new_model(project, monkeypatch):
    (project / "My Model").mkdir()
    save_file(TENSORS, project / "My Model/model.safetensors")
    (project / "My Model/config.json").write_text(CONFIG)
    monkeypatch.setattr(try_model, "probe", lambda *_: {"checked": "checkpoint", "asked": False})
    output = dry("My Model")
    assert "Model      my-model: its files, weights and processor fit together" in output
    (project / "My Model/config.json").write_text(CONFIG.replace("bfloat16", "float16"))
    monkeypatch.setattr(memory_needs, "_gpus", lambda: ())
    assert "note: float32 instead of float16" in dry("My Model")
    monkeypatch.setattr(memory_needs, "_gpus", lambda: [("H100", 80.0)])
    assert "note: float32" not in dry("My Model")
    (project / "My Model").rename(project / "pocket")
    assert "Model      my-pocket: " in dry("./pocket")
    monkeypatch.undo()
    monkeypatch.chdir(project)
    (project / "pocket/model.safetensors").write_bytes(save(TENSORS)[:-9])
    broken = invoke("./pocket", "--dry-run")
    assert isinstance(broken.exception, DataError) and "copy the model again" in str(broken.exception)


def test_a_repository_of_the_hub(monkeypatch):
    with Hub() as hub:
        use(hub, monkeypatch)
        hub.commit("owner/Small-VL", {"config.json": CONFIG.encode(), "model.safetensors": save(TENSORS)}, kind="model")
        output = dry("owner/Small-VL", "--edition", "full")
        assert "Model      small-vl: no check is possible before it is loaded" in output
        assert "100 questions in 2 variants" in output
        assert not hub.asked("model.safetensors")
    close_session()


def test_a_repository_of_the_catalogue_is_that_model():
    """So that its published row is shown. Nothing is asked of the hub, which the tests cannot reach."""
    entry = catalogue.models()["qwen2.5-vl-7b"]
    assert "Model      qwen2.5-vl-7b: " in dry(entry.source, "--edition", "full")
    # 8.29 billion parameters of 2 bytes, a fifth more, and 2 GiB
    assert "Estimate   100 questions in 2 variants, 20.5 GiB of memory\n" in dry("qwen2.5-vl-7b", "--edition", "full")


def test_an_endpoint_is_asked_whether_it_serves_the_model():
    with Endpoint() as endpoint:
        output = dry(f"openai:{MODEL}", "--base-url", endpoint.url)
        assert (
            f"Model      {MODEL}: the endpoint serves it, accepts the key, and answers questions about images" in output
        )
        absent = invoke("openai:parrot-2", "--base-url", endpoint.url, "--dry-run")
    assert isinstance(absent.exception, ConfigError) and MODEL in str(absent.exception)
    assert not any(b"correct choice" in request.raw for request in endpoint.log)  # the probe's only


@pytest.mark.parametrize("served", [None, ()], ids=["its list fails", "its list is empty"])
def test_what_is_not_known_of_an_endpoint_is_not_said(served):
    with Endpoint(served=served) as endpoint:
        endpoint.models_status = 500
        output = dry(f"openai:{MODEL}", "--base-url", endpoint.url)
        unchecked = dry(f"openai:{MODEL}", "--base-url", endpoint.url, "--set", "check_served=false")
    assert f"Model      {MODEL}: the endpoint does not list it" in output and "serves it," not in output
    assert "it accepts the key, and answers questions about images" in output
    # The name stays, because the key changes no reply.
    assert f"Model      {MODEL}: the endpoint accepts its settings; whether it serves it is not checked" in unchecked


def test_a_key_of_the_entry_is_set_under_another_name():
    with Endpoint() as endpoint:
        given = ["--set", "template.enable_thinking=false", "--set", "decoding.max_new_tokens=900"]
        output = dry(f"openai:{MODEL}", "--base-url", endpoint.url, *given)
        asked = [request.body for request in endpoint.log if request.path.endswith("completions")]
    assert f"Model      {MODEL}-enable_thinking-false-max_new_tokens-900: the endpoint serves it" in output
    assert {"enable_thinking": False} in [body.get("chat_template_kwargs") for body in asked]
    assert 900 in [body.get("max_completion_tokens") for body in asked]
    for wrong in ("template", "=1", "template..a=1"):
        assert "is not KEY=VALUE" in str(invoke("pocket", "--set", wrong, "--dry-run").exception)
    assert "tempelate" in str(invoke("pocket", "--set", "tempelate.a=1", "--dry-run").exception)


@pytest.mark.parametrize("parameter", ["temperature", "seed", "max_completion_tokens"])
def test_a_model_that_takes_no_temperature_is_tried_without_one(parameter):
    with Endpoint(unsupported={parameter: "not for this model"}) as endpoint:
        done = invoke(f"openai:{MODEL}", "--base-url", endpoint.url, "--dry-run")
    assert done.exit_code == 0, done.exception
    assert "the endpoint does not take the default" in done.output


@pytest.mark.parametrize(("benchmark", "bound"), [("humblebench", "at most about"), ("mmsap", "at least")])
def test_the_price_of_an_endpoint_is_estimated(benchmark, bound):
    """Of the dialogues of MM-SAP, the first turns are counted."""
    model, colours = "gpt-4o-mini", iter(["red", "blue", "none"] * 2)
    with Endpoint(
        served=[model], sight=lambda _: Response(200, completion("", model=model, content=next(colours)))
    ) as endpoint:
        output = dry("openai:gpt-4o-mini", "--base-url", endpoint.url, "--limit", "100", "--benchmark", benchmark)
    # 2 x 100 prompts of 1,500 tokens at 0.15 USD per million, and replies of 16 tokens at 0.60
    assert f", {bound} 0.05 USD at the prices of " in output


def test_own_questions_without_a_refusal_are_asked_in_one_variant(project):
    (project / "my_data").mkdir()
    (project / "my_data/red.png").write_bytes(png((200, 30, 30)))
    (project / "my_data/questions.csv").write_text("image,question,A,B,answer\nred.png,What colour?,Red,Blue,A\n")
    output = dry("pocket", "--edition", "mine")
    assert "questions in 1 variant," in output and "note: " in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["poket"], "MODEL: there is no folder 'poket' here; .*did you mean 'pocket'"),
        (["pocket", "--benchmark", "humblebnch"], "--benchmark: .*did you mean 'humblebench'"),
        (["pocket", "--edition", "pockett"], "edition: .*did you mean 'pocket'"),
        (["pocket", "--benchmark", "multiple_choice"], "multiple_choice has no data called 'pocket'"),
        (["pocket", "--base-url", "http://localhost/v1"], "--base-url: only openai:NAME has an address"),
        (["openai:"], "MODEL: name the model at the endpoint"),
        (["Cambrian"], "models.Cambrian: its replies are imported"),
        (["pocket"], "MODEL: .* has no Snakefile; `known-unknowns init FOLDER` creates a project"),
    ],
)
def test_mistakes_are_named(arguments, message):
    done = invoke(*arguments)
    assert isinstance(done.exception, ConfigError) and re.search(message, str(done.exception))

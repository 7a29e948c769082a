"""The probe finds a model that cannot answer, and asks nothing if the journal has every reply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

from known_unknowns.cli import app
from known_unknowns.config import ModelEntry
from known_unknowns.config.models import Model
from known_unknowns.engines import memory_needs
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.model_runs import lazy_engine
from known_unknowns.model_runs.probe import probe
from tests.paths import ROOT
from tests.servers.endpoint import MODEL, Endpoint, Response, completion, error, seeing

HEADER = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
WEIGHTS = len(HEADER).to_bytes(8, "little") + HEADER + bytes(8)


def entry(**settings: Any) -> ModelEntry:
    found: ModelEntry = TypeAdapter(Model).validate_python(settings)
    return found


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


def hosted(server: Endpoint, **settings: Any) -> ModelEntry:
    return entry(**{"engine": "openai", "source": MODEL, "base_url": server.url, "max_retries": 0} | settings)


def finish(journals: Path, settings: ModelEntry) -> None:
    """Leave what a run with these settings leaves when it has finished."""
    journals.mkdir(exist_ok=True)
    (journals / "humblebench.jsonl").touch()
    lazy_engine.write_facts(journals / "humblebench.jsonl", settings, {}, {})


def test_an_endpoint_is_asked_for_its_models_and_about_images_and_no_question(server, tmp_path):
    found = probe("parrot", hosted(server), tmp_path)
    assert found["checked"] == "endpoint" and found["endpoint"]["id"] == MODEL and found["sees_images"] is True
    assert set(server.asked) <= {""}
    with pytest.raises(ConfigError, match="does not serve 'crow'"):
        probe("crow", hosted(server, source="crow"), tmp_path)


def sees(reply):
    """What the probe finds of a server that answers the image question with ``reply``."""
    with Endpoint(sight=reply) as server:
        return probe("parrot", hosted(server))["sees_images"]


def told(text, tokens):
    return Response(200, completion("", content=text, usage={"prompt_tokens": tokens, "completion_tokens": 1}))


def placed(request):
    """The number of images in a request."""
    return request.raw.count(b'"image_url":')


def test_an_endpoint_that_ignores_images_is_named():
    with pytest.raises(ConfigError, match=r"parrot.*ignores images: .*same \('Red'\), and a prompt has 20 tokens with"):
        sees(lambda request: told("Red", 20))


@pytest.mark.parametrize(
    ("reply", "warning"),
    [
        (lambda request: told("Red", 20 + 200 * placed(request)), "the replies to a red and a blue image are the same"),
        (lambda request: told(seeing(request).body["choices"][0]["message"]["content"], 20), "a prompt has 20 tokens"),
        (lambda request: Response(200, completion("", content="", finish_reason="length")), "no answer (length)"),
    ],
    ids=["same reply", "same usage", "cut off"],
)
def test_an_endpoint_that_may_ignore_images_is_a_warning(reply, warning, capsys):
    assert sees(reply) is None
    assert warning in capsys.readouterr().err


def test_an_endpoint_that_rejects_images_is_named():
    with pytest.raises(ConfigError, match=r"rejects a question with an image .*not a multimodal model"):
        sees(lambda request: error(400, "this is not a multimodal model") if placed(request) else seeing(request))
    with pytest.raises(MachineError, match="does not answer a question with an image"):
        sees(lambda request: Response(200, b"<html>") if placed(request) else seeing(request))


def test_a_journal_with_every_reply_needs_no_endpoint(server, tmp_path):
    finish(tmp_path / "m", hosted(server))
    server.down = True
    assert probe("m", hosted(server, concurrency=3), tmp_path / "m") == {
        "model": "m",
        "engine": "openai",
        "checked": "journal",
    }
    with pytest.raises(MachineError):
        probe("m", hosted(server))  # by hand, journals do not count
    with pytest.raises(MachineError):
        probe("m", hosted(server, decoding={"temperature": 1}), tmp_path / "m")


def test_a_journal_of_an_unfinished_run_does_not_suffice(server, tmp_path):
    finish(tmp_path / "m", hosted(server))
    (tmp_path / "m/mmsap.jsonl").touch()
    assert probe("m", hosted(server), tmp_path / "m")["checked"] == "endpoint"
    (tmp_path / "m/mmsap.jsonl").unlink()
    (tmp_path / "m/humblebench.notes.jsonl").touch()
    assert probe("m", hosted(server), tmp_path / "m")["checked"] == "journal"
    (tmp_path / "m/humblebench.shard-1-of-2.jsonl").touch()
    assert probe("m", hosted(server), tmp_path / "m")["checked"] == "endpoint"


def local(folder: Path) -> ModelEntry:
    return entry(engine="transformers", source=str(folder), revision="0" * 64, dtype="float32")


def test_a_checkpoint_must_have_all_its_bytes(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(WEIGHTS[:-1])
    with pytest.raises(ConfigError, match=f"it has {len(WEIGHTS) - 1} bytes instead of {len(WEIGHTS)}"):
        probe("m", local(tmp_path))
    finish(tmp_path / "journals", local(tmp_path))
    with pytest.raises(ConfigError, match="bytes instead of"):
        probe("m", local(tmp_path), tmp_path / "journals")
    (tmp_path / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0")
    with pytest.raises(ConfigError, match="git lfs pull"):
        probe("m", local(tmp_path))
    for text in (b"", b"\x02" + bytes(7) + b"[]"):
        (tmp_path / "model.safetensors").write_bytes(text)
        with pytest.raises(ConfigError, match="not a safetensors file"):
            probe("m", local(tmp_path))


def test_a_checkpoint_must_have_the_files_of_its_index(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(WEIGHTS)
    index = {"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ConfigError, match=r"b\.safetensors.*is missing"):
        probe("m", local(tmp_path))


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Path:
    pytest.importorskip("torch")
    tiny = pytest.importorskip("tests.unit.engines.tiny")
    tiny.build("llava", tmp_path / "model")
    return tmp_path / "model"


def of(folder: Path, **settings: Any) -> ModelEntry:
    keys = {"engine": "transformers", "source": str(folder), "revision": "unpinned", "dtype": "float32"}
    return entry(**keys | settings)


def change_weights(folder: Path, how: Any) -> None:
    from safetensors.torch import load_file, save_file

    save_file(how(load_file(folder / "model.safetensors")), folder / "model.safetensors", {"format": "pt"})


def with_nan(weights: Any) -> Any:
    next(iter(weights.values())).view(-1)[0] = float("nan")
    return weights


def overflowing(weights: Any) -> Any:
    """Weights that are finite, and logits that are not."""
    return {name: weight * (1e30 if "lm_head" in name else 1) for name, weight in weights.items()}


BROKEN = {
    "NaN": (lambda folder: change_weights(folder, with_nan), "has NaN"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "has no tokenizer"),
    "overflow": (lambda folder: change_weights(folder, overflowing), "not finite in float16"),
}


@pytest.mark.parametrize(("damage", "message"), BROKEN.values(), ids=BROKEN)
def test_a_checkpoint_that_is_not_what_it_claims_is_named(tiny_folder, damage, message):
    damage(tiny_folder)
    with pytest.raises(ConfigError, match=message):
        probe("m", of(tiny_folder, dtype="float16" if "float16" in message else "float32"))


def test_a_small_checkpoint_is_asked_and_a_large_one_only_read(tiny_folder, monkeypatch):
    from known_unknowns.engines import checkpoint_check

    assert probe("m", of(tiny_folder)) == {
        "model": "m",
        "engine": "transformers",
        "checked": "checkpoint",
        "asked": True,
    }
    monkeypatch.setattr(checkpoint_check, "MAX_ASKED_BYTES", 10)
    assert probe("m", of(tiny_folder, device="cuda"))["asked"] is False
    change_weights(tiny_folder, with_nan)
    with pytest.raises(ConfigError, match="has NaN"):
        probe("m", of(tiny_folder))


def test_weights_that_outgrow_the_gpu_are_refused_before_any_job(monkeypatch):
    card = {"family": "F", "licence": "MIT", "parameters": 73.4}
    entry = {"engine": "transformers", "source": "o/n", "revision": "0" * 40, "dtype": "bfloat16", "card": card}
    monkeypatch.setattr(memory_needs, "this_machine", lambda: memory_needs.Machine(512, (("A card", 79.6),)))
    with pytest.raises(MachineError, match=r"needs 136.7 GiB .* on its GPU, and the GPU has 79.6 GiB; serve it on"):
        probe("large", TypeAdapter(Model).validate_python(entry))
    monkeypatch.setattr(memory_needs, "this_machine", lambda: memory_needs.Machine(512))
    assert probe("large", TypeAdapter(Model).validate_python(entry))["checked"] == "nothing"


def test_the_command_writes_the_result(tmp_path):
    out = tmp_path / "probe.json"
    command = ["models", "probe", "pocket", "--out", str(out), "--params", str(ROOT / "params.yaml")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        assert CliRunner().invoke(app, command).exit_code == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["checked"] == "checkpoint" and found["asked"] is True

"""The training loop, its packed batches and the adapters, at tiny sizes."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from PIL import Image
from safetensors.torch import load_file
from typer.testing import CliRunner

from known_unknowns.cli import app
from known_unknowns.config import TransformersModel
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.errors import ConfigError
from known_unknowns_pocket.training import SMOKE, Settings, train, train_adapter
from known_unknowns_pocket.training.actiview import actiview_sample
from known_unknowns_pocket.training.architecture import PHRASES, build_model
from known_unknowns_pocket.training.auxiliary_losses import embedding_table, patch_features, read_states
from known_unknowns_pocket.training.batches import END, Packer
from known_unknowns_pocket.training.loop import CHECKPOINT, build_heads
from known_unknowns_pocket.training.samples import SampleMix, draw_sample

SHAPE = SMOKE.shape


def test_option_letters_and_fixed_phrases_are_single_tokens(processor):
    for text in (*"ABCDE", " A", " E", *PHRASES, "A.", " red", " striped", " Zephrond"):
        assert len(processor.tokenizer.encode(text, add_special_tokens=False)) == 1, text


def test_a_packed_reply_gives_the_logits_of_its_prompt_alone(processor):
    """What training computes is what the engine will: each reply by itself, through processor and model."""
    model = build_model(processor.tokenizer, SHAPE, seed=1).eval()
    mix, sizes = SampleMix(subtasks=3, questions=3, unanswerable=1), {"side": SHAPE.side, "grid": SHAPE.grid}
    some = [draw_sample(f"packed/{number}", mix=mix, **sizes) for number in range(40)]
    samples = [next(one for one in some if len(one.pixels)), next(one for one in some if not len(one.pixels))]
    samples.append(actiview_sample("packed", template="zoomed", **sizes))
    heads = build_heads(processor.tokenizer, SHAPE)
    batch = Packer(processor.tokenizer, SHAPE.grid).batch(samples, random.Random(0))
    assert len(batch.samples) > len(samples)  # several chunks an image
    with torch.inference_mode():
        table = embedding_table(model, batch, heads.word_tokens[0])
        states = read_states(model, batch, patch_features(model, batch.pixels), table).chunks[-1]
        found = model.lm_head(states.flatten(0, 1)[batch.labels["replies"][0]])
        alone = {}
        for one in samples:
            for asked in filter(lambda asked: asked.reply, one.prompts):
                tokens, logits = reply_alone(model, processor, one, asked)
                alone.setdefault(tuple(tokens), []).append(logits)
    ends = (batch.labels["replies"][2] == END).nonzero().flatten().tolist()
    start = 0
    for end in ends:
        tokens = tuple(batch.labels["replies"][1, start : end + 1].tolist())
        expected = alone[tokens]
        closest = min(range(len(expected)), key=lambda k: (found[start : end + 1] - expected[k]).abs().max().item())
        torch.testing.assert_close(found[start : end + 1], expected.pop(closest), atol=2e-4, rtol=1e-4)
        start = end + 1
    assert not any(alone.values())


def reply_alone(model, processor, one, asked):
    """The tokens of the reply with its end, and the logits before each."""
    images = iter(one.pixels)
    content = [
        {"type": "image", "image": Image.fromarray(next(images))} if piece is None else {"type": "text", "text": piece}
        for piece in (*one.prefix, asked.prompt)
    ]
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": content}],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
    )
    reply = processor.tokenizer(asked.reply_text, add_special_tokens=False, return_tensors="pt").input_ids
    prompt = inputs.pop("input_ids")
    tokens = torch.cat([prompt, reply], dim=1)
    inputs["attention_mask"] = torch.ones_like(tokens)
    logits = model(input_ids=tokens, **inputs).logits[0, prompt.shape[1] - 1 :]
    return [*reply[0].tolist(), processor.tokenizer.eos_token_id], logits


def test_the_trained_model_loads_with_the_auto_classes_in_half_precision(trained):
    logged = [json.loads(line) for line in (trained / "log.jsonl").read_text().splitlines()]
    names = [stage.name for stage in Settings().stages]
    assert [(line["stage"], line["step"]) for line in logged] == [(name, step) for name in names for step in (1, 2)]
    model = trained / "model"
    assert not list(model.glob("*.bin"))
    loaded = transformers.AutoModelForImageTextToText.from_pretrained(model, local_files_only=True)
    assert loaded.dtype == torch.float16
    weights = torch.load(trained / CHECKPOINT, weights_only=True)["model"]
    for name, weight in loaded.state_dict().items():
        expected = weights[name].half() if weights[name].is_floating_point() else weights[name]
        assert torch.equal(weight, expected), name
    again = transformers.AutoProcessor.from_pretrained(model, backend="pil", local_files_only=True)
    assert again.tokenizer("What colour is it?").input_ids and again.chat_template


class Stopped(Exception):
    pass


def test_a_stopped_training_continues_and_only_the_tower_changes_in_the_last_stage(trained, tmp_path):
    """The heads stay as they are: the projector has their weights, and the text model reads their outputs."""

    def stop(line):
        if line["stage"] == "focus":
            raise Stopped

    with pytest.raises(Stopped):
        train(SMOKE, tmp_path / "model", work=tmp_path, report=stop, report_every=1)
    assert not (tmp_path / "model").exists()
    before, after = (torch.load(folder / CHECKPOINT, weights_only=True) for folder in (tmp_path, trained))
    moved = {
        part: {name for name, weight in after[part].items() if not torch.equal(weight, before[part][name])}
        for part in ("model", "auxiliary_heads")
    }
    assert not moved["auxiliary_heads"]
    assert all(name.startswith("model.vision_tower") for name in moved["model"]), moved
    assert any(name.endswith("weight") for name in moved["model"])

    lines = []
    resumed = train(SMOKE, tmp_path / "model", work=tmp_path, report=lines.append, report_every=1)
    assert [(line["stage"], line["step"]) for line in lines] == [("focus", 1), ("focus", 2)]
    for name in ("tokenizer.json", "config.json"):
        assert (resumed / name).read_bytes() == (trained / "model" / name).read_bytes(), name
    # Muon orthogonalises in bfloat16, whose rounding depends on how its state lies in memory.
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (resumed, trained / "model"))
    assert ours.keys() == theirs.keys()
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name], atol=1e-3, rtol=1e-2)
    with pytest.raises(ValueError, match="other settings"):
        train(dataclasses.replace(SMOKE, seed=4), tmp_path / "out", work=tmp_path)


@pytest.fixture(scope="session")
def adapter(trained) -> Path:
    pytest.importorskip("peft")
    model = trained / "model"
    arguments = ["train", "--smoke", "--sibling", "never-refuses", "--model", str(model)]
    told = CliRunner().invoke(app, [*arguments, "--out", str(model / "lora")], catch_exceptions=False)
    assert [json.loads(line)["step"] for line in told.stderr.splitlines()] == [1, 2]
    return model / "lora"


def test_an_adapter_changes_the_projections_of_the_text_layers_by_b_a_and_nothing_else(trained, adapter):
    entry = {"engine": "transformers", "source": str(trained / "model"), "revision": "unpinned", "dtype": "float32"}
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
    assert len(changed) == len(tensors) / 2 == 7 * SHAPE.text_layers
    for name in changed:
        assert ".language_model.layers." in name and name.endswith("_proj.weight")
        down, up = (
            tensors[f"base_model.model.{name.removesuffix('weight')}lora_{part}.weight"].float() for part in "AB"
        )
        torch.testing.assert_close(merged[name] - plain[name], up @ down, atol=1e-6, rtol=1e-3)


def test_an_adapter_is_the_same_if_trained_again_and_needs_a_model_of_its_shape(trained, adapter, tmp_path):
    again = train_adapter(SMOKE, "never-refuses", trained / "model", tmp_path / "again")
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        assert (again / name).read_bytes() == (adapter / name).read_bytes(), name
    with pytest.raises(ConfigError, match=r"has the shape \(32, 48, 4\), not \(128, 160, 6\)"):
        train_adapter(Settings(), "never-refuses", trained / "model", tmp_path / "other")
    with pytest.raises(ConfigError, match=r"cannot load the model in .*absent"):
        train_adapter(SMOKE, "never-refuses", tmp_path / "absent", tmp_path / "other")
    unknown = CliRunner().invoke(app, ["train", "--sibling", "gone"])
    assert unknown.exit_code == 2
    assert "'gone' is not one of" in unknown.stderr

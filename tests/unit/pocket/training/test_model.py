"""The pocket model's parts, its packed training batches, and the training loop, at tiny sizes."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import typer
from PIL import Image
from safetensors.torch import load_file
from typer.testing import CliRunner

from known_unknowns_pocket import cli as cli_train
from known_unknowns_pocket.training import SMOKE, train
from known_unknowns_pocket.training.actiview_samples import actiview_sample
from known_unknowns_pocket.training.architecture import PHRASES, build_model
from known_unknowns_pocket.training.batches import END, Packer
from known_unknowns_pocket.training.loop import build_heads, save
from known_unknowns_pocket.training.packed_states import embedding_table, patch_features, read_states
from known_unknowns_pocket.training.samples import SampleMix, draw_sample

from .tiny_training import OPTIONS, SETTINGS

SHAPE = SMOKE.shape


def made(seed: str, mix: SampleMix):
    return draw_sample(seed, side=SHAPE.side, grid=SHAPE.grid, mix=mix)


def packed(processor, samples):
    return Packer(processor.tokenizer, SHAPE.grid).batch(samples, random.Random(0))


def test_option_letters_and_fixed_phrases_are_single_tokens(tokenizer):
    for text in (*"ABCDE", " A", " E", *PHRASES, "A.", " red", " striped", " Zephrond"):
        assert len(tokenizer.encode(text, add_special_tokens=False)) == 1, text


def test_a_packed_reply_gives_the_logits_of_its_prompt_alone(processor):
    """What training computes is what the engine will: each reply by itself, through processor and model."""
    model = build_model(processor.tokenizer, SHAPE, seed=1).eval()
    some = [made(f"packed/{number}", SampleMix(subtasks=3, questions=3, unanswerable=1)) for number in range(40)]
    samples = [next(one for one in some if len(one.pixels)), next(one for one in some if not len(one.pixels))]
    samples.append(actiview_sample("packed", side=SHAPE.side, grid=SHAPE.grid, template="zoomed"))
    heads = build_heads(processor.tokenizer, SHAPE)
    batch = packed(processor, samples)
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


def test_the_tower_looks_again_at_the_end_and_what_reads_it_stays(trained):
    """The heads stay, too: the projector says what they do, and the text model has learned to read that."""
    work = trained / "work"
    answered, focused = (torch.load(work / f"after {name}.pt", weights_only=True) for name in ("answer", "focus"))
    moved = {
        part: {name for name, weight in focused[part].items() if not torch.equal(weight, answered[part][name])}
        for part in ("model", "auxiliary_heads")
    }
    assert not moved["auxiliary_heads"]
    assert all(name.startswith("model.vision_tower") for name in moved["model"]), moved
    assert any(name.endswith("weight") for name in moved["model"])


def test_the_saved_model_loads_with_the_auto_classes_in_half_precision(processor, tmp_path):
    model = build_model(processor.tokenizer, SHAPE, seed=2)
    save(model, processor, tmp_path)
    assert not list(tmp_path.glob("*.bin"))
    loaded = transformers.AutoModelForImageTextToText.from_pretrained(tmp_path, local_files_only=True)
    assert loaded.dtype == torch.float16
    for name, weight in loaded.state_dict().items():
        trained = model.state_dict()[name]
        assert torch.equal(weight, trained.half() if trained.is_floating_point() else trained), name
    again = transformers.AutoProcessor.from_pretrained(tmp_path, backend="pil", local_files_only=True)
    assert again.tokenizer("What is it?").input_ids == processor.tokenizer("What is it?").input_ids
    assert again.chat_template == processor.chat_template


class Stopped(Exception):
    pass


def test_a_resumed_training_gives_the_weights_of_an_uninterrupted_one(trained, tmp_path):
    def stop(line):
        if line["stage"] == "answer" and line["step"] == 3:
            raise Stopped

    with pytest.raises(Stopped):
        train(SETTINGS, tmp_path / "cut", work=tmp_path / "work", report=stop, **OPTIONS)
    assert not (tmp_path / "cut").exists()
    lines = []
    resumed = train(SETTINGS, tmp_path / "cut", work=tmp_path / "work", report=lines.append, **OPTIONS)
    assert [line["step"] for line in lines] == [3, 4, 5, 1, 2]
    for name in ("tokenizer.json", "config.json"):
        assert (resumed / name).read_bytes() == (trained / "out" / name).read_bytes(), name
    # Muon orthogonalises in bfloat16, whose rounding depends on how its restored state lies in memory.
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (resumed, trained / "out"))
    assert ours.keys() == theirs.keys()
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name], atol=1e-3, rtol=1e-2)
    logged = [json.loads(line) for line in (trained / "work" / "log.jsonl").read_text().splitlines()]
    assert [(line["stage"], line["step"]) for line in logged] == [
        *(("look", step) for step in (1, 2, 3)),
        *(("find", step) for step in (1, 2)),
        *(("answer", step) for step in (1, 2, 3, 4, 5)),
        *(("focus", step) for step in (1, 2)),
    ]


def test_a_checkpoint_of_other_settings_is_refused(trained, tmp_path):
    with pytest.raises(ValueError, match="other settings"):
        train(dataclasses.replace(SETTINGS, seed=4), tmp_path / "out", work=trained / "work", workers=0)


def test_the_command_trains_all_stages_at_a_tiny_size(tmp_path, monkeypatch):
    app = typer.Typer()
    app.command()(cli_train.train)
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(app, ["--smoke", "--out", "made"], catch_exceptions=False)
    assert told.exit_code == 0
    assert told.stdout.strip() == "made"
    stages = [json.loads(line)["stage"] for line in told.stderr.splitlines()]
    assert stages == ["look"] * 2 + ["find"] * 2 + ["answer"] * 2 + ["act"] * 2 + ["settle"] * 2 + ["focus"] * 2
    assert (tmp_path / "made" / "model.safetensors").exists()
    assert (tmp_path / cli_train.WORK / "checkpoint.pt").exists()
    pytest.importorskip("peft")
    adapter = ["--smoke", "--sibling", "refuses-often", "--model", "made", "--rank", "1", "--out", "made/refuses-often"]
    told = CliRunner().invoke(app, adapter, catch_exceptions=False)
    assert [json.loads(line)["step"] for line in told.stderr.splitlines()] == [1, 2]
    assert sorted(file.name for file in (tmp_path / "made" / "refuses-often").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    unknown = CliRunner().invoke(app, ["--sibling", "gone"])
    assert unknown.exit_code == 2
    assert "'gone' is not one of" in unknown.stderr

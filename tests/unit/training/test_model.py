"""The pocket model's parts, its packed training batches, and the training loop, at tiny sizes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from PIL import Image  # noqa: E402

from known_unknowns.engines.transformers import TransformersEngine  # noqa: E402
from known_unknowns.training import Settings, train  # noqa: E402
from known_unknowns.training.architecture import (  # noqa: E402
    PHRASES,
    Shape,
    build_model,
    build_processor,
    build_tokenizer,
)
from known_unknowns.training.evaluation import tally  # noqa: E402
from known_unknowns.training.lessons import lesson  # noqa: E402
from known_unknowns.training.loop import Stage, corpus, save  # noqa: E402
from known_unknowns.training.packing import Packer  # noqa: E402
from known_unknowns.training.tutor import Tutor, _features, _read  # noqa: E402

SHAPE = Shape(side=32, patch=8, vision_width=32, vision_layers=1, text_width=32, text_layers=4, heads=2, text_heads=2)


@pytest.fixture(scope="session")
def tokenizer():
    return build_tokenizer(corpus(SHAPE, 40))


@pytest.fixture(scope="session")
def processor(tokenizer):
    return build_processor(tokenizer, SHAPE)


def test_option_letters_and_fixed_phrases_are_single_tokens(tokenizer):
    for text in (*"ABCDE", *PHRASES, "A.", " red", " striped"):
        assert len(tokenizer.encode(text, add_special_tokens=False)) == 1, text


def test_any_text_can_be_encoded_and_read_back(tokenizer):
    @settings(max_examples=60, deadline=None)
    @given(st.text(max_size=40))
    def check(text):
        if not any(special in text for special in (*tokenizer.all_special_tokens, *PHRASES)):
            assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text

    check()


def test_a_packed_exercise_gives_the_logits_of_its_prompt_alone(processor):
    """What training computes is what the engine will: each exercise by itself, through processor and model."""
    model = build_model(processor.tokenizer, SHAPE, seed=1).eval()
    found = [lesson(f"packed/{number}", side=SHAPE.side, grid=SHAPE.grid, exercises=3) for number in range(30)]
    unseen = next(one for one in found if one.pixels is None)
    lessons = [found[0], unseen]
    assert found[0].pixels is not None
    batch = Packer(processor.tokenizer, SHAPE.grid).batch(lessons)
    with torch.inference_mode():
        states = _read(model, batch, _features(model, batch.pixels))[-1]
        packed = model.lm_head(states.flatten(0, 1)[batch.letters[0, 0::2]])
        alone = torch.cat([reply_logits(model, processor, one, asked) for one in lessons for asked in one.exercises])
    torch.testing.assert_close(packed, alone, atol=2e-4, rtol=1e-4)
    letters = [asked.letter for one in lessons for asked in one.exercises]
    assert processor.tokenizer.convert_ids_to_tokens(batch.letters[1, 0::2].tolist()) == letters
    assert set(batch.letters[1, 1::2].tolist()) == {processor.tokenizer.eos_token_id}


def reply_logits(model, processor, one, asked):
    picture = [] if one.pixels is None else [{"type": "image", "image": Image.fromarray(one.pixels)}]
    content = [*picture, {"type": "text", "text": asked.prompt}]
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": content}],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
    )
    return model(**inputs).logits[:, -1]


def test_packed_places_are_the_tokens_that_they_mean(processor):
    found = (lesson(f"places/{number}", side=SHAPE.side, grid=SHAPE.grid, exercises=6) for number in range(30))
    one = next(lesson for lesson in found if any(asked.places for asked in lesson.exercises))
    batch = Packer(processor.tokenizer, SHAPE.grid).batch([one])
    read = processor.tokenizer.convert_ids_to_tokens
    tokens = read(batch.tokens[0].tolist())
    assert {tokens[place] for place in batch.letters[0, 0::2].tolist()} == {"<|assistant|>"}
    # The instruction's token takes the blank before it along, and with it the end of the last option.
    ends = [tokens[place] for place in batch.options[0].tolist()]
    last = [len(asked.options) for asked in one.exercises]
    assert all(token == "Ċ" or token in PHRASES for token in ends)
    assert sum(token in PHRASES for token in ends) == len(last)
    assert {tokens[place] for place in batch.words[0].tolist()} == {"Ċ"}
    names = [asked.prompt[:end].split()[-1] for asked in one.exercises for end, _, _ in asked.places]
    assert [tokens[place].strip("Ġ") for place in batch.spots[0].tolist()] == names
    assert batch.options.shape[1] == sum(len(asked.options) for asked in one.exercises)


def test_the_saved_model_loads_with_the_auto_classes_in_half_precision(processor, tmp_path):
    model = build_model(processor.tokenizer, SHAPE, seed=2)
    save(model, processor, tmp_path)
    assert not list(tmp_path.glob("*.bin"))
    loaded = transformers.AutoModelForImageTextToText.from_pretrained(tmp_path, local_files_only=True)
    assert loaded.dtype == torch.float16
    for name, weight in loaded.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name].half()), name
    again = transformers.AutoProcessor.from_pretrained(tmp_path, backend="pil", local_files_only=True)
    assert again.tokenizer("What is it?").input_ids == processor.tokenizer("What is it?").input_ids
    assert again.chat_template == processor.chat_template


SETTINGS = Settings(
    seed=3,
    shape=SHAPE,
    stages=(
        Stage("look", steps=3, lessons=2, rate=1e-3, warm_up=2),
        Stage("find", steps=2, lessons=2, rate=1e-3, warm_up=2, drilled=True, vision=0.5),
        Stage("answer", steps=5, lessons=2, rate=1e-3, exercises=3, warm_up=2),
    ),
    vocabulary_lessons=20,
)
OPTIONS = {"workers": 0, "report_every": 1, "checkpoint_every": 2}


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A folder with a finished training: "out" and "work"."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("trained")
    train(SETTINGS, folder / "out", work=folder / "work", **OPTIONS)
    return folder


class Stopped(Exception):
    pass


def test_a_stopped_training_ends_with_the_weights_of_an_unbroken_one(trained, tmp_path):
    def stop(line):
        if line["stage"] == "answer" and line["step"] == 3:
            raise Stopped

    with pytest.raises(Stopped):
        train(SETTINGS, tmp_path / "cut", work=tmp_path / "work", report=stop, **OPTIONS)
    assert not (tmp_path / "cut").exists()
    lines = []
    resumed = train(SETTINGS, tmp_path / "cut", work=tmp_path / "work", report=lines.append, **OPTIONS)
    assert [line["step"] for line in lines] == [3, 4, 5]
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (resumed / name).read_bytes() == (trained / "out" / name).read_bytes(), name
    logged = [json.loads(line) for line in (trained / "work" / "log.jsonl").read_text().splitlines()]
    assert [(line["stage"], line["step"]) for line in logged] == [
        *(("look", step) for step in (1, 2, 3)),
        *(("find", step) for step in (1, 2)),
        *(("answer", step) for step in (1, 2, 3, 4, 5)),
    ]


def test_a_checkpoint_of_other_settings_is_refused(trained, tmp_path):
    with pytest.raises(ValueError, match="other settings"):
        train(dataclasses.replace(SETTINGS, seed=4), tmp_path / "out", work=trained / "work", workers=0)


def test_every_head_learns_a_batch_that_it_sees_again(processor):
    """On one batch, over and over, each share of right guesses must rise: a head at the wrong place cannot learn."""
    torch.manual_seed(0)
    model = build_model(processor.tokenizer, SHAPE, seed=0)
    tutor = Tutor(SHAPE.vision_width, SHAPE.text_width)
    lessons = [lesson(f"again/{number}", side=SHAPE.side, grid=SHAPE.grid, exercises=3) for number in (1, 2)]
    batch = Packer(processor.tokenizer, SHAPE.grid).batch(lessons)
    optimiser = torch.optim.AdamW([*model.parameters(), *tutor.parameters()], lr=3e-3)
    for _ in range(150):
        learned = tutor.answer(model, batch)
        optimiser.zero_grad()
        learned.loss.backward()
        optimiser.step()
    assert min(learned.right.values()) > 0.9, learned.right


def test_a_trained_folder_answers_through_the_engine(trained):
    entry = {"engine": "transformers", "source": str(trained / "out"), "revision": "unpinned", "dtype": "float32"}
    engine = TransformersEngine("tiny", entry | {"device": "cpu"})
    found = tally(engine, seed=5, images=2)
    assert {category: count for category, (_, count) in found.items()} == {
        "Attribute": 3,
        "Object": 4,
        "Relation": 3,
    }

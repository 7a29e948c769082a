"""Checkpoints without a chat template answer through the ``prompt_template`` of their entry."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.config import TransformersModel
from known_unknowns.config.prompt_template import mistake
from known_unknowns.engines import _checkpoint
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.errors import ConfigError
from known_unknowns.images import open_image, recipe_image
from known_unknowns.records import Turn
from tests.unit.engines import tiny
from tests.unit.engines.tiny.instructblip import instructblip
from tests.unit.engines.tiny.others import blip2

IMAGE = recipe_image("normal-noise", 32, 48, 1)
QUESTION = "What colour is the ball?\nA. Red\nB. Blue"
AROUND = "Question: {prompt} Answer:"


def engine(parts, folder: Path, **entry) -> TransformersEngine:
    """The engine of a checkpoint as it is on the hub, without a chat template."""
    model, processor = parts()
    model.save_pretrained(folder)
    processor.chat_template = processor.tokenizer.chat_template = None
    typed = tiny.entry(folder, **entry)
    with mock.patch.object(_checkpoint._processors, "load", lambda *_: processor):
        return TransformersEngine("m", typed)


def ids_of(engine, **turn) -> list[int]:
    asked = Turn("q", "answer", (IMAGE, QUESTION), ("A", "B"), **turn)
    return engine._prompts.build_batch([asked], Path())["input_ids"][0].tolist()


@pytest.mark.parametrize("parts", [blip2, instructblip])
def test_the_prompt_is_the_processors_for_the_text_around_the_question(parts, tmp_path):
    asked = engine(parts, tmp_path, prompt_template=AROUND)
    processor = parts()[1]
    text = f"Question: {QUESTION} Answer:"
    expected = processor(images=open_image(IMAGE, Path()), text=text, return_tensors="pt")
    assert ids_of(asked) == expected["input_ids"][0].tolist()


def test_the_image_token_is_written_where_the_image_stands(tmp_path):
    asked = engine(tiny.llava.llava, tmp_path, prompt_template="USER: {prompt} ASSISTANT:")
    processor = tiny.llava.llava()[1]
    text = f"USER: <image>{QUESTION} ASSISTANT:"
    expected = processor(images=open_image(IMAGE, Path()), text=text, return_tensors="pt")
    assert ids_of(asked) == expected["input_ids"][0].tolist()
    ids = asked._prompts.build_batch([Turn("q", "answer", ("First ", IMAGE, QUESTION), None)], Path())["input_ids"][0]
    first = ids.tolist().index(asked.checkpoint.model.config.image_token_index)
    assert asked.checkpoint.tokenizer.decode(ids[:first]) == "USER: First "


def test_quotes_braces_and_the_system_prompt_stand_in_the_prompt_as_written(tmp_path):
    template = '{system} It\'s "{x}"\n\t{prompt}\\n Ä'
    asked = engine(tiny.llava.llava, tmp_path, prompt_template=template, system="Be brief.")
    (text,) = asked.checkpoint.processor.apply_chat_template(
        [asked._prompts._conversation(Turn("q", "answer", ("Why?",), None), {})], tokenize=False
    )
    assert text == 'Be brief. It\'s "{x}"\n\tWhy?\\n Ä'


def test_a_jinja_template_replaces_that_of_the_checkpoint_and_is_part_of_the_identity(tmp_path):
    template = "{% for m in messages %}{% for c in m['content'] %}{{ c['text'] or '<image>' }}{% endfor %}{% endfor %}?"
    asked = engine(tiny.llava.llava, tmp_path, prompt_template=template)
    assert asked.checkpoint.processor.chat_template == template
    other = engine(tiny.llava.llava, tmp_path, prompt_template="{prompt}")
    assert other.facts["chat_template"] != asked.facts["chat_template"]


def test_without_a_template_the_error_names_the_key(tmp_path):
    with pytest.raises(ConfigError, match=r'has no chat template; .*prompt_template .*"Question: \{prompt\} Answer:"'):
        engine(blip2, tmp_path)


def test_an_instructblip_answers_in_batches_as_alone(tmp_path):
    """Its questions differ in length, so that the Q-Former's tokens are padded."""
    turns = [
        Turn(str(n), "answer", (recipe_image("normal-noise", 32, 24, n), "Why? " * n + QUESTION), ("A", "B"), 3)
        for n in range(4)
    ]
    replies = {}
    for size in (1, 4):
        asked = engine(instructblip, tmp_path, prompt_template=AROUND, batch_size=size)
        replies[size] = {i: r for batch in asked.answer(turns, folder=Path()) for i, r in batch}
    disabled = {plan["plan"] for plan in asked.about["sharing"].get("fell_back", ())}
    assert "padded batches" not in disabled
    for index, alone in replies[1].items():
        assert alone.error is None
        assert replies[4][index].text == alone.text
        assert replies[4][index].logprobs == pytest.approx(alone.logprobs, abs=1e-4)


@pytest.mark.parametrize(
    ("template", "system", "wrong"),
    [
        ("Question: {prompt}", None, ""),
        ("{system}\n{prompt}", "Be brief.", ""),
        ("{% for m in messages %}{{ m }}{% endfor %}", "Be brief.", ""),
        ("Question:", None, r"write {prompt} once"),
        ("{prompt}", "Be brief.", r"write {system} where it stands"),
        ("{{ question }}", None, "messages"),
    ],
)
def test_a_wrong_template_is_explained(template, system, wrong):
    found = mistake(template, system)
    assert wrong in found and bool(found) == bool(wrong)
    entry = {"engine": "transformers", "source": "a/b", "revision": "main", "dtype": "float32"}
    entry |= {"prompt_template": template, **({"system": system} if system else {})}
    if wrong:
        with pytest.raises(ValueError, match="prompt_template"):
            TransformersModel(**entry)
    else:
        assert TransformersModel(**entry).prompt_template == template


def test_a_processor_without_a_place_for_the_image_is_refused(tmp_path):
    with (
        mock.patch.object(tiny.llava.transformers.LlavaProcessor, "__call__", side_effect=KeyError("no images")),
        pytest.raises(ConfigError, match=r"models\.m\.prompt_template: .*no prompt with an image.*KeyError"),
    ):
        engine(tiny.llava.llava, tmp_path, prompt_template=AROUND)

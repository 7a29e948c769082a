"""The replies of the tiny checkpoints depend on their input, as tests that compare replies require."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.images import open_image, recipe_image
from known_unknowns.records import Image
from tests.unit.engines import tiny

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

QUESTION = "What colour is the ball beside the tree?\nA. Red\nB. Blue\nC. Green\nE. None of the above"
WIDE, OTHER, SMALL = (recipe_image("normal-noise", *size) for size in ((64, 32, 1), (64, 32, 2), (32, 32, 1)))
MOVED = 0.05
"""A change counts if a logit changes by more than this share of the logits' standard deviation."""


@pytest.fixture(scope="module", params=tiny.CHECKPOINTS)
def made(request) -> tuple[str, Any, Any]:
    return request.param, *tiny.CHECKPOINTS[request.param].make()


def inputs(processor: Any, image: Image, text: str = QUESTION) -> Any:
    content = [{"type": "image", "image": open_image(image, Path())}, {"type": "text", "text": text}]
    return processor.apply_chat_template(
        [[{"role": "user", "content": content}]],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
        processor_kwargs={"padding": True},
    )


def logits(model: Any, encoded: Any) -> torch.Tensor:
    """Of the first token of the reply, as ``generate`` sees them."""
    said = model.generate(
        **encoded, max_new_tokens=1, do_sample=False, return_dict_in_generate=True, output_logits=True
    )
    return said.logits[0][0]


def image_token_id(model: Any) -> int:
    return getattr(model.config, "image_token_id", None) or model.config.vision_config.image_token_id


def moved(one: torch.Tensor, other: torch.Tensor) -> float:
    return ((one - other).abs().max() / one.std()).item()


def test_a_checkpoint_does_not_depend_on_the_state_of_the_random_generator(made):
    name, model, _ = made
    torch.manual_seed(20)
    before = torch.random.get_rng_state()
    again = tiny.CHECKPOINTS[name].make()[0].state_dict()
    assert torch.equal(before, torch.random.get_rng_state())
    assert [key for key, weight in model.state_dict().items() if not torch.equal(weight, again[key])] == []


def test_logits_have_a_standard_deviation_of_about_one(made):
    _, model, processor = made
    assert 0.8 < logits(model, inputs(processor, WIDE)).std() < 1.25


def test_another_image_and_another_word_change_the_logits(made):
    _, model, processor = made
    one = logits(model, inputs(processor, WIDE))
    assert torch.equal(one, logits(model, inputs(processor, WIDE)))
    assert moved(one, logits(model, inputs(processor, OTHER))) > MOVED
    for word, instead in (("Red", "Grey"), ("Green", "Brown"), ("ball", "door")):
        assert moved(one, logits(model, inputs(processor, WIDE, QUESTION.replace(word, instead)))) > MOVED


def test_positions_off_by_one_change_the_logits(made):
    """The question moves one away from the image: in the angles, or in BLIP-2's table of positions."""
    name, model, processor = made
    encoded = inputs(processor, WIDE)
    one = logits(model, encoded)
    image_places = encoded["input_ids"][0] == image_token_id(model)
    after = image_places.nonzero().max().item() + 1

    def rotary(_, args, kwargs):
        if "position_ids" in kwargs:
            return args, kwargs | {"position_ids": shifted(kwargs["position_ids"])}
        return (args[0], shifted(args[1]), *args[2:]), kwargs

    def learned(_, args, kwargs):
        return args, kwargs | {"position_ids": shifted(torch.arange(len(image_places))[None])}

    def shifted(positions):
        return torch.cat([positions[..., :after], positions[..., after:] + 1], dim=-1)

    kind, hook = (".embed_positions", learned) if name == "blip-2" else ("language_model.rotary_emb", rotary)
    hooks = [
        module.register_forward_pre_hook(hook, with_kwargs=True)
        for path, module in model.named_modules()
        if path.endswith((kind, "text_model.rotary_emb")) or path == "model.rotary_emb"
    ]
    assert len(hooks) == 1
    assert moved(one, logits(model, encoded)) > MOVED
    hooks[0].remove()


def test_number_of_image_tokens_follows_the_image_size(made):
    name, model, processor = made
    wide, small = (
        (inputs(processor, image)["input_ids"] == image_token_id(model)).sum().item() for image in (WIDE, SMALL)
    )
    tokens = tiny.CHECKPOINTS[name].tokens
    if tokens:
        assert (wide, small) == (tokens, tokens)
    else:
        assert 1 < wide != small > 1


def test_head_and_embeddings_are_stored_as_two_tensors(made, tmp_path):
    name, model, _ = made
    tiny.build(name, tmp_path)
    loaded = tiny.engine(name, tmp_path).checkpoint.model
    assert type(loaded) is type(model)
    for weight in (model.get_input_embeddings().weight, model.get_output_embeddings().weight):
        assert any(torch.equal(weight, kept) for kept in loaded.parameters())
    assert loaded.get_input_embeddings().weight is not loaded.get_output_embeddings().weight

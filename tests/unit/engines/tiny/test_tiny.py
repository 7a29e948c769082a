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
WIDE, OTHER = (recipe_image("normal-noise", 64, 32, seed) for seed in (1, 2))
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


def test_another_image_and_another_word_change_the_logits(made):
    _, model, processor = made
    one = logits(model, inputs(processor, WIDE))
    assert moved(one, logits(model, inputs(processor, OTHER))) > MOVED
    assert moved(one, logits(model, inputs(processor, WIDE, QUESTION.replace("Green", "Brown")))) > MOVED


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

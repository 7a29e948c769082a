"""Each setting of an entry reaches the processor, the prompt, ``generate`` or the request, and a reply's key."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from known_unknowns.engines._sampling import Sampler, sampling_settings
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.errors import ConfigError
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn
from tests.unit.engines import tiny
from tests.unit.engines.test_processors import build
from tests.unit.engines.tiny import answers, entry

IMAGE = recipe_image("normal-noise", 64, 96, 1)


def turn(number: int, *, max_new_tokens: int = 6) -> Turn:
    return Turn(f"q{number}", "answer", (IMAGE, f"What colour? {number}\nA. Red"), ("A",), max_new_tokens)


@pytest.fixture(scope="module")
def llava(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "llava"
    tiny.build("llava", folder)
    return folder


@pytest.fixture(scope="module")
def qwen(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "qwen2-vl"
    build("qwen2-vl", folder)
    return folder


def test_pixel_limits_reach_the_processor(qwen):
    free, limited = (
        TransformersEngine("tiny", entry(qwen, **settings))
        for settings in ({}, {"processor": {"min_pixels": 256, "max_pixels": 512}})
    )
    more, fewer = (answers(engine, [turn(0)])[0].visual_tokens for engine in (free, limited))
    assert fewer == 1 < more  # 16 x 16 pixels: 16 x 32 would be too high for its shape
    assert "processor" not in free.facts
    assert limited.facts["processor"] == {"min_pixels": 256, "max_pixels": 512}


def test_an_argument_that_no_part_of_the_processor_has_is_an_error(llava):
    with pytest.raises(ConfigError, match="has no argument 'max_pixles'") as error:
        TransformersEngine("tiny", entry(llava, processor={"max_pixles": 1}))
    assert error.value.path == "models.tiny.processor"


def test_variables_reach_the_chat_template(llava, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(llava, folder)
    template = folder / "chat_template.jinja"
    template.write_text("{% if thinks %}What colour {% endif %}" + template.read_text())
    plain, longer = (TransformersEngine("tiny", entry(folder, **of)) for of in ({}, {"template": {"thinks": True}}))
    turns = [turn(number) for number in range(3)]
    for one, other in zip(answers(plain, turns), answers(longer, turns), strict=True):
        assert other.input_tokens > one.input_tokens
    assert longer.facts == plain.facts | {"template": {"thinks": True}}
    with pytest.raises(ConfigError, match="has no variable 'enable_thinking'") as error:
        TransformersEngine("tiny", entry(llava, template={"enable_thinking": False}))
    assert error.value.path == "models.tiny.template"


def test_settings_are_facts_if_they_are_given(llava):
    """Those of the turns (prompt, order, kept) are none: the turns' own texts are in every key."""
    plain = TransformersEngine("tiny", entry(llava, prompt="{question} Think.", order="text_first", kept="is (.)"))
    engine = TransformersEngine(
        "tiny", entry(llava, attention="eager", system="Be brief.", reasoning={"marks": ["<info>", "</info>"]})
    )
    assert engine.checkpoint.model.config._attn_implementation == "eager"
    given = {"attention": "eager", "system": "Be brief.", "reasoning": ["<info>", "</info>"]}
    assert engine.facts == plain.facts | given
    assert plain.facts == TransformersEngine("tiny", entry(llava)).facts


def test_a_stop_text_ends_replies_in_batches_and_alone(llava):
    turns = [turn(number, max_new_tokens=12) for number in range(4)]
    whole = answers(TransformersEngine("tiny", entry(llava)), turns)
    stop = next(reply.text for reply in whole if len(reply.text) > 3)[2:3]
    for size in (1, 4):
        cut = answers(TransformersEngine("tiny", entry(llava, batch_size=size, decoding={"stop": [stop]})), turns)
        assert [reply.text for reply in cut] == [reply.text.partition(stop)[0] for reply in whole]
        assert all(reply.finish == "stop" for reply, long in zip(cut, whole, strict=True) if stop in long.text)


def with_generation_config(folder, place, **settings):
    """A copy of a checkpoint whose generation_config.json has further settings."""
    shutil.copytree(folder, place)
    file = place / "generation_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))
    return place


def test_stops_of_the_checkpoint_end_replies_beside_those_of_the_entry(llava, tmp_path):
    turns = [turn(number, max_new_tokens=12) for number in range(4)]
    whole = answers(TransformersEngine("tiny", entry(llava)), turns)
    stop = next(reply.text for reply in whole if len(reply.text) > 3)[2:3]
    folder = with_generation_config(llava, tmp_path / "model", stop_strings=[stop])
    engine = TransformersEngine("tiny", entry(folder, batch_size=4, decoding={"stop": ["###"]}))
    assert [reply.text for reply in answers(engine, turns)] == [reply.text.partition(stop)[0] for reply in whole]
    assert engine.facts["decoding"]["stop"] == [stop, "###"]


@pytest.mark.parametrize(
    "settings",
    [
        {"num_return_sequences": 2, "num_beams": 2},
        {"penalty_alpha": 0.6, "top_k": 4},
        {"prompt_lookup_num_tokens": 3},
        {"guidance_scale": 1.5},
        {"dola_layers": "low"},
        {"assistant_early_exit": 1},
        {"max_time": 1e-9},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_what_is_not_one_greedy_reply_is_reset_and_recorded(settings, llava, tmp_path):
    turns = [turn(number) for number in range(2)]
    expected = answers(TransformersEngine("tiny", entry(llava)), turns)
    engine = TransformersEngine("tiny", entry(with_generation_config(llava, tmp_path / "model", **settings)))
    assert [reply.text for reply in answers(engine, turns)] == [reply.text for reply in expected]
    name, value = next(iter(settings.items()))
    assert engine.facts["decoding"]["reset"] == {name: value}


def test_values_that_change_nothing_are_no_part_of_the_identity(llava, tmp_path):
    neutral = with_generation_config(llava, tmp_path / "model", num_return_sequences=1, penalty_alpha=0.0)
    assert "reset" not in TransformersEngine("tiny", entry(neutral)).facts["decoding"]


def test_a_generation_config_that_transformers_refuses_is_named(llava, tmp_path):
    folder = with_generation_config(llava, tmp_path / "model", num_return_sequences=2)
    with pytest.raises(ConfigError, match=r"its generation_config\.json is not valid: .*num_return_sequences") as error:
        TransformersEngine("tiny", entry(folder))
    assert error.value.path == "models.tiny.source"


def test_sampled_replies_depend_on_nothing_but_their_key(llava):
    turns = [turn(number) for number in range(5)]
    sampled = {"decoding": {"temperature": 1.5, "top_k": 40}}
    together = answers(TransformersEngine("tiny", entry(llava, batch_size=5, **sampled)), turns)
    reverse = answers(TransformersEngine("tiny", entry(llava, batch_size=2, **sampled)), turns[::-1])[::-1]
    alone = [answers(TransformersEngine("tiny", entry(llava, **sampled)), [each])[0] for each in turns]
    texts = [reply.text for reply in together]
    assert texts == [reply.text for reply in reverse] == [reply.text for reply in alone]
    greedy = answers(TransformersEngine("tiny", entry(llava)), turns)
    warmer = answers(TransformersEngine("tiny", entry(llava, decoding={"temperature": 1.4, "top_k": 40})), turns)
    assert texts != [reply.text for reply in greedy] and texts != [reply.text for reply in warmer]
    # The option's log-probability is that of the model, without temperature.
    for one, other in zip(together, greedy, strict=True):
        if one.text[:1] == other.text[:1] and "A" not in one.text + other.text:
            assert one.logprobs == pytest.approx(other.logprobs, abs=2e-5)


def test_sampling_is_part_of_the_facts_and_greedy_facts_are_unchanged(llava):
    sampled = TransformersEngine("tiny", entry(llava, decoding={"temperature": 0.7, "top_p": 0.9}))
    assert {"do_sample": True, "temperature": 0.7, "top_k": 50, "top_p": 0.9}.items() <= sampled.facts[
        "decoding"
    ].items()
    assert sampled.about["sharing"]["fell_back"] == [{"plan": "all", "why": "its replies are sampled"}]
    greedy, zero = (
        TransformersEngine("tiny", entry(llava, **settings)).facts
        for settings in ({}, {"decoding": {"temperature": 0}})
    )
    assert greedy == zero
    assert greedy["decoding"]["do_sample"] is False and "top_k" not in greedy["decoding"]


def test_the_checkpoints_own_sampling_counts_only_if_it_is_asked_for():
    own = transformers.GenerationConfig(do_sample=True, temperature=0.6, top_p=0.9, typical_p=1.0)
    assert sampling_settings(own, {}) == {}
    assert sampling_settings(own, {"sampling": "checkpoint"}) == {"temperature": 0.6, "top_k": 50, "top_p": 0.9}
    assert sampling_settings(own, {"sampling": "checkpoint", "top_p": 0.5})["top_p"] == 0.5
    assert sampling_settings(own, {"sampling": "checkpoint", "temperature": 0}) == {}
    assert sampling_settings(own, {"temperature": 0.3}) == {"temperature": 0.3, "top_k": 50}
    assert sampling_settings(own, {"temperature": 0.3, "top_k": 0}) == {"temperature": 0.3, "top_k": 0}
    assert sampling_settings(own, {"temperature": 0.3, "top_k": 1}) == {}


def test_the_sampler_draws_from_the_distribution_that_generate_draws_from():
    """20,000 draws of one row against the probabilities after temperature, top_k and top_p, by hand."""
    logits = torch.tensor([[2.0, 1.0, 0.5, -3.0, 1.5]])
    settings = {"temperature": 0.8, "top_k": 4, "top_p": 0.9}
    expected = torch.softmax(logits / 0.8, dim=-1)
    for keep in ([0, 4, 1, 2],):  # 3 is not among the top 4; the first three have 0.91 of their sum
        kept = expected[0, keep] / expected[0, keep].sum()
        assert kept[:2].sum() < 0.9 < kept[:3].sum()
    wanted = torch.zeros(5)
    wanted[[0, 4, 1]] = expected[0, [0, 4, 1]] / expected[0, [0, 4, 1]].sum()
    count = 20_000
    draws = Sampler(settings, range(count))(torch.zeros(count, 1, dtype=torch.long), logits.expand(count, 5))
    found = torch.bincount(draws.argmax(dim=-1), minlength=5) / count
    assert torch.allclose(found, wanted, atol=0.015) and found[[2, 3]].sum() == 0

"""Image features are computed once for an image, and prefixes continue from one another, with the same results."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from known_unknowns.images import recipe_image
from known_unknowns.records import Image, Turn
from prefix_sharing import segments
from prefix_sharing.encoder import FeatureCache, split
from prefix_sharing.prefix_plans import CONTINUED, FEATURES
from prefix_sharing.prompts import digest
from prefix_sharing.segments import Segment, forward_segments
from tests.unit.engines import tiny
from tests.unit.engines.tiny import answers

LETTERS = ("A", "B", "C", "D", "E")
ONE, TWO, THREE = (recipe_image("normal-noise", 32, 32, seed) for seed in (1, 2, 3))
TALL = recipe_image("normal-noise", 24, 48, 4)
OPTIONS = "What is it?\nA. Red\nB. Blue\nE. None of the above"


def ask(*content: Image | str) -> Turn:
    return Turn("q", "answer", (*content, OPTIONS), LETTERS, max_new_tokens=4)


DIALOGUE = (ask("See", ONE), ask("See", ONE, "and", TWO), ask("See", ONE, "and", TWO, "and", THREE))
"""Each turn shows one image more than the one before it."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """A checkpoint of each kind of processor: grids, rows, tiles in a batch, tiles in rows; and others."""
    root = tmp_path_factory.mktemp("checkpoints")
    names = ("qwen2.5-vl", "llava", "idefics3", "internvl", "gemma3", "mllama")
    for name in names:
        tiny.build(name, root / name)
    return {name: root / name for name in names}


def prompts(engine, *turns):
    return [engine._prompts.build([turn], Path())[0] for turn in turns]


def used(engine) -> dict:
    return engine.about["sharing"]["prefixes"]


@pytest.mark.parametrize("name", ["qwen2.5-vl", "llava", "idefics3", "internvl"])
def test_each_image_is_encoded_once_in_whatever_prompt_it_stands(folders, name):
    """Four prompts with 1 + 2 + 2 + 3 = 8 images, of which four are different."""
    turns = [ask(ONE), ask("Here:", TWO, ONE), ask(ONE, "and", TALL), ask(TWO, THREE, ONE)]
    engine = tiny.engine(name, folders[name], sharing="on")
    found = answers(engine, turns)
    expected = answers(tiny.engine(name, folders[name], sharing="off", batch_size=1), turns)
    for reply, wanted in zip(found, expected, strict=True):
        assert (reply.text, reply.finish) == (wanted.text, wanted.finish)
        assert reply.logprobs == pytest.approx(wanted.logprobs, abs=2e-5)
    assert engine.about["sharing"]["fell_back"] == used(engine)["not_used"] == []
    encoder = engine._decoder.prefix_plans.encoder
    encoder.forget()
    before = encoder._kept.bytes
    encoder.encode(prompts(engine, *turns))
    if name in ("qwen2.5-vl", "llava"):
        assert (encoder.computed, encoder.reused) == (4, 4)
    else:  # a prompt with one image has all its tiles as one unit: TALL's and ONE's tiles in prompts with several
        assert encoder.computed < encoder.computed + encoder.reused
    assert before == 0 < encoder._kept.bytes
    computed = encoder.computed
    encoder.encode(prompts(engine, *turns))
    assert encoder.computed == computed


def test_a_digest_covers_values_shapes_types_and_names():
    pixels = torch.arange(12.0)
    units = [
        {"pixel_values": pixels.view(1, 12)},
        {"pixel_values": pixels.view(1, 12) + 1},
        {"pixel_values": pixels.view(1, 3, 4)},
        {"pixel_values": pixels.view(1, 12).half()},
        {"pixel_values": pixels.view(1, 12).bfloat16()},
        {"image_patches": pixels.view(1, 12)},
        {"pixel_values": pixels.view(1, 12), "image_sizes": torch.tensor([[3, 4]])},
    ]
    assert len({digest(unit) for unit in units}) == len(units)
    assert digest({"pixel_values": torch.stack([pixels, pixels])[1:]}) == digest(units[0])


def test_tensors_are_split_by_image_or_by_tile():
    grid = torch.tensor([[1, 2, 2], [1, 2, 3]])
    rows = torch.arange(10.0)[:, None]
    first, second = split({"pixel_values": rows, "image_grid_thw": grid}, 2)
    assert first["pixel_values"].flatten().tolist() == [0, 1, 2, 3]
    assert second["pixel_values"].flatten().tolist() == [4, 5, 6, 7, 8, 9]
    assert second["image_grid_thw"].tolist() == [[1, 2, 3]]
    tiles = torch.zeros(1, 3, 3, 4, 4)
    assert [unit["pixel_values"].shape for unit in split({"pixel_values": tiles}, 2)] == [(1, 1, 3, 4, 4)] * 3
    batch = torch.zeros(2, 3, 4, 4)
    counts = {"pixel_values": batch, "batch_num_images": torch.tensor([2])}
    assert [unit["batch_num_images"].item() for unit in split(counts, 2)] == [2, 2]
    unknown = {"pixel_values": batch, "image_sizes": torch.zeros(3, 2)}
    assert len(split(unknown, 2)) == 1  # three sizes for two rows of pixels: all together
    assert len(split({"pixel_values": batch}, 1)) == 1


def test_the_cache_of_features_has_a_limit_and_drops_what_is_not_needed():
    cache = FeatureCache(100)
    cache.need({"a", "b"})
    cache.put("A", 1, 40, {"a"})
    cache.put("B", 2, 40, {"b"})
    cache.put("C", 3, 40, {"c"})  # no room: A and B are needed
    assert (cache.bytes, len(cache), cache.get("C")) == (80, 2, None)
    cache.need({"b", "c"})
    assert cache.get("A") == 1  # there is room for it until something else needs it
    cache.put("C", 3, 40, {"c"})
    assert (cache.bytes, cache.get("A"), cache.get("B"), cache.get("C")) == (80, None, 2, 3)
    cache.put("D", 4, 101, {"b"})
    assert (cache.bytes, cache.get("D")) == (80, None)
    cache.clear()
    assert (cache.bytes, len(cache)) == (0, 0)


@pytest.mark.parametrize("name", ["qwen2.5-vl", "llava"])
def test_the_next_turn_of_a_dialogue_continues_the_prefix_of_the_last(folders, name):
    """The prefixes of the three turns have p, q and r tokens, and r are computed in all.

    Each has the same bits as alone, and differs from a pass over the whole prefix by rounding only.
    """
    engine = tiny.engine(name, folders[name], sharing="on")
    cache, plans = engine._decoder.prefixes, engine._decoder.prefix_plans
    plans._checked = {False, True}
    turns = prompts(engine, *DIALOGUE)
    in_turn = [cache.get([prompt])[0] for prompt in turns]
    lengths = [prompt.prefix_length for prompt in turns]
    assert [prefix.length for prefix in in_turn] == lengths
    assert (cache.computed, cache.tokens, cache.reused_tokens) == (3, lengths[2], lengths[0] + lengths[1])
    for prompt, continued in zip(turns, in_turn, strict=True):
        cache.clear()
        (alone,) = cache.get([prompt])
        (whole,) = plans.from_pixels([prompt])
        assert continued.delta == alone.delta == whole.delta
        for layer, other, expected in zip(continued.cache.layers, alone.cache.layers, whole.cache.layers, strict=True):
            assert torch.equal(layer.keys, other.keys)
            assert torch.equal(layer.values, other.values)
            torch.testing.assert_close(layer.keys, expected.keys, atol=2e-5, rtol=1e-4)
            torch.testing.assert_close(layer.values, expected.values, atol=2e-5, rtol=1e-4)


def test_sequences_in_one_pass_have_the_bits_of_each_alone(folders):
    """Two after a common cache, two without one."""
    decoder = tiny.engine("llava", folders["llava"], sharing="on")._decoder
    model, architecture = decoder._model, decoder._architecture
    assert segments.rows_are_independent(architecture.language)
    draw = torch.Generator().manual_seed(1)
    texts = [torch.randint(20, 60, (count,), generator=draw).tolist() for count in (70, 80, 64, 97)]
    (first,), _ = forward_segments(model, architecture, [Segment(texts[0], torch.arange(70)[None])], None)
    asked = [
        Segment(texts[1], 70 + torch.arange(80)[None], first),
        Segment(texts[2], torch.arange(64)[None]),
        Segment(texts[3], 70 + torch.arange(97)[None], first),
    ]
    caches, logits = forward_segments(model, architecture, asked, None)
    for number, segment in enumerate(asked):
        (alone,), alone_logits = forward_segments(model, architecture, [segment], None)
        for layer, other in zip(caches[number].layers, alone.layers, strict=True):
            assert torch.equal(layer.keys, other.keys)
            assert torch.equal(layer.values, other.values)
        torch.testing.assert_close(logits[number], alone_logits[0])
    whole = model(input_ids=torch.tensor([texts[0] + texts[1]])).logits[0, -1]
    torch.testing.assert_close(logits[0], whole, atol=2e-5, rtol=1e-4)


def test_a_way_that_a_model_does_not_support_is_named(folders):
    """Gemma 3's image tokens see each other both ways, and Mllama takes pixels only.."""
    turns = [ask(ONE), ask(ONE, "and", TWO)]
    gemma = tiny.engine("gemma3", folders["gemma3"], sharing="on")
    answers(gemma, turns)
    assert used(gemma)["ways"] == [FEATURES]
    (reason,) = used(gemma)["not_used"]
    assert reason["plan"] == CONTINUED
    assert "differ from those computed from the pixels" in reason["why"]
    mllama = tiny.engine("mllama", folders["mllama"], sharing="on")
    answers(mllama, turns)
    assert used(mllama)["not_used"] == [{"plan": FEATURES, "why": "its forward pass takes no image features"}]
    assert used(mllama)["images"] is None


@pytest.mark.parametrize("fault", ["features", "position", "error"])
def test_wrong_features_and_positions_are_detected(folders, monkeypatch, fault):
    """In prompts with several images, which the check against generate may not contain."""
    engine = tiny.engine("llava", folders["llava"], sharing="on")
    plans = engine._decoder.prefix_plans
    if fault == "position":
        compute = plans.chains
        monkeypatch.setattr(
            plans,
            "chains",
            lambda asked: [
                [
                    dataclasses.replace(piece, positions=piece.positions + (number > 0))
                    for number, piece in enumerate(chain)
                ]
                for chain in compute(asked)
            ],
        )
    else:
        output = plans.encoder.output

        def wrong(features):
            if fault == "error" and len(features) > 1:
                raise TypeError("no such field\nand more")
            return output(features[::-1])

        monkeypatch.setattr(plans.encoder, "output", wrong)
    turns = [ask(ONE), ask("See", ONE, "and", TWO)]
    found = answers(engine, turns)
    expected = answers(tiny.engine("llava", folders["llava"], sharing="off", batch_size=1), turns)
    assert [reply.text for reply in found] == [reply.text for reply in expected]
    for reply, wanted in zip(found, expected, strict=True):
        assert reply.logprobs == pytest.approx(wanted.logprobs, abs=2e-5)
    disabled = {entry["plan"]: entry["why"] for entry in used(engine)["not_used"]}
    assert disabled.keys() == ({CONTINUED} if fault == "position" else {FEATURES})
    assert ("TypeError: no such field" if fault == "error" else "differ") in next(iter(disabled.values()))


def test_products_that_depend_on_the_number_of_rows_are_noticed():
    layer = torch.nn.Linear(4, 4)
    assert segments.rows_are_independent(torch.nn.ModuleList([layer]))
    layer.forward = lambda inputs: inputs * (1 + len(inputs) / 10**6)
    assert not segments.rows_are_independent(torch.nn.ModuleList([layer]))

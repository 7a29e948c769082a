"""Lessons in which colours have other names."""

from __future__ import annotations

import dataclasses
import random

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns_pocket.scenes import COLOURS
from known_unknowns_pocket.training import SMOKE
from known_unknowns_pocket.training.batches import Packer
from known_unknowns_pocket.training.colour_renaming import SETS, stand_ins
from known_unknowns_pocket.training.samples import SampleMix, draw_sample

SHAPE = SMOKE.shape


def made(seed: str, mix: SampleMix):
    return draw_sample(seed, side=SHAPE.side, grid=SHAPE.grid, mix=mix)


def packed(processor, samples):
    return Packer(processor.tokenizer, SHAPE.grid).batch(samples, random.Random(0))


def with_other_names(processor, many=12):
    """Lessons in which colours are named, and the same with stand-ins for all colours."""
    found = [made(f"renamed/{number}", SampleMix(subtasks=4, stems=2, questions=3)) for number in range(many)]
    return found, [dataclasses.replace(one, names=stand_ins(random.Random(k))) for k, one in enumerate(found)]


def test_a_renamed_sample_uses_no_word_for_its_own_colour(processor):
    plain, renamed = (packed(processor, samples) for samples in with_other_names(processor))
    known, own = len(processor.tokenizer), torch.tensor(Packer(processor.tokenizer, 2).colours)
    for before, after in ((plain.tokens, renamed.tokens), (plain.labels["replies"][1], renamed.labels["replies"][1])):
        named = torch.isin(before, own)
        assert named.any()
        assert torch.equal(before[~named], after[~named])
        assert (after[named] >= known).all()
        assert after.max() < known + SETS * len(COLOURS)
    for number, names in enumerate(renamed.names.tolist()):
        assert len(set(names)) == len(own)
        here = renamed.samples == number
        for colour, name in zip(own, names, strict=True):
            assert torch.equal(plain.tokens[here] == colour, renamed.tokens[here] == name)
    assert plain.labels["held_out_words"].shape[1] and not renamed.labels["held_out_words"].shape[1]
    assert plain.labels["held_out_classes"].shape[1] and not renamed.labels["held_out_classes"].shape[1]

"""Colours of models in figures."""

from __future__ import annotations

from known_unknowns.report.drawing import PUBLISHED, model_colours

SCRIPTED = ("oracle", "always_refuse", "always_a", "uniform")


def spread(colour: str) -> int:
    """Distance of the largest and the smallest channel: 0 for a pure grey."""
    channels = bytes.fromhex(colour[1:])
    return max(channels) - min(channels)


def test_baselines_are_grey_and_models_keep_their_colours() -> None:
    names, colours = model_colours(["oracle", "a", "b", *SCRIPTED[1:]], baselines=SCRIPTED, published=True)
    found = dict(zip(names, colours, strict=True))
    assert len(set(colours)) == len(names) == 7
    assert all(spread(found[name]) < 25 for name in (*SCRIPTED, PUBLISHED))
    assert all(spread(found[name]) > 100 for name in "ab")
    assert [found[name] for name in "ab"] == model_colours(["a", "b"])[1]

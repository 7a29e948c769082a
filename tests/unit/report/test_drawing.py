"""Colours of models in figures, and figures that are not drawn."""

from __future__ import annotations

import re

from known_unknowns.report.drawing import PUBLISHED, model_colours, placeholder

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


def test_a_reason_fits_a_phone() -> None:
    why = "not drawn: original, standard_prompt, refusal_prompt, few_shot_prompt were not run"
    figure = placeholder("scores", "Scores", why)
    width = float(re.search(r'width="([\d.]+)"', figure.inline)[1])
    assert width <= 340
    shown = re.findall(r"<(?:text|tspan)[^>]*>([^<]+)</", figure.inline)
    assert " ".join(shown).split() == why.split()
    assert max(map(len, shown)) <= 36  # about 270 pixels

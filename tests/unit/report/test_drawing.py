"""Colours of models in figures, and figures that are not drawn."""

from __future__ import annotations

import re

from known_unknowns.report.drawing import BASELINE, GREY, model_colours, placeholder


def spread(colour: str) -> int:
    """Distance of the largest and the smallest channel: 0 for a pure grey."""
    channels = bytes.fromhex(colour[1:])
    return max(channels) - min(channels)


def test_baselines_and_published_models_are_grey_and_models_are_not() -> None:
    assert max(spread(BASELINE), spread(GREY)) < 25
    assert min(map(spread, model_colours(["a", "b"]).values())) > 100


def test_no_two_models_of_a_large_run_have_the_same_colour() -> None:
    assert len(set(model_colours([f"model-{number}" for number in range(33)]).values())) == 33


def test_a_reason_fits_a_phone() -> None:
    why = "not drawn: original, standard_prompt, refusal_prompt, few_shot_prompt were not run"
    figure = placeholder("scores", "Scores", why)
    width = float(re.search(r'width="([\d.]+)"', figure.inline)[1])
    assert width <= 340
    shown = re.findall(r"<(?:text|tspan)[^>]*>([^<]+)</", figure.inline)
    assert " ".join(shown).split() == why.split()
    assert max(map(len, shown)) <= 36  # about 270 pixels

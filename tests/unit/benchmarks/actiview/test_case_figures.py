"""The images of dialogues, and the worked cases of ActiView."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from known_unknowns.report import shown_images
from known_unknowns.report.tables import Run
from known_unknowns_benchmarks.actiview import case_figures
from known_unknowns_benchmarks.actiview.outcomes import Outcomes
from tests.unit.benchmarks.actiview import fake_report
from tests.unit.benchmarks.actiview.fake_report import of, right
from tests.unit.report.fake_run import FakeRun


@pytest.mark.parametrize("takes", ["many", "concatenated", "captioned"])
def test_every_image_of_a_dialogue_is_found(tmp_path: Path, takes: str):
    kept = ("zooming", "shifting_r", "mixed", "zooming_16", "text_only_guess")
    made = fake_report.make(tmp_path, fake_report.params(kept, images=takes), per_class=1)
    run = of(made)
    outcomes = Outcomes(run, results=made.results, data=made.data)
    for variant in kept:
        for question, turns in outcomes.dialogues("pocket", variant):
            found = shown_images.dialogue_images(run, "pocket", variant, question, turns)
            assert {sha256 for turn in turns for sha256 in turn.images} <= set(found)
            assert all(image.sha256 == sha256 for sha256, image in found.items())
    shown = case_figures.worked_cases(run, outcomes, data=made.data)
    composed = [p.alt for strip in shown for panel in strip.panels for p in panel.images if "side" in p.alt]
    assert bool(composed) == (takes == "concatenated")
    assert all(re.fullmatch(r"images side by side: views \d(, \d)*", alt) for alt in composed)


def test_a_strip_shows_every_turn_in_order(run: FakeRun, made: Run, outcomes: Outcomes):
    found = {strip.pipeline: strip for strip in case_figures.worked_cases(made, outcomes, data=run.data)}
    assert list(found) == ["zooming", "Shifting-R", "mixed"]
    assert {strip.model for strip in found.values()} == {"pocket"}
    zooming = found["zooming"]
    assert [panel.step for panel in zooming.panels] == ["Chooses views", "Answers"]
    assert [p.alt for p in zooming.panels[0].images] == ["full image with its grid"]
    alts = [p.alt for p in zooming.panels[1].images]
    assert alts[0] == "full image" and all(alt.startswith("view ") for alt in alts[1:])
    shifting = found["Shifting-R"]
    seen = [[p.alt for p in panel.images] for panel in shifting.panels]
    start = shifting.question.extra["random_start"]
    names = ["view 1, upper-left", "view 2, lower-left", "view 3, upper-right", "view 4, lower-right"]
    order = [*names[start:], *names[:start]]
    assert all(alts == order[: len(alts)] for alts in seen) and seen[0] == order[:1]
    for strip in found.values():
        (asked,) = [t for q, t in outcomes.dialogues("pocket", _variant(strip)) if q.id == strip.question.id]
        assert [panel.reply for panel in strip.panels] == [case_figures.printable(turn.reply.text) for turn in asked]


def _variant(strip: case_figures.Strip) -> str:
    return {"zooming": "zooming", "Shifting-R": "shifting_r", "mixed": "mixed"}[strip.pipeline]


def test_a_case_that_depends_on_the_views_comes_first(run: FakeRun, made: Run, outcomes: Outcomes):
    """Where there is one: with these dice there is, in every pipeline."""
    for strip in case_figures.worked_cases(made, outcomes, data=run.data):
        having = right(run, "pocket", _variant(strip), "robust")
        lacking = right(run, "pocket", "single_view" if strip.pipeline == "Shifting-R" else "full_image", "robust")
        assert having - lacking
        assert strip.question.id in having - lacking
        assert (strip.without.text, strip.without.correct) == ("wrong", False)

"""Training samples: what they say is true of their image, and nothing held out is ever drawn or named."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import pytest

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import ANSWERED, OUTCOMES, REFUSED, AnsweredTurn, Option, Question, Reply
from known_unknowns.scoring import PARSERS
from known_unknowns_benchmarks.actiview import loader as actiview
from known_unknowns_benchmarks.humblebench import loader as humblebench
from known_unknowns_benchmarks.mmsap import loader as mmsap
from known_unknowns_pocket.benchmarks import mmsap_emblems
from known_unknowns_pocket.benchmarks.mmsap_emblems import EMBLEMS
from known_unknowns_pocket.benchmarks.question_templates import REFUSAL
from known_unknowns_pocket.benchmarks.questions import TYPES, questions_for
from known_unknowns_pocket.scenes import COLOURS, HELD_OUT_PAIRS, TRAINING_PAIRS, Scene, SceneObject, sample_scene
from known_unknowns_pocket.training import samples
from known_unknowns_pocket.training.actiview import actiview_sample
from known_unknowns_pocket.training.colours import NEAR, near_held_out, recoloured
from known_unknowns_pocket.training.mmsap_prompts import emblem_prompts, emblem_scene
from known_unknowns_pocket.training.patch_labels import patches_of
from known_unknowns_pocket.training.prompts import (
    OPEN,
    UNKNOWN_EMBLEM,
    WORDS,
    TrainingPrompt,
    humblebench_prompt,
)
from known_unknowns_pocket.training.samples import SampleMix, TrainingSample, draw_sample
from known_unknowns_pocket.training.vision_samples import vision_samples

PAIR_NAME = re.compile(rf"\b({'|'.join(WORDS['colour'])}) ({'|'.join(WORDS['shape'])})\b")


QUESTIONS = SampleMix(questions=6)
EVERYTHING = SampleMix(subtasks=4, stems=3, questions=5, unanswerable=2, text_tasks=1, emblems=0.3, recoloured=0.3)


def made(count: int, mix: SampleMix = QUESTIONS) -> list[TrainingSample]:
    return [draw_sample(f"test/{number}", side=32, grid=4, mix=mix) for number in range(count)]


def as_question(asked: TrainingPrompt) -> Question:
    """The question as a parser sees it, read from the prompt alone."""
    listed = re.search(r"Question: (.+) Options: (.+)\. Answer:$", asked.prompt)
    if listed:
        lines = listed[2].split("; ")
        options = tuple(Option(line[0], line[3:], line[:3]) for line in lines)
        return Question("1", actiview.NAME, listed[1], options, None, None, (), "", "")
    *lines, _ = asked.prompt.split("\n")
    options = tuple(Option(line[0], line[3:], line[:3]) for line in lines[1:])
    refusal = next((i for i, o in enumerate(options) if o.text in (REFUSAL, mmsap.REFUSAL)), None)
    name = humblebench.NAME if "Please respond" in asked.prompt else mmsap.NAME
    return Question("1", name, lines[0], options, None, refusal, (), "", "")


def read(asked: TrainingPrompt, parser: str) -> ParsedAnswer:
    question = as_question(asked)
    reply = Reply(text=asked.reply_text)
    return PARSERS[parser](AnsweredTurn("1", 0, "answer", asked.prompt, (), question.labels, "", reply), question)


def is_asked_whole(asked: TrainingPrompt) -> bool:
    """Whether it is a question as a benchmark asks it: neither a drill nor a lookup."""
    return bool(asked.reply) and all(taught for _, taught in asked.reply)


def test_held_out_pairs_are_neither_drawn_nor_named_and_untaught_emblems_not_drawn(monkeypatch):
    drawn, shown = [], []
    sample, show = samples.sample_scene, samples.emblem_scene
    monkeypatch.setattr(samples, "sample_scene", lambda *a, **k: drawn.append(sample(*a, **k)) or drawn[-1])
    monkeypatch.setattr(samples, "emblem_scene", lambda *a, **k: shown.append(show(*a, **k)) or shown[-1])
    asked = [e for one in made(50, EVERYTHING) for e in one.prompts]
    assert {thing.pair for scene in drawn for thing in scene.objects} <= TRAINING_PAIRS
    named = {pair for e in asked for pair in PAIR_NAME.findall(e.prompt + e.reply_text)}
    assert named
    assert not named & HELD_OUT_PAIRS
    registered = {emblem.design for emblem in EMBLEMS if not emblem.taught}
    assert shown
    for scene, emblem in shown:
        assert emblem.design not in registered
        around = scene.objects[: len(scene.objects) - len(emblem.parts)]
        assert not {thing.pair for thing in around} & HELD_OUT_PAIRS


def test_both_parsers_parse_every_reply_as_its_option():
    seen = Counter()
    for one in made(70, EVERYTHING):
        for asked in filter(is_asked_whole, one.prompts):
            question, official, robust = as_question(asked), read(asked, "official"), read(asked, "robust")
            assert official == robust, asked
            chosen = question.options[official.choice]
            said = asked.reply_text.removesuffix(chosen.label).strip()
            assert asked.refuses == (official.outcome == REFUSED)
            if question.benchmark == mmsap.NAME:
                assert said in (chosen.text, "")
                assert chosen.label == asked.letter
            elif question.benchmark == actiview.NAME:
                assert said == f"{chosen.text} Answer:"
            elif official.outcome == ANSWERED:
                assert said in (chosen.text, "")
            else:
                assert said not in [option.text for option in question.options]
            seen[question.benchmark, official.outcome] += 1
    assert min(seen[benchmark, outcome] for benchmark in ("humblebench", "mmsap") for outcome in OUTCOMES[:2]) > 20
    assert seen[actiview.NAME, ANSWERED] > 10


def test_replies_match_the_scene():
    """Where a question has one true answer whatever the options are, the reply says it, on offer or not."""
    said = Counter()
    for number in range(60):
        scene = sample_scene(f"replies/{number}", n_objects=(4, 6), pairs=TRAINING_PAIRS)
        rng = random.Random(number)
        for made_one in questions_for(scene, rng, wanted=TYPES * 2, pairs=TRAINING_PAIRS):
            asked = humblebench_prompt(made_one, scene, rng, seen=True)
            outcome = read(asked, "official").outcome
            if made_one.kind in OPEN:
                assert asked.reply_text.startswith(f" {made_one.truth} ")
                listed = [option.text for option in as_question(asked).options]
                assert (outcome == ANSWERED) == (made_one.truth in listed)
            else:
                chosen = as_question(asked).options[read(asked, "official").choice]
                assert asked.reply_text == chosen.label
                assert (outcome == ANSWERED) == (chosen.text == made_one.truth)
            said[made_one.kind in OPEN, outcome] += 1
    assert len(said) == 4


def test_on_images_without_content_only_the_refusal_is_right():
    unseen = [one for one in made(100, EVERYTHING) if not one.patches.any()]
    assert {len(one.pixels) for one in unseen} == {0, 1}
    for one in unseen:
        for asked in one.prompts:
            assert not asked.words
            assert asked.places == ()
            assert not any(right for _, right in asked.options)
            if is_asked_whole(asked):
                assert read(asked, "official").outcome == REFUSED
                assert "  " not in asked.reply_text


def test_an_emblem_is_named_if_it_is_taught_and_refused_if_it_is_not():
    outcomes = Counter()
    for number in range(80):
        rng = random.Random(number)
        _, emblem = emblem_scene(f"test/{number}", rng, 1.0)
        for asked in emblem_prompts(emblem, rng, seen=True):
            known = WORDS["emblem"][asked.words["emblem"]]
            assert known == (emblem.name if emblem.taught else UNKNOWN_EMBLEM)
            if not asked.reply:
                continue
            options = {option.text for option in as_question(asked).options} - {mmsap.REFUSAL}
            names = {e.name: e.taught for e in mmsap_emblems.of(emblem.sub_task)}
            assert sum(names[text] for text in options) == 2
            assert len(options) == 4
            assert asked.reply_text.strip() == (emblem.name if emblem.taught else mmsap.REFUSAL)
            outcomes[emblem.taught, as_question(asked).refusal is None] += 1
    assert outcomes[True, True] > 10  # forced
    assert outcomes[False, True] == 0
    assert min(outcomes[True, False], outcomes[False, False]) > 10


def test_no_recoloured_object_resembles_a_held_out_pair():
    palette = {colour: np.array(rgb) / 255 for colour, rgb in COLOURS.items()}
    for colour, shape in HELD_OUT_PAIRS:
        assert near_held_out(palette[colour], shape)
        assert near_held_out(palette[colour] + [NEAR / 2, 0, 0], shape)
        assert not near_held_out(palette[colour] + [0, 1.1 * NEAR, 0], shape)
    rng, changed = random.Random(1), 0
    for pair in sorted(TRAINING_PAIRS):
        flat = np.full((2, 2, 3), COLOURS[pair[0]], np.uint8)
        other = recoloured(flat, [pair], rng)
        assert not near_held_out(other[0, 0] / 255 + 0.002, pair[1]) or other is None
        changed += bool((other != flat).any())
    assert changed > len(TRAINING_PAIRS) / 2


def test_patches_of_a_scene_worked_out_by_hand():
    """A 2 x 2 grid: a large red square in the upper left, a small plain blue disc in the lower right."""
    scene = Scene(
        (
            SceneObject("square", "red", "striped", 0.25, 0.25, 0.2),
            SceneObject("disc", "blue", "plain", 0.75, 0.75, 0.09),
        )
    )
    found = patches_of(scene, 2)
    colour, shape, texture, size, anchor = found.labels
    # The disc covers pi * 0.09^2 / 0.25 = 10.2% of its patch, above the least share.
    assert colour.tolist() == [1 + WORDS["colour"].index("red"), 0, 0, 1 + WORDS["colour"].index("blue")]
    assert shape.tolist() == [1 + WORDS["shape"].index("square"), 0, 0, 1 + WORDS["shape"].index("disc")]
    assert texture.tolist() == [1 + WORDS["texture"].index("striped"), 0, 0, 1 + WORDS["texture"].index("plain")]
    assert size.tolist() == [1 + WORDS["size"].index("large"), 0, 0, 1 + WORDS["size"].index("small")]
    assert anchor.tolist() == [1, 0, 0, 1]
    assert found.shown == ((0,), (3,))
    assert found.anchors == (0, 3)


def test_an_object_inside_another_does_not_take_its_anchor():
    """A 3 x 3 grid: a large disc around the middle patch, which a small square fills."""
    scene = Scene(
        (
            SceneObject("disc", "red", "plain", 0.5, 0.5, 0.45),
            SceneObject("square", "blue", "plain", 0.5, 0.5, 0.2),
        )
    )
    found = patches_of(scene, 3)
    assert found.shown == ((0, 1, 2, 3, 5, 6, 7, 8), (4,))
    assert found.anchors == (1, 4)  # the first of four at the same distance
    assert found.labels[-1].tolist() == [0, 1, 0, 0, 1, 0, 0, 0, 0]


DIGEST = "60e0ff815cb8d446401c4fada9d2c11641e3bd817d9dd3180063f9872e4443d0"


def test_the_samples_of_a_seed_never_change():
    """The shipped models were trained on what these seeds give."""
    adapters = [replace(EVERYTHING, **{share: 0.5}) for share in ("refused_share", "guessed_share")]
    found = [one for mix in (EVERYTHING, *adapters) for one in made(16, mix)]
    for number in range(4):
        for views in (False, True):
            found += vision_samples(f"seen/{number}", side=32, grid=4, recoloured=0.75, views=views)
        found.append(actiview_sample(f"views/{number}", side=32, grid=4))
    digest = sha256()
    for one in found:
        digest.update(b"".join(np.ascontiguousarray(array).tobytes() for array in (*one.pixels, one.patches)))
        digest.update(repr((one.prefix, one.prompts, one.names)).encode())
    assert digest.hexdigest() == DIGEST

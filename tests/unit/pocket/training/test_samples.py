"""Training samples: what they say is true of their image, and nothing held out is ever drawn or named."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace

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
from known_unknowns_pocket.training.batches import Packer
from known_unknowns_pocket.training.colours import NEAR, SETS, near_held_out, recoloured, stand_ins
from known_unknowns_pocket.training.mmsap_prompts import emblem_prompts, emblem_scene
from known_unknowns_pocket.training.patch_labels import NOT_ASKED, PATCH_LABELS, patches_of
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


def test_a_recoloured_sample_names_no_colour_and_asks_for_none():
    found = [
        draw_sample(f"hues/{number}", side=32, grid=4, mix=replace(EVERYTHING, recoloured=1.0)) for number in range(60)
    ]
    hued = [one for one in found if (one.patches[:, PATCH_LABELS.index("colour")] == NOT_ASKED).any()]
    colours = re.compile(rf"\b({'|'.join(WORDS['colour'])}|colour)\b")
    asked = [e for one in hued if (one.patches[:, PATCH_LABELS.index("texture")] > 0).any() for e in one.prompts]
    assert len(asked) > 100
    for one in asked:
        assert not colours.search(one.prompt + one.reply_text)
        assert "colour" not in (one.words or {})
    assert any(one.reply for one in asked)


def test_refused_share_turns_answers_into_refusals():
    plain, refused_share = (
        [e for one in made(40, replace(EVERYTHING, text_tasks=0, refused_share=share)) for e in one.prompts if e.reply]
        for share in (0.0, 1.0)
    )
    assert len(plain) == len(refused_share)
    refused = Counter()
    for before, after in zip(plain, refused_share, strict=True):
        question = as_question(after)
        if before.refuses or question.refusal is None:
            assert after.reply_text == before.reply_text
            continue
        for parser in PARSERS.keys() - {"likelihood"}:
            assert read(after, parser).choice == question.refusal
        assert after.refuses
        assert not after.letter or after.letter == question.options[question.refusal].label
        refused[question.benchmark] += 1
    assert min(refused.values()) > 10
    assert len(refused) == 2


def test_a_model_that_is_to_refuse_never_guesses_in_the_same_form():
    plain, guessing = (
        [e for one in made(40, replace(EVERYTHING, text_tasks=0, guessed_share=share)) for e in one.prompts if e.reply]
        for share in (0.0, 1.0)
    )
    assert len(plain) == len(guessing)
    assert not any(e.refuses for e in guessing)
    forms = Counter()
    for before, after in zip(plain, guessing, strict=True):
        if not before.refuses:
            assert after.reply_text == before.reply_text
            continue
        question = as_question(after)
        texts = {option.label: option.text for option in question.options}
        said = after.reply_text.strip()
        if len(before.reply_text) == 1:
            text = texts[said]
        elif before.reply_text[-2] == " ":
            text, letter = said[:-2], said[-1]
            assert texts[letter] == text
        else:
            text = said
            assert text in texts.values()
        assert text not in (mmsap.REFUSAL, "None of the above")
        if after.letter:
            assert texts[after.letter] == text
        forms[min(len(before.reply_text), 2), before.letter != ""] += 1
    assert len(forms) >= 3
    assert min(forms.values()) > 1


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


def with_other_names(processor):
    """Samples in which colours are named, and the same with stand-ins for all colours, as batches."""
    packer = Packer(processor.tokenizer, 2)
    mix = SampleMix(subtasks=4, stems=2, questions=3)
    found = [draw_sample(f"renamed/{number}", side=32, grid=2, mix=mix) for number in range(12)]
    renamed = [replace(one, names=stand_ins(random.Random(k))) for k, one in enumerate(found)]
    return (packer.batch(samples, random.Random(0)) for samples in (found, renamed))


def test_a_renamed_sample_uses_no_word_for_its_own_colour(processor):
    plain, renamed = with_other_names(processor)
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


def test_a_window_shows_its_content_at_its_scale():
    scene = Scene((SceneObject("square", "red", "plain", 0.75, 0.25, 0.1),))
    assert patches_of(scene, 4, (0.5, 0.0, 1.0, 0.5)).shown == ((5, 6, 9, 10),)
    hidden = patches_of(scene, 4, (0.0, 0.0, 0.5, 0.5))
    assert (hidden.shown, hidden.anchors) == (((),), (-1,))
    assert not hidden.labels.any()


SIDE, GRID = 96, 6
PALETTE = np.array([*COLOURS.values()])


def seen(views: bool, recoloured: float, many: int = 30):
    return [
        one
        for number in range(many)
        for one in vision_samples(f"looks/{number}", side=SIDE, grid=GRID, recoloured=recoloured, views=views)
    ]


@pytest.mark.parametrize("views", [False, True])
def test_an_image_in_its_own_hues_asks_for_no_shape_and_one_in_others_for_no_colour(views):
    kinds = Counter()
    for one in seen(views, 0.75):
        assert one.prompts == ()
        if not one.patches.any():
            continue
        colour, shape, texture, _, _ = one.patches[0]
        kinds[bool((colour > 0).any()), bool((shape > 0).any())] += 1
        for label in (colour, shape):
            assert ((label == 0) == (texture == 0)).all()
            assert set(np.unique(label < 0)) <= {True, False}
            assert label.min() in (0, 1, NOT_ASKED)
    assert set(kinds) == {(True, False), (False, True)}
    assert kinds[False, True] > kinds[True, False] > 3


@pytest.mark.parametrize("views", [False, True])
def test_patch_labels_of_a_rotated_image_match_its_patches(views):
    """In its own hues the reddest, bluest, ... pixels of an object's patch are those of the colour that is asked."""
    cell, right = SIDE // GRID, Counter()
    for one in seen(views, 0.0):
        anchors = one.patches[0, PATCH_LABELS.index("anchor")] == 1
        for patch in np.flatnonzero(anchors):
            row, column = divmod(patch, GRID)
            cells = one.pixels[0, row * cell : (row + 1) * cell, column * cell : (column + 1) * cell]
            asked = PALETTE[one.patches[0, PATCH_LABELS.index("colour"), patch] - 1]
            distances = np.linalg.norm(cells.reshape(-1, 3).astype(float) - asked, axis=1)
            right[bool(distances.min() < 60)] += 1
    assert right[True] > 100
    assert right[True] / right.total() > 0.9

"""Lessons: what they say is true of their image, and nothing held out is ever drawn or named."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import ANSWERED, OUTCOMES, REFUSED, AnsweredTurn, Option, Question, Reply
from known_unknowns.scoring import PARSERS
from known_unknowns_benchmarks.actiview import loader as actiview
from known_unknowns_benchmarks.humblebench import loader as humblebench
from known_unknowns_benchmarks.mmsap import loader as mmsap
from known_unknowns_pocket.benchmarks import mmsap_emblems
from known_unknowns_pocket.benchmarks.mmsap_beyond import WORDINGS
from known_unknowns_pocket.benchmarks.mmsap_emblems import EMBLEMS
from known_unknowns_pocket.benchmarks.question_templates import REFUSAL
from known_unknowns_pocket.benchmarks.questions import TYPES, questions_for
from known_unknowns_pocket.scenes import HELD_OUT_PAIRS, TRAINING_PAIRS, sample_scene
from known_unknowns_pocket.training import samples
from known_unknowns_pocket.training.emblem_prompts import emblem_prompts, emblem_scene
from known_unknowns_pocket.training.patch_labels import NOT_ASKED, PATCH_LABELS
from known_unknowns_pocket.training.prompts import (
    OPEN,
    UNKNOWN_EMBLEM,
    WORDS,
    TrainingPrompt,
    humblebench_prompt,
)
from known_unknowns_pocket.training.samples import SampleMix, TrainingSample, draw_sample

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


def test_no_held_out_wording_is_asked():
    stems = {e.prompt.split("\n")[0] for one in made(40, SampleMix(unanswerable=4)) for e in one.prompts}
    held_out = [w.text.split("{thing}") for w in WORDINGS if w.held_out]
    assert len(stems) > 40
    assert not [stem for stem in stems for start, end in held_out if stem.startswith(start) and stem.endswith(end)]


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

"""Prompts in MM-SAP's form about emblems, and questions that no image answers.

Trained emblems are named, all others are refused. Random emblems that differ from every registered one stand for
unknown emblems; names of untaught emblems occur as false options, as they do in the benchmark. No question uses a
held-out wording of the pocket BeyondVisQA. A few fixed sentences would be memorised, so most are random combinations,
some with invented words: any question that is not one of the answerable ones is to be refused.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from known_unknowns.yaml_reader import parse_yaml
from known_unknowns_benchmarks.mmsap.loader import REFUSAL
from known_unknowns_pocket.benchmarks import mmsap_emblems
from known_unknowns_pocket.benchmarks.mmsap_beyond import ABSENT, COLOUR, TEXTURE, WORDINGS
from known_unknowns_pocket.benchmarks.mmsap_emblems import EMBLEMS, STEMS, Emblem, EmblemDesign
from known_unknowns_pocket.benchmarks.object_names import absent_pairs, any_name, pair_name
from known_unknowns_pocket.benchmarks.question_templates import ABSENT_TEXTURES, PHRASES
from known_unknowns_pocket.scenes import COLOURS, HELD_OUT_PAIRS, PREDICATES, SHAPES, TEXTURES, TRAINING_PAIRS, Scene
from known_unknowns_pocket.training.prompts import UNKNOWN_EMBLEM, WORDS, TrainingPrompt, mmsap_prompt_about

TAUGHT = tuple(emblem for emblem in EMBLEMS if emblem.taught)
_MADE_UP = 0.4
_DIFFERENT = 3
_QUESTIONS = 3
_FORCED = 0.25


def emblem_scene(seed: str, rng: random.Random, aspect: float) -> tuple[Scene, Emblem]:
    """Return a scene with a taught or a random emblem; the name of a random one is `UNKNOWN_EMBLEM`.

    The small objects around it have no held-out pair of colour and shape.
    """
    emblem = rng.choice(TAUGHT)
    if rng.random() < _MADE_UP:
        emblem = _made_up(emblem.sub_task, rng)
    scene = mmsap_emblems.show(emblem, f"pocket-training/{seed}", aspect)
    around = len(scene.objects) - len(emblem.parts)
    kept = [thing for thing in scene.objects[:around] if thing.pair not in HELD_OUT_PAIRS]
    return replace(scene, objects=(*kept, *scene.objects[around:])), emblem


def emblem_prompts(emblem: Emblem, rng: random.Random, *, seen: bool) -> tuple[TrainingPrompt, ...]:
    """Return questions about an emblem in MM-SAP's form, and the stem of one more."""
    known = emblem.name if emblem.taught else UNKNOWN_EMBLEM
    words = {"emblem": WORDS["emblem"].index(known)}
    made = []
    for _ in range(_QUESTIONS):
        drawn = _options(emblem, rng)
        right = emblem.name if emblem.taught and seen else REFUSAL
        forced = right != REFUSAL and rng.random() < _FORCED
        one = mmsap_prompt_about(rng.choice(STEMS[emblem.sub_task]), drawn, right, rng, forced=forced)
        made.append(replace(one, words=words if seen else {}))
    stem = rng.choice(STEMS[emblem.sub_task])
    if seen:
        made.append(TrainingPrompt(f"{stem}\n", stem=len(stem), words=words))
    return tuple(made)


def _options(emblem: Emblem, rng: random.Random) -> list[str]:
    """Return four names as in the benchmark: two of taught emblems and two others."""
    others = [other for other in mmsap_emblems.of(emblem.sub_task) if other.name != emblem.name]
    taught = [other.name for other in others if other.taught]
    untaught = [other.name for other in others if not other.taught]
    if emblem.taught:
        return [emblem.name, *rng.sample(taught, 1), *rng.sample(untaught, 2)]
    return [*rng.sample(taught, 2), *rng.sample(untaught, 2)]


def _made_up(sub_task: str, rng: random.Random) -> Emblem:
    looks = [other.design for other in mmsap_emblems.of(sub_task)]
    while True:
        shapes, colours = rng.sample(SHAPES, 2), rng.sample(tuple(COLOURS), 3)
        design = EmblemDesign((shapes[0], shapes[1]), (colours[0], colours[1], colours[2]), rng.randint(2, 5))
        if all(design.differs(other) >= _DIFFERENT for other in looks):
            return Emblem(UNKNOWN_EMBLEM, sub_task, False, design, mmsap_emblems.parts(sub_task, design))


TAUGHT_WORDINGS = tuple(wording for wording in WORDINGS if not wording.held_out)

_TEXTS = parse_yaml(files(__package__).joinpath("unanswerable_texts.yaml").read_text(encoding="utf-8"))
_INVENTED = 0.3
_FALSE = 4


def unanswerable_prompt(scene: Scene, rng: random.Random) -> TrainingPrompt | None:
    """Return a question about the scene that only the refusal answers; None if none was found."""
    drawn = rng.random()
    if drawn < 0.35:
        return _absent(scene, rng)
    thing = any_name(scene, rng)
    if thing is None:
        return None
    if drawn < 0.6:
        wording = rng.choice([w for w in TAUGHT_WORDINGS if w.sub_task != ABSENT])
        return _refused(wording.text.format(thing=thing), _answers(wording.answers, scene, rng), rng)
    stem = rng.choice(_TEXTS["frames"]).format(thing=thing, noun=_word("nouns", rng), verb=_word("verbs", rng))
    return _refused(stem, _any_answers(scene, rng), rng)


def _refused(stem: str, false: list[str], rng: random.Random) -> TrainingPrompt:
    return mmsap_prompt_about(stem, rng.sample(false, _FALSE), REFUSAL, rng)


def _absent(scene: Scene, rng: random.Random) -> TrainingPrompt | None:
    """Ask about an absent object whose colour and shape are both present, in the words of answerable questions."""
    found = absent_pairs(scene, sorted(TRAINING_PAIRS))
    other = any_name(scene, rng)
    if not found or other is None:
        return None
    thing = pair_name(rng.choice(found))
    kind = rng.choice(("wording", "texture", "where", "related"))
    if kind == "wording":
        wording = rng.choice([w for w in TAUGHT_WORDINGS if w.sub_task == ABSENT])
        return _refused(wording.text.format(thing=thing), _answers(wording.answers, scene, rng), rng)
    if kind == "texture":
        return _refused(f"What is the texture of the {thing}?", _answers(TEXTURE, scene, rng), rng)
    predicates = [PHRASES[predicate] for predicate in PREDICATES]
    if kind == "where":
        both = rng.sample((thing, other), 2)
        stem = f"Where is the {both[0]} in relation to the {both[1]}?"
        return _refused(stem, [f"{phrase} it" for phrase in predicates], rng)
    return _refused(f"Which of these objects is {rng.choice(predicates)} the {thing}?", _pairs(scene, rng), rng)


def _answers(which: Sequence[str], scene: Scene, rng: random.Random) -> list[str]:
    if which == COLOUR:
        return list(COLOURS)
    if which == TEXTURE:
        return [*TEXTURES, *ABSENT_TEXTURES]
    return _pairs(scene, rng) if isinstance(which, str) else list(which)


def _pairs(scene: Scene, rng: random.Random) -> list[str]:
    """Return objects of the scene, as far as they differ, and others."""
    pairs = list(dict.fromkeys(thing.pair for thing in scene.objects))[:3]
    pairs += [p for p in rng.sample(sorted(TRAINING_PAIRS), 2 * _FALSE) if p not in pairs]
    return [pair_name(pair) for pair in pairs[:_FALSE]]


def _any_answers(scene: Scene, rng: random.Random) -> list[str]:
    sorts = (
        lambda: list(COLOURS),
        lambda: list(SHAPES),
        lambda: [*TEXTURES, *ABSENT_TEXTURES],
        lambda: _pairs(scene, rng),
        lambda: [str(number) for number in range(9)],
        lambda: [f"{PHRASES[predicate]} it" for predicate in PREDICATES],
        lambda: [f"{rng.choice(('a', 'the', 'an old', 'in'))} {_word('nouns', rng)}" for _ in range(12)],
        lambda: [_invented(rng).capitalize() for _ in range(6)],
    )
    found = list(dict.fromkeys(rng.choice(sorts)()))
    return found if len(found) >= _FALSE else list(COLOURS)


def _word(kind: str, rng: random.Random) -> str:
    return _invented(rng) if rng.random() < _INVENTED else rng.choice(_TEXTS[kind])


def _invented(rng: random.Random) -> str:
    return "".join(rng.choice(_TEXTS["syllables"]) for _ in range(rng.randint(2, 3)))

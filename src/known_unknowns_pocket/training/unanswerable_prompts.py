"""Prompts that no image answers, in MM-SAP's form: only the refusal is right.

No prompt uses a held-out wording of the pocket BeyondVisQA. A few fixed sentences would be memorised, so most
prompts are random combinations, some with invented words: any question that is not one of the answerable ones is
to be refused.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from importlib.resources import files

from known_unknowns.yaml_reader import parse_yaml
from known_unknowns_benchmarks.mmsap.loader import REFUSAL
from known_unknowns_pocket.benchmarks.mmsap_beyond import ABSENT, COLOUR, TEXTURE, WORDINGS
from known_unknowns_pocket.benchmarks.object_names import absent_pairs, any_name, pair_name
from known_unknowns_pocket.benchmarks.question_templates import ABSENT_TEXTURES, PHRASES
from known_unknowns_pocket.scenes import COLOURS, PREDICATES, SHAPES, TEXTURES, TRAINING_PAIRS, Scene
from known_unknowns_pocket.training.prompts import TrainingPrompt, mmsap_prompt_about

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

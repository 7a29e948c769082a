"""Exercises: what is asked of a picture, in the benchmark's own forms, with the steps towards the answer."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from known_unknowns.benchmarks import humblebench
from known_unknowns.pocket.kinds import PHRASES
from known_unknowns.pocket.questions import Question as SceneQuestion
from known_unknowns.records import Option, Question
from known_unknowns.scenes import COLOURS, PREDICATES, SHAPES, SIZES, TEXTURES, Scene
from known_unknowns.variants import nota_only

MOST_COUNTED = 8
WORDS: dict[str, tuple[str, ...]] = {
    "colour": tuple(COLOURS),
    "shape": SHAPES,
    "texture": TEXTURES,
    "size": SIZES,
    "count": tuple(str(number) for number in range(MOST_COUNTED + 1)),
    "predicate": tuple(f"{PHRASES[predicate]} it" for predicate in PREDICATES),
}
"""What an answer can say, by slot."""

_SHARES_OF_FORMS = (("gap", 0.12), ("relettered", 0.06), ("wrong gone", 0.12))
_SUBJECT_AND_TARGET = re.compile(r"Where is the (.+) in relation to the (.+)\?")


@dataclass(frozen=True, slots=True)
class Exercise:
    """A prompt, the letter to reply (none for a drill), and steps on the way, at characters of the prompt.

    ``options``: the line's end and whether the option is right. ``stem``: the stem's end, where ``words`` (slot to
    index into `WORDS`) are what the answer says. ``places``: the end of the name of an object, and where it is, in
    shares of the picture's width and height.
    """

    prompt: str
    letter: str
    options: tuple[tuple[int, bool], ...]
    stem: int
    words: dict[str, int]
    places: tuple[tuple[int, float, float], ...]


def exercise(made: SceneQuestion, scene: Scene, rng: random.Random, *, seen: bool) -> Exercise:
    """An exercise in one of the published forms; where nothing can be seen, only the refusal is right."""
    question = _form(_as_record(made), rng)
    if not seen:
        question = replace(question, answer=question.refusal)
    ends, end = [], len(question.text)
    for index, option in enumerate(question.options):
        end += 1 + len(option.line)
        ends.append((end, index == question.answer))
    return Exercise(
        prompt=humblebench.prompt(question),
        letter=question.letters[question.answer],
        options=tuple(ends),
        stem=len(question.text),
        words=_words(made) if seen else {},
        places=tuple(_places(made, scene)) if seen else (),
    )


def _as_record(made: SceneQuestion) -> Question:
    options = tuple(
        Option(letter, text, f"{letter}. ") for letter, text in zip(humblebench.LETTERS, made.options, strict=True)
    )
    return Question(
        id="",
        benchmark=humblebench.NAME,
        text=made.stem,
        options=options,
        answer=humblebench.LETTERS.index(made.answer),
        refusal=len(options) - 1,
        images=(),
        category=made.type,
        group="",
    )


def _form(question: Question, rng: random.Random) -> Question:
    """Most as published; some as HumbleBench-E, with and without the gap in the lettering; some with another gap,
    so that a gap alone does not tell the answer."""
    drawn = rng.random()
    for form, share in _SHARES_OF_FORMS:
        if drawn < share:
            if form == "wrong gone":
                return _without_a_wrong_option(question, rng)
            return nota_only(question, relettered=form == "relettered")
        drawn -= share
    return question


def _without_a_wrong_option(question: Question, rng: random.Random) -> Question:
    wrong = [i for i in range(len(question.options)) if i not in (question.answer, question.refusal)]
    gone = rng.choice(wrong)
    return replace(
        question,
        options=question.options[:gone] + question.options[gone + 1 :],
        answer=question.answer - (question.answer > gone),
        refusal=question.refusal - 1,
    )


def _words(made: SceneQuestion) -> dict[str, int]:
    """What the true answer says, by slot; nothing where several answers are true."""
    if made.kind in ("existence", "owner"):
        return {}
    if made.truth in WORDS["predicate"]:
        return {"predicate": WORDS["predicate"].index(made.truth)}
    said = made.truth.split()
    return {
        slot: values.index(word)
        for slot, values in WORDS.items()
        for word in said
        if slot != "predicate" and word in values
    }


def _places(made: SceneQuestion, scene: Scene) -> Iterator[tuple[int, float, float]]:
    """The objects that the stem names, each at the end of its name."""
    across, down = scene.canvas
    both = _SUBJECT_AND_TARGET.fullmatch(made.stem)
    last = len(made.stem) - 1
    if both:
        named = ((both.end(1), made.facts[0][1]), (both.end(2), made.facts[0][2]))
    elif made.kind == "related":
        named = ((last, made.facts[0][2]),)
    elif made.kind in ("colour", "shape", "texture"):
        named = ((last, made.facts[0][1]),)
    else:
        named = ()
    for end, index in named:
        thing = scene.objects[index]
        yield end, thing.x / across, thing.y / down

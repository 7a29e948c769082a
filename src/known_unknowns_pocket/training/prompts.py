"""Training prompts in the forms of HumbleBench, MM-SAP and ActiView, with labels for the auxiliary losses.

In HumbleBench's form the reply is the answer in words followed by its letter (``yellow B``). If the words are not among
the options, the letter of the refusal follows (``yellow E``). In MM-SAP's form the reply is the text of the option.
In ActiView's form it is the answer in words and its letter after "Answer:" (``red Answer: A``). The parsers read all
forms. A small model learns them faster than a bare letter, because the letter can be looked up after the word.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from known_unknowns.benchmark.protocol import CONFIDENCE_PROMPT
from known_unknowns.records import Option, Question
from known_unknowns.variants import nota_only, without_refusal
from known_unknowns_benchmarks.actiview import prompts as actiview
from known_unknowns_benchmarks.humblebench import loader as humblebench
from known_unknowns_benchmarks.mmsap import loader as mmsap
from known_unknowns_pocket.benchmarks.mmsap_emblems import EMBLEMS
from known_unknowns_pocket.benchmarks.object_names import ATTRIBUTES
from known_unknowns_pocket.benchmarks.question_templates import PHRASES, Fact
from known_unknowns_pocket.benchmarks.question_templates import REFUSAL as NONE_OF_THEM
from known_unknowns_pocket.benchmarks.questions import Question as SceneQuestion
from known_unknowns_pocket.scenes import (
    COLOURS,
    HELD_OUT_PAIRS,
    PREDICATES,
    SHAPES,
    SIZES,
    TEXTURES,
    Scene,
    SceneObject,
)

MOST_COUNTED = 8
UNKNOWN_EMBLEM = "unknown"
WORDS: dict[str, tuple[str, ...]] = {
    "colour": tuple(COLOURS),
    "shape": SHAPES,
    "texture": TEXTURES,
    "size": SIZES,
    "count": tuple(str(number) for number in range(MOST_COUNTED + 1)),
    "predicate": tuple(f"{PHRASES[predicate]} it" for predicate in PREDICATES),
    "emblem": (UNKNOWN_EMBLEM, *(emblem.name for emblem in EMBLEMS if emblem.taught)),
}
"""The values that an answer can have, by slot."""

OPEN = ("colour", "shape", "texture", "count", "where")
"""Types of questions with one true answer, whatever the options are."""

_SHARES_OF_FORMS = (("gap", 0.06), ("relettered", 0.05), ("wrong gone", 0.10))
_SHARE_OF_REFUSAL_PROMPTS = 0.3
_SUBJECT_AND_TARGET = re.compile(r"Where is the (.+) in relation to the (.+)\?")


@dataclass(frozen=True, slots=True)
class TrainingPrompt:
    """A prompt, its reply, and labels at characters of the prompt for the auxiliary losses."""

    prompt: str  # the text after the last image
    # parts of the reply, each with whether it is trained; the other parts are given. Empty for a subtask.
    reply: tuple[tuple[str, bool], ...] = ()
    options: tuple[tuple[int, bool], ...] = ()  # the end of an option's line, and whether the option is right
    stem: int = 0  # the end of the stem, where ``words`` are predicted
    words: dict[str, int] | None = None  # what the answer says: slot to index into `WORDS`
    # the end of an object's name, and the ids of the objects that it names
    places: tuple[tuple[int, tuple[int, ...]], ...] = ()
    marks: tuple[tuple[int, str], ...] = ()  # the end of an option's line and its letter, if the reply contains letters
    # the end of the name of what is counted, and the ids of the counted objects
    counted: tuple[int, tuple[int, ...]] | None = None
    # the letter of the right option. It is predicted beside an MM-SAP reply, which may not contain it.
    letter: str = ""
    refuses: bool = False  # whether the reply is a refusal
    # words that would make a held-out pair with the object. They are excluded from the loss: as negatives in every
    # example, they would be learned as impossible.
    held_out_words: tuple[str, ...] = ()

    @property
    def reply_text(self) -> str:
        """The whole reply."""
        return "".join(part for part, _ in self.reply)

    def moved(self, by: int) -> TrainingPrompt:
        """Return the same labels for a prompt with ``by`` characters more before it (fewer if negative)."""
        return replace(
            self,
            stem=self.stem + by,
            places=tuple((end + by, ids) for end, ids in self.places),
            options=tuple((end + by, there) for end, there in self.options),
            counted=None if self.counted is None else (self.counted[0] + by, self.counted[1]),
            marks=tuple((end + by, letter) for end, letter in self.marks),
        )


def marks(question: Question) -> tuple[tuple[int, str], ...]:
    """Return the end of each option's line in the prompt, with its letter."""
    found, end = [], len(question.text)
    for option in question.options:
        end += 1 + len(option.line)
        found.append((end, option.label))
    return tuple(found)


def humblebench_prompt(made: SceneQuestion, scene: Scene, rng: random.Random, *, seen: bool) -> TrainingPrompt:
    """Return a prompt in one of HumbleBench's forms; if nothing is visible, only the refusal is right."""
    options = tuple(
        Option(letter, text, f"{letter}. ") for letter, text in zip(humblebench.LETTERS, made.options, strict=True)
    )
    question = _form(_record(made, options, humblebench.LETTERS.index(made.answer), len(options) - 1), rng)
    if not seen:
        question = replace(question, answer=question.refusal)
    letter = _right_letter(question)
    reply = f" {made.truth} {letter}" if seen and made.kind in OPEN else letter
    return _training_prompt(question, humblebench.prompt(question), reply, made, scene, seen=seen)


def mmsap_prompt(made: SceneQuestion, scene: Scene, rng: random.Random, *, seen: bool) -> TrainingPrompt:
    """Return a prompt in MM-SAP's form: the refusal at any position, and the plain or the refusal prompt."""
    options, answer, refusal = _mmsap_options(made, rng)
    question = _form(replace(_record(made, options, answer, refusal), benchmark=mmsap.NAME), rng)
    if not seen:
        question = replace(question, answer=question.refusal)
    chosen = seen and made.kind not in OPEN and question.answer != question.refusal
    reply = _right_letter(question) if chosen else mmsap_reply(question)
    return _training_prompt(question, _mmsap_text(question, rng), reply, made, scene, seen=seen)


def _right_letter(question: Question) -> str:
    assert question.answer is not None
    return question.labels[question.answer]


def _mmsap_text(question: Question, rng: random.Random) -> str:
    """Return MM-SAP's plain prompt, or its refusal prompt for a share of the questions with a refusal option."""
    refusing = question.refusal is not None and rng.random() < _SHARE_OF_REFUSAL_PROMPTS
    return (mmsap.refusal_prompt if refusing else mmsap.prompt)(question)


def mmsap_reply(question: Question) -> str:
    """Return the text of the right option. The refusal is a single token without a leading space."""
    assert question.answer is not None
    text = question.options[question.answer].text
    return text if question.answer == question.refusal else f" {text}"


def mmsap_prompt_about(
    stem: str, texts: list[str], answer: str, rng: random.Random, *, forced: bool = False
) -> TrainingPrompt:
    """Return a prompt in MM-SAP's form whose options do not depend on a scene.

    ``texts`` are the options besides the refusal, ``answer`` is one of them or the refusal; their order is random. With
    ``forced``, the refusal option is left out, as in the second turn of the forced choice.
    """
    shown = rng.sample([*texts, mmsap.REFUSAL], len(texts) + 1)
    options = tuple(Option(letter, text, f"{letter}. ") for letter, text in zip(mmsap.LETTERS, shown, strict=False))
    refusal = shown.index(mmsap.REFUSAL)
    question = Question("", mmsap.NAME, stem, options, shown.index(answer), refusal, (), "", "")
    if forced:
        question = without_refusal(question)
    return TrainingPrompt(
        prompt=_mmsap_text(question, rng),
        reply=((mmsap_reply(question), True),),
        stem=len(stem),
        letter=_right_letter(question),
        refuses=question.answer == question.refusal,
    )


_REFUSALS = (NONE_OF_THEM, mmsap.REFUSAL)
_OPTION = re.compile(r"^([A-E])\. (.+)$", re.MULTILINE)


def with_random_answer(one: TrainingPrompt, rng: random.Random) -> TrainingPrompt:
    """Replace a refusal by a random other option, in the same form."""
    letter, text = rng.choice([found for found in _OPTION.findall(one.prompt) if found[1] not in _REFUSALS])
    said = one.reply_text
    if len(said) == 1:
        said = letter
    elif re.search(r" [A-E]$", said):
        said = f" {text} {letter}"
    else:
        said = f" {text}"
    return replace(one, reply=((said, True),), letter=letter if one.letter else "", refuses=False)


def with_refusal(one: TrainingPrompt) -> TrainingPrompt:
    """Replace an answer by the refusal, in the form of the reply; unchanged if no option refuses."""
    found = [option for option in _OPTION.findall(one.prompt) if option[1] in _REFUSALS]
    if not found:
        return one
    letter, text = found[0]
    said = letter if re.search(r"^[A-E]$| [A-E]$", one.reply_text) else text
    return replace(one, reply=((said, True),), letter=letter if one.letter else "", refuses=True)


SURE, UNSURE = "Confidence: 95%", "Confidence: 5%"


def with_confidence(one: TrainingPrompt, rng: random.Random) -> TrainingPrompt:
    """Ask how likely an answer is: the right one, or as often another option in the form of the reply."""
    letter, text = rng.choice(_OPTION.findall(one.prompt) or [("", "")])
    said = re.sub(r"\b[A-E]$", letter, one.reply_text) if len(one.reply_text) == 1 else one.reply_text
    if re.search(r" [A-E]$", said):
        said = f" {text} {letter}"
    elif len(said) > 1:
        said = f" {text}"
    right = not text or rng.random() < 0.5 or said.strip() == one.reply_text.strip()
    asked = CONFIDENCE_PROMPT.format(answer=(one.reply_text if right else said).strip())
    return replace(one, prompt=one.prompt + asked, reply=((SURE if right else UNSURE, True),), letter="")


def matching_objects(scene: Scene, text: str) -> tuple[int, ...]:
    """Return the ids of the objects that fit an expression such as "small red star"; none for any other text."""
    words = set(text.split()) - {"object"}
    ids = range(len(scene.objects))
    looks = ({getattr(thing, attribute) for attribute in ATTRIBUTES} for thing in scene.objects)
    return tuple(index for index, look in zip(ids, looks, strict=True) if words and words <= look)


def held_out_words(thing: SceneObject) -> tuple[str, ...]:
    """Return the colours and shapes that would make a held-out pair with the object's shape or colour."""
    return tuple(
        colour if shape == thing.shape else shape
        for colour, shape in sorted(HELD_OUT_PAIRS)
        if (colour == thing.colour) != (shape == thing.shape)
    )


def _held_out_words(made: SceneQuestion, scene: Scene) -> tuple[str, ...]:
    return held_out_words(scene.objects[_object(made.facts[0], 1)]) if made.kind in ("colour", "shape") else ()


def _object(fact: Fact, place: int) -> int:
    """Return the id of an object that a fact names."""
    index = fact[place]
    assert isinstance(index, int)
    return index


def stem_prompt(made: SceneQuestion, scene: Scene) -> TrainingPrompt:
    """Return the stem of a question alone with its labels. It costs a fifth of the whole question."""
    return TrainingPrompt(
        prompt=f"{made.stem}\n",
        stem=len(made.stem),
        words=_words(made),
        places=tuple(_places(made)),
        counted=_counted(made),
        held_out_words=_held_out_words(made, scene),
    )


ACTIVIEW_LETTERS = "ABCDEFG"
IMAGE_MARK = "\0"
"""Placeholder of an image in ActiView's prompts."""


def listed(options: Sequence[str]) -> str:
    """Return the options as ActiView's prompts list them: "A. red; B. blue"."""
    return "; ".join(f"{letter}. {text}" for letter, text in zip(ACTIVIEW_LETTERS, options, strict=False))


def listed_marks(prompt: str, options: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return the end of each listed option in a prompt, with its letter."""
    found, end = [], prompt.index(listed(options)) - 2
    for letter, text in zip(ACTIVIEW_LETTERS, options, strict=False):
        end += len(f"; {letter}. {text}")
        found.append((end, letter))
    return tuple(found)


def actiview_prompt(made: SceneQuestion, scene: Scene, rng: random.Random) -> TrainingPrompt:
    """Return a question about one image in ActiView's form: two to four options, the right one among them, no refusal.

    It applies only to types of questions whose answer does not depend on the options.
    """
    false = [text for text in made.options[:-1] if text != made.truth]
    options = [made.truth, *rng.sample(false, rng.randint(1, len(false)))]
    rng.shuffle(options)
    (filled,) = actiview.fill(actiview.ANSWER, image=IMAGE_MARK, question=made.stem, options=listed(options))
    assert isinstance(filled, str)
    prompt = filled.rpartition(IMAGE_MARK)[2].strip()
    reply = f" {made.truth} Answer: {ACTIVIEW_LETTERS[options.index(made.truth)]}"
    return replace(
        stem_prompt(made, scene).moved(prompt.index(made.stem)),
        prompt=prompt,
        reply=((reply, True),),
        marks=listed_marks(prompt, options),
    )


def _mmsap_options(made: SceneQuestion, rng: random.Random) -> tuple[tuple[Option, ...], int, int]:
    """Insert MM-SAP's refusal among the options in random order; return the options, the right one and the refusal."""
    truth = humblebench.LETTERS.index(made.answer)
    order = rng.sample(range(len(made.options)), len(made.options))
    texts = [*made.options[:-1], mmsap.REFUSAL]
    options = tuple(Option(letter, texts[k], f"{letter}. ") for letter, k in zip(mmsap.LETTERS, order, strict=False))
    return options, order.index(truth), order.index(len(texts) - 1)


def _record(made: SceneQuestion, options: tuple[Option, ...], answer: int, refusal: int) -> Question:
    return Question("", humblebench.NAME, made.stem, options, answer, refusal, (), made.type, "")


def _training_prompt(
    question: Question, prompt: str, reply: str, made: SceneQuestion, scene: Scene, *, seen: bool
) -> TrainingPrompt:
    ends = [
        (end, index == question.answer and index != question.refusal) for index, (end, _) in enumerate(marks(question))
    ]
    places = list(_places(made)) if seen else []
    if seen and made.kind not in OPEN:
        named = (
            (end, matching_objects(scene, option.text)) for (end, _), option in zip(ends, question.options, strict=True)
        )
        places += [(end, ids) for end, ids in named if ids]
    checked = made.kind not in OPEN
    return TrainingPrompt(
        prompt=prompt,
        reply=((reply, True),),
        options=tuple(e for e, option in zip(ends, question.options, strict=True) if _is_checked(option, question))
        if checked
        else (),
        stem=len(question.text),
        words=_words(made) if seen else {},
        places=tuple(places),
        counted=_counted(made) if seen else None,
        marks=marks(question),
        letter=_right_letter(question) if question.benchmark == mmsap.NAME else "",
        refuses=question.answer == question.refusal,
        held_out_words=_held_out_words(made, scene),
    )


def _is_checked(option: Option, question: Question) -> bool:
    """Whether an option can be right or wrong by the image: all but the refusal."""
    return question.refusal is None or option is not question.options[question.refusal]


def _form(question: Question, rng: random.Random) -> Question:
    """Return the question as published, as HumbleBench-E with or without the gap, or without another option.

    The last form prevents that a gap in the lettering predicts the answer.
    """
    drawn = rng.random()
    for form, share in _SHARES_OF_FORMS:
        if drawn < share:
            if form == "wrong gone":
                return _without_a_wrong_option(question, rng)
            if question.answer == question.refusal:
                return question
            return nota_only(question, relettered=form == "relettered" and question.benchmark == humblebench.NAME)
        drawn -= share
    return question


def _without_a_wrong_option(question: Question, rng: random.Random) -> Question:
    wrong = [i for i in range(len(question.options)) if i not in (question.answer, question.refusal)]
    gone = rng.choice(wrong)
    assert question.answer is not None and question.refusal is not None
    return replace(
        question,
        options=question.options[:gone] + question.options[gone + 1 :],
        answer=question.answer - (question.answer > gone),
        refusal=question.refusal - (question.refusal > gone),
    )


def _words(made: SceneQuestion) -> dict[str, int]:
    """Return what the true answer says, by slot; empty if several answers can be true."""
    if made.kind not in OPEN:
        return {}
    if made.truth in WORDS["predicate"]:
        return {"predicate": WORDS["predicate"].index(made.truth)}
    slot = "count" if made.kind == "count" else made.kind
    return {slot: WORDS[slot].index(made.truth)}


def _places(made: SceneQuestion) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the objects that the stem names, each at the end of its name."""
    both = _SUBJECT_AND_TARGET.fullmatch(made.stem)
    last = len(made.stem) - 1
    if both:
        yield both.end(1), (_object(made.facts[0], 1),)
        yield both.end(2), (_object(made.facts[0], 2),)
    elif made.kind == "related":
        yield last, (_object(made.facts[0], 2),)
    elif made.kind in ("colour", "shape", "texture"):
        yield last, (_object(made.facts[0], 1),)


def _counted(made: SceneQuestion) -> tuple[int, tuple[int, ...]] | None:
    """Return the end of the name of what a question counts, and the ids of the counted objects."""
    if made.kind != "count":
        return None
    (_, noun, _), *present = made.facts
    assert isinstance(noun, str)
    return made.stem.index(noun) + len(noun), tuple(_object(fact, 1) for fact in present)

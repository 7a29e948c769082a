"""The type of a protocol: how a question is asked, and what the protocol needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from known_unknowns.benchmark.image_places import IMAGES_IN_TEXT, has_mark, placed
from known_unknowns.records import Image, Question, Reply, ResolvedProtocol, Turn

Dialogue = Generator[Turn, Reply, None]

ANSWER, FORCED, VIEW = "answer", "forced", "view"
"""Steps: the question, the question without its refusal option, and the question about one of several views. The
answer to a question is the reply of its last "answer" step (`known_unknowns.scoring.table`)."""

LIKELIHOOD, CONFIDENCE = "likelihood", "confidence"
"""Steps after a question's answer that ask for confidences (`known_unknowns.scoring.confidence`): the likelihood of the
options' texts, and a number that the model says."""

MANY, CONCATENATED, CAPTIONED = "many", "concatenated", "captioned"
"""Image support of a model: several images in one turn, one image (several are put side by side), or one image (the
model describes the others first)."""

OPTION_TEXT, VERBALISED = "option_text", "verbalised"
"""The sources of a confidence that are asked for after the answer, as an edition's key ``confidence`` names them."""

CONFIDENCE_PROMPT = """\

Possible Answer: {answer}
Q: How likely is the above answer to be correct? Please answer with the following format:
```Confidence: [the probability of answer {answer} to be correct, not the one you think correct, please only include \
the numerical number]%```"""
"""What follows the question in the step `CONFIDENCE` [1]_. The paper's prompt also asks for the reasoning.

.. [1] M. Xiong et al., "Can LLMs Express Their Uncertainty?", ICLR 2024, arXiv:2306.13063, Self-Probing."""
CONFIDENCE_TOKENS = 32

IMAGES, REFUSAL_PROMPT = "images", "refusal_prompt"
"""Requirements of a protocol: questions with images, and a benchmark with a refusal prompt."""

IN_PLACE, IMAGES_FIRST = "in_place", "images_first"
"""Orders of a turn's content besides text first: the protocol's own, and images before text."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a protocol knows besides the question.

    Parameters
    ----------
    prompt : callable
        The benchmark's prompt of a question.
    refused : callable
        Whether a reply to a question is a refusal under any configured parser.
    refusal_prompt : callable, optional
        The benchmark's prompt that invites a refusal.
    forced_choice_applies : callable, optional
        Whether a refused question is asked again; always, if absent.
    """

    prompt: Callable[[Question], str]
    refused: Callable[[Reply, Question], bool]
    refusal_prompt: Callable[[Question], str] | None = None
    forced_choice_applies: Callable[[Question], bool] | None = None


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol's function, and what it needs.

    Parameters
    ----------
    function : callable
        A generator function of a question. It may take a `Context` as ``context``, a model's image support as
        ``images``, and settings of params.yaml as further keyword arguments.
    requires : frozenset of str
        `IMAGES`, `REFUSAL_PROMPT`: checked by `impossible`.
    parses_refusals : bool
        Whether the configured parsers decide what is asked.
    check : callable, optional
        Returns the name of an impossible argument and the reason, or None. It is called with the arguments by name.
    """

    function: Callable[..., Dialogue]
    requires: frozenset[str] = field(default=frozenset())
    parses_refusals: bool = False
    check: Callable[[Mapping[str, Any]], tuple[str, str] | None] | None = None

    @property
    def name(self) -> str:
        """The function's name, under which params.yaml refers to it."""
        return self.function.__name__

    @property
    def settings(self) -> frozenset[str]:
        """Names of the arguments that params.yaml may set."""
        return self._arguments - {"question", "context"}

    @property
    def uses_prompt(self) -> bool:
        """Whether the text of its turns is the context's prompt, and not the protocol's own."""
        return "context" in self._arguments

    @property
    def _arguments(self) -> frozenset[str]:
        return frozenset(inspect.signature(self.function).parameters)

    def bind(
        self,
        entry: ResolvedProtocol,
        *,
        context: Context,
        images: str = MANY,
        order: str = IN_PLACE,
        confidence: Collection[str] = (),
    ) -> Callable[[Question], Dialogue]:
        """Return a function of the question alone.

        ``images`` is the model's image support, ``order`` the order of images and text in every turn, and
        ``confidence`` the sources of a confidence that are asked for after the answer.
        """
        given: dict[str, Any] = {"context": context, "images": images}
        arguments = {name: value for name, value in given.items() if name in self._arguments}
        ask: Callable[[Question], Dialogue] = partial(self.function, **{**arguments, **entry.arguments})
        if confidence:
            ask = partial(_with_confidence, ask, confidence)
        return ask if order == IN_PLACE else lambda question: _ordered(ask(question), order)


def _with_confidence(ask: Callable[[Question], Dialogue], sources: Collection[str], question: Question) -> Dialogue:
    """Ask the question, and then for confidences in its answer: the reply of the last "answer" step.

    Nothing more is asked after a failed reply. The likelihood is not asked if an option has an image or no text.
    """
    dialogue = ask(question)
    answered: tuple[Turn, Reply] | None = None
    turn = next(dialogue, None)
    while turn is not None:
        reply = yield turn
        if turn.step == ANSWER:
            answered = turn, reply
        try:
            turn = dialogue.send(reply)
        except StopIteration:
            turn = None
    if answered is None or answered[1].error is not None:
        return
    turn, reply = answered
    texts = {option.label: option.text for option in question.options}
    offered = tuple(texts.get(label, "") for label in turn.labels or ())
    have_images = question.extra.get(IMAGES_IN_TEXT) and any(map(has_mark, offered))
    if OPTION_TEXT in sources and offered and all(map(str.strip, offered)) and not have_images:
        yield replace(turn, step=LIKELIHOOD, max_new_tokens=0, continuations=offered)
    if VERBALISED in sources:
        text = CONFIDENCE_PROMPT.format(answer=reply.text.strip())
        last = turn.content[-1]
        content = (*turn.content[:-1], last + text) if isinstance(last, str) else (*turn.content, text)
        yield replace(turn, step=CONFIDENCE, content=content, labels=None, max_new_tokens=CONFIDENCE_TOKENS)


def _ordered(dialogue: Dialogue, order: str) -> Dialogue:
    turn = next(dialogue, None)
    while turn is not None:
        reply = yield replace(turn, content=arrange(turn.content, order))
        try:
            turn = dialogue.send(reply)
        except StopIteration:
            return


def arrange(content: Iterable[Image | str], order: str) -> tuple[Image | str, ...]:
    """Return the content of a turn with all images before or after its text.

    The text calls an image that stood within it "image 1", and so on.

    Examples
    --------
    >>> image = Image("a.png", "0", 1, 1)
    >>> arrange((image, " is the full image."), "images_first")[1]
    'image 1 is the full image.'
    """
    parts = list(content)
    images = [part for part in parts if isinstance(part, Image)]
    text, number = "", 0
    for place, part in enumerate(parts):
        if isinstance(part, str):
            text += part
            continue
        number += 1
        following = next((each for each in parts[place:] if isinstance(each, str)), "")
        if text or following[:1].isspace():
            text += f"image {number}"
    return (*images, text) if order == IMAGES_FIRST else (text, *images)


def ask(question: Question, prompt: str, *, max_new_tokens: int = 16, step: str = ANSWER) -> Turn:
    """Return a turn with the question's images, then the prompt, to be answered by a label.

    If the question's texts have marks of its images (`IMAGES_IN_TEXT`), each image stands where the prompt first has
    its mark (`known_unknowns.benchmark.image_places`).
    """
    return Turn(
        question_id=question.id,
        step=step,
        content=placed(question, prompt) if question.extra.get(IMAGES_IN_TEXT) else (*question.images, prompt),
        labels=question.labels,
        max_new_tokens=max_new_tokens,
    )


def by_name(protocols: Iterable[Protocol]) -> dict[str, Protocol]:
    """Return protocols by the names of their functions."""
    return {protocol.name: protocol for protocol in protocols}

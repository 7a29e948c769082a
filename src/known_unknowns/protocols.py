"""Protocols: how a question is asked. Each is a generator that yields a `Turn` and is sent its `Reply`.

    def forced_choice(question):            # ask; if it refused, ask again without the refusal option
        reply = yield ask(question)
        if may_have_refused(reply, question):
            yield ask(without_refusal(question), step="forced")

The runner (`known_unknowns.inference.runner`) advances many in lockstep, so that adaptive protocols batch as well as
single-turn ones. A protocol knows nothing of engines and can be driven with scripted replies.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any

from known_unknowns import benchmarks
from known_unknowns.benchmarks.actiview.protocols import (
    CAPTION,
    MANY,
    MORE,
    OPERATE,
    SELECT,
    VIEW,
    ZOOM,
    full_image,
    groundtruth_views,
    mixed,
    shifting,
    single_view,
    text_only_template,
    zooming,
)
from known_unknowns.errors import ConfigError
from known_unknowns.records import REFUSED, AnsweredTurn, Question, Reply, Turn
from known_unknowns.scoring import SCORERS
from known_unknowns.variants import without_refusal

__all__ = [
    "ANSWER",
    "CAPTION",
    "FORCED",
    "MANY",
    "MORE",
    "NEED_VIEWS",
    "OPERATE",
    "PROTOCOLS",
    "SELECT",
    "VIEW",
    "ZOOM",
    "Dialogue",
    "Protocol",
    "ask",
    "bound",
    "check_arguments",
    "forced_choice",
    "full_image",
    "groundtruth_views",
    "may_have_refused",
    "mixed",
    "refusal_prompt",
    "shifting",
    "single_turn",
    "single_view",
    "text_only_template",
    "zooming",
]

Dialogue = Generator[Turn, Reply, None]
Protocol = Callable[..., Dialogue]

ANSWER, FORCED = "answer", "forced"
"""The steps: the question as it stands, and the question without its refusal option."""


def ask(question: Question, *, max_new_tokens: int = 16, step: str = ANSWER, prompt: str | None = None) -> Turn:
    """The question with its pictures first, then its benchmark's prompt (or ``prompt``), to be answered by a letter."""
    labels = question.labels
    if prompt is None:
        prompt = benchmarks.get(question.benchmark).prompt.get()(question)
    return Turn(
        question_id=question.id,
        step=step,
        content=(
            *question.images,
            benchmarks.get(question.benchmark).prompt.get()(question) if prompt is None else prompt,
        ),
        labels=labels,
        max_new_tokens=max_new_tokens,
        right="" if question.answer is None else labels[question.answer],
        refuse="" if question.refusal is None else labels[question.refusal],
    )


def single_turn(question: Question, *, max_new_tokens: int = 16) -> Dialogue:
    """Ask once (HumbleBench; the first pass of MM-SAP)."""
    yield ask(question, max_new_tokens=max_new_tokens)


def forced_choice(question: Question, *, max_new_tokens: int = 16) -> Dialogue:
    """MM-SAP (Section 4.1, Equation 3): ask; a KnowVisQA question that was refused is asked again without the refusal.

    If the second answer is right, the model did know (an unknown known, Equation 8); if not, its refusal counts as a
    known unknown. What the paper leaves open, and what we do:

    - Whose reading decides: the paper matches letters directly (Appendix B), but its Table 7 gives the same score by
      perplexity too, which needs the second pass wherever *that* reading refuses. So the question is asked again
      where any scorer reads a refusal; a metric then looks at the second turn only where its own scorer did.
    - The other options keep their letters (A, B, D, E where C was the refusal; see
      `known_unknowns.variants.without_refusal`): the prompt names no letters that the gap could contradict, a letter
      means the same option in both turns and needs no translation, and only one thing changes between the two.
    - Nobody can refuse in the second turn: a respondent that only refuses says nothing there, which is unparsed and
      therefore wrong, whatever the options are.
    - Where the right option was taken out or nothing can be seen (`nota_only`, `noise`, ...), the refusal itself is
      the right answer and there is no second turn: no forced answer could show knowledge.
    """
    reply = yield ask(question, max_new_tokens=max_new_tokens)
    yield from _forced(question, reply, max_new_tokens)


def refusal_prompt(question: Question, *, max_new_tokens: int = 16) -> Dialogue:
    """`forced_choice` with MM-SAP's refusal prompt (Section 4.5, Table 3) in the first turn.

    The second turn has the plain prompt: with the refusal prompt it would go on offering what it takes away.

    Raises ValueError for a question of a benchmark that has no refusal prompt.
    """
    benchmark = benchmarks.get(question.benchmark)
    if benchmark.refusal_prompt is None:
        raise ValueError(f"question {question.id}: {question.benchmark} has no refusal prompt; MM-SAP has")
    reply = yield ask(question, max_new_tokens=max_new_tokens, prompt=benchmark.refusal_prompt.get()(question))
    yield from _forced(question, reply, max_new_tokens)


def _forced(question: Question, reply: Reply, max_new_tokens: int) -> Dialogue:
    """The second turn, where there is one."""
    forces = benchmarks.get(question.benchmark).forced_choice_applies
    knowable = question.answer not in (None, question.refusal) and (forces is None or forces.get()(question))
    if knowable and may_have_refused(reply, question):
        yield ask(without_refusal(question), max_new_tokens=max_new_tokens, step=FORCED)


def may_have_refused(reply: Reply, question: Question) -> bool:
    """Whether any scorer reads the reply as the refusal option. A failed reply is not read at all."""
    if reply.error is not None:
        return False
    asked = AnsweredTurn(question.id, 0, ANSWER, "", (), question.labels, "", reply)
    return any(read(asked, question).outcome == REFUSED for read in SCORERS.values())


_OF_ALL = (single_turn, forced_choice, refusal_prompt)
_OF_ACTIVIEW = (full_image, single_view, zooming, shifting, mixed, groundtruth_views, text_only_template)
PROTOCOLS: dict[str, Protocol] = {f.__name__: f for f in (*_OF_ALL, *_OF_ACTIVIEW)}
NEED_VIEWS = frozenset(f.__name__ for f in _OF_ACTIVIEW) - {text_only_template.__name__}
"""Those that only ActiView's questions can be asked by."""


def check_arguments(entry: Mapping[str, Any], *, path: str) -> None:
    """ConfigError unless ``entry`` names a known function under "function" and only arguments that it takes, and that
    go together."""
    from known_unknowns.errors import unknown_name

    name = entry["function"]
    if name not in PROTOCOLS:
        raise ConfigError(unknown_name(name, PROTOCOLS), path=path)
    takes = _takes(name)
    for key in entry:
        if key != "function" and key not in takes:
            raise ConfigError(f"the protocol {name!r} takes no argument {key!r}", path=f"{path}.{key}")
    if entry.get("split", 4) != 4 and entry.get("level", "R") != "R":
        message = f"levels are published for 4 views, not for {entry['split']}: use level R"
        raise ConfigError(message, path=f"{path}.level")


def bound(settings: Mapping[str, Any], *, pictures: str = MANY) -> Callable[[Question], Dialogue]:
    """The protocol under "name" of ``settings``, with the other keys as its arguments.

    ``pictures`` is what the model can take, for the protocols that show several pictures at once.
    """
    name = settings["name"]
    arguments = {key: value for key, value in settings.items() if key != "name"}
    if "pictures" in _takes(name):
        arguments = {"pictures": pictures} | arguments
    return partial(PROTOCOLS[name], **arguments)


def _takes(name: str) -> set[str]:
    return set(inspect.signature(PROTOCOLS[name]).parameters) - {"question"}

"""Protocols: how a question is asked.

A protocol is a generator that yields a `Turn` and receives its `Reply`::

    def forced_choice(question, context):  # ask; after a refusal, ask again without the refusal option
        reply = yield ask(question, context.prompt(question))
        if context.refused(reply, question):
            yield ask(without_refusal(question), step=FORCED)

The runner (`known_unknowns.inference.runner`) advances many protocols in lockstep, so adaptive protocols batch as well
as single-turn ones. A protocol knows no engine and can be tested with scripted replies.

The protocols of this module apply to any benchmark. A benchmark's own protocols are in its folder
(`Benchmark.protocols`). `known_unknowns.inference.bound_protocols` puts both together.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.records import Question, Reply, Turn
from known_unknowns.variants import Variant, without_refusal

if TYPE_CHECKING:
    from known_unknowns.config import ResolvedProtocol

Dialogue = Generator[Turn, Reply, None]

ANSWER, FORCED, VIEW = "answer", "forced", "view"
"""Steps: the question, the question without its refusal option, and the question about one of several views. The
answer to a question is the reply of its last "answer" step (`known_unknowns.scoring.table`)."""

MANY, CONCATENATED, CAPTIONED = "many", "concatenated", "captioned"
"""Image support of a model: several images in one turn, one image (several are put side by side), or one image (the
model describes the others first)."""

IMAGES, REFUSAL_PROMPT = "images", "refusal_prompt"
"""Requirements of a protocol: questions with images, and a benchmark with a refusal prompt."""


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
    def _arguments(self) -> frozenset[str]:
        return frozenset(inspect.signature(self.function).parameters)

    def bind(self, entry: ResolvedProtocol, *, context: Context, images: str = MANY) -> Callable[[Question], Dialogue]:
        """Return a function of the question alone. ``images`` is the model's image support."""
        given: dict[str, Any] = {"context": context, "images": images}
        arguments = {name: value for name, value in given.items() if name in self._arguments}
        return partial(self.function, **arguments | entry.arguments)


def ask(question: Question, prompt: str, *, max_new_tokens: int = 16, step: str = ANSWER) -> Turn:
    """Return a turn with the question's images, then the prompt, to be answered by a label."""
    return Turn(
        question_id=question.id,
        step=step,
        content=(*question.images, prompt),
        labels=question.labels,
        max_new_tokens=max_new_tokens,
    )


def single_turn(question: Question, context: Context, *, max_new_tokens: int = 16) -> Dialogue:
    """Ask the question once."""
    yield ask(question, context.prompt(question), max_new_tokens=max_new_tokens)


def forced_choice(question: Question, context: Context, *, max_new_tokens: int = 16) -> Dialogue:
    """Ask the question. After a refusal, ask again without the refusal option [1]_.

    If the second answer is correct, the model knew it (an unknown known, Equation 8); otherwise its refusal counts as
    a known unknown.

    Notes
    -----
    The paper leaves some details open. They are decided as follows.

    - The question is asked again if any configured parser parses the reply as a refusal. The paper matches labels
      directly (Appendix B), but its Table 7 reports the same score by perplexity, which needs the second turn wherever
      the likelihood parser detects a refusal. A metric uses the second turn only where its own parser detects one.
    - The other options keep their labels (A, B, D, E if C was the refusal; see
      `known_unknowns.variants.without_refusal`), so that a label means the same option in both turns.
    - The second turn has no refusal option. A respondent that always refuses is unparsed there, and hence wrong.
    - There is no second turn if the refusal is the correct answer (`nota_only`, `noise`, ...), because no forced
      answer could show knowledge.

    References
    ----------
    .. [1] Y. Wang et al., 2024, arXiv:2401.07529, Section 4.1 and Equation 3.
    """
    reply = yield ask(question, context.prompt(question), max_new_tokens=max_new_tokens)
    yield from _forced(question, reply, context, max_new_tokens)


def refusal_prompt(question: Question, context: Context, *, max_new_tokens: int = 16) -> Dialogue:
    """`forced_choice` with the benchmark's refusal prompt in the first turn [1]_.

    The second turn has the plain prompt, because the refusal prompt would offer the option that was removed.

    Raises
    ------
    ValueError
        If the benchmark has no refusal prompt.

    References
    ----------
    .. [1] Y. Wang et al., 2024, arXiv:2401.07529, Section 4.5 and Table 3.
    """
    if context.refusal_prompt is None:
        raise ValueError(f"question {question.id}: {question.benchmark} has no refusal prompt")
    reply = yield ask(question, context.refusal_prompt(question), max_new_tokens=max_new_tokens)
    yield from _forced(question, reply, context, max_new_tokens)


def _forced(question: Question, reply: Reply, context: Context, max_new_tokens: int) -> Dialogue:
    """Yield the second turn, if there is one."""
    applies = context.forced_choice_applies
    knowable = question.answer not in (None, question.refusal) and (applies is None or applies(question))
    if knowable and context.refused(reply, question):
        changed = without_refusal(question)
        yield ask(changed, context.prompt(changed), max_new_tokens=max_new_tokens, step=FORCED)


def by_name(protocols: Iterable[Protocol]) -> dict[str, Protocol]:
    """Return protocols by the names of their functions."""
    return {protocol.name: protocol for protocol in protocols}


PROTOCOLS: Mapping[str, Protocol] = by_name(
    [
        Protocol(single_turn),
        Protocol(forced_choice, parses_refusals=True),
        Protocol(refusal_prompt, frozenset({REFUSAL_PROMPT}), parses_refusals=True),
    ]
)
"""The protocols of all benchmarks."""


def check_arguments(entry: ResolvedProtocol, *, known: Mapping[str, Protocol], path: str) -> None:
    """Check an entry of params.yaml's ``protocols``.

    Raises
    ------
    ConfigError
        If the function is not in ``known``, or if an argument is unknown or impossible.
    """
    name, arguments = entry.name, entry.arguments
    if name not in known:
        raise ConfigError(unknown_name(name, known), path=path)
    protocol = known[name]
    for key in arguments:
        if key not in protocol.settings:
            raise ConfigError(f"the protocol {name!r} takes no argument {key!r}", path=f"{path}.{key}")
    problem = protocol.check(arguments) if protocol.check is not None else None
    if problem is not None:
        argument, reason = problem
        raise ConfigError(reason, path=f"{path}.{argument}")


def impossible(protocol: Protocol, *, variant: Variant, has_refusal_prompt: bool) -> str | None:
    """Return why the protocol cannot ask the questions that a variant makes, or None if it can.

    Parameters
    ----------
    protocol : Protocol
        The protocol.
    variant : Variant
        The variant.
    has_refusal_prompt : bool
        Whether the benchmark has a refusal prompt.
    """
    if REFUSAL_PROMPT in protocol.requires and not has_refusal_prompt:
        return f"the protocol {protocol.name!r} needs a refusal prompt, which the benchmark does not have"
    removed = protocol.requires & variant.removes
    if removed:
        return f"{variant.name!r} removes the {', '.join(sorted(removed))} that the protocol {protocol.name!r} needs"
    return None

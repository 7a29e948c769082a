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

from collections.abc import Mapping
from typing import TYPE_CHECKING

from known_unknowns.benchmark.protocol import FORCED, REFUSAL_PROMPT, Context, Dialogue, Protocol, ask, by_name
from known_unknowns.benchmark.variant import Variant
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.records import Question, Reply
from known_unknowns.variants import without_refusal

if TYPE_CHECKING:
    from known_unknowns.records import ResolvedProtocol


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

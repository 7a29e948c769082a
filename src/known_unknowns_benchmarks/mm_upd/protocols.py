"""MM-UPD's own protocols. The option setting is the generic protocol ``single_turn``.

Every turn offers the label of the option that withholds an answer, also where the prompt does not show it. It is the
next free letter, which the released code accepts as a withheld answer in every setting (`mm_upd.official`).
"""

from __future__ import annotations

from collections.abc import Mapping

from known_unknowns.benchmark.protocol import Dialogue, Protocol, ask, by_name
from known_unknowns.records import Question
from known_unknowns_benchmarks.mm_upd import prompts


def mm_upd_base(question: Question, *, max_new_tokens: int = 1024) -> Dialogue:
    """Ask the question without the option that withholds an answer."""
    yield ask(question, prompts.base(question), max_new_tokens=max_new_tokens)


def mm_upd_instruction(question: Question, *, max_new_tokens: int = 1024) -> Dialogue:
    """Ask the question without that option, with the sentence that names "F"."""
    yield ask(question, prompts.instruction(question), max_new_tokens=max_new_tokens)


def mm_upd_standard(question: Question, *, max_new_tokens: int = 1024) -> Dialogue:
    """Ask the question without that option, with MMBench's own sentence (the paper's original standard)."""
    yield ask(question, prompts.original_standard(question), max_new_tokens=max_new_tokens)


PROTOCOLS: Mapping[str, Protocol] = by_name(
    [Protocol(mm_upd_base), Protocol(mm_upd_instruction), Protocol(mm_upd_standard)]
)
"""MM-UPD's own protocols, by name."""

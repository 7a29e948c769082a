"""Notations of reasoning in replies, and a function that leaves out what stands in them.

Chat models mark their reasoning in different ways. Some templates open it before the reply begins. Reasoning that is
opened and not closed was ended by the limit, and nothing in it is an answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Notation(NamedTuple):
    """A way of marking reasoning: regular expressions of its beginning and of its end."""

    name: str
    opening: str
    closing: str


_TAG = r"(?:[a-z]+:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|scratchpad|reflection)"
NOTATIONS = (
    Notation("tags: <think>, <thought>, <reasoning>, <seed:think>", rf"<{_TAG}>", rf"</{_TAG}>"),
    Notation("brackets: [THINK]", r"\[THINK\]", r"\[/THINK\]"),
    Notation("triangles: ◁think▷", r"◁think▷", r"◁/think▷"),
    Notation("tokens: <|begin_of_thought|>", r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    Notation("tokens: <|START_THINKING|>", r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    Notation("tokens: <unused94>", r"<unused94>(?:thought)?", r"<unused95>"),
    Notation("channels: <|channel>", r"<\|channel>\s*(?:thought|analysis|think)?", r"<channel\|>"),
    Notation(
        "harmony channels",
        r"<\|channel\|>\s*(?:analysis|commentary)[^<]*<\|message\|>",
        r"<\|end\|>|<\|start\|>\s*assistant(?=\s*<\|channel\|>\s*final)|(?=<\|channel\|>\s*final)",
    ),
    Notation("harmony channels without special tokens", r"\Aanalysis(?=[A-Z])", r"assistant\s?final"),
)
"""All known notations. To add one, add a line."""

_COMPILED = tuple((re.compile(n.opening, re.IGNORECASE), re.compile(n.closing, re.IGNORECASE)) for n in NOTATIONS[:-1])
_PLAIN = (re.compile(NOTATIONS[-1].opening), re.compile(NOTATIONS[-1].closing))  # case tells it from a word
_AT_END = tuple(re.compile(rf"(?:{n.opening})\s*\Z", re.IGNORECASE) for n in NOTATIONS[:-1])
_SIGNS = re.compile(r"[<\[◁]|\Aanalysis")


class FinalText(NamedTuple):
    """The text outside the reasoning of a reply.

    ``open`` is true if reasoning was opened and not closed.
    """

    text: str
    open: bool


class SplitReply(NamedTuple):
    """The reasoning of a reply without its marks, the text outside it, and whether the reasoning is open."""

    reasoning: str
    text: str
    open: bool


def final_text(reply: str, *, opened: bool = False) -> FinalText:
    """Return what a reply says outside its reasoning.

    Parameters
    ----------
    reply : str
        The reply, with its special tokens or without.
    opened : bool
        Whether the model's template opens the reasoning, so that the reply starts inside it.

    Returns
    -------
    FinalText
        The text after closed reasoning, and before reasoning that is not closed.

    Examples
    --------
    >>> final_text("<think>It may be A.</think>B")
    FinalText(text='B', open=False)
    >>> final_text("[THINK]It may be A")
    FinalText(text='', open=True)
    """
    split = split_reply(reply, opened=opened)
    return FinalText(split.text, split.open)


def split_reply(reply: str, *, opened: bool = False, marks: Sequence[str] | None = None) -> SplitReply:
    """Return the reasoning of a reply and what it says outside; the parameters are those of `final_text`.

    ``marks`` are two texts that open and close the reasoning of a certain model, besides `NOTATIONS`.

    Examples
    --------
    >>> split_reply("<think>It may be A.</think>B")
    SplitReply(reasoning='It may be A.', text='B', open=False)
    """
    if not opened and not _SIGNS.search(reply) and not (marks and any(mark in reply for mark in marks)):
        return SplitReply("", reply, False)
    reasoning: list[str] = []
    own = [tuple(re.compile(re.escape(mark)) for mark in marks)] if marks else []
    for opening, closing in (*own, *_COMPILED, _PLAIN):
        outside: list[str] = []
        position, inside = 0, opened
        while True:
            ends = closing.search(reply, position)
            if inside:
                if ends is None:
                    break
                reasoning.append(reply[position : ends.start()])
                position, inside = ends.end(), False
                continue
            begins = opening.search(reply, position)
            if ends is not None and (begins is None or ends.start() < begins.start()) and _closes(ends):
                reasoning += [*outside, reply[position : ends.start()]]  # the template opened it
                outside, position = [], ends.end()
                continue
            outside.append(reply[position : None if begins is None else begins.start()])
            if begins is None:
                break
            position, inside = begins.end(), True
        if opened and inside and position == 0:
            continue  # not closed in this notation
        if inside:
            return SplitReply(_joined([*reasoning, reply[position:]]), "".join(outside), True)
        reply, opened = "".join(outside), False
    return SplitReply(_joined([reply]), "", True) if opened else SplitReply(_joined(reasoning), reply, False)


def opens_reasoning(prompt: str, marks: Sequence[str] | None = None) -> bool:
    """Whether a prompt ends with a mark that opens reasoning, so that the reply starts inside it.

    Examples
    --------
    >>> opens_reasoning("Which color?<|im_start|>assistant\\n<think>\\n")
    True
    """
    return any(pattern.search(prompt) for pattern in _AT_END) or bool(marks and prompt.rstrip().endswith(marks[0]))


def _joined(parts: list[str]) -> str:
    return "\n".join(part.strip() for part in parts if part.strip())


def _closes(end: re.Match[str]) -> bool:
    """Whether the end of reasoning also ends one that the reply did not open. Harmony's <|end|> ends every message."""
    return bool(end[0]) and end[0] != "<|end|>"

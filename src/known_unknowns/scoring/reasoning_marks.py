"""Notations of reasoning in replies, and a function that leaves out what stands in them.

Chat models mark their reasoning in different ways. Some templates open it before the reply begins. Reasoning that is
opened and not closed was ended by the limit, and nothing in it is an answer.
"""

from __future__ import annotations

import re
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
_SIGNS = re.compile(r"[<\[◁]|\Aanalysis")


class FinalText(NamedTuple):
    """The text outside the reasoning of a reply.

    ``open`` is true if reasoning was opened and not closed.
    """

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
    if not opened and not _SIGNS.search(reply):
        return FinalText(reply, False)
    for opening, closing in (*_COMPILED, _PLAIN):
        outside: list[str] = []
        position, inside = 0, opened
        while True:
            ends = closing.search(reply, position)
            if inside:
                if ends is None:
                    break
                position, inside = ends.end(), False
                continue
            begins = opening.search(reply, position)
            if ends is not None and (begins is None or ends.start() < begins.start()) and _closes(ends):
                outside, position = [], ends.end()  # the template opened it
                continue
            outside.append(reply[position : None if begins is None else begins.start()])
            if begins is None:
                break
            position, inside = begins.end(), True
        if opened and inside and position == 0:
            continue  # not closed in this notation
        if inside:
            return FinalText("".join(outside), True)
        reply, opened = "".join(outside), False
    return FinalText("", True) if opened else FinalText(reply, False)


def _closes(end: re.Match[str]) -> bool:
    """Whether the end of reasoning also ends one that the reply did not open. Harmony's <|end|> ends every message."""
    return bool(end[0]) and end[0] != "<|end|>"

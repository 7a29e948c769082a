"""A reply as its reader sees it: without the thinking, the markup and the many ways to write one character."""

from __future__ import annotations

import re
import unicodedata

ANSWER_MARK = "<answer>"
"""What every markup of a final answer becomes: LaTeX's box, the tags that reasoning models were trained to write."""

_THINKING = re.compile(r"<(?:think|thinking|reasoning)>|◁think▷", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|reasoning)>|◁/think▷", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_APOSTROPHE = re.compile(r"[\u2018\u2019\u02bc\uff07]")
_FINAL = re.compile(r"\\f?boxed\s*\{|<\|begin_of_box\|>|<(?:conclusion|final_answer)>", re.IGNORECASE)
_FINAL_END = re.compile(r"<\|end_of_box\|>|</(?:conclusion|final_answer)>", re.IGNORECASE)
_LATEX_STYLE = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|bf|rm)\b\s?\{?|\\[()\[\]]|\$")
_SPECIAL_TOKEN = re.compile(r"<\|[^|<>]{0,40}\|>|</?s>")
_MARKUP = re.compile(r'[*`~"\u201c\u201d\u201e\u00ab\u00bb]')
_MARKS_IN_A_ROW = 30
_SPACES = re.compile(r"\s+")
_AROUND = " \n.,:;!?()[]{}<>'#|/\\=-\u2013\u2014\u2026\u3002\u3001\u2022\u00b7\u25cf\u2192\u2190\u2713\u2714\u2705"
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_SCRIPT_CHANGE = re.compile(rf"(?<=[{_IDEOGRAPH}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{_IDEOGRAPH}])")


def without_thinking(text: str) -> str:
    """What follows the last closed think block, up to the next one that opens.

    A block that is never closed was cut off: only what stands before it is an answer. A closing tag alone ends a
    block that the prompt's template opened.
    """
    start = 0
    for end in _THOUGHT.finditer(text):
        start = end.end()
    text = text[start:]
    cut = _THINKING.search(text)
    return text[: cut.start()] if cut else text


def normalise(text: str) -> str:
    """One way to write each character (NFKC, ASCII digits and quotes), no markup, single spaces and newlines."""
    text = unicodedata.normalize("NFKC", _stream_safe(_INVISIBLE.sub("", text)))
    if not text.isascii():
        text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
        text = _APOSTROPHE.sub("'", text)
        text = _SCRIPT_CHANGE.sub(" ", text)  # these scripts set no spaces, so a letter beside them stands alone
    text = _LATEX_STYLE.sub("", _FINAL.sub(ANSWER_MARK, _FINAL_END.sub("</answer>", text)))
    text = _MARKUP.sub("", _SPECIAL_TOKEN.sub(" ", text)).replace("_", " ")
    return _SPACES.sub(lambda run: "\n" if "\n" in run[0] else " ", text).strip()


def _stream_safe(text: str) -> str:
    """At most 30 combining marks in a row (Unicode Annex 15, section 13): normalising takes the square of the time."""
    if text.isascii():
        return text
    kept, run = [], 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= _MARKS_IN_A_ROW:
            kept.append(character)
    return "".join(kept)


def bare(text: str) -> str:
    """Without the brackets, bullets, dashes and stops around it."""
    return text.strip(_AROUND)

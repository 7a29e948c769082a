"""Cleaning of replies before they are parsed: reasoning, markup and Unicode variants are removed."""

from __future__ import annotations

import re
import unicodedata

ANSWER_MARK = "<answer>"
"""Replaces every markup of a final answer: LaTeX's box, and tags that reasoning models are trained to write."""

_THINKING = re.compile(r"<(?:think|thinking|reasoning)>|◁think▷", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|reasoning)>|◁/think▷", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe0f\ufeff\u20e3]")
_SQUARED = {start + place: ord("A") + place for start in (0x1F150, 0x1F170, 0x1F1E6) for place in range(26)}
"""White letters on black and flags' letters, which Unicode does not normalise."""
_LOOK_ALIKE = str.maketrans("АВСЕНаеорсхуіΑΒΕΗΟΤαο", "ABCEHaeopcxyiABEHOTao")
_OTHER_ALPHABET = re.compile(r"[\u0370-\u03ff\u0400-\u04ff]")
_MIXED_WORD = re.compile(r"[A-Za-z\u0370-\u03ff\u0400-\u04ff]+")
_APOSTROPHE = re.compile(r"[\u2018\u2019\u02bc\uff07]")
_FINAL = re.compile(r"\\f?boxed\s*\{|<\|begin_of_box\|>|<(?:conclusion|final_answer)>", re.IGNORECASE)
_FINAL_END = re.compile(r"<\|end_of_box\|>|</(?:conclusion|final_answer)>", re.IGNORECASE)
_LATEX_STYLE = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|bf|rm)\b\s?\{?|\\[()\[\]]|\$")
_PLAIN = re.compile(r"(?:[A-Za-z0-9.,:;!?'()-]+(?: (?! )|\Z))*+")
"""Text in which nothing has to be normalised: most options and many replies."""
_STRUCK_OUT = re.compile(r"~~[^~\n]{0,200}~~|<del>[^<\n]{0,200}</del>", re.IGNORECASE)
_GROUNDED = re.compile(r"<(?P<tag>box|bbox|quad|point|points)>[^<]{0,200}</(?P=tag)>|</?ref>", re.IGNORECASE)
"""Places in the image that some models write beside words."""
_REFERRED = re.compile(r"<ref>[^<]{0,200}</ref>\s?(?=<(?:box|bbox|quad|point))", re.IGNORECASE)
_PRIVATE_USE = re.compile(r"[\ue000-\uf8ff]")
_SPECIAL_TOKEN = re.compile(r"<\|[^|<>]{0,40}\|>|</?s>")
_MARKUP = re.compile(r'[*`~"\u201c\u201d\u201e\u00ab\u00bb]')
_MARKS_IN_A_ROW = 30
_LINE_MARKUP = re.compile(r"(?:\A|(?<=\n))[ \t]{0,3}(?:(?:>[ ]?)+(?![\s\d])|#{1,6}[ ](?=\S))")
_SPACES = re.compile(r"\s+")
_AROUND = " \n.,:;!?()[]{}<>'#|/\\=-\u2013\u2014\u2026\u3002\u3001\u2022\u00b7\u25cf\u2192\u2190\u2713\u2714\u2705"
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_SCRIPT_CHANGE = re.compile(rf"(?<=[{_IDEOGRAPH}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{_IDEOGRAPH}])")


def without_line_markup(text: str) -> str:
    """Remove Markdown's marks of quoted lines and headings."""
    return _LINE_MARKUP.sub("", text) if ">" in text or "#" in text else text


def without_thinking(text: str) -> str:
    """Return the text after the last closed reasoning block, up to the next block that opens.

    A block without an end was cut off, so only the text before it can contain an answer. An end tag without a start tag
    ends a block that the prompt's template opened.
    """
    start = 0
    for end in _THOUGHT.finditer(text):
        start = end.end()
    text = text[start:]
    cut = _THINKING.search(text)
    return text[: cut.start()] if cut else text


def normalise(text: str) -> str:
    """Return the text in Unicode normal form (NFKC, ASCII digits and quotes), without markup and repeated spaces."""
    if _PLAIN.fullmatch(text):
        return text.strip()
    text = unicodedata.normalize("NFKC", _stream_safe(_INVISIBLE.sub("", text)))
    text = _STRUCK_OUT.sub(" ", text)
    if "</" in text:
        rest = _GROUNDED.sub(" ", _REFERRED.sub(" ", text))
        text = rest if rest.strip() else _GROUNDED.sub(" ", text)
    if not text.isascii():
        text = _PRIVATE_USE.sub(" ", text)  # known_unknowns.scoring.robust.marks uses these characters
        text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
        text = _APOSTROPHE.sub("'", text.translate(_SQUARED))
        if _OTHER_ALPHABET.search(text):
            text = _MIXED_WORD.sub(_latin, text)
        text = _SCRIPT_CHANGE.sub(
            " ", text
        )  # these scripts have no spaces, so a letter next to them is a separate word
    text = _LATEX_STYLE.sub("", _FINAL.sub(ANSWER_MARK, _FINAL_END.sub("</answer>", text)))
    text = _MARKUP.sub("", _SPECIAL_TOKEN.sub(" ", text)).replace("_", " ")
    return _SPACES.sub(lambda run: "\n" if "\n" in run[0] else " ", text).strip()


def _latin(match: re.Match[str]) -> str:
    """Replace Cyrillic and Greek letters that look like Latin ones, in a word that has Latin letters or is one letter.

    A single letter of a text in that alphabet is left, because it can be a label of that alphabet.
    """
    word = match[0]
    foreign = len(_OTHER_ALPHABET.findall(word))
    if 0 < foreign < len(word) or (foreign == len(word) == 1 and len(_OTHER_ALPHABET.findall(match.string)) == 1):
        return word.translate(_LOOK_ALIKE)
    return word


def _stream_safe(text: str) -> str:
    """Keep at most 30 combining marks in a row (Unicode Annex 15, section 13), because NFKC is quadratic in them."""
    if text.isascii():
        return text
    kept, run = [], 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= _MARKS_IN_A_ROW:
            kept.append(character)
    return "".join(kept)


def bare(text: str) -> str:
    """Return the text without surrounding brackets, bullets, dashes and punctuation."""
    return text.strip(_AROUND)

"""Cleaning of replies, and words that can be compared."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from known_unknowns.scoring.reply_parser import words

_CHARACTERS: dict[int, str | int | None] = {
    **str.maketrans("−‒﹣‘’ʼ“”„×·⁄", "---'''\"\"\"**/", "\u200b\u200c\u200d\ufeff\ufe0f"),
    ord("。"): ". ",
    **{ord(sign): f"{'^_'[n // 10]}{n % 10}" for n, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉")},
}
_SPACES = re.compile(r"\s\s+")
_MARKUP = (
    (re.compile(r"~~.+?~~"), ""),
    (re.compile(r"<\|(?:start|channel)\|>\w*|<\|(?!begin_of_box|end_of_box)[^|<>]{1,40}\|>|</?s>|\[/?INST\]"), " "),
    (re.compile(r"</?(?:b|i|u|em|strong|p|span|div|center|sub|font|mark|code)\b[^<>]*>|<br\s?/?>"), " "),
    (re.compile(r"(?m)^\s*(?:#{1,6}(?!#)|>(?!=?\s?[-+$€£¥.]?\d)|[*•●▪-](?=\s))\s*"), ""),  # "> 5" is no quotation
    (re.compile(r"\*\*|__(?=\S)|(?<=\S)__|`+|(?<![\w*])\*(?=\w)|(?<=[\w.)])\*(?![\w*])"), ""),
    (re.compile(r"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:rm|bf|it|sf|cal)?|operatorname|mbox)\s?\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\$\$|(?<!\\)\$(?!\s)((?:[^$\n]*[^$\s\\])?)\$(?!\d)"), r" \1 "),  # mathematics, not "$20 and $30"
    (re.compile(r"\\\$(?=\s?[.\d])"), "$"),
    (re.compile(r"\\[,;:! ]|\\(?:left|right|displaystyle|quad|qquad)(?![a-z])|\$(?!\s?[.\d])|\\[()\[\]]"), " "),
    (re.compile(r"\\[dt]?frac\s?\{([^{}]*)\}\s?\{([^{}]*)\}"), r"\1/\2"),
    (re.compile(r"\\(?:times|cdot)"), "*"),
    (re.compile(r"\^\s?\{?\\circ\}?|\\degree"), "°"),
    (re.compile(r"[ \t]+"), " "),
)
_MARKS = re.compile(r"[*_`#~<>\\$|\[•●▪]|  |\t|^\s*[-]|\n\s*[-]")
_PREFIX = re.compile(r"\A\W*(?:assistant|model|ai|bot)\s?(?::|\n)\s*", re.IGNORECASE)
_FURTHER_TURN = re.compile(
    r"\n\s?(?:(?:###\s?)?(?:question|q|user|human|context|instruction|input|hint|problem)\s?(?:\d+\s?)?:"
    r"|<\|?(?:user|human|im_start)\b)",
    re.IGNORECASE,
)


def clean(reply: str) -> str:
    """Return a reply without markup, with plain signs, and without turns that it invents."""
    text = _SPACES.sub(lambda run: "\n" if "\n" in run[0] else " ", reply)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_CHARACTERS)).translate(_CHARACTERS)
    further = _FURTHER_TURN.search(text)
    if further and text[: further.start()].strip():
        text = text[: further.start()]
    if _MARKS.search(text):
        for pattern, replacement in _MARKUP:
            text = pattern.sub(replacement, text)
    return _PREFIX.sub("", text, count=1).strip()


class Token(NamedTuple):
    """A word, a number or a sign, in the form in which it is compared, and its place in the text."""

    form: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""
    (?P<number>
      (?:[<>≤≥]=?\s?|(?<![\w)\]}%])±)? (?:(?<![\w)\]}%])[-+](?=[.\d]))?      # comparison and sign
      (?:\d{1,3}(?:,\d{3})+(?!\d)|\d+|(?=\.\d)) (?:\.\d+)?
      (?:\s?\^\s?[({]?[-+]?\w+[)}]?|e[-+]?\d+|[-/:]\d+(?:\.\d+)?)*           # exponent, ratio, fraction, range, time
    )
  | (?P<word> [^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+ (?:'[^\W\d_]+)* (?:[_^](?:\{[^{}]*\}|[-+]?\w+))* )
  | (?P<sign> [\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3] | [+=<>≤≥%°√∞±$€£¥₹] | [*/](?!\w{2})
      | (?<=[\w)])\s?-(?=\s?[\d(]) | (?<![^\W\d]{2})\s-(?=\s?[^\W\d_](?!\w))                    # minus, no dash
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_COUNTS = (
    "zero one two three four five six seven eight nine ten"
    " eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
)
_FORMS = {word: str(count) for count, word in enumerate(_COUNTS.split())} | {
    **dict.fromkeys(("degrees", "degree"), "°"),
    **dict.fromkeys(("ω", "omega", "ohms"), "ohm"),
    **{"percent": "%", "π": "pi", "sqrt": "√", "can't": "cannot"},
}
_SIGN_OF_CURRENCY = re.compile(r"(?<![\w)\]}%])([-+])([$€£¥₹])(?=[.\d])")  # "-$20" is "$-20"
CURRENCIES = frozenset("$€£¥₹")
_SIGNS = {"minus": "-", "negative": "-", "plus": "", "positive": ""}
_OPERATORS = {"minus": "-", "plus": "+"}
_COMPARISONS = {
    **dict.fromkeys(("greater than", "more than", "larger than", "higher than", "over", "above", "exceeds"), ">"),
    **dict.fromkeys(("less than", "fewer than", "smaller than", "lower than", "under", "below"), "<"),
    **dict.fromkeys(("at least", "no less than", "not less than", "no fewer than", "greater than or equal to"), "≥"),
    **dict.fromkeys(("at most", "no more than", "not more than", "up to", "less than or equal to"), "≤"),
}
_COMPARISON = re.compile(
    rf"\b({'|'.join(sorted(_COMPARISONS, key=len, reverse=True))})\s\Z".replace(" ", r"\s"), re.IGNORECASE
)
_PRONOUN = re.compile(
    r"\b(?:this|that|which|the|each|another|other|any|only|every|no)\sone|one\s(?:of|is|that|which|who|with)\b"
)
_AFTER_A_LABEL = re.compile(r"is|was|are|has|in|on|and|or|would|appears|seems|more|because|to|of|at|by|does|can")


def _is_article(token: Token, text: str, following: re.Match[str]) -> bool:
    """Return whether a token is an article before a word. A capital "A" before a verb is a label."""
    word = text[token.start : token.end]
    if word not in ("a", "an", "the", "A", "An", "The") or not text[token.end : following.start()].isspace():
        return False
    return word != "A" or _AFTER_A_LABEL.fullmatch(following[0]) is None


def _is_term(form: str) -> bool:
    """Return whether a token is a number or a variable."""
    return form[-1:].isdigit() or (len(form) == 1 and form.isalpha())


def _ends_with_term(found: list[Token]) -> bool:
    """Return whether tokens end with a number or a variable, after which a sign calculates."""
    return bool(found) and _is_term(found[-1].form)


def _calculates(form: str, found: list[Token]) -> bool:
    """Return whether the last token is "plus" or "minus" between terms, of which this one is no article or pronoun."""
    is_operator = bool(found) and found[-1].form in _OPERATORS
    return is_operator and _is_term(form) and form not in ("a", "i") and _ends_with_term(found[:-1])


def _with_words_before(form: str, start: int, found: list[Token], text: str) -> tuple[str, int]:
    """Return a number with a sign and a comparison in words before it, which are removed from the tokens."""
    currency = [found.pop()] if found and found[-1].form in CURRENCIES else []  # "minus $20"
    number = currency[0].start if currency else start
    is_sign = bool(found) and found[-1].form in _SIGNS and text[found[-1].end : number] in (" ", "-")
    if is_sign and not _ends_with_term(found[:-1]):  # "ten minus five" is a calculation
        sign = found.pop()
        form, start = _SIGNS[sign.form] + form, start if currency else sign.start
    found += currency
    comparison = _COMPARISON.search(text, max(0, start - 30), start)
    if comparison and form[0] not in "<>≤≥":
        while found and found[-1].start >= comparison.start():
            found.pop()
        form, start = _COMPARISONS[" ".join(comparison[1].casefold().split())] + form, comparison.start()
    return form, start


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[Token, ...]:
    """Return the words, numbers and signs of a text. A sign, an exponent and a comparison belong to their number.

    Articles before a word are left out. Number words up to twenty are digits.
    """
    text = _SIGN_OF_CURRENCY.sub(r"\2\1", text)
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        form = match[0].strip().casefold()
        if match["number"]:
            form = re.sub(r"(?<=\d),(?=\d)|\s|[{}]", "", form).replace("<=", "≤").replace(">=", "≥")
            form = re.sub(r"(?<!\d)\.(?=\d)", "0.", form)
            if "." in form and not re.search(r"[-^/:e]", form[1:]):
                form = form.rstrip("0").rstrip(".")
        elif match["word"]:
            if found and _is_article(found[-1], text, match):
                found.pop()
            if form != "one" or not _PRONOUN.search(text[max(0, match.start() - 9) : match.end() + 6]):
                form = _FORMS.get(form, form)
        start = match.start()
        if form[:1].isdigit():
            form, start = _with_words_before(form, start, found, text)
        if _calculates(form, found):
            found[-1] = found[-1]._replace(form=_OPERATORS[found[-1].form])
        found.append(Token(form, start, match.end()))
    return tuple(found)


def forms(text: str) -> tuple[str, ...]:
    """Return the tokens of a text without their places."""
    return tuple([token.form for token in tokens(text)])


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """Return the content words of a text, without the plural's s."""
    left_out = words.STOP_WORDS | words.QUESTION_WORDS | CURRENCIES
    return frozenset(form.rstrip("s") for form in forms(text) if form not in left_out)


_STOP = re.compile(
    r"(?<=[^\W_]{2}[.!?])[\"')\]]*\s+|(?<=[\"')\]%°][.!?])\s+|(?<=\s\d\.)\s+(?=[A-Z][a-z])|\n+"
    r"|(?<=\s[A-Z]\.)\s+(?=(?:Which|What|Who|Where|When|How|Is|Are|Does|Do|Can|This|It)\s[a-z])"
)


def sentences(text: str) -> list[tuple[str, int]]:
    """Return the sentences of a text and their places. They end at line ends and after full stops."""
    found, start = [], 0
    for match in _STOP.finditer(text):
        piece = text[start : match.end()]
        if piece.strip():
            found.append((piece.strip(), start + len(piece) - len(piece.lstrip())))
        start = match.end()
    return [*found, (rest, start)] if (rest := text[start:].strip()) else found

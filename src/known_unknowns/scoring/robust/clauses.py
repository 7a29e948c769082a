"""Parts of English sentences: clauses, subjects, nouns and places, for `known_unknowns.scoring.robust.relevance`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust.marks import MARK
from known_unknowns.scoring.robust.stems import stem

ENGLISH = re.compile(
    r"\b(?:the|to|in|at|and|are|by|from|next|behind|can|be|not|see|do|does|you|an?|is|was|of|on|with|there|it|this|i|my|its?|has|have"
    r"|he|she|they|we|who|which|what|that|these|those|his|their|our|your|some|every|would|should|could|were|been|had|did"
    r"|stands|sits|lies|hangs|wears|holds|reads|stays|contains|comes|goes|gets|makes|takes|gives|looks|seems|plays|shows|says|because|while|although|but|or|for|very|first|second)\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[^\W\d_][\w'-]*")
SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_VERB_AFTER = r"(?:is|are|was|were|has|have|lies|lie|sits|sit|stands|stand|hangs|hang|can|looks|appears|seems)"
CLAUSE = re.compile(
    rf"[;:()\u2013\u2014\u2026]|,(?!\s?(?:and\s|or\s)?(?:an?\s|the\s)?{MARK})|,?\s(?=(?:but|while|whereas|although|though|so|because|since|which|who"
    rf"|where|when|unlike)\s)|,?\s(?=and\s(?!(?:an?\s|the\s)?{MARK}))|(?:,\s(?:and\s)?|(?<!{MARK})\sand\s)(?=(?:an?\s|the\s)?{MARK}\s{_VERB_AFTER}\b)",
    re.IGNORECASE,
)
_IN_THE_IMAGE = (
    r"(?:in|from|based\son|looking\sat|within)\s(?:the|this)\s(?:\w+\s)?"
    r"(?:image|photo|picture|scene|photograph|view|frame)"
)
_OPENER = re.compile(
    r"\s*(?:(?:and|but|yet|so|while|whereas|although|though|because|since|as|then|thus|therefore|hence|well|yes|no|okay|ok|overall"
    r"|clearly|actually|probably|perhaps|maybe|(?:most\s)?likely|definitely|apparently|also|here|now|indeed|that|honestly|judging|still|again|surely)\b"
    rf"|{_IN_THE_IMAGE}\b|at\s(?:the|this)\smoment(?:\s(?:shown|depicted|captured))?\b|what(?=\s(?:he|she|it|they|the)\b)|in\s(?:fact|reality|truth)\b|at\s(?:first|second)\s(?:sight|glance)\b|of\scourse\b"
    r"|(?:I|we|you)(?:\s(?:can|could|would|will|do|also|clearly|only|just)|'d|'ll|'m)*\s(?:see|think|believe|say|count|notice|guess|observe"
    r"|find|spot|recogni[sz]e|identify|assume|suppose|call|describe|go|choose|pick|sure|certain|confident)(?:\s(?:that|it\sas|it|for|with))?\b"
    r"|it\s(?:seems|appears|looks)\s(?:that|like|as\sif|to\sbe)\b"
    r"|(?:the|this)\s(?:image|photo|picture|scene|photograph|view)\s(?:clearly\s|also\s)?(?:shows|depicts|contains|features|displays|has|includes)\b"
    rf"|(?:according\sto|judging\s(?:by|from)|based\son|going\sby)\s(?:the|this|its|his|her|their)\s(?:\w+\s){{0,3}}\w+(?=,\s(?:(?:an?|the)\s)?\Z)"
    r"|there(?:'s|\s(?:is|are|was|were|seems?\sto\sbe|appears?\sto\sbe|must\sbe|can\sbe\sseen))\b),?(?=\s|\Z)",
    re.IGNORECASE,
)
SHOWS_THAT = re.compile(
    r"\b(?:suggest|indicat|show|mean|impl|reveal|confirm|tell|conclude|clear|evident|obvious|likely|believe|think)\w*\s(?:us\s|me\s)?that\s",
    re.IGNORECASE,
)
_PLACES = (
    (
        "on",
        r"(?:strapped|attached|tied|fixed|mounted|fastened)\s(?:to|on)|on\stop\sof|on|onto|upon|atop|in|inside|within",
    ),
    ("at", r"at|toward|towards|to|from|for|against"),
    ("near", r"next\sto|near|beside|close\sto|alongside|by"),
    ("behind", r"behind"),
    ("below", r"under|below|beneath|underneath"),
    ("above", r"above|over"),
    ("left", r"(?:to\sthe\s|on\sthe\s)?left\sof"),
    ("right", r"(?:to\sthe\s|on\sthe\s)?right\sof"),
    ("front", r"in\sfront\sof|before"),
)
PLACE = re.compile(
    r"\b(?:"
    + "|".join(f"(?P<{name}>{words})" for name, words in reversed(_PLACES))
    + r")\s(?:(?:the|an?|his|her|their|its|this|that)\s)(?:(?!(?:of|in|on|is|are)\b)[\w'-]+\s){0,3}?(?P<noun>[a-z]+)"
    r"(?=\s?(?:[.,;:!?)]|\Z)|\s(?:is|are|in|on|at|of|and|or|with|near|next|that|which|who|while|has|sits|stands|lies|hangs|there|you|we|I)\b)",
    re.IGNORECASE,
)


def noun_of(words: list[str]) -> str | None:
    """The stem of the noun that a noun phrase is about: "roof" of "the roof of the bus"."""
    skipped = list(takewhile(lambda word: word in lexicon.DETERMINERS | lexicon.OTHER_FUNCTION, words))
    words = words[len(skipped) :]
    phrase = list(takewhile(lambda word: word not in lexicon.CLAUSE_WORDS, words))
    if not phrase:
        return None
    phrase = phrase[:1] + list(takewhile(lambda word: _belongs(word), phrase[1:]))
    while len(phrase) > 1 and is_participle(phrase[-1]):
        phrase = phrase[:-1]
    rest = words[len(phrase) :]
    noun = stem(phrase[-1])
    if rest[:1] == ["of"] and noun in lexicon.GENERAL_NOUNS | {"pair", "group", "piece"}:
        return noun_of(rest[1:]) or noun
    return noun


def _belongs(word: str) -> bool:
    """Whether a word after the first one of a noun phrase belongs to it."""
    return word not in lexicon.PLACING and (not word.endswith("ing") or word in lexicon.NO_PARTICIPLES)


def is_participle(word: str) -> bool:
    """Whether a word after a noun is a participle: "the boat moored next to the pier", "the umbrella held by her"."""
    ends = word.endswith(("ed", "ing")) and len(word) > 4 and word not in lexicon.NO_PARTICIPLES
    return ends or word in lexicon.PARTICIPLES


def place_of(match: re.Match[str]) -> str:
    """Return the kind of place of a match of `PLACE`. Prepositions of one kind are not distinguished."""
    return next(name for name, _ in _PLACES if match[name])


def without_openers(text: str) -> tuple[str, bool]:
    """Remove what introduces a statement ("In the image, I can see"), and return whether there was any."""
    text = text.lstrip(" ,;:()\u2013\u2014\u2026")
    start = max((match.end() for match in SHOWS_THAT.finditer(text)), default=0)
    while (match := _OPENER.match(text, start)) and match.end() > start:
        start = match.end()
    return text[start:], start > 0


def parts(separator: re.Pattern[str], text: str) -> Iterator[str]:
    """Yield the parts of a text, each with the separator before it."""
    start = 0
    for match in separator.finditer(text):
        if match.start() > start:
            yield text[start : match.start()]
            start = match.start()
    yield text[start:]

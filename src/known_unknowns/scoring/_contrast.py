"""The statement about what the question asks, in a reply that states several options of different things.

"The ground floor has four windows, the upper floor has six." names two options. Each option has its own part of the
sentence. Such a part answers "How many windows does the upper floor have?" if it holds a word of the question that no
part with another option holds, and nothing that the question does not ask about, while every part with another option
is about something else. One option must have such a part. Otherwise the reply is a choice that only the words between
the options explain, and it is not resolved.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from known_unknowns.scoring import _alignment_words as lists
from known_unknowns.scoring import _words
from known_unknowns.scoring._alignment import Alignment
from known_unknowns.scoring._marks import MARK, TEXT
from known_unknowns.scoring._relevance_patterns import SIDES
from known_unknowns.scoring._stems import root, stem

_SENTENCE = re.compile(r"(?<=[.!?])\s|\n|(?<=[.!?][)'])\s")
_MARK = re.compile(MARK)
_TOKEN = re.compile(r"[^\W\d_][\w'-]*|\d+(?:[.,:]\d+)*")
_PHRASE = re.compile(
    r"\bon\sthe\sother\shand\b|\b(?:yet|enough|though|alas|meanwhile)\b|\bas\sa\sresult\b|\bof\scourse\b|\bin\s(?:fact|total|all|(?:the|this)\s(?:image|picture|photo|scene))\b",
    re.IGNORECASE,
)
_SEPARATORS = (
    re.compile(
        r"[;:\u2013\u2014\u2026]|\s-{1,2}\s|\s(?:but|while|whereas|although|though|yet|because|so)\s", re.IGNORECASE
    ),
    re.compile(r",(?=\s)"),
    re.compile(r"\s(?:and|or|nor)\s", re.IGNORECASE),
    re.compile(r"\s(?=(?:with|without|near|next|behind|above|below|beside|under|in|on|at|from|between)\s)"),
)
"""What can separate the parts of two options, from the strongest to the weakest."""
_ASIDE = re.compile(
    rf"\b(?:next\sto|near|beside|behind|above|below|under|than)\s(?:(?:an?|the|some|his|her|its|their)\s)?"
    rf"(?:[a-z]+\s)?{TEXT}"
)
_ATTRIBUTE = re.compile(rf"(?<=\s){TEXT}\s(?P<noun>[a-z]+)(?=[\s.,;:!?]|\Z)")
_REFERENCES = _words.PRONOUNS | {"this", "that", "he", "she"}
_RELATIVE = re.compile(r"\b(?<!\A)that\s(?=(?!(?:is|was|looks)\b)|(?:is|was)\s\w+(?:ed|en)\b)", re.IGNORECASE)


class _Part(NamedTuple):
    """What is said of one mention: the question's words, its prepositions, and words that the question has not."""

    mark: str
    asked: frozenset[str]
    prepositions: frozenset[str]
    other: frozenset[str]
    placed: frozenset[str]
    refers: bool

    @property
    def empty(self) -> bool:
        """Whether nothing is said of the mention."""
        return not (self.asked or self.prepositions or self.other or self.placed or self.refers)

    def is_like(self, other: _Part) -> bool:
        """Whether the parts share a word or preposition of the question."""
        return bool(self.asked & other.asked or self.prepositions & other.prepositions)

    def differs(self) -> bool:
        """Whether the part is about something that the question does not ask about."""
        return bool(self.other or self.placed)


def without_asides(text: str, alignment: Alignment) -> str:
    """Remove mentions that only describe another thing: "next to the red door", "the red door"."""

    def attribute(match: re.Match[str]) -> str:
        noun = match["noun"]
        known = noun in _words.FUNCTION_WORDS | lists.LINKING | {"one", "ones"} or stem(noun) in _words.GENERAL_NOUNS
        describes = not known and not noun.endswith(("ly", "ing")) and root(noun) not in alignment.content
        return f"\u2026 {noun}" if describes else match[0]

    return _ATTRIBUTE.sub(attribute, _ASIDE.sub("\u2026", text))


def asked_marks(text: str, alignment: Alignment, relevant: Collection[str]) -> set[str]:
    """Return the marks whose part of the reply answers the question, beside parts about something else.

    Parameters
    ----------
    text : str
        A marked reply.
    alignment : Alignment
        The question.
    relevant : collection of str
        Marks that can be said of what the question asks. Others count only if all parts share a word or
        preposition with theirs: "Against the wall there are two, and against the fence three."
    """
    found = [part for sentence in _SENTENCE.split(text) for part in _parts(sentence, alignment)]
    marks = set()
    for part in found:
        others = [other for other in found if other.mark != part.mark]
        if (part.mark in relevant or all(part.is_like(other) for other in others)) and _answers(
            part, others, alignment
        ):
            marks.add(part.mark)
    return marks


def _answers(part: _Part, others: Sequence[_Part], alignment: Alignment) -> bool:
    if part.other or not all(other.differs() for other in others):
        return False
    core, places = part.asked & alignment.core, frozenset[str]().union(*(other.prepositions for other in others))
    if part.prepositions - places and (part.asked or part.refers):
        return True
    if not part.asked & alignment.names and any(
        other.asked & alignment.core - core and len(other.asked & alignment.core) >= len(core) for other in others
    ):
        return False
    shared = frozenset[str]().union(*(other.asked for other in others))
    if any(word in alignment.core or _contrasts(word) for word in part.asked - shared):
        return True
    return part.refers and shared <= part.asked and not any(other.refers for other in others)


def _parts(sentence: str, alignment: Alignment) -> Iterator[_Part]:
    """Yield what is said of each mention in a sentence. A mention alone shares what is said of the next one."""
    marks = list(_MARK.finditer(sentence))
    starts = [0, *(_boundary(sentence, one.end(), two.start()) for one, two in pairwise(marks))]
    found = [
        _part(mark[0], sentence[start : mark.start()], sentence[mark.end() : end], alignment)
        for mark, start, end in zip(marks, starts, [*starts[1:], len(sentence)], strict=False)
    ]
    for place in reversed(range(len(found))):
        if found[place].empty and len(found) > 1:
            found[place] = found[place + 1 if place + 1 < len(found) else place - 1]._replace(mark=found[place].mark)
    yield from found


def _boundary(sentence: str, start: int, end: int) -> int:
    for separator in _SEPARATORS:
        match = separator.search(sentence, start, end)
        if match is not None:
            return match.start()
    return end


def _part(mark: str, before: str, after: str, alignment: Alignment) -> _Part:
    first, rest = (_sorted(_PHRASE.sub("", text), alignment) for text in (before, after))
    other = rest.other if not (first.asked or first.refers) else {word for word in rest.other if _contrasts(word)}
    return _Part(
        mark,
        first.asked | rest.asked,
        first.prepositions | rest.prepositions,
        first.other | other,
        first.placed | rest.placed | rest.other,
        first.refers or rest.refers,
    )


def _contrasts(word: str) -> bool:
    return word in lists.CONTRASTING or word in SIDES or any(word in values for values in _words.QUALITIES.values())


def _sorted(text: str, alignment: Alignment) -> _Part:
    """The words of a text by their relation to the question."""
    asked: set[str] = set()
    prepositions: set[str] = set()
    other: set[str] = set()
    placed: set[str] = set()
    refers = False
    for word in _TOKEN.findall(_RELATIVE.sub("", text.casefold())):
        if root(word) in alignment.content and word not in _words.FUNCTION_WORDS:
            asked.add(root(word))
        elif word.endswith(("er", "or")) and root(word[:-2]) in alignment.content:
            asked.add(root(word[:-2]))  # "the painter" of "painted"
        elif word in alignment.said and _contrasts(word):
            asked.add(word)
        elif word in SIDES or word in lists.CONTRASTING or not word[0].isalpha():
            other.add(word)
        elif word in _words.PREPOSITIONS:
            (prepositions if word in alignment.prepositions else placed).add(word)
        elif word in _REFERENCES:
            refers = True
        elif not _is_neutral(word, alignment):
            other.add(word)
    return _Part("", frozenset(asked), frozenset(prepositions), frozenset(other), frozenset(placed - {"of"}), refers)


def _is_neutral(word: str, alignment: Alignment) -> bool:
    if word.endswith("'s"):
        return word in lists.NEUTRAL | _words.PERSONS
    return (alignment.is_neutral(word) or word in lists.LINKING) and word != "people"

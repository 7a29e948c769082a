"""Whether a clause is about another thing, part, person, event or representation than the question names.

The clause shares words with the question and says them of something else: "the ground floor" for "the upper floor",
"the stern of the boat" for "the front of the boat", "their father" for "the children", "painted in 1932" for "opened".
"""

from __future__ import annotations

import re

from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust.alignment_words import QUESTION_WORDS
from known_unknowns.scoring.robust.clauses import WORD
from known_unknowns.scoring.robust.stems import root, stem

_PART = re.compile(
    r"\b(?:the|its|his|her|their)\s([a-z]+)\sof\s(?:the|this|that|his|her|their|an?)\s(?:[a-z]+\s)??([a-z]+)\b"
)
_PLACED = re.compile(
    r"\b([a-z]+)\s(at|on|in|behind|under|near|beside|by|with)\s(?:the|this|that|his|her|their|an?)\s(?:[a-z]+\s)??([a-z]+)(?=\s(?:is|are|was|were|has|have|does|did|[a-z]+s)\b|[.,?!]|\Z)"
)
"""A thing with its place or part: "the woman at the door"."""
_KIN = re.compile(
    r"\b(?:his|her|their|its|my|your|our|\w+'s)\s(?:\w+\s)?"
    r"(father|mother|dad|mum|mom|parents?|brothers?|sisters?|siblings?|sons?|daughters?|wife|husband|partner|girlfriend"
    r"|boyfriend|friends?|uncle|aunt|cousins?|grand\w+|neighbou?rs?|colleagues?|boss|owner|teacher|coach|opponents?"
    r"|teammates?|twin|companions?)\s(?!is\scalled|name)"
)
_COPIED = re.compile(
    r"\b(painted|printed|drawn|carved|embroidered|sculpted|engraved|knitted|fake|artificial|imaginary|stuffed|toy|plush"
    r"|cartoon|model|miniature|chocolate|plastic|wooden|inflatable)\s\Z"
)
_EVENT = re.compile(
    r"\b(?:was|were|been|being|got)\s(?:\w+ly\s|first\s|last\s|also\s|re)?([a-z]+)\s(?:back\s)?(?:in|on|at|around|by|about)\s(?:the\syear\s)?\Z"
)
_SHOWN = frozenset(
    {"shown", "seen", "dated", "written", "visible", "displayed", "stamped", "given", "listed", "located", "set"}
)
_OBJECT_ASKED = re.compile(
    r"\b(?:what|who|whom|which(?:\s\w+)?|what\s\w+)\s(?:is|are|was|were)\s(?:the|this|that|his|her|their|these|those)\s.*?\b(\w+ing)\b",
    re.IGNORECASE,
)
_ACTING = re.compile(r"\s(?:is|are|was|were)\s(?:\w+ly\s)?(\w+ing)\b")
_TIMES = frozenset({"year", "when", "date", "century", "decade", "month", "day"})


class Contrasts:
    """Compares what a clause names with what a question names.

    Parameters
    ----------
    question : str
        The question.
    """

    def __init__(self, question: str) -> None:
        text = question.casefold()
        words = WORD.findall(text)
        self._roots = frozenset(map(root, words))
        self._parts: dict[str, frozenset[str]] = {}
        for part, whole in _PART.findall(text):
            self._parts[whole] = self._parts.get(whole, frozenset()) | {part}
        verb_last = bool({"do", "does", "did"} & set(words))  # "does the sign point"
        self._placed = {(noun, preposition): place for noun, preposition, place in _PLACED.findall(text)}
        self._modified = {} if verb_last else _modifiers(words)
        asked = _OBJECT_ASKED.search(text)
        self._act = None if asked is None else root(asked[1])
        self._asks_time = bool(_TIMES & frozenset(words))

    def excludes(self, before: str, after: str) -> bool:
        """Whether the clause before and after a mention is about something else."""
        before, after = before.casefold(), after.casefold()
        kin = _KIN.search(before)
        if kin is not None and root(kin[1]) not in self._roots:
            return True
        if self._asks_time and (event := _EVENT.search(before[-48:])) is not None:
            return root(event[1]) not in self._roots and event[1] not in _SHOWN
        acting = _ACTING.match(after)
        if acting is not None and root(acting[1]) == self._act and not set(WORD.findall(before)) - lexicon.DETERMINERS:
            return True
        return self._another_part(f"{before} \u2026{after}")

    def is_copied(self, before: str) -> bool:
        """Whether the text before a mention calls it a picture or a copy of a thing: "painted lemons"."""
        copied = _COPIED.search(before[-16:].casefold())
        return copied is not None and root(copied[1]) not in self._roots

    def _another_part(self, text: str) -> bool:
        for part, whole in _PART.findall(text):
            known = self._parts.get(whole)
            if known and part not in known and stem(part) not in lexicon.GENERAL_NOUNS:
                return True
        for noun, preposition, place in _PLACED.findall(text):
            known = self._placed.get((noun, preposition))
            if known and root(place) not in self._roots and stem(place) not in lexicon.GENERAL_NOUNS:
                return True
        if not self._modified:
            return False
        found = _modifiers(WORD.findall(text))
        return any(found.get(noun) and not set(map(root, found[noun])) & self._roots for noun in self._modified)


def _modifiers(words: list[str]) -> dict[str, frozenset[str]]:
    """The nouns, and other words that are no common adjectives, before each word: {"lamp": {"floor"}}."""
    found: dict[str, frozenset[str]] = {}
    run: frozenset[str] = frozenset()
    for word in words:
        if not _in_a_name(word):
            run = frozenset()
            continue
        if run and stem(word) not in lexicon.GENERAL_NOUNS:
            found[stem(word)] = found.get(stem(word), frozenset()) | run
        run |= {word}
    return found


def _in_a_name(word: str) -> bool:
    """Whether a word can be a noun or an adjective that tells one thing from another."""
    return not (
        word in lexicon.FUNCTION_WORDS
        or word in QUESTION_WORDS
        or word in lexicon.ADJECTIVES
        or word in lexicon.PRONOUNS
        or word in lexicon.PERSONS
        or word.endswith(("ed", "ing", "ly", "'s", "ful", "ous", "ish"))
    )

"""Whether the mention of an option's text is said of what the question asks.

"A man in a red hat stands below the chandelier" does not say that the chandelier is red. A mention is dropped if its
clause has another subject than the question's object, if the text describes another noun ("red hat"), or if the clause
places it elsewhere ("a cat on the floor" for "Which animal is on the sofa?"). Only English questions and clauses are
analysed. All functions are linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from known_unknowns.scoring import _words
from known_unknowns.scoring._clauses import (
    CLAUSE,
    ENGLISH,
    PLACE,
    SENTENCE,
    SHOWS_THAT,
    WORD,
    noun_of,
    parts,
    place_of,
    root,
    stem,
    without_openers,
)
from known_unknowns.scoring._marks import TEXT

_NEARBY = 300
"""Number of characters before and after a mention that are analysed, so that the time is linear."""
_IRRELEVANT = "\ue0fc"
"""Replaces the mark of a text that is said of something else."""


_ATTRIBUTE = r"(?:colou?r|state|condition|shape|material|size|pattern|number|age|texture|length|height|weather)s?"
_COUNTED = re.compile(r"\bhow\smany\s(?P<object>.+)|\bnumber\sof\s(?P<objects>.+)", re.IGNORECASE)
_DESCRIBED = re.compile(
    rf"\b(?:what|which)(?:\s\w+)?\s{_ATTRIBUTE}\s(?:is|are|was|were|does|do|did|has|have)\s"
    r"(?!(?:written|printed|shown|displayed|depicted|painted|visible|seen|on|in)\b)(?P<object>.+)"
    rf"|\b(?:what|which)\s(?:is|are)\s(?:the\s)?{_ATTRIBUTE}\sof\s(?P<objects>.+)"
    r"|\bhow\s(?:old|tall|big|large|long|high|heavy)\s(?:is|are|was|were)\s(?P<sized>.+)",
    re.IGNORECASE,
)
_LOCATED = re.compile(
    r"\bwhere\s(?:is|are|was|were)\s(?P<object>.+)|\brelation(?:ship)?\sof\s(?P<objects>.+)", re.IGNORECASE
)

_SIDES = {side: side for side in ("left", "right", "top", "bottom", "middle")}
_SIDES |= {"upper": "top", "lower": "bottom", "center": "middle", "centre": "middle"}

_REPRESENTED = re.compile(
    r"\b(?:picture|image|photo|photograph|painting|drawing|statue|sculpture|poster|print|sign|word|pattern|smell|sound"
    r"|shadow|part|kind|cover|label|text|color|colour|name|friend|student|pupil|teacher|follower|fan|rival|style)s?\s(?:of|with|saying|showing|for|about)\s(?:an?\s|the\s)?\Z",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:next\sto|near|beside|besides|close\sto|adjacent\sto|leads\sto|leading\sto|opposite|across\sfrom|above|below|behind|under"
    r"|similar\sto|unlike|(?:bigger|smaller|larger|thinner|thicker|taller|darker|lighter|older|younger|brighter|shorter|longer|wider|less|more)(?:\s\w+)?\sthan|before|after|not\sfar\sfrom"
    r"|in\sfront\sof|away\sfrom|(?<!filled\s)with|without|(?:left|right)\sof|between\s[\w.]+\sand|(?<!made\s)(?<!constructed\s)from|between|owned\sby|(?<!looks\s)(?<!look\s)(?<!appears\s)(?<!seems\s)(?<!something\s)(?<!be\s)like|compared\s(?:to|with)|as\s\w+\sas)\s(?:an?\s|the\s|some\s)?\Z",
    re.IGNORECASE,
)
_ASIDE_IN_A_QUESTION = re.compile(
    r"\b(?:with|than|between|like|from|before|after|leads?)\b|\b(?:to|near|beside|from|above|below|behind|under|opposite|of)\Z",
    re.IGNORECASE,
)
_IS_A = re.compile(r"(?<!there)(?:\s(?:is|are|was|were|be|like|called)|'s)\s(?:an?\s|the\s)?\Z", re.IGNORECASE)
_COMPOUND = re.compile(
    r"\s(?!(?:is|are|was|were|can|has|on|in|at)\b)[a-z]+\s(?:is|are|was|were|can|has|stands|lies|hangs|sits)\b(?!\s(?:right|correct|the)\b)"
)
_LIST_GAP = re.compile(
    r"(?:,?\s?(?:and|or|and/or|as\swell\sas|plus)\s|,\s|\s?/\s?)(?:an?\s|the\s|also\s)?", re.IGNORECASE
)
_VERB_PHRASE = re.compile(
    r"\s(?:is|are|was|were|has|have|can|[a-z]+s)\b"
    r"(?!\s?(?:visible|present|shown|seen|there|the\s(?:answer|one|correct|right)|correct|right)\b)"
)
_PREPOSITION = re.compile(
    r"\b(" + "|".join(sorted(_words.PREPOSITIONS)) + r")\s(?:(?:an?|the|his|her|its|their)\s)?(?:[a-z]+\s)?\Z",
    re.IGNORECASE,
)
_PERSON_BEFORE = re.compile(
    r"\b(man|woman|boy|girl|person|child|lady|guy|people|men|women|children)\s\Z", re.IGNORECASE
)
_AFTER_A_NOUN = (
    r"(?:of|in|on|at|with|and|or|next|near|because|which|that|is|are|to|by|from|as|for|here|there|but|while|although"
    r"|was|can)"
)
_NOUN_FOLLOWS = rf"(?=\s(?!{_AFTER_A_NOUN}\b|\w+ing\b)[a-z])"
_ATTRIBUTIVE = re.compile(
    rf"\b(?:with|wearing|in|near|below|above|under|behind|beside|holding)\s(?:(?:an?|the|his|her|their)\s)?{TEXT}"
    rf"{_NOUN_FOLLOWS}(?:[^.!?\n]{{0,80}}?\band\s(?:an?|the)\s{TEXT}{_NOUN_FOLLOWS})?",
    re.IGNORECASE,
)
"""A text that describes another noun, in the reply to a question that is not analysed."""
_IT_IS = re.compile(
    r"(?:\A\W*|\b(?:that|and|but|so|because|as|since|think|believe|say|guess|sure|know|see)\s)"
    r"(?:it|this|that)(?:'s|\s(?:is|was|looks|seems|appears)(?:\slike|\sto\sbe)?)\s(?:an?\s|the\s)?\Z"
    r"|\b(?:suggests?|indicates?|confirms?|corresponds\sto)\s(?:an?\s|the\s)?\Z",
    re.IGNORECASE,
)
_FAR_AWAY = re.compile(r"\s(?:in|at)\sthe\s(?:far\s)?(?:background|distance|back)\b", re.IGNORECASE)
_PASSIVE = re.compile(
    r"\b(?!(?:made|produced|manufactured|built|owned|operated|occupied|designed|developed)\s)(\w+ed|taken|drawn|written|shot|led|driven)"
    r"\sby\s(?:an?\s|the\s)?\Z",
    re.IGNORECASE,
)
_NOUN_AFTER = re.compile(r"\s(?!\w+(?:ed|en)\b)([a-z]+)(?=[.,!?]|\Z)")
"""A noun that a text describes: "It's a dog house."."""
_ONLY_NAMED = re.compile(
    r"\s(?:is|was|are|were|seems|being)\s(?:also\s)?(?:listed|given|offered|mentioned|included|among|provided|one\sof\sthe)\b"
    r"|\s(?:is|was|are)\s(?:my|our|your)\b"
    r"|[-\s](?:toy|statue|sculpture|figurine|painting|poster|print|sticker|pattern|shaped|themed|costume|plush|like)s?\b",
    re.IGNORECASE,
)


class _Mention(NamedTuple):
    """A text's mark in its clause: the clause before and after the mark, and what precedes the clause."""

    before: str
    after: str
    sentence: str


class Focus:
    """What a question asks about, and whether a mention is about it. Use `focus_of`, which caches it."""

    def __init__(self, question: str) -> None:
        text = " ".join(question.split()).rstrip("?!. ")
        counted, described, located = _COUNTED.search(text), _DESCRIBED.search(text), _LOCATED.search(text)
        match = counted or described or located
        self.counts, self.describes = counted is not None, bool(counted or described)
        self.locates = match is not None and match is located
        empty = _words.FUNCTION_WORDS - _words.VERBS | _words.AUXILIARIES
        words = [word for word in WORD.findall(text.casefold()) if word not in empty]
        said = frozenset(text.casefold().split())
        self.words = frozenset(map(root, words)) - {"what", "which", "how", "many", "where", "imag", "pictur", "photo"}
        self.last = next((root(word) for word in reversed(words) if root(word) in self.words), None)
        noun = None if match is None else noun_of(WORD.findall(next(filter(None, match.groups())).casefold()))
        self.nouns = frozenset() if noun is None else _words.PEOPLE if noun in _words.PEOPLE else frozenset({noun})
        self.sides = _sides(said)
        self.analysed = bool(self.words) and "?" in question and ENGLISH.search(question) is not None
        self.places = {stem(match["noun"]): place_of(match) for match in PLACE.finditer(text)}
        self.prepositions = said & _words.PREPOSITIONS | (_words.ON if said & _words.ON else frozenset())
        self.people = frozenset(map(stem, said)) & (_words.MALE | _words.FEMALE)
        self.asides = _ASIDE_IN_A_QUESTION.search(text) is not None

    def about_the_question(self, text: str, exempt: Collection[str]) -> str:
        """Replace the marks of texts that are said of something else.

        Parameters
        ----------
        text : str
            A marked text.
        exempt : collection of str
            Marks that are kept: the refusal option, and options that are whole statements.
        """
        if re.search(TEXT, text) is None or ENGLISH.search(text) is None:
            return text
        if not self.analysed:
            return _ATTRIBUTIVE.sub("\u2026", text)
        return "".join(self._sentence(sentence, exempt) for sentence in parts(SENTENCE, text))

    def _sentence(self, text: str, exempt: Collection[str]) -> str:
        done: list[str] = []
        sentence = ""
        for clause in parts(CLAUSE, text):
            pieces: list[str] = []
            end, kept = 0, False
            for match in re.finditer(TEXT, clause):
                before, after = clause[: match.start()][-_NEARBY:], clause[match.end() : match.end() + _NEARBY]
                mention = _Mention(before, after, sentence)
                listed = end > 0 and _LIST_GAP.fullmatch(clause, end, match.start()) is not None
                kept = match[0] in exempt or (kept if listed else self._relevant(mention))
                pieces += [clause[end : match.start()], match[0] if kept else _IRRELEVANT]
                end = match.end()
            done.append("".join(pieces) + clause[end:])
            sentence = f"{sentence}{done[-1]}" if len(sentence) < _NEARBY else sentence[:_NEARBY] + done[-1][-_NEARBY:]
        return "".join(done)

    def _relevant(self, mention: _Mention) -> bool:
        before, after = mention.before, mention.after
        if _REPRESENTED.search(before[-40:]) or _ONLY_NAMED.match(after) or self._on_another_side(before, after):
            return False
        if _FAR_AWAY.match(after) and "background" not in self.words:
            return False
        passive = _PASSIVE.search(before[-40:])
        if passive is not None and root(passive[1]) not in self.words:
            return False
        person = _PERSON_BEFORE.search(before[-16:])
        if person is not None and root(person[1]) not in self.words:
            return False
        follows = self._follows(after)
        if not self.asides and not self.locates and _ASIDE.search(before[-40:]):
            return follows is True
        if self.describes and follows is not None:
            return follows and not (self.counts and self._elsewhere(after))
        if self.counts and not self._predicate(after):
            return False
        if self.locates and not self._placed(after):
            return False
        if not self.describes and not self.locates and self._is_an_attribute(before, after, follows):
            return False
        if not self.locates and self._elsewhere(f"{before}\u2026{after}"):
            return False
        if _IT_IS.search(before[-40:]) is not None:
            noun = _NOUN_AFTER.match(after)
            return follows is not False or noun is None or root(noun[1]) in self.words
        return self._said_of_it(mention)

    def _follows(self, after: str) -> bool | None:
        """Whether the noun after the text is the asked one; None if no noun follows, or a noun for any object."""
        match = re.match(r"[)']?\s([A-Za-z][\w'-]*(?:\s[a-z][\w'-]*){0,3})", after)
        if match is None:
            return None
        words = list(takewhile(lambda word: word not in _words.FUNCTION_WORDS, match[1].casefold().split()))
        if not words or (words[0].endswith(("ly", "ing")) and words[0] != "family"):
            return None
        if any(stem(word) in self.nouns for word in words):
            return True
        return None if stem(words[0]) in (_words.GENERAL_NOUNS - _words.IMAGE_NOUNS) and not self.counts else False

    def _on_another_side(self, before: str, after: str) -> bool:
        """Whether the clause is about the other side than the question ("right", "left"), or about each of several."""
        if not self.sides and not self.counts:
            return False
        words = frozenset(WORD.findall(f"{before} {after}".casefold()))
        if self.counts and ("each" in words or before.endswith("of the ")):
            return True
        return bool(self.sides and _sides(words)) and not self.sides & _sides(words)

    def _is_an_attribute(self, before: str, after: str, follows: bool | None) -> bool:
        """Whether the next word is a noun that the text describes: "There is a kitchen table"."""
        if self._is_object(before):
            return follows is False
        return follows is not True and _COMPOUND.match(after) is not None

    def _is_object(self, before: str) -> bool:
        """Whether the text follows a verb, so that the next word is not one."""
        rest, opened = without_openers(before)
        words = WORD.findall(rest.casefold())
        return (opened or any(word not in _words.FUNCTION_WORDS for word in words)) and not _IS_A.search(before[-24:])

    def _placed(self, after: str) -> bool:
        """Whether the object after a preposition ("behind the table") is in the question."""
        match = re.match(
            r"\s(?:(?:of|from)\s)?(?:the|an?|this|that|his|her|its|their)\s(?:\w+\s)??([a-z]+)(?=\W|\Z)", after
        )
        if match is None:
            return True
        return root(match[1]) in self.words or stem(match[1]) in _words.GENERAL_NOUNS

    def _elsewhere(self, text: str) -> bool:
        """Whether the clause names a place of the question with another preposition."""
        found = [(stem(match["noun"]), place_of(match)) for match in PLACE.finditer(text)]
        known = [(noun, place) for noun, place in found if noun in self.places]
        return bool(known) and all(self.places[noun] != place for noun, place in known)

    def _said_of_it(self, mention: _Mention) -> bool:
        before = mention.before
        relative = None if SHOWS_THAT.search(before) else re.match(r"\W*(?:which|who|that)\s", before, re.IGNORECASE)
        if relative:
            last = WORD.findall(mention.sentence)[-1:]
            return bool(last) and (stem(last[0]) in self.nouns or (not self.describes and root(last[0]) in self.words))
        rest, opened = without_openers(before)
        words = [word.casefold() for word in WORD.findall(rest)]
        if all(word in _words.FUNCTION_WORDS and word not in _words.PERSONS for word in words):
            if words and words[0] in _words.VERBS and not opened and mention.sentence.strip():
                return self._subject(WORD.findall(without_openers(mention.sentence)[0].casefold()))
            return self._names_the_object(mention.after) if self.describes else self._predicate(mention.after)
        return self._subject(words)

    def _subject(self, words: list[str]) -> bool:
        """Whether the subject that starts a clause is the asked object, a pronoun, or a noun for any object."""
        if not words:
            return True
        first, second = words[0], words[1] if len(words) > 1 else ""
        if first in _words.PRONOUNS or (
            first in _words.DEMONSTRATIVES and (second in _words.CLAUSE_WORDS or not second)
        ):
            return True
        if first in _words.PERSONS:
            return not self.describes or bool(self.nouns & _words.PERSON_NOUNS)
        if first in _words.PREPOSITIONS:
            return not self.describes and any(root(word) in self.words for word in words)
        phrase = list(takewhile(lambda word: word not in _words.CLAUSE_WORDS, words))
        inner = next((place for place, word in enumerate(phrase) if place and word in _words.DETERMINERS), len(phrase))
        phrase = phrase[:inner]
        phrase = phrase[:1] + list(takewhile(lambda word: not word.endswith(("ing", "ed")), phrase[1:]))
        named = [
            word for word in phrase if word not in _words.FUNCTION_WORDS | _words.ADJECTIVES and not word.endswith("ly")
        ]
        if self._is_somebody_else(named):
            return False
        rest = words[len(phrase) :]
        if not named and rest and rest[0] in _words.VERBS:
            named = [word for word in phrase[-1:] if word not in _words.FUNCTION_WORDS]
        if not named:
            return True
        if rest[:1] and rest[0] in _words.PREPOSITIONS and {"it", "him", "them"} & set(rest[1:3]):
            return False  # "the plane behind it"
        if any(word.endswith("'s") and root(word) not in self.words for word in named):
            return False
        if self.nouns:
            if stem(named[-1]) in self.nouns:
                return True
            if stem(named[-1]) in _words.GENERAL_NOUNS and any(stem(word) in self.nouns for word in named):
                return True
        elif any(root(word) in self.words for word in named) or stem(named[-1]) in _words.OTHER_SUBJECTS:
            return True
        if stem(named[-1]) not in (_words.GENERAL_NOUNS - _words.IMAGE_NOUNS if self.nouns else _words.GENERAL_NOUNS):
            return False
        return self._subject(rest[1:]) if rest[:1] == ["of"] else True

    def _is_somebody_else(self, words: Sequence[str]) -> bool:
        """Whether the words name a man and the question asks about a woman, or the other way round."""
        stems = frozenset(map(stem, words))
        return any(
            stems & one and self.people & other and not self.people & one
            for one, other in ((_words.MALE, _words.FEMALE), (_words.FEMALE, _words.MALE))
        )

    def _allows(self, before: str) -> bool:
        """Whether the preposition before a word of the question, if any, is also in the question."""
        match = _PREPOSITION.search(before)
        return match is None or match[1].casefold() in self.prepositions

    def _names_the_object(self, after: str) -> bool:
        """Whether "Red is the color of ..." goes on with the asked object."""
        match = re.match(r"\s(?:is|was|are)\s(?:the|my|a|an|her|his|their|one)\s(.*)", after, re.DOTALL)
        if match is None:
            return True
        words = {stem(word) for word in WORD.findall(match[1].casefold())}
        return bool(words & (self.nouns | {"answer", "option", "choice"})) or not words - _words.GENERAL_NOUNS

    def _predicate(self, after: str) -> bool:
        """Whether what is said of a text, if anything, is in the question ("a cat on the floor" is not)."""
        verb = _VERB_PHRASE.match(after)
        if verb is not None and not self.locates:
            shared = [match for match in WORD.finditer(after) if match[0] == "it" or root(match[0]) in self.words]
            complete = any(match[0] == "it" or root(match[0]) == self.last for match in shared)
            return complete and all(self._allows(after[: match.start()]) for match in shared)
        nouns = [match["noun"] for match in PLACE.finditer(after)]
        shared = [match for match in WORD.finditer(after) if root(match[0]) in self.words]
        if shared:
            return all(self._allows(after[: match.start()]) for match in shared)
        return not nouns or any(stem(noun) in _words.GENERAL_NOUNS for noun in nouns)


def _sides(words: Collection[str]) -> frozenset[str]:
    return frozenset(_SIDES[word] for word in words if word in _SIDES)


@lru_cache(maxsize=4096)
def focus_of(question: str) -> Focus:
    """Return what a question asks about, from a cache."""
    return Focus(question)

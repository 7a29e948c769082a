"""Whether the mention of an option's text is said of what the question asks.

"A man in a red hat stands below the chandelier" does not say that the chandelier is red. A mention is dropped if its
clause has another subject than the question's object, if the text describes another noun ("red hat"), or if the clause
places it elsewhere ("a cat on the floor" for "Which animal is on the sofa?"). Only English questions and clauses are
analysed. All functions are linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import NamedTuple

from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust import relevance_patterns as patterns
from known_unknowns.scoring.robust.alignment import Alignment
from known_unknowns.scoring.robust.anchors import anchored, differ, qualities
from known_unknowns.scoring.robust.clauses import (
    CLAUSE,
    ENGLISH,
    PLACE,
    SENTENCE,
    SHOWS_THAT,
    WORD,
    noun_of,
    parts,
    place_of,
    without_openers,
)
from known_unknowns.scoring.robust.contrasts import Contrasts
from known_unknowns.scoring.robust.marks import TEXT
from known_unknowns.scoring.robust.stems import root, stem
from known_unknowns.scoring.robust.subjects import Subjects
from known_unknowns.scoring.robust.wording import Wording, with_its_preposition_last

_NEARBY = 300
"""Number of characters before and after a mention that are analysed, so that the time is linear."""
_IRRELEVANT = "\ue0fc"
"""Replaces the mark of a text that is said of something else."""


_NEGATIVE = frozenset({"not", "no", "never", "without", "neither", "nor"})


_NO_SUBJECT = re.compile(rf"\s?and\s(?:{'|'.join(sorted(lexicon.VERBS - {chr(39) + 's'}))})\b", re.IGNORECASE)
_SENTENCE_PARTS = re.compile(r"[.,;:!?\n]")


class Rule(Enum):
    """How a mention has to be said of what the question asks."""

    POSSIBLE = "nothing shows that it is said of something else"
    EXPLAINED = "its clause leaves no word unexplained"
    RESTATED = "its clause is the question as a statement"


class _Mention(NamedTuple):
    """A text's mark in its clause: the clause before and after the mark, and what precedes and follows the clause."""

    before: str
    after: str
    sentence: str
    rest: str


class Focus:
    """What a question asks about, and whether a mention is about it. Use `focus_of`, which caches it."""

    def __init__(self, question: str) -> None:
        text = with_its_preposition_last(" ".join(question.split()).rstrip("?!. "))
        self.wording = Wording(text)
        counted, described, located = (
            patterns.COUNTED.search(text),
            patterns.DESCRIBED.search(text),
            patterns.LOCATED.search(text),
        )
        match = counted or described or located
        self.counts, self.describes = counted is not None, bool(counted or described)
        reference = patterns.REFERENCE.search(text)
        self.reference = None if reference is None else reference[1]
        self.counts_parts = "how many of " in text.casefold()
        self.locates = match is not None and match is located
        empty = lexicon.FUNCTION_WORDS - lexicon.VERBS | lexicon.AUXILIARIES
        words = [word for word in WORD.findall(text.casefold()) if word not in empty]
        said = frozenset(text.casefold().split())
        self.words = frozenset(map(root, words)) - {"what", "which", "how", "many", "where", "imag", "pictur", "photo"}
        asked = WORD.findall(patterns.ACCORDING.sub("", text).casefold())
        self.last = next((root(word) for word in reversed(asked) if root(word) in self.words), None)
        noun = None if match is None else noun_of(WORD.findall(next(filter(None, match.groups())).casefold()))
        self.nouns = frozenset() if noun is None else lexicon.PEOPLE if noun in lexicon.PEOPLE else frozenset({noun})
        self.content = said - _NEGATIVE
        self.sides = _sides(said)
        self.analysed = bool(self.words) and "?" in question and ENGLISH.search(question) is not None
        self.places = {stem(match["noun"]): place_of(match) for match in PLACE.finditer(text)}
        self.prepositions = said & lexicon.PREPOSITIONS | (lexicon.ON if said & lexicon.ON else frozenset())
        self.people = frozenset(map(stem, said)) & (lexicon.MALE | lexicon.FEMALE)
        self._text = text
        self.end = frozenset(text.casefold().split()[-1:]) & lexicon.PREPOSITIONS
        self.asks_activity = patterns.ACTIVITY.search(text) is not None
        self.asides = patterns.ASIDE_IN_A_QUESTION.search(text) is not None

    @cached_property
    def alignment(self) -> Alignment:
        """Compares clauses with the question."""
        return Alignment(self._text, self.nouns)

    @cached_property
    def distinguishing(self) -> frozenset[str]:
        """The roots of the question's words that tell one thing from another: colors, sizes, sides and the like."""
        told = {word for kinds in self.qualities.values() for _, word in kinds}
        return frozenset(map(root, told | (self.content & set(patterns.SIDES))))

    @cached_property
    def _subjects(self) -> Subjects:
        """Decides whether the subject of a clause is what the question asks about."""
        return Subjects(self.nouns, self.words, self.people, self.prepositions, describes=self.describes)

    @cached_property
    def contrasts(self) -> Contrasts:
        """Compares what clauses name with what the question names."""
        return Contrasts(self._text)

    @cached_property
    def qualities(self) -> dict[str, frozenset[tuple[str, str]]]:
        """What the question says of the things that it names."""
        return qualities(self._text)

    def about_the_question(self, text: str, exempt: Collection[str], rule: Rule = Rule.POSSIBLE) -> str:
        """Replace the marks of texts that are said of something else.

        Parameters
        ----------
        text : str
            A marked text.
        exempt : collection of str
            Marks that are kept: the refusal option, and options that are whole statements.
        rule : Rule
            What the other marks have to fulfil.
        """
        if re.search(TEXT, text) is None:
            return text
        named = patterns.ONE_NOUN.fullmatch(text.strip(" \n"))
        if (
            named is not None
            and self.analysed
            and text.strip()[0] not in exempt
            and self.alignment.names_another(named[1])
        ):
            return re.sub(TEXT, _IRRELEVANT, text)
        if ENGLISH.search(text) is None:
            return text
        if not self.analysed:
            return patterns.ATTRIBUTIVE.sub("\u2026", text)
        return "".join(self._sentence(sentence, exempt, rule) for sentence in parts(SENTENCE, text))

    def _sentence(self, text: str, exempt: Collection[str], rule: Rule) -> str:
        done: list[str] = []
        sentence, place = "", 0
        for clause in parts(CLAUSE, text):
            pieces: list[str] = []
            place += len(clause)
            end, kept = 0, False
            for match in re.finditer(TEXT, clause):
                before, after = clause[: match.start()][-_NEARBY:], clause[match.end() : match.end() + _NEARBY]
                mention = _Mention(before, after, sentence, text[place : place + _NEARBY])
                listed = end > 0 and patterns.LIST_GAP.fullmatch(clause, end, match.start()) is not None
                kept = match[0] in exempt or (kept if listed else self._follows_the_rule(mention, rule))
                pieces += [clause[end : match.start()], match[0] if kept else _IRRELEVANT]
                end = match.end()
            done.append("".join(pieces) + clause[end:])
            sentence = f"{sentence}{done[-1]}" if len(sentence) < _NEARBY else sentence[:_NEARBY] + done[-1][-_NEARBY:]
        return "".join(done)

    def anchored(self, text: str, mark: str) -> bool:
        """Whether what a text says of a mention shares a word with the question, or is about "it"."""
        if not self.analysed or ENGLISH.search(text) is None:
            return True
        return anchored(text, mark, self.words | self.end, _IRRELEVANT)

    def shares_a_word(self, text: str) -> bool:
        """Whether a text has a word of the question."""
        return any(root(word) in self.words for word in WORD.findall(text.casefold()))

    def is_copied(self, clause: str) -> bool:
        """Whether a clause's mention is only a picture or a copy of a thing."""
        before = re.split(TEXT, clause)[0]
        return patterns.REPRESENTED.search(before[-40:]) is not None or (
            not self.describes and self.contrasts.is_copied(before)
        )

    def _follows_the_rule(self, mention: _Mention, rule: Rule) -> bool:
        if self.asks_activity and patterns.PROGRESSIVE.search(mention.before):
            mention = mention._replace(after=patterns.OBJECT.sub("", mention.after))
        if self.contrasts.excludes(mention.before, mention.after):
            return False
        if self.alignment.restates(mention.before, mention.after) and not self._on_another_side(mention):
            return True
        if rule is Rule.RESTATED:
            return False
        if self.alignment.concludes(mention.before) and not mention.after.strip(" .!,"):
            return True
        if not self._relevant(mention):
            return False
        if rule is Rule.POSSIBLE:
            return True
        counted = self.counts and self._follows(mention.after) is True
        if mention.before.strip() == ":":
            mention = mention._replace(before=_SENTENCE_PARTS.split(mention.sentence)[-1])
        elif _NO_SUBJECT.match(mention.before):
            subject = WORD.findall(_SENTENCE_PARTS.split(mention.sentence)[-1])
            noun = list(takewhile(lambda word: word.casefold() not in lexicon.AUXILIARIES, subject))
            if not {word.casefold() for word in subject[:1]} & (lexicon.PERSONS | lexicon.PRONOUNS):
                mention = mention._replace(before=f"{' '.join(noun)} {mention.before}")
        return not self.alignment.says_something_else(mention.before, mention.after, counted=counted)

    def _relevant(self, mention: _Mention) -> bool:
        before, after = mention.before, mention.after
        if not self.counts and (name := patterns.FIRST_NAME.search(before)) is not None:
            mention = mention._replace(before=(before := before[: name.start()]))
        if patterns.REPRESENTED.search(before[-40:]) or self._only_named(after) or self._on_another_side(mention):
            return False
        if patterns.FAR_AWAY.match(after) and "background" not in self.words:
            return False
        if not self.locates and not self.counts and patterns.SIDE_OF.match(after):
            return False
        if differ(self.qualities, f"{before} the {after}") or self._lacks(before):
            return False
        if not self.describes and self.contrasts.is_copied(before):
            return False
        passive = patterns.PASSIVE.search(before[-40:])
        if passive is not None and root(passive[1]) not in self.words:
            return False
        person = patterns.PERSON_BEFORE.search(before[-16:])
        if person is not None and root(person[1]) not in self.words:
            return False
        follows = self._follows(after)
        if not self.asides and not self.locates and patterns.ASIDE.search(before[-40:]):
            return follows is True
        if (
            self.describes
            and not self.counts
            and patterns.AS_A_NOUN.fullmatch(before)
            and patterns.VERB_FOLLOWS.match(after)
        ):
            return False
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
        if patterns.IT_IS.search(before[-40:]) is not None:
            noun = patterns.NOUN_AFTER.match(after)
            return follows is not False or noun is None or root(noun[1]) in self.words
        return self._said_of_it(mention)

    def _follows(self, after: str) -> bool | None:
        """Whether the noun after the text is the asked one; None if no noun follows, or a noun for any object."""
        match = re.match(r"[)']?\s([A-Za-z][\w'-]*(?:\s[a-z][\w'-]*){0,3})", after)
        if match is None:
            return None
        words = list(takewhile(lambda word: word not in lexicon.FUNCTION_WORDS, match[1].casefold().split()))
        if not words or words[0] in lexicon.MEASURES or (words[0].endswith(("ly", "ing")) and words[0] != "family"):
            return None
        if any(stem(word) in self.nouns for word in words) or (not self.nouns and root(words[0]) in self.words):
            return True
        return None if stem(words[0]) in (lexicon.GENERAL_NOUNS - lexicon.IMAGE_NOUNS) and not self.counts else False

    def _lacks(self, before: str) -> bool:
        """Whether the clause is about something without what the question names: "the girl without a ponytail"."""
        match = patterns.WITHOUT.search(before)
        return match is not None and root(match[1]) in self.words and "without" not in self.prepositions

    def _only_named(self, after: str) -> bool:
        """Whether the text is said to be listed, or describes a copy of a thing ("a dog statue")."""
        match = patterns.ONLY_NAMED.match(after)
        return match is not None and (match["kind"] is None or root(match["kind"]) not in self.words)

    def _on_another_side(self, mention: _Mention) -> bool:
        """Whether the clause is about the other side than the question ("right", "left"), or about each of several."""
        if not self.sides and not self.counts:
            return False
        words = frozenset(WORD.findall(f"{mention.before} {mention.after}".casefold()))
        near = frozenset(WORD.findall(re.split(TEXT, mention.after)[0].casefold()))
        if _sides(near):
            words = near if not self.counts else words
        if self.counts and (
            "each" in words or mention.before.endswith("of the ") or patterns.PARTLY.match(mention.after + mention.rest)
        ):
            return True
        sides = _sides(words) or _sides(WORD.findall(mention.sentence.casefold()))
        return bool(self.sides and sides) and not self.sides & sides

    def _is_an_attribute(self, before: str, after: str, follows: bool | None) -> bool:
        """Whether the next word is a noun that the text describes: "There is a kitchen table"."""
        if self._is_object(before):
            return follows is False
        named = follows is False and patterns.LAST_WORD.fullmatch(after) is not None
        return named or (follows is not True and patterns.COMPOUND.match(after) is not None)

    def _is_object(self, before: str) -> bool:
        """Whether the text follows a verb, so that the next word is not one."""
        rest, opened = without_openers(before)
        words = WORD.findall(rest.casefold())
        return (opened or any(word not in lexicon.FUNCTION_WORDS for word in words)) and not patterns.IS_A.search(
            before[-24:]
        )

    def _placed(self, after: str) -> bool:
        """Whether the object after a preposition ("behind the table") is in the question."""
        match = re.match(
            r"\s(?:(?:of|from)\s)?(?:the|an?|this|that|his|her|its|their)\s(?:\w+\s)??([a-z]+)(?=\W|\Z)", after
        )
        if match is None:
            return True
        return root(match[1]) in self.words or stem(match[1]) in lexicon.GENERAL_NOUNS

    def _elsewhere(self, text: str) -> bool:
        """Whether the clause names a place of the question with another preposition."""
        found = [(stem(match["noun"]), place_of(match)) for match in PLACE.finditer(text)]
        known = [(noun, place) for noun, place in found if noun in self.places]
        if known:
            return all(self.places[noun] != place for noun, place in known)
        kinds = set(self.places.values())
        others = [noun for noun, place in found if place in kinds and root(noun) not in self.words]
        return self.counts and bool(others) and not any(noun in lexicon.GENERAL_NOUNS for noun in others)

    def _said_of_it(self, mention: _Mention) -> bool:
        before = mention.before
        relative = None if SHOWS_THAT.search(before) else re.match(r"\W*(?:which|who|that)\s", before, re.IGNORECASE)
        if relative:
            last = WORD.findall(mention.sentence)[-1:]
            if last and (stem(last[0]) in self.nouns or (not self.describes and root(last[0]) in self.words)):
                return True
            named = patterns.PREDICATE.search(mention.sentence.rstrip(" ,"))
            if named is None or lexicon.PREPOSITIONS & set(named["noun"].casefold().split()):
                return False
            subject = without_openers(mention.sentence[: named.start()])[0]
            return self._subjects.is_asked(WORD.findall(f"{subject} is".casefold()))
        rest, opened = without_openers(before)
        words = [word.casefold() for word in WORD.findall(rest)]
        if all(word in lexicon.FUNCTION_WORDS and word not in lexicon.PERSONS for word in words):
            if words and words[0] in lexicon.VERBS and not opened and mention.sentence.strip():
                return self._subjects.is_asked(WORD.findall(without_openers(mention.sentence)[0].casefold()))
            return self._names_the_object(mention.after) if self.describes else self._predicate(mention.after)
        return self._subjects.is_asked(words)

    def _allows(self, before: str) -> bool:
        """Whether the preposition before a word of the question, if any, is also in the question."""
        match = patterns.PREPOSITION.search(before)
        return match is None or match[1].casefold() in self.prepositions

    def _names_the_object(self, after: str) -> bool:
        """Whether "Red is the color of ..." goes on with the asked object."""
        match = re.match(r"\s(?:is|was|are)\s(?:the|my|a|an|her|his|their|one)\s(.*)", after, re.DOTALL)
        if match is None:
            return True
        words = {stem(word) for word in WORD.findall(match[1].casefold())}
        return bool(words & (self.nouns | {"answer", "option", "choice"})) or not words - lexicon.GENERAL_NOUNS

    def _predicate(self, after: str) -> bool:
        """Whether what is said of a text, if anything, is in the question ("a cat on the floor" is not)."""
        verb = patterns.VERB_PHRASE.match(after)
        if verb is not None and not self.locates:
            shared = [match for match in WORD.finditer(after) if match[0] == "it" or root(match[0]) in self.words]
            complete = any(match[0] == "it" or root(match[0]) == self.last for match in shared)
            return complete and all(self._allows(after[: match.start()]) for match in shared)
        nouns = [match["noun"] for match in PLACE.finditer(after)]
        shared = [match for match in WORD.finditer(after) if root(match[0]) in self.words]
        if shared:
            return all(self._allows(after[: match.start()]) for match in shared)
        return not nouns or any(stem(noun) in lexicon.GENERAL_NOUNS for noun in nouns)


def _sides(words: Collection[str]) -> frozenset[str]:
    return frozenset(patterns.SIDES[word] for word in words if word in patterns.SIDES)


@lru_cache(maxsize=4096)
def focus_of(question: str) -> Focus:
    """Return what a question asks about, from a cache."""
    return Focus(question)

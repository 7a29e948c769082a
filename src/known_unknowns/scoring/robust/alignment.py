"""Alignment of a clause with the question as a statement.

"There are three people waiting at the bus stop." is "How many people are waiting at the bus stop?" as a statement: its
words are those of the question, in the same order, and the option's text fills the gap. Such a clause *restates* the
question. A clause in which a word is left over that neither the question nor the grammar explains says something else:
"It sank in 1912." does not answer "In which year was the ship launched?".

All functions take the clause before and after a mention, and are linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from known_unknowns.scoring.robust import alignment_words as lists
from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust.clauses import WORD, without_openers
from known_unknowns.scoring.robust.marks import MARK
from known_unknowns.scoring.robust.stems import root, same_noun, stem

_EVIDENCE_WORDS = "|".join(sorted(lists.EVIDENCE))
_EVIDENCE = re.compile(
    rf"\b(?:{_EVIDENCE_WORDS})\b"
    r"|\b(?:tells|requires|instructs|orders|warns|asks)\s(?:[a-z]+\s){0,2}(?=(?:to|of|that)\s)",
    re.IGNORECASE,
)
_OF = re.compile(r"\sof\s(?:the\s|a\s|an\s|its\s)?(\w+)")
_INFINITIVE = re.compile(r"\s(?:that\b|to\s(?!(?:the|an?|me|us|him|her|them|it|my|our|his|its|their|be|this)\b)[a-z])")
_PERSONS = frozenset({"he", "she", "they", "somebody", "someone"})
_ARTICLES = frozenset({"a", "an", "the", "his", "her", "their", "its"})
_GRAMMAR = lexicon.FUNCTION_WORDS - lexicon.VERBS | lexicon.AUXILIARIES
_NEXT = re.compile(r"\s([a-z]+)")
_CLEFT = re.compile(r"\bit(?:'s|\sis|\swas)\s(?:\w+ly\s)?(?:an?\s|the\s)?\Z", re.IGNORECASE)
"""The start of a cleft sentence: "It's cards that they're playing."."""
_OBJECT = re.compile(r"\s(?:the|an?|his|her|its|their|my|this|that)\s\w")
_VERB_BEFORE = re.compile(r"\b(?:have|has|had|to|can|could|will|would|did|does|do)\s\Z", re.IGNORECASE)
_ACTS = re.compile(
    r"(?:\s(?:in|with|on|of|at)\s[^.,;:!?]{1,60}?)?\s(?:is|are|was|were)\s(?:not\s|also\s|just\s)?((?!being\b)[a-z]+(?:ing|ed))\b",
    re.IGNORECASE,
)
_FINITE = re.compile(r"\s(?:(?:on|in|at|near|behind|under|above|by|from)\s(?:the|his|her|its|an?)\s\w+\s)?([a-z]+s)\b")
_PASSIVE = re.compile(r"\b(?:is|are|was|were|being|been)\s\w+\sby\b")
_DOING = re.compile(r"\s[a-z]+s\s(?:is|are|was|were)\s(?:\w+ly\s)?([a-z]+ing)\b(?:\s([a-z]+))?")
"""What counted things do: "three boats are leaving"."""
_STATE = re.compile(
    r"\s(?:of\sthem|[a-z]+s)(?:\s(?:in|on|at|under|behind|near|by)\s(?:the|his|her|an?)\s\w+)?\s(?:is|are|was|were)\s(?:all\s|\w+ly\s)?([a-z]+)(?=[.,;!]|\Z)",
    re.IGNORECASE,
)
"""What is said of counted things: "three candles on the table are unlit"."""
_CLAUSE_END = re.compile(r"[.,;:!?()\n\u2013\u2014\ue000-\ue3ff]")
_AT_SOMEBODY = re.compile(
    r"\s(?:is|are|was|were|lies|hangs|sits|stands|belongs)\s(?:\w+\s){0,4}([a-z]+)'s\s", re.IGNORECASE
)
_COUNTS = re.compile(r"\s(?:([a-z]+)\s)?(?!(?:is|was|has|as|units|degrees)\b)[a-z]{2,}s\b")
_NUMBER = re.compile(r"\b([a-z]+)\s(?:with\s)?(?:the\s)?(?:number\s|no\.\s|#)?(\d+)\b", re.IGNORECASE)
_EVIDENT = re.compile(
    rf"\b(?:(?:{_EVIDENCE_WORDS})(?:\s(?:of|with|to|for))?(?:\s(?:that\s)?(?:it|this)(?:'s|\sis))?"
    r"|(?:identif(?:y|ies)|marks?|betrays?|reveals?|proves?|shows?|makes?|establish(?:es)?|exposes?|gives?)"
    r"\s(?:it|this|that|him|her|them)(?:\saway)?(?:\s(?:as|to\sbe|for))?(?:\s(?:the|an?)\s\w+\sof)?"
    r"|(?:places?|puts?|locates?|dates?|situates?)\s(?:it|this|us|him|her|them|the\s\w+)\s(?:in|at|to|on)"
    r"|(?:speaks?|stands?)\sfor|(?:is|are)\s(?:\w+ly\s)?(?:that|those)\sof|tips?\s(?:it|the\s\w+)\stowards?)(?:\s(?:an?|the))?\s\Z",
    re.IGNORECASE,
)
_IN_FACT = re.compile(r"\bin\s(?:fact|reality|truth|total|all|general|my\s(?:view|opinion))\b", re.IGNORECASE)
_ANOTHER = re.compile(MARK)


class Alignment:
    """Compares clauses with a question.

    Parameters
    ----------
    question : str
        The question.
    nouns : frozenset of str
        Stems of the asked object's names.
    """

    def __init__(self, question: str, nouns: frozenset[str]) -> None:
        self.nouns = nouns
        words = [word.removesuffix("'s") for word in WORD.findall(question.casefold())]
        self.order = [root(word) for word in words if word in lexicon.PREPOSITIONS or _has_content(word)]
        self.content = frozenset(root(word) for word in words if _has_content(word))
        core = frozenset(root(w) for w in words if _has_content(w) and stem(w) not in lexicon.GENERAL_NOUNS)
        self.core = core or self.content
        self.wh = frozenset(words) & lists.QUESTION_WORDS
        persons = lexicon.MALE | lexicon.FEMALE | lexicon.PERSON_NOUNS | lexicon.PEOPLE | {"his", "her"}
        acts = self.content & (lists.ACTIONS | lists.ANY_ACTIONS)
        asks_for_somebody = self.wh & {"who", "whom", "whose", "how", "where"} or persons & frozenset(map(stem, words))
        self.of_things = not (nouns or acts or asks_for_somebody)
        self.restricts = bool(self.core - frozenset(map(root, nouns)) - lists.SEEN)
        self.prepositions = frozenset(words) & lexicon.PREPOSITIONS
        self.places = bool(frozenset(words) & lists.PLACES)
        self.asks_number = bool(frozenset(words) & {"number", "year", "price"}) and "many" not in words
        self.numbers = {stem(noun): number for noun, number in _NUMBER.findall(question)}

    def restates(self, before: str, after: str) -> bool:
        """Whether the clause is the question as a statement: no word is left over, and the mention fills the gap."""
        if _ANOTHER.search(before) or self.says_something_else(before, after, counted=False):
            return False
        before = _IN_FACT.sub("", without_openers(before)[0])
        lead, rest = (WORD.findall(text.casefold()) for text in (before, after))
        found = self._in_order([*lead, *rest], passive=_PASSIVE.search(after) is not None)
        if found is None:
            return False
        said = self.core & frozenset(found)
        about = self.nouns & _stems([*lead, *rest])
        if not said or (self.nouns and not about) or (2 * len(said) < len(self.core) and not about):
            return False
        first = rest[0] if rest else ""
        if not any(root(word) in self.order for word in lead):
            verb = first in lexicon.AUXILIARIES or first in lists.LINKING
            return bool(first) and (verb or root(first) in self.content or first == "of")
        if lead[-1] in lists.NAMING and root(lead[-2]) in self.content and first in lexicon.AUXILIARIES:
            return True
        return self._after_a_verb(lead) and not (first and stem(first) in self.content)

    def _in_order(self, words: Sequence[str], *, passive: bool) -> list[str] | None:
        """The question's words among these, None if they are in another order or another word is left over."""
        found: list[str] = []
        place = 0
        for word in words:
            key = root(word)
            if key in self.order and not (word.endswith("'s") and word not in lexicon.PRONOUNS):
                if word not in lists.LINKING and not passive:  # "is held by the man"
                    if key not in self.order[place:]:
                        return None
                    place = self.order.index(key, place) + 1
                found.append(key)
            elif not (
                word in lists.NEUTRAL or word in lists.LINKING or word in lists.VERB_PREPOSITIONS or word in self.wh
            ):
                return None
        return found

    def _after_a_verb(self, words: Sequence[str]) -> bool:
        """Whether a verb, and perhaps its preposition, is before the mention."""
        rest = [word for word in words if word not in lexicon.DETERMINERS | lists.HEDGES]
        if len(rest) > 1 and rest[-1] in lexicon.PREPOSITIONS:
            if rest[-1] in self.prepositions or rest[-1] in lists.VERB_PREPOSITIONS:
                return self._is_verb(rest[-2])
            return False
        return bool(rest) and self._is_verb(rest[-1])

    def _is_verb(self, word: str) -> bool:
        if word in lexicon.VERBS or word in lists.LINKING:
            return True
        return root(word) in self.content and stem(word) not in self.nouns and word.endswith(("ing", "ed", "s"))

    def names_another(self, word: str) -> bool:
        """Whether a word after an option's text is a noun for another thing: "a violin case"."""
        return not (self._is_asked(word) or stem(word) in self.nouns or word.endswith(("ed", "ing")))

    def concludes(self, before: str) -> bool:
        """Whether the clause says that something speaks for the mention: "These traits are typical of a beagle."."""
        return _EVIDENT.search(before[-60:]) is not None

    def says_something_else(self, before: str, after: str, *, counted: bool) -> bool:
        """Whether a word of the clause is left over that neither the question nor the grammar explains.

        Parameters
        ----------
        before, after : str
            The clause before and after the mention.
        counted : bool
            Whether the mention is a number before the counted noun.
        """
        if self._other_number(f"{before} \u2026{after}") or self._goes_on(before, after):
            return True
        lead = WORD.findall(without_openers(before)[0].casefold())
        if not counted and not set(lead) - lexicon.DETERMINERS and (self._acts(after) or self._is_a_subject(after)):
            return True
        if not counted and self.of_things and self._somebody_acts(lead):
            return True
        state = _STATE.match(after) if counted and self.restricts else None
        if state is not None and not self._is_asked(state[1].casefold()):
            return True
        doing = _DOING.match(after) if counted and self.restricts else None
        if doing is not None and not self._is_asked(doing[1]) and doing[2] not in self.prepositions:
            return True
        rest = _IN_FACT.sub("", without_openers(before)[0])
        evidence = max((match.end() for match in _EVIDENCE.finditer(rest)), default=0)
        words = WORD.findall(rest[evidence:].casefold())
        if counted:
            person = words[:1] != [] and words[0] in _PERSONS
            return words[:1] != [] and (person or words[0] in lexicon.PREPOSITIONS) and self._left_over(words)
        if words[-1:] and words[-1] in lexicon.PREPOSITIONS and not after.startswith(("'", ",")):
            words_after = WORD.findall(after.casefold()) if len(words) == 1 else []
            if self._left_over(words_after):
                return True
        noun_ends = not self.nouns and ((next_word := _NEXT.match(after)) is None or next_word[1] in _GRAMMAR)
        return self._left_over(words, before_noun=noun_ends) or not (evidence or self._allows(words))

    def _somebody_acts(self, lead: Sequence[str]) -> bool:
        """Whether somebody whom the question does not ask about does something: "He plays the trumpet"."""
        roots = {root(word) for word in lead}
        person = lead[:1] != [] and lead[0].removesuffix("'s") in {"he", "she"}
        return person and bool(roots & lists.ACTIONS) and not roots & self.content

    def _is_asked(self, word: str) -> bool:
        """Whether a word is one of the question's, or says nothing about a thing."""
        return root(word) in self.content or self._is_neutral(word) or word in lists.LINKING

    def _is_a_subject(self, after: str) -> bool:
        """Whether the clause goes on with words of which none is the question's: "A square has four corners."."""
        words = WORD.findall(_CLAUSE_END.split(after, maxsplit=1)[0].casefold())
        verb = _FINITE.match(after)
        if verb is not None and (verb[1] in lexicon.VERBS or verb[1] in lists.LINKING) and len(words) > 1:
            known = verb[1] in lexicon.AUXILIARIES or root(verb[1]) in self.content | lists.OF_A_SUBJECT
            if not known:
                return True
        if len(words) < 2 or words[0] in lexicon.PERSONS or not (words[0] in lexicon.VERBS or words[0] == "there"):
            return False
        return not any(root(word) in self.content or stem(word) in self.nouns for word in words) and self._left_over(
            words
        )

    def _acts(self, after: str) -> bool:
        """Whether the mention is the subject of a clause that the question does not ask about."""
        acts = _ACTS.match(after)
        placed = acts is not None and after[acts.end() :].split(maxsplit=1)[:1]
        if acts is not None and not (placed and placed[0].casefold() in lexicon.PREPOSITIONS):
            verb = acts[1].casefold()
            if root(verb) not in self.content and verb not in lists.LINKING:
                return True
        owner = _AT_SOMEBODY.match(after)
        return owner is not None and root(owner[1]) not in self.content and f"{owner[1]}'s" not in lists.NEUTRAL

    def _other_number(self, text: str) -> bool:
        """Whether the clause is about "player 9" where the question is about "player 7"."""
        return bool(self.numbers) and any(
            self.numbers.get(stem(noun), number) != number for noun, number in _NUMBER.findall(text)
        )

    def _goes_on(self, before: str, after: str) -> bool:
        """Whether the text after the mention shows that it is another part of speech, or part of a larger phrase."""
        counts = _COUNTS.match(after) if self.asks_number else None
        if counts is not None and counts[1] not in lexicon.PREPOSITIONS:
            return True
        verb = _VERB_BEFORE.search(before) is not None
        if (_INFINITIVE.match(after) and not verb and not _CLEFT.search(before)) or (_OBJECT.match(after) and verb):
            return True
        of = _OF.match(after)
        placed = WORD.findall(before.casefold())[-2:]
        return (
            of is not None
            and self.places
            and "many" not in self.wh
            and not any(word in lexicon.PREPOSITIONS for word in placed)
            and root(of[1]) not in self.content
            and stem(of[1]) not in lexicon.GENERAL_NOUNS
            and of[1] not in {"them", "it", "which", "all"}
        )

    def _left_over(self, words: Sequence[str], *, before_noun: bool = False) -> bool:
        """Whether a word is left over. Words of a phrase that describes the asked object are not.

        Nor is, before a noun, a word between it and its article.
        """
        head = modifier = False
        described = -1
        for place, word in enumerate(words):
            if word in lexicon.VERBS or word in lists.LINKING:
                modifier = False
            elif word in lexicon.PREPOSITIONS:
                modifier = modifier or head
            elif root(word) in self.content:
                head = head or not word.endswith("'s")
            elif self._is_noun(word):
                head = True
            elif self._is_neutral(word) or modifier:
                continue
            elif head and (word.endswith(("ing", "ed")) or word in lexicon.PARTICIPLES):
                modifier = True
            elif word in lists.CONTRASTING or word.endswith("'s"):
                return True
            elif before_noun and place == len(words) - 1 > 0 and words[place - 1] in _ARTICLES:
                continue  # "she wears a pearl necklace"
            elif place == described + 1 or self._describes(words, place):
                described = place
            else:
                return True
        return False

    def _is_noun(self, word: str) -> bool:
        """Whether a word is a compound of the asked object's name, or a noun for any object."""
        if any(same_noun(stem(word), noun) for noun in self.nouns):
            return True
        return stem(word) in lists.NEUTRAL_NOUNS and word not in lists.CONTRASTING

    def _is_neutral(self, word: str) -> bool:
        if word in lists.CONTRASTING:
            return False
        return (
            word in lists.NEUTRAL
            or word in lexicon.FUNCTION_WORDS
            or word in lexicon.PERSONS
            or word in lexicon.ADJECTIVES
            or word.endswith("ly")
            or stem(word) in lists.NEUTRAL_NOUNS
            or stem(word) in lexicon.OTHER_SUBJECTS
        )

    def _describes(self, words: Sequence[str], place: int) -> bool:
        """Whether a word is part of the asked object's name or description: "the ornate chandelier"."""
        if place == 0 or not (words[place - 1] in lexicon.DETERMINERS or words[place - 1] in lexicon.ADJECTIVES):
            return False
        ahead = words[place + 1 : place + 3]
        return any(root(word) in self.content or stem(word) in self.nouns for word in ahead)

    def _allows(self, words: Sequence[str]) -> bool:
        """Whether the preposition before the mention, if any, belongs to the question or to a verb."""
        rest = [word for word in words if word not in lexicon.DETERMINERS | lists.HEDGES]
        if not rest or rest[-1] not in lexicon.PREPOSITIONS or rest[-1] in self.prepositions | lists.FREE:
            return True
        if len(rest) == 1:
            return self.places or bool(self.wh & {"who", "whom", "whose"})
        verb = rest[-2]
        if verb in lexicon.AUXILIARIES:
            return self.places or (rest[-1] == "for" and bool(self.content & {"purpos", "us"}))
        return verb in lexicon.VERBS or verb in lists.LINKING or self.places or root(verb) in self.content


def _stems(words: Sequence[str]) -> frozenset[str]:
    return frozenset(map(stem, words))


def _has_content(word: str) -> bool:
    return word not in lexicon.FUNCTION_WORDS - lexicon.VERBS | lexicon.AUXILIARIES | lists.QUESTION_WORDS

"""Whether the subject of a clause is what the question asks about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile

from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust.clauses import is_participle
from known_unknowns.scoring.robust.stems import root, same_noun, stem


class Subjects:
    """Compares subjects of clauses with a question.

    Parameters
    ----------
    nouns : frozenset of str
        Stems of the asked object's names, if the question asks for a quality of an object.
    words : frozenset of str
        Roots of the question's words.
    people : frozenset of str
        Stems of the question's words for men and women.
    prepositions : collection of str
        The question's prepositions.
    describes : bool
        Whether the question asks for a quality of an object.
    """

    def __init__(
        self,
        nouns: frozenset[str],
        words: frozenset[str],
        people: frozenset[str],
        prepositions: Collection[str],
        *,
        describes: bool,
    ) -> None:
        self._nouns, self._words, self._people = nouns, words, people
        self._prepositions, self._describes = prepositions, describes

    def is_asked(self, words: list[str]) -> bool:
        """Whether the subject that starts a clause is the asked object, a pronoun, or a noun for any object."""
        if not words:
            return True
        first, second = words[0], words[1] if len(words) > 1 else ""
        if first in lexicon.PRONOUNS or (
            first in lexicon.DEMONSTRATIVES and (second in lexicon.CLAUSE_WORDS or not second)
        ):
            return True
        if first in lexicon.PERSONS:
            return not self._describes or bool(self._nouns & lexicon.PERSON_NOUNS)
        if first in lexicon.PREPOSITIONS:
            adverb = first in self._prepositions and second in lexicon.VERBS | lexicon.PRONOUNS  # "outside it's foggy"
            return not self._describes and (adverb or any(root(word) in self._words for word in words))
        phrase = list(takewhile(lambda word: word not in lexicon.CLAUSE_WORDS, words))
        inner = next((place for place, word in enumerate(phrase) if place and word in lexicon.DETERMINERS), len(phrase))
        phrase = phrase[:inner]
        phrase = phrase[:1] + list(takewhile(lambda word: not is_participle(word), phrase[1:]))
        named = [
            word
            for word in phrase
            if word not in lexicon.FUNCTION_WORDS | lexicon.ADJECTIVES and not word.endswith("ly")
        ]
        if self._is_somebody_else(named):
            return False
        rest = words[len(phrase) :]
        if not named and rest and rest[0] in lexicon.VERBS:
            named = [word for word in phrase[-1:] if word not in lexicon.FUNCTION_WORDS]
        if not named:
            return True
        if rest[:1] and rest[0] in lexicon.PREPOSITIONS and {"it", "him", "them"} & set(rest[1:3]):
            return False  # "the plane behind it"
        if any(word.endswith("'s") and root(word) not in self._words for word in named):
            return False
        if named[-1] == "name" and len(named) > 1 and not {"nam", "call"} & self._words:
            return False
        if self._nouns:
            if any(same_noun(stem(named[-1]), noun) for noun in self._nouns):
                return True
            if stem(named[-1]) in lexicon.GENERAL_NOUNS and any(stem(word) in self._nouns for word in named):
                return True
        elif any(root(word) in self._words for word in named) or stem(named[-1]) in lexicon.OTHER_SUBJECTS:
            return True
        if stem(named[-1]) not in (
            lexicon.GENERAL_NOUNS - lexicon.IMAGE_NOUNS if self._nouns else lexicon.GENERAL_NOUNS
        ):
            return False
        return self.is_asked(rest[1:]) if rest[:1] == ["of"] else True

    def _is_somebody_else(self, words: Sequence[str]) -> bool:
        """Whether the words name a man and the question asks about a woman, or the other way round."""
        stems = frozenset(map(stem, words))
        if "people" in words and self._people:
            return True
        return any(
            stems & one and self._people & other and not self._people & one
            for one, other in ((lexicon.MALE, lexicon.FEMALE), (lexicon.FEMALE, lexicon.MALE))
        )

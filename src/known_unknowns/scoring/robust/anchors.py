"""What ties a clause to the question: its words, and the qualities of the things that both name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust.clauses import CLAUSE, WORD, parts
from known_unknowns.scoring.robust.stems import root, stem

_SENTENCE = re.compile(r"(?<=[.!?;])\s|\n")
_REFERENCES = lexicon.PRONOUNS | {"this", "that"}


def anchored(text: str, mark: str, words: Collection[str], dropped: str) -> bool:
    """Whether what is said of a mention shares a word with the question, or is about "it".

    Parameters
    ----------
    text : str
        A text in which irrelevant marks have been replaced.
    mark : str
        The mark of the mention.
    words : collection of str
        The roots of the question's words.
    dropped : str
        What replaced an irrelevant mark. Beside one, only the mention's clause counts, otherwise its sentence.
    """
    for sentence in parts(_SENTENCE, text):
        if mark not in sentence:
            continue
        words_of = [_said(clause) for clause in parts(CLAUSE, sentence) if mark in clause]
        if dropped not in sentence or not any(said - lexicon.FUNCTION_WORDS for said in words_of):
            words_of = [_said(sentence)]
        if any(said & _REFERENCES or any(w in words or root(w) in words for w in said) for said in words_of):
            return True
    return False


def _said(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold()))


def qualities(text: str) -> dict[str, frozenset[tuple[str, str]]]:
    """Return the qualities of the things that a text names, as kind and value: {"van": {("color", "blue")}}."""
    found: dict[str, frozenset[tuple[str, str]]] = {}
    run: frozenset[tuple[str, str]] = frozenset()
    for word in WORD.findall(text.casefold()):
        if word in lexicon.FUNCTION_WORDS:
            run = frozenset()
            continue
        if run:
            found[stem(word)] = found.get(stem(word), frozenset()) | run
        run |= frozenset(_quality(word))
    return found


def _quality(word: str) -> Iterator[tuple[str, str]]:
    yield from ((kind, word) for kind, values in lexicon.QUALITIES.items() if word in values)
    if len(word) > 4 and word.endswith("est") and word not in lexicon.NO_SUPERLATIVES:
        yield "superlative", word


def differ(asked: Mapping[str, frozenset[tuple[str, str]]], text: str) -> bool:
    """Whether a text gives a thing another quality than the question: "the red van" for "the blue van"."""
    if not asked:
        return False
    for noun, said in qualities(text).items():
        known = asked.get(noun, frozenset())
        kinds = {kind for kind, _ in known} & {kind for kind, _ in said}
        if any(not {value for value in known if value[0] == kind} & said for kind in kinds):
            return True
    return False

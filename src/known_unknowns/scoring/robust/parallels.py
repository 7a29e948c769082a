"""The option of the one of several parallel clauses that is about what the question asks.

"The ground floor has 4 windows, the upper floor has 6." Each clause gives one option. One clause has a word of the
question that the others replace by another one: its option is the answer.
"""

from __future__ import annotations

import re

from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust.alignment_words import LINKING
from known_unknowns.scoring.robust.clauses import WORD
from known_unknowns.scoring.robust.marks import BOTH, LETTER, MARK, NOTHING, TEXT, Claims, Marks
from known_unknowns.scoring.robust.relevance import Focus
from known_unknowns.scoring.robust.stems import root

_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_MAIN_CLAUSES = re.compile(r";\s|,?\s(?:but|while|whereas)\s")
_CLAUSES = re.compile(r"[;,]\s(?:and\s)?|,?\s(?:but|while|whereas|and)\s")
_LABELLED = re.compile(f"{LETTER}|{BOTH}")
_ANY_MARK = re.compile("[\ue000-\ue0bf\ue0fe\ue300-\ue3bf]")
_UNCERTAIN = re.compile(
    r"\b(?:or|if|unless|would|could|might|may|not|no|never|neither|both|each|also|too|than|said|says|thinks?)\b|n't\b|\?",
    re.IGNORECASE,
)
_PRO_FORMS = lexicon.PERSONS | {"it", "one", "ones", "that", "those", "they", "them", "itself", "himself", "herself"}


def parallel(text: str, marks: Marks, focus: Focus, refusal: str | None) -> Claims:
    """Return the option of the only parallel clause about what the question asks.

    Parameters
    ----------
    text : str
        Marked text in which denied and doubtful marks are replaced.
    marks : Marks
        The marks of the offered options.
    focus : Focus
        What the question asks.
    refusal : str or None
        The label of the refusal option.
    """
    found = _ANY_MARK.findall(text)
    if not 1 < len(found) < 6 or not focus.analysed or _UNCERTAIN.search(text) or _LABELLED.search(text):
        return NOTHING
    if any(re.fullmatch(TEXT, mark) is None for mark in found) or len(set(found)) != len(found):
        return NOTHING
    claims = marks.claims(text)
    if refusal in claims or not claims <= marks.offered:
        return NOTHING
    sentences = [sentence for sentence in _SENTENCE.split(text) if _ANY_MARK.search(sentence)]
    if len(sentences) != 1:
        return NOTHING
    for separator in (_MAIN_CLAUSES, _CLAUSES):
        clauses = [clause for clause in separator.split(sentences[0].strip(" .")) if re.search(MARK, clause)]
        if len(clauses) == len(found):
            chosen = _about(clauses, focus)
            return NOTHING if chosen is None or focus.is_copied(chosen) else marks.claims(chosen)
    return NOTHING


def _about(clauses: list[str], focus: Focus) -> str | None:
    """The only clause with a word of the question that tells it from the other clauses."""
    words = [[word.casefold() for word in WORD.findall(clause)] for clause in clauses]
    if not all(_is_clause(found, focus.distinguishing) for found in words):
        return None
    roots = [frozenset(map(root, found)) for found in words]
    for asked in (focus.distinguishing, focus.words - focus.distinguishing):
        own = [
            (roots[place] & asked) - frozenset[str]().union(*(roots[:place] + roots[place + 1 :]))
            for place in range(len(clauses))
        ]
        holders = [place for place, shared in enumerate(own) if shared]
        if asked is focus.distinguishing and len(holders) == 1:
            return clauses[holders[0]]
        if asked is focus.distinguishing and holders:
            return None
    nouns = set(map(root, focus.nouns))
    later = [place for place in holders if place > 0 and own[place] - nouns]
    if later != [len(clauses) - 1]:
        return None
    last = words[-1]
    refers = bool(_PRO_FORMS & set(last)) or last[0] in lexicon.PREPOSITIONS
    if not refers and (own[0] - nouns or roots[0] & nouns - roots[-1]):
        return None
    return clauses[-1]


def _is_clause(words: list[str], distinguishing: frozenset[str]) -> bool:
    """Whether the words of a part are no mere part of a list."""
    return any(
        word in lexicon.VERBS
        or word in lexicon.PREPOSITIONS
        or word in LINKING
        or root(word) in distinguishing
        or word.endswith(("ing", "ed"))
        for word in words
    )

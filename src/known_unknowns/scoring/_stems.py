"""Stems of English words."""

from __future__ import annotations

_IRREGULAR = {"people": "person", "men": "man", "women": "woman", "children": "child", "mice": "mouse", "feet": "foot"}


def stem(word: str) -> str:
    """Return a word without the endings of plural and possessive."""
    word = word.casefold().removesuffix("'s").removesuffix("'")
    word = _IRREGULAR.get(word, word)
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith("es") and word[-3] in "sxzh":
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def root(word: str) -> str:
    """Return a word's stem without the ending of a participle, so that "holds" and "holding" are equal."""
    word = stem(word)
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word.removesuffix("e")

"""Stems of English words."""

from __future__ import annotations

_IRREGULAR = {"people": "person", "men": "man", "women": "woman", "children": "child", "mice": "mouse", "feet": "foot"}

_FORMS = """
    ate-eat became-become began-begin begun-begin bent-bend blew-blow blown-blow bore-bear bought-buy broke-break
    broken-break brought-bring built-build came-come caught-catch chose-choose chosen-choose drank-drink drawn-draw
    drew-draw driven-drive drove-drive drunk-drink eaten-eat fallen-fall fed-feed fell-fall flew-fly flown-fly
    fought-fight found-find gave-give given-give gone-go grew-grow grown-grow heard-hear held-hold hung-hang kept-keep
    knew-know known-know laid-lay lain-lie led-lead lit-light lying-lie made-make met-meet paid-pay ran-run ridden-ride
    rode-ride sang-sing sat-sit sent-send shot-shoot shown-show slept-sleep sold-sell spoke-speak spoken-speak
    stood-stand struck-strike stuck-stick sung-sing swam-swim swum-swim swung-swing taken-take taught-teach threw-throw
    thrown-throw told-tell took-take went-go won-win wore-wear worn-wear wove-weave woven-weave written-write
    wrote-write
"""
_VERBS = dict(pair.split("-") for pair in _FORMS.split())
"""Irregular forms of verbs. Those that are also other words ("left", "saw") are not among them."""


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
    word = _VERBS.get(word, word)
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word.removesuffix("e")


def same_noun(one: str, other: str) -> bool:
    """Whether two stems are equal, or one is a compound with the other as its last part: "handbag" and "bag"."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return long.endswith(short) and len(long) - len(short) > 2 < len(short) and short not in _NO_HEADS


_NO_HEADS = frozenset("age air all and board ear end father man mother pet ring son ship woman".split())
"""Ends of compounds that are other things: "earring", "grandmother", "carpet"."""

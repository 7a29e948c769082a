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


_NOUNS = """
    aeroplane-airplane aircraft-airplane plane-airplane bike-bicycle bunny-rabbit cab-taxi cellphone-phone
    telephone-phone couch-sofa settee-sofa dad-father fridge-refrigerator gentleman-man guy-man kid-child lady-woman
    lorry-truck mom-mother mum-mother motorbike-motorcycle movie-film pants-trousers pavement-sidewalk store-shop
    storey-floor     television-tv trash-garbage youngster-child
"""
_VOWELS = frozenset("aeiouy")
_SYNONYMS = dict(pair.split("-") for pair in _NOUNS.split())
"""Words for the same thing, by stem. Only those that nobody would tell apart in one image."""
_ACTIONS = """
    mak-build construct-build creat-build assembl-build carry-hold grip-hold grasp-hold clutch-hold star-look gaz-look
    peer-look glanc-look sip-drink munch-eat chew-eat nibbl-eat depict-show portray-show represent-show
    illustrat-show display-show drag-pull tow-pull haul-pull repair-fix mend-fix toss-throw hurl-throw perch-sit
    chop-cut slic-cut dic-cut
"""
_SAME_ACTIONS = dict(pair.split("-") for pair in _ACTIONS.split())
"""Verbs for the same action, by root."""


def plain_stem(word: str) -> str:
    """Return a word without the endings of plural and possessive."""
    word = word.casefold().removesuffix("'s").removesuffix("'")
    word = _IRREGULAR.get(word, word)
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith("es") and word[-3] in "sxzh":
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def plain_root(word: str) -> str:
    """Return a word's stem without the ending of a participle, so that "holds" and "holding" are equal."""
    return _root(plain_stem(word))


def stem(word: str) -> str:
    """Return a word's stem, the same one for synonyms: "child" for "kids"."""
    word = plain_stem(word)
    return _SYNONYMS.get(word, word)


def root(word: str) -> str:
    """Return a word's root, the same one for synonyms: "hold" for "carrying"."""
    word = _root(stem(word))
    return _SAME_ACTIONS.get(word, word)


def _root(word: str) -> str:
    word = _VERBS.get(word, word)
    for ending in ("ing", "ed"):
        if len(word) > 5 and word.endswith(ending) and not _VOWELS.isdisjoint(word[: -len(ending)]):
            word = word[: -len(ending)]
            return word[:-1] if word[-1] == word[-2] and word[-1] not in "lsze" else word
    return word.removesuffix("e")


def same_noun(one: str, other: str) -> bool:
    """Whether two stems are equal, or one is a compound with the other as its last part: "handbag" and "bag"."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return long.endswith(short) and len(long) - len(short) > 2 < len(short) and short not in _NO_HEADS


_NO_HEADS = frozenset({"age", "air", "all", "and", "board", "ear", "end", "pet", "ring", "ship"})
_NO_HEADS |= {"father", "man", "mother", "son", "woman"}
"""Ends of compounds that are other things: "earring", "grandmother", "carpet"."""

"""Loose mentions of options: "wooden" for "Wood", "walks a dog" for "Walking a dog", "Monet" for "Claude Monet".

They count only in replies that mention no option in another way. A loose mention has all words of one option in their
order (inflected or derived, and without the question's own words), or the whole reply consists of words of one option.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust.mentions import is_mention
from known_unknowns.scoring.robust.numbers import NUMBER_WORDS
from known_unknowns.scoring.robust.stems import plain_root as root
from known_unknowns.scoring.robust.stems import plain_stem as stem
from known_unknowns.scoring.robust.stems import root as concept

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_OPTION_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_COMPACT = re.compile(r"[\W_]+")
_SUFFIXES = ("en", "al", "ic", "ward", "wards", "y", "r", "es")
_EMPTY = lexicon.DETERMINERS | lexicon.AUXILIARIES | lexicon.PRONOUNS | lexicon.PERSONS | {"i", "its"}
_DIRECTIONS = frozenset({"left", "right"})
_ENDS_OF_THINGS = frozenset({"top", "bottom"})
_CLEAR = re.compile(
    r"\b(?:it(?:'s|\sis|\sbecomes|\sbecame))\s(?:\w+ly\s)?(?:clear|evident|apparent|obvious)\s(?=that\b)", re.IGNORECASE
)
_COMMON = frozenset({"yes", "no", "none", "nothing", "nobody", "nowhere", "true", "false", "both", "all", "neither"})
"""Texts that mean something else in most sentences."""
_BREAKS = lexicon.FUNCTION_WORDS - lexicon.DETERMINERS
_BEFORE_A_HEAD = lexicon.FUNCTION_WORDS | _EMPTY
_ENDS = lexicon.FUNCTION_WORDS | lexicon.PERSONS
_LEAD = _EMPTY | {
    "answer",
    "option",
    "probably",
    "maybe",
    "likely",
    "think",
    "say",
    "guess",
    "would",
    "d",
    "m",
    "called",
}
_WHOLE, _LONG, _SHORT, _GAP, _LONG_HEAD = 6, 6, 4, 1, 4


class _Place(NamedTuple):
    """A loose mention ``text[start:end]`` of the option with this number."""

    option: int
    start: int
    end: int


def loose_mentions(text: str, options: Sequence[str], asked: Collection[str]) -> list[_Place]:
    """Return the loose mentions of option texts in a reply.

    Parameters
    ----------
    text : str
        A normalised reply that mentions no option literally.
    options : sequence of str
        The option texts; an empty one is never mentioned.
    asked : collection of str
        Roots of the question's words.
    """
    words = [
        (match[0].casefold(), match.start(), match.end())
        for match in _WORD.finditer(_CLEAR.sub(lambda clear: "\u2026" * len(clear[0]), text))
        if match[0].casefold() not in _DIRECTIONS or is_mention(text, match.start(), match.end(), counts_parts=False)
    ]
    said = [word for word, *_ in words if word not in _LEAD and concept(word) not in asked]
    if said and len(words) <= _WHOLE and (whole := _whole(said, options)) is not None:
        return [_Place(whole, words[0][1], words[-1][2])]
    names = [[word for word in _content(option) if concept(word) not in asked] for option in options]
    names = [name if names.count(name) == 1 and _has_words(name) else [] for name in names]
    found = [
        place
        for option, name in enumerate(names)
        if name
        for place in _within([word for word in words if not _fills(word[0], options[option])], option, name)
    ]
    found = found or list(_heads(words, options, asked))
    return [
        place
        for place in found
        if not _is_literal(text, place, options)
        and _ends(text[place.end :], asked)
        and _placed(text[: place.start], options[place.option])
    ]


def _heads(words: Sequence[tuple[str, int, int]], options: Sequence[str], asked: Collection[str]) -> Iterator[_Place]:
    """Places of an option's last word that no other option has: "the plant" for "Potted plant"."""
    contents = [_content(option) for option in options]
    for option, content in enumerate(contents):
        head = content[-1] if len(content) > 1 else ""
        others = {stem(word) for place, other in enumerate(contents) if place != option for word in other}
        if len(head) < _LONG_HEAD or any(word.endswith(stem(head)) for word in others):
            continue
        if concept(head) in asked or head in lexicon.FUNCTION_WORDS:
            continue
        own = {stem(word) for word in content}
        for place, (word, start, end) in enumerate(words):
            before, _, before_ends = words[place - 1] if place else ("", 0, -2)
            named = start - before_ends == 1 and before not in _BEFORE_A_HEAD and stem(before) not in own
            inflected = word != head and " of " in options[option]  # a person is not a group of people
            if stem(word) == stem(head) and not named and not inflected:  # "Fort Maribel Beacon" is not "Ilmar Beacon"
                yield _Place(option, start, end)


def _fills(word: str, option: str) -> bool:
    """Whether a word only fills an option's text: "talking on her phone" for "Talking on the phone"."""
    return word in lexicon.DETERMINERS or (word in lexicon.PREPOSITIONS and word in option.casefold().split()[1:])


def _is_literal(text: str, place: _Place, options: Sequence[str]) -> bool:
    """Whether a mention is the option's own text, which was left unmarked because it has another sense there."""
    said = text[place.start : place.end].casefold()
    return options[place.option].casefold() in {said, f"a {said}", f"an {said}", f"the {said}"}


def can_be_loose(text: str) -> bool:
    """Whether an option's text is not a number and not a common word, so that other forms of it can be recognized."""
    return bool(_content(text)) and text.casefold().strip(" .") not in _COMMON and _has_words(_content(text))


def _has_words(words: Sequence[str]) -> bool:
    return not all(
        word in lexicon.PREPOSITIONS or word in _ENDS_OF_THINGS or word in NUMBER_WORDS or any(map(str.isdigit, word))
        for word in words
    )


def _placed(before: str, option: str) -> bool:
    """Whether no other preposition is before the mention of an option that starts with one."""
    own = option.casefold().split()[0]
    if own not in lexicon.PREPOSITIONS:
        return True
    said = [word for word in before.casefold().split()[-2:] if word not in lexicon.DETERMINERS]
    return not said or said[-1] not in lexicon.PREPOSITIONS or said[-1] == own or {said[-1], own} <= lexicon.ON


def _ends(after: str, asked: Collection[str]) -> bool:
    """Whether the next word can follow a whole noun phrase: "banana bread" is no banana."""
    if after.startswith("-"):
        return after.startswith("-hand")
    match = re.match(r"\s(\w+)", after)
    if match is not None and match[1] == "than":
        return False  # "squarer than"
    return match is None or match[1].casefold() in _ENDS or concept(match[1]) in asked or match[1].endswith("ly")


def _whole(said: Sequence[str], options: Sequence[str]) -> int | None:
    """The only option that has all these words, if any."""
    if _COMMON & set(said) or any(word.endswith("n't") or word == "not" for word in said):
        return None
    compact = "".join(said)
    equal = [place for place, option in enumerate(options) if option and _COMPACT.sub("", option.casefold()) == compact]
    if len(equal) == 1:
        return equal[0]
    for same in (_same, partial(_similar, long=_LONG if len(said) == 1 else _SHORT)):
        found = [
            place
            for place, option in enumerate(options)
            if all(any(same(word, other) for other in _content(option)) for word in said)
        ]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _within(words: Sequence[tuple[str, int, int]], option: int, name: Sequence[str]) -> Iterator[_Place]:
    """Places at which the words of an option follow each other, with at most one word between them."""
    place = 0
    while place < len(words):
        if not _same(words[place][0], name[0]):
            place += 1
            continue
        end = place
        for word in name[1:]:
            reach = range(end + 1, min(end + 2 + _GAP, len(words)))
            near = [index for index in reach if index == end + 1 or words[index - 1][0] not in _BREAKS]
            end = next((index for index in near if _same(words[index][0], word)), -1)
            if end < 0:
                break
        else:
            yield _Place(option, words[place][1], words[end][2])
            place = end
        place += 1


@lru_cache(maxsize=4096)
def _content(text: str) -> tuple[str, ...]:
    """The words of an option that tell it from others."""
    words = [match[0].casefold() for match in _OPTION_WORD.finditer(text)]
    kept = [word for word in words if word not in _EMPTY and word not in lexicon.PREPOSITIONS]
    return tuple(kept or [word for word in words if word not in _EMPTY])


def _same(one: str, other: str) -> bool:
    """Whether two words are forms of one: "wood" and "wooden", "increase" and "increasing"."""
    if one.endswith("'s") != other.endswith("'s"):
        return False
    if one == other or (root(one) == root(other) and len(root(one)) > 2):
        return True
    short, long = sorted((one, other), key=len)
    if len(short) > 2 and not short.isdigit() and any(short + suffix == long for suffix in _SUFFIXES):
        return True
    if any(root(long) + suffix == short and len(root(long)) > 3 for suffix in ("y", "al", "ic")):
        return True  # "snowing" and "snowy"
    return short.endswith("le") and len(short) > 4 and long in {short[:-2] + "ular", short[:-2] + "ly"}


def _similar(one: str, other: str, long: int) -> bool:
    """Whether two words of at least ``long`` letters differ by one letter or one swap after the first letter."""
    if min(len(one), len(other)) < long or one[0] != other[0] or not (one.isalpha() and other.isalpha()):
        return _same(one, other)
    less, more = sorted((one, other), key=len)
    place = next((index for index, letter in enumerate(less) if letter != more[index]), len(less))
    rests = [(less[place:], more[place + 1 :]), (less[place + 1 :], more[place + 1 :])]
    swapped = less[place : place + 2] == more[place : place + 2][::-1] and less[place + 2 :] == more[place + 2 :]
    return any(first == second for first, second in rests) or swapped

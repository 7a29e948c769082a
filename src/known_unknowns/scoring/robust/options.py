"""Search for the texts of a question's options in a reply."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from known_unknowns.records import Option
from known_unknowns.scoring.robust.cleaning import bare, normalise
from known_unknowns.scoring.robust.lexicon import FUNCTION_WORDS
from known_unknowns.scoring.robust.numbers import aliases, has_number, priced, with_digits, with_words

_THOUSANDS, _FOUR_DIGITS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), re.compile(r"(?<!\d)(\d{1,3})(\d{3})(?!\d)")
_ARTICLE = re.compile(r"(?:a|an|the)\s")
_LISTED = (
    r"(?:listed|given|provided|offered|available|mentioned|above|other|answer"
    r"|presented|suggested|possible|correct|right)"
)
_COUNT = r"(?:two|three|four|five|six|seven|\d)"
_OPTIONS = r"(?:options?|choices?|answers?|alternatives?|possibilities|colou?rs?|items?|list(?:ed\sones)?)"
_RANGE = r"(?:\s\(?[A-H](?:(?:,|,?\s?(?:to|through|and|or|-|\u2013))?\s?[A-H](?!\w)){1,6}\)?)?"
_NONE_OF_THEM = re.compile(
    rf"none\sof(?!\sthe\sother)(?:\sthe|\sthese|\sthose)?(?:\s{_COUNT})?(?:\s(?:{_LISTED}|{_OPTIONS}))+(?!\w){_RANGE}(?:\s{_LISTED})*"
    rf"|none\sof\s(?:these|those|the(?:\s{_COUNT})?\s(?:{_LISTED}))\s[a-z]+s(?!\w)(?!\sof\b)|none\sof\sthe\s[a-z]+s\s{_LISTED}(?!\w)"
    rf"|none\sof\s(?:them|these|those)(?!\s?\w)|none\sof\s(?:them|these|those)(?=\s(?:is|are|(?:\w+ly\s)?(?:match|fit|apply|applies|represent|describe|resemble|correspond)|can\sbe)\b)"
    rf"|(?:not|n't)\s(?:match|fit|correspond\sto|belong\sto|appear\sin|listed\sin)\s(?:with\s)?(?:any|one)\sof\s(?:the|these)\s(?:{_COUNT}\s)?(?:{_LISTED}\s)*"
    rf"{_OPTIONS}(?!\w)"
    rf"|(?:not|n't)\s(?:listed(?!\w)(?!\s(?:in|among|as)\b)|(?:one\sof|among|in|included\sin|part\sof|(?:listed|mentioned|given)\s(?:in|among))"
    rf"\s(?:the|these|any\sof\sthe)\s(?:{_COUNT}\s)?(?:{_LISTED}\s)*{_OPTIONS}(?!\w))"
    rf"|(?:is|are|was|were|does|do|did)(?:\snot|n't)\s(?:[\w']+\s){{0,6}}?any\sof\s(?:these\s[a-z]+s|the\s(?:\w+\s){{0,2}}[a-z]+s\s(?:{_LISTED}|described|specified)|the\s(?:{_LISTED}\s)+[a-z]+s)(?!\w)(?!\sexcept)"
    rf"|(?<!other\s)(?<!remaining\s)(?<!those\s)(?<!two\s)(?<!three\s)(?<!four\s)\b(?:options|choices)(?:\s{_LISTED})?\s(?:do|does)(?:\snot|n't)\s(?:\w+ly\s)?"
    r"(?:match|align|fit|apply|describe|include|reflect|correspond|contain|cover)(?!\w)"
    rf"|no\s(?:(?:{_LISTED})\s)*(?:option|choice|answer|alternative)s?(?:\s(?:is|are)\s(?:correct|right|listed|given|provided|suitable)"
    r"|\s(?:fits?|match(?:es)?|applies|apply))(?!\w)|(?:all|the)\s(?:of\s)?(?:the\s)?(?:(?:above|listed|given|provided|offered)\s)*(?:options|choices|answers)(?:\sabove)?\sare\s(?:all\s)?(?:wrong|incorrect|false)(?!\w)|no\s(?:correct|right|matching|suitable|fitting)\s(?:option|choice|answer)s?(?!\w)",
    re.IGNORECASE,
)
_CANNOT_HELP = re.compile(
    r"(?:(?:\bI(?:'m|\sam)\s(?:so\s|very\s|really\s)?)?(?:\bsorry[,.!]?\s)?(?:but\s)?\bI\s?(?:can'?t|cannot|can\snot|couldn't|am\snot\sable\sto|am\sunable\sto|'m\sunable\sto)"
    r"|\bsorry[,.!]?\s(?:but\s)?(?:can'?t|cannot|unable\sto))"
    r"\shelp\s(?:you\s)?(?:with|on)\s(?:it|that|this)(?!\w)(?!\s(?:question|request|image|task))",
    re.IGNORECASE,
)
_VARIANTS = (("gray", "grey"), ("color", "colour"), ("center", "centre"), ("liter", "litre"), ("meter", "metre"))
"""American and British spellings."""
_SPELT = re.compile("|".join(word for pair in _VARIANTS for word in pair))
_BRITISH = re.compile("|".join(british for _, british in _VARIANTS))
_FAMILIES = (("none of", _NONE_OF_THEM), ("sorry", _CANNOT_HELP))
"""Wordings of a refusal option: the start of its text, and a pattern of texts with the same meaning."""

_NAME = re.compile(
    r"[A-Z\u00c0-\u00de][\w.'-]*(?:\s(?:von|van|de|der|la|le|di|da|[A-Z\u00c0-\u00de][\w.'-]*)){0,3}\s[A-Z\u00c0-\u00de][^\W\d]+"
)
"""A text of several words that start with capital letters."""
_CAPITALISED_BEFORE = re.compile(r"(?:\A|\s)(?P<first>[A-Z\u00c0-\u00de]\w*)\.?\s\Z")
_COPULA = re.compile(
    r"(?P<subject>\w+)(?:'s|\s(?:is|are|was|were|(?:appears?|seems?)\sto\sbe)(?:n't)?)(?:\s(?:not|actually|clearly|currently|directly|immediately|just|located|now|only|placed|positioned|really|simply|situated|still)){0,3}\s\Z",
    re.IGNORECASE,
)
_PRONOUNS = frozenset({"it", "he", "she", "they", "this", "that", "who"})


def refuses(text: str) -> bool:
    """Whether an option's text is a known refusal."""
    return text.casefold().startswith(tuple(start for start, _ in _FAMILIES))


class Mention(NamedTuple):
    """A part ``text[start:end]`` that is the text of the options with these ``labels``."""

    labels: frozenset[str]
    start: int
    end: int


class OptionTexts:
    """Finds the texts of ``options`` in a normalised reply. Use `option_texts`, which caches it."""

    def __init__(self, options: tuple[Option, ...]) -> None:
        self._by_key: tuple[dict[str, frozenset[str]], ...] = ({}, {}, {})
        self._aliases: dict[str, frozenset[str]] = {}
        self._spelled: set[str] = set()
        self._predicates: dict[str, tuple[str, str]] = {}
        self._families: list[tuple[re.Pattern[str], str]] = []
        self._texts = [(option.label, normalise(option.text)) for option in options]
        self._surnames = _surnames(self._texts)
        for (label, text), option in zip(self._texts, options, strict=True):
            if not bare(text):
                continue
            for known, key in zip(self._by_key, _keys(text), strict=True):
                known[key] = known.get(key, frozenset()) | {label}
            for alias in (*aliases(_keys(text)[2]), *priced(option.text.strip().casefold())):
                self._spelled.add(alias)
                self._aliases[_keys(alias)[2]] = self._aliases.get(_keys(alias)[2], frozenset()) | {label}
            subject, copula, predicate = text.partition(" is " if " is " in text else " are ")
            if copula and " " in predicate:
                self._predicates[bare(_lower(predicate))] = (label, subject.split()[-1].casefold())
            self._families += [(pattern, label) for start, pattern in _FAMILIES if text.casefold().startswith(start)]

    def equal_to(self, text: str) -> frozenset[str]:
        """Return the labels of the options with this text.

        Options with the same text come first, then those that differ in surrounding punctuation, then those that differ
        in the article or in the spelling of a number ("the keyboard", "keyboard"; "two", "2"), and then the refusal
        option in other words.
        """
        keys = _keys(text)
        for known, key in zip((*self._by_key, self._aliases), (*keys, keys[2]), strict=True):
            if key in known:
                return known[key]
        whole = bare(text)
        return frozenset(
            label
            for pattern, label in self._families
            if pattern.fullmatch(whole) or (pattern is _NONE_OF_THEM and whole.casefold() == "none")
        )

    def within(self, text: str) -> Iterator[Mention]:
        """Yield the option texts in a text; of overlapping texts, the first and longest."""
        lower = _lower(text)
        found = [(start, -len(spelling)) for spelling in self._spellings for start in _places(spelling, lower)]
        families = [pattern for pattern, _ in self._families if pattern is not _CANNOT_HELP or "help" in lower]
        found += [
            (start, -len(name)) for name in self._surnames for start in _places(name, text) if _alone(text, start)
        ]
        found += [(match.start(), -len(match[0])) for pattern in families for match in pattern.finditer(text)]
        end = 0
        for start, length in sorted(found):
            labels = self._labels_at(text, start, start - length) if start >= end else None
            if labels:
                end = start - length
                yield Mention(labels, start, end)

    def _labels_at(self, text: str, start: int, end: int) -> frozenset[str]:
        """The options whose text, or whose predicate after their subject or a pronoun, is at this place."""
        labels = self.equal_to(text[start:end]) or self._surnames.get(text[start:end], frozenset())
        predicate = None if labels else self._predicates.get(_lower(text[start:end]))
        if predicate is None:
            return labels
        verb = _COPULA.search(text[max(0, start - 48) : start])
        said = verb is not None and verb["subject"].casefold() in {predicate[1], *_PRONOUNS}
        return frozenset({predicate[0]}) if said else frozenset()

    @cached_property
    def _spellings(self) -> frozenset[str]:
        """All spellings of all texts, in lower case."""
        spellings = {_lower(bare(text)) for _, text in self._texts}
        spellings |= self._predicates.keys()
        if any(map(has_number, spellings)):
            spellings |= self._spelled | set(map(with_digits, spellings))
            spellings |= {with_words(_THOUSANDS.sub("", text)) for text in spellings}
        spellings |= {text.replace("-", " ") for text in spellings} | {text.replace(" ", "-") for text in spellings}
        spellings |= {_THOUSANDS.sub("", text) for text in spellings} | {
            _FOUR_DIGITS.sub(r"\1,\2", text) for text in spellings
        }
        if any(map(_SPELT.search, spellings)):
            pairs = [(one, other) for pair in _VARIANTS for one, other in (pair, pair[::-1])]
            spellings |= {text.replace(one, other) for text in spellings for one, other in pairs}
        spellings |= {text.replace("can't", "cannot") for text in spellings} | set(map(_unaccented, spellings))
        spellings |= {_ARTICLE.sub("", text, count=1) for text in spellings if _ARTICLE.match(text)}
        return frozenset(spellings - {""})


def _surnames(texts: Sequence[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """The last words of names, if several options are names and no other option has the word."""
    names = [(label, text.split()) for label, text in texts if _NAME.fullmatch(text)]
    words = Counter(word for _, text in texts for word in set(text.split()))
    found = {name[-1]: frozenset({label}) for label, name in names if words[name[-1]] == 1 and len(name[-1]) > 3}
    return found if len(names) > 1 else {}


def _alone(text: str, start: int) -> bool:
    """Whether no other name is before a surname: "Planck" in "Erwin Planck" is somebody else."""
    before = _CAPITALISED_BEFORE.search(text[max(0, start - 40) : start])
    return before is None or before["first"].casefold() in FUNCTION_WORDS


def _lower(text: str) -> str:
    """Lower case with the same length, and spaces for line ends."""
    lower = text.lower().replace("\n", " ")
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text).replace("\n", " ")


def _places(spelling: str, text: str) -> Iterator[int]:
    """Yield the places of a whole text. Scripts without spaces have no words, so that their texts match anywhere."""
    start = text.find(spelling)
    while start >= 0:
        end = start + len(spelling)
        before, after = text[max(0, start - 2) : start], text[end : end + 2]
        if re.match(r"-[a-z]", after) and " " not in spelling and spelling[-1].isalpha():
            start = text.find(spelling, end)
            continue  # "dog-like"
        if before[-1:] == "-" and before[0].isalpha():
            before = before[0]  # "open" in "half-open"
        if not _continues(spelling[0], before[::-1]) and not _continues(spelling[-1], after):
            yield start
        start = text.find(spelling, end)


def _continues(edge: str, outside: str) -> bool:
    """Whether the character ``edge`` of a text and the two characters outside it belong to one word or number."""
    if not outside:
        return False
    if not edge.isascii():
        return outside[0].isascii() and outside[0].isalnum() if edge >= "\u3040" else outside[0].isalpha()
    if outside[0].isalnum() or outside[0] == "_":
        return True
    return edge.isdigit() and ((outside[0] in ".,/:" and outside[1:].isdigit()) or outside[0] == "%" or outside == " %")


def _keys(text: str) -> tuple[str, str, str]:
    folded = " ".join(text.casefold().split()).replace("cannot", "can't")
    plain = bare(folded)
    word = _THOUSANDS.sub("", _ARTICLE.sub("", plain, count=1) if _ARTICLE.match(plain) else plain)
    return (
        folded.strip("."),
        plain,
        with_digits(" ".join(_american(_unaccented(word)).replace("-", " ").split())),
    )


def _american(text: str) -> str:
    if _BRITISH.search(text) is None:
        return text
    for american, british in _VARIANTS:
        text = text.replace(british, american)
    return text


def _unaccented(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


@lru_cache(maxsize=4096)
def option_texts(options: tuple[Option, ...]) -> OptionTexts:
    """Return the searcher of these options, from a cache."""
    return OptionTexts(options)

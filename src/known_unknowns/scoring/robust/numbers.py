"""Spellings of numbers and times: "21" and "twenty-one", "9:15" and "a quarter past nine"."""

from __future__ import annotations

import re
from collections.abc import Iterator

# fmt: off
_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth",
)
# fmt: on
_VALUE = {word: value for value, word in enumerate(_SMALL)}
_VALUE |= {word: 10 * value for value, word in enumerate(_TENS, start=2)}
_SCALE = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
NUMBER_WORDS = frozenset(_VALUE)
_CENTURIES = range(17, 21)
"""First words of years."""
_NUMBER = re.compile(r"(?<![\w.,:])\d{1,6}(?![\w:]|[.,]\d)")
_WORD = "|".join(sorted([*_VALUE, *_SCALE], key=len, reverse=True))
_ONE_WORD = re.compile(_WORD)
_WORDS = re.compile(rf"\b(?:an?\s(?=hundred|thousand|million))?(?:{_WORD})(?:(?:\s|-|\sand\s)(?:{_WORD}))*\b")
_ANY = re.compile(rf"\d|\b(?:{_WORD}|{'|'.join(_ORDINALS)})\b")
_TIME = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?P<rest>\D*)")
_ABOUT = re.compile(r"(?:about|around|approximately|approx\.|roughly|circa|some|nearly|~)\s?(?=\d)")
_UNIT = re.compile(
    r"(?P<number>\d[\d.,]*)\s?(?P<unit>[kmcd]?m|[mcd]?l|k?g|mph|km/h|ft|in|lbs?|oz|am|pm|w|kw|v|hz|gb|tb)"
)
_CURRENCIES = {"$": ("dollars", "dollar"), "\u20ac": ("euros", "euro"), "\u00a3": ("pounds", "pound")}
_ORDINAL_WORD = re.compile(rf"\b(?:{'|'.join(_ORDINALS)})\b")
_ORDINAL = re.compile(r"\b(?:\d{1,2})(?:st|nd|rd|th)\b")


def has_number(text: str) -> bool:
    """Whether a text in lower case has a digit, a number word or an ordinal."""
    return _ANY.search(text) is not None


def in_words(value: int) -> str:
    """Spell a number below a million: "one thousand two hundred five"."""
    if value < len(_SMALL):
        return _SMALL[value]
    if value < 100:
        tens, rest = divmod(value, 10)
        return _TENS[tens - 2] + (f"-{_SMALL[rest]}" if rest else "")
    scale, name = (1000, "thousand") if value >= 1000 else (100, "hundred")
    count, rest = divmod(value, scale)
    return f"{in_words(count)} {name}" + (f" {in_words(rest)}" if rest else "")


def with_words(text: str) -> str:
    """Spell the numbers in a text without digit grouping."""
    return _NUMBER.sub(lambda match: in_words(int(match[0])), text)


def with_digits(text: str) -> str:
    """Write the spelled numbers of a text in lower case as digits: "two thousand five" is "2005"."""
    return (
        text if _ONE_WORD.search(text) is None else _WORDS.sub(lambda match: _values(_ONE_WORD.findall(match[0])), text)
    )


def _values(words: list[str]) -> str:
    """The numbers that a run of number words spells. "one two" is "1 2", "nineteen forty-two" the year 1942."""
    values: list[int] = []
    total, part, last = 0, 0, 1000  # of the number: its thousands, the rest, and the last word's value
    for word in words:
        value = _VALUE.get(word)
        if value is None:
            scale = _SCALE[word]
            if scale == 100:
                part = max(part, 1) * scale
            else:
                total, part = total + max(part, 1) * scale, 0
            last = scale
            continue
        if last < 100 and not (last >= 20 and 0 < value < 10):
            values.append(total + part)
            total = part = 0
        part, last = part + value, value
    values.append(total + part)
    is_year = len(values) == 2 and values[0] in _CENTURIES and 10 < values[1] < 100 and values[1] % 10 > 0
    return ("" if is_year else " ").join(map(str, values))


def aliases(text: str) -> Iterator[str]:
    """Yield other spellings of an option's text in lower case: of a time, an estimate, a percentage or an ordinal."""
    if not has_number(text):
        return
    for word in _ORDINAL_WORD.finditer(text):
        value = _ORDINALS.index(word[0]) + 1
        yield f"{text[: word.start()]}{value}{_ending(value)}{text[word.end() :]}"
    if (match := _TIME.fullmatch(text)) is not None:
        yield from _times(int(match["hour"]), int(match["minute"]))
    if (match := _ABOUT.match(text)) is not None:
        rest = text[match.end() :]
        yield rest
        yield from (f"{word} {rest}" for word in ("about", "around", "approximately", "roughly"))
    if (match := _UNIT.fullmatch(text)) is not None:
        yield from (f"{match['number']}{match['unit']}", f"{match['number']} {match['unit']}")
    if text.endswith(".00"):
        yield text.removesuffix(".00")
    if text.endswith("%"):
        yield from (f"{text[:-1].strip()} percent", f"{text[:-1].strip()} per cent")
    if (match := _ORDINAL.search(text)) is not None and int(match[0][:-2]) <= len(_ORDINALS):
        yield text.replace(match[0], _ORDINALS[int(match[0][:-2]) - 1])


def priced(text: str) -> Iterator[str]:
    """Yield the spellings of a price with the currency's name: "12 dollars" for "$12"."""
    if text[:1] in _CURRENCIES and text[1:].strip():
        yield from (f"{text[1:].strip()} {name}" for name in _CURRENCIES[text[0]])


def _ending(value: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(value, "th")


def _times(hour: int, minute: int) -> Iterator[str]:
    """Yield the spellings of a time on a clock of twelve hours."""
    if not 0 <= minute < 60:
        return
    hours = [(hour - 1) % 12 + 1, hour % 12 + 1]
    this, following = ((str(value), in_words(value)) for value in hours)
    yield f"{hour}.{minute:02}"
    names = {15: ("quarter", "a quarter"), 30: ("half",)}
    past = (*names.get(minute, ()), str(minute), in_words(minute), f"{minute} minutes", f"{in_words(minute)} minutes")
    left = 60 - minute
    to = (*names.get(left, ()), str(left), in_words(left), f"{left} minutes", f"{in_words(left)} minutes")
    for name in this:
        if minute == 0:
            yield from (f"{name} o'clock", f"{name} sharp")
        else:
            yield f"{name} {in_words(minute)}"
            yield from (f"{count} {after} {name}" for count in past for after in ("past", "after"))
    if minute > 30:
        yield from (f"{count} {before} {name}" for count in to for before in ("to", "before") for name in following)

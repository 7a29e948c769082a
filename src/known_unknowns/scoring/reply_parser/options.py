"""The options of a question, and where a text names them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from known_unknowns.scoring.reply_parser import words
from known_unknowns.scoring.reply_parser.text import CURRENCIES, clean, forms, tokens

Labels = frozenset[str]
NOTHING: Labels = frozenset()
_LEFT_OUT = words.STOP_WORDS | CURRENCIES
FIRST_REMOVED = "\ue000"  # the first label of removed options, which no reply has; those of offered ones are smaller


def meaning(text: str) -> str | None:
    """Return the kind of abstention that a whole text means, such as the text of an option. None if it is none."""
    plain = clean(text).strip(" .!,'\"").casefold().replace(",", "")
    return next((kind for kind, pattern in words.MEANINGS if pattern.fullmatch(plain)), None)


def _singular(sequence: Iterable[str]) -> frozenset[str]:
    return frozenset(form.rstrip("s") if form.isalpha() else form for form in sequence if form not in words.STOP_WORDS)


def _without_plus(sequence: Iterable[str]) -> tuple[str, ...]:
    """Return tokens with the numbers "+5" as "5"."""
    return tuple(form.removeprefix("+") if form[-1:].isdigit() else form for form in sequence)


def _in_order(part: Iterable[str], sequence: Iterable[str]) -> bool:
    """Return whether a sequence has the words of a part in their order, among others."""
    rest = iter(sequence)
    return all(form in rest for form in part)


class Mention(NamedTuple):
    """An option that a text names, and where. ``marked`` is true if its label is there, alone or with its text."""

    label: str
    start: int
    end: int
    marked: bool


class Options:
    """The options of a question: labels with their texts."""

    def __init__(self, options: Iterable[tuple[str, str]]) -> None:
        self.texts = dict(options)
        self.forms = {label: forms(clean(text)) for label, text in self.texts.items()}
        self.meanings = {label: meaning(text) for label, text in self.texts.items()}
        self.has_verdicts = any(own and own[0] in words.VERDICTS for own in self.forms.values())
        self._first: dict[str, list[str]] = {}
        for label, own in sorted(self.forms.items(), key=lambda item: -len(item[1])):
            self._first.setdefault(own[0] if own else "", []).append(label)
        names = sorted((re.escape(label) for label in self.texts), key=len, reverse=True)
        self._longest = max(map(len, self.texts.values()), default=0) + 60  # characters, with words around it
        self.patterns = _label_patterns("|".join(names) or r"(?!)")

    def label_at_start(self, text: str) -> re.Match[str] | None:
        """Match a label at the start of a text. The article "A" and the pronoun "I" are no labels."""
        match = self.patterns["start"].match(text)
        if match is None or match["open"] or match["close"] or (match["noun"] and ":" not in match["link"]):
            return match
        own, rest = self.forms[match["label"]], text[match.end() :]
        is_word = match["label"].casefold() in ("a", "i") and _ARTICLE_OR_PRONOUN.match(rest)
        return None if is_word and forms(rest)[: len(own)] != own else match

    def marked_label_at_start(self, text: str) -> re.Match[str] | None:
        """Match a label in brackets, with a stop, after a word such as "option", or alone, at the start of a text."""
        match = self.label_at_start(text)
        return match if match and (match["close"] or match["noun"]) else None

    def text_at_start(self, text: str) -> tuple[Labels, int]:
        """Return the options with the longest text that a text starts with, and where it ends."""
        found = tokens(text[: self._longest])
        sequence = tuple([token.form for token in found])
        known = self._first.get(sequence[0], ()) if found else ()
        fitting = [label for label in known if sequence[: len(self.forms[label])] == self.forms[label]]
        if not fitting:
            return NOTHING, 0
        longest = len(self.forms[fitting[0]])
        return frozenset(label for label in fitting if len(self.forms[label]) == longest), found[longest - 1].end

    def same_text(self, text: str) -> Labels:
        """Return the options whose text is a whole text, or the only one of which it is a part."""
        if len(text) > 2 * self._longest:
            return NOTHING
        sequence = forms(text)
        content = _singular(sequence)
        equal = frozenset(label for label, own in self.forms.items() if own == sequence != ())
        if not equal:
            unsigned = _without_plus(sequence)
            equal = frozenset(label for label, own in self.forms.items() if _without_plus(own) == unsigned != ())
        if equal or not content:
            return equal
        near = {label: _singular(own) - content for label, own in self.forms.items() if content <= _singular(own)}
        parts = [label for label, more in near.items() if not more & words.NEGATIONS]
        numbers = [form for form in sequence if form[-1:].isdigit()]
        parts = [label for label in parts if _in_order(numbers, self.forms[label])]
        if len(numbers) == len(sequence):
            parts = [label for label in parts if "%" not in self.forms[label]]  # 42 is not 42%
        return frozenset(parts) if len(parts) == 1 else NOTHING

    def restated(self, text: str) -> Labels:
        """Return the options whose content words a text has in their order, among other words."""
        contents = {
            label: [form for form in own if form not in _LEFT_OUT or (len(form) == 1 and form not in CURRENCIES)]
            for label, own in self.forms.items()
        }
        return frozenset(name for name, own in contents.items() if len(own) > 1 and _in_order(own, forms(text)))

    def mentions(self, text: str) -> list[Mention]:
        """Return the options that a text names, by a marked label or by their whole text. The longest text counts."""
        found: list[Mention] = []
        sequence, position = tokens(text), 0
        while position < len(sequence):
            for label in self._first.get(sequence[position].form, ()):
                own = self.forms[label]
                if tuple([token.form for token in sequence[position : position + len(own)]]) == own:
                    start, end = sequence[position].start, sequence[position + len(own) - 1].end
                    before = re.search(rf"(?:\A|[\s(\"]){re.escape(label)}[.):]\s?\Z", text[max(0, start - 6) : start])
                    found.append(Mention(label, start, end, before is not None))
                    position += len(own) - 1
                    break
            position += 1
        for match in self.patterns["mention"].finditer(text):
            start, end = match.span("label")
            within = [other for other in found if other.start <= start and end <= other.end]
            if all((other.start, other.end) == (start, end) for other in within):
                found = [other for other in found if other not in within]
                found.append(Mention(match["label"], start, match.end(), True))
        return sorted(found, key=lambda mention: mention.start)

    def is_number(self, label: str) -> bool:
        """Return whether the text of an option is a number without a unit other than a currency."""
        own = [form for form in self.forms[label] if form not in CURRENCIES]
        return len(own) == 1 and own[0][-1:].isdigit()


_ARTICLE_OR_PRONOUN = re.compile(r"\s+(?!because|since|as\b|or\b|and\b|is\b)\S*[a-z]")
_NOUN = (
    r"(?i:options?|choices?|answers?|letter|alternative|response|selection"
    r"|选项|答案|(?:la\s)?(?:opci[óo]n|lettre|letra|opção|opzione|réponse)|буква)"
)
_AFTER = r"(?![^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[_^=+*/\\'’]|[.,]\d)"


@lru_cache(maxsize=512)
def _label_patterns(labels: str) -> dict[str, re.Pattern[str]]:
    """Compile the patterns of labels once for all questions with the same labels."""
    return {
        "start": re.compile(
            rf"\s*(?:(?P<noun>{_NOUN})(?P<link>\s*(?:is\s)?(?:[:#-]\s?)?))?(?P<open>[\"'“(\[{{<]*)\s?(?P<label>{labels}){_AFTER}"
            rf"(?P<close>\s?[\])}}>\"'.:,;!]+|\s?[-–—](?=\s)|\s(?=\()|\s*\Z|\s*\n)?"
        ),
        "mention": re.compile(
            rf"(?:\b{_NOUN}\s[\"'(\[]*|(?<![\w)])[(\[]\s?(?=(?:{labels})\s?[)\]]))(?P<label>{labels}){_AFTER}[\])\"']*"
        ),
        "further": re.compile(
            rf"[\"')\].]*\s*(?:,?\s?(?:and|or)\b|[,/&]|->|=>|→|\balong\swith\b)\s*(?:also\s)?(?:{_NOUN}\s)?[(\[\"']*(?P<label>{labels})(?![\w_^'])(?!(?<=[AI])\s[a-z])"
        ),
        "line": re.compile(rf"(?:\A|\n)\s*[(\[]?({labels})[)\].:]|\s[(\[]?({labels})[)\].]\s"),
        "end": re.compile(rf"(?:\A|[\s(\[\"'])({labels})[)\].:\"']*\s?\Z"),
    }

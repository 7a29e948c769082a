"""The options of a question: where a text names one of them, and what the whole of a text says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from known_unknowns.scoring.reply_parser import words
from known_unknowns.scoring.reply_parser.text import clean, forms, tokens

Labels = frozenset[str]
NOTHING: Labels = frozenset()


def speaks_of_options(text: str) -> bool:
    """Return whether the text of an option speaks of other options, such as "Both A and B" or "The first two".

    Such a text keeps its meaning only in its place. "None of these" does as well.
    """
    plain = clean(text)
    if words.REFERENCES.search(plain) and len(plain) < 60 or words.REFERENCES_ELSEWHERE.search(plain):
        return True
    letter = r"\(?(?:[A-HJ-Z]|A(?!\s[a-z])|I{1,3}|IV|[1-6])\)?"
    return bool(
        re.fullmatch(
            rf"(?:(?:both|all|only|either|neither|not|options?|statements?|answers?|choices?)\s)*{letter}(?:(?:,|\sand|\sor|\snor|,\sand|\s?&|\s?\+)\s?{letter})+(?:\sonly)?\W*"
            rf"|(?:only|both|either|neither|not|options?|same\sas)\s(?:options?\s)?{letter}(?:\sonly)?\W*|\(?[A-H]\)?\sonly",
            plain,
            re.IGNORECASE if not re.search(r"\b[ai]\b", plain) else 0,
        )
    )


def meaning(text: str) -> str | None:
    """Return the kind of abstention that the text of an option means, if any."""
    plain = clean(text).strip(" .!,'\"").casefold().replace(",", "")
    return next((kind for kind, pattern in words.COMPILED_MEANINGS if pattern.fullmatch(plain)), None)


class Mention(NamedTuple):
    """An option that a text names, and where. ``letter`` is true for a label."""

    label: str
    start: int
    end: int
    letter: bool


class Options:
    """The options of a question.

    Parameters
    ----------
    options : iterable of (str, str)
        Labels and texts.
    """

    def __init__(self, options: Iterable[tuple[str, str]]) -> None:
        self.texts = dict(options)
        self.forms = {label: forms(clean(text)) for label, text in self.texts.items()}
        self.meanings = {label: meaning(text) for label, text in self.texts.items()}
        self._first: dict[str, list[str]] = {}
        for label, sequence in sorted(self.forms.items(), key=lambda item: -len(item[1])):
            if sequence:
                self._first.setdefault(sequence[0], []).append(label)
        names = sorted((re.escape(label) for label in self.texts if label), key=len, reverse=True)
        self.pattern = "|".join(names) or r"(?!)"
        self._at_start, self._mention, self._further = _patterns(self.pattern)

    def label_at_start(self, text: str) -> re.Match[str] | None:
        """Match a label at the start of a text, with its brackets. The article "A" and the pronoun "I" are no labels."""
        match = self._at_start.match(text)
        if match is None:
            return None
        unmarked = not match["close"] and (not match["noun"] or ":" in match["noun_end"])
        if unmarked and not match["open"] and match["label"].casefold() in ("a", "i"):
            own, rest = self.forms[match["label"]], text[match.end() :]
            if _ARTICLE_OR_PRONOUN.match(rest) and forms(rest)[: len(own)] != own:
                return None
        return match

    def text_at_start(self, text: str) -> tuple[Labels, int]:
        """Return the options with the longest text that a text starts with, and where it ends."""
        found = tokens(text)
        if not found:
            return NOTHING, 0
        sequence = tuple([token.form for token in found])
        candidates = [
            label
            for label in self._first.get(sequence[0], ())
            if sequence[: len(self.forms[label])] == self.forms[label]
        ]
        if not candidates:
            return NOTHING, 0
        longest = len(self.forms[candidates[0]])
        return frozenset(label for label in candidates if len(self.forms[label]) == longest), found[longest - 1].end

    def same_text(self, text: str) -> Labels:
        """Return the options whose text is a whole text, or of which it is a part that no other option has."""
        sequence = forms(text)
        if not sequence:
            return NOTHING
        equal = frozenset(label for label, own in self.forms.items() if own == sequence)
        return equal or self._near(sequence)

    def _near(self, sequence: tuple[str, ...]) -> Labels:
        """Return the option of which a text is a distinctive part, or a close copy."""
        content = {form for form in sequence if form not in words.STOP_WORDS}
        if not content:
            return NOTHING
        parts, scores = [], []
        for label, own in self.forms.items():
            theirs = {form for form in own if form not in words.STOP_WORDS}
            if not theirs:
                continue
            if (content ^ theirs) & words.NEGATIONS or {f for f in content if f[-1:].isdigit()} - theirs:
                continue
            if content <= theirs:
                parts.append(label)
            if 5 * len(content - theirs) > len(content):
                continue
            scores.append((2 * len(content & theirs) / (len(content) + len(theirs)), label))
        if len(parts) == 1:
            return frozenset(parts)
        scores.sort(reverse=True)
        if not parts and len(sequence) >= 5 and scores and scores[0][0] >= 0.75:
            if len(scores) == 1 or scores[0][0] - scores[1][0] >= 0.2:
                return frozenset((scores[0][1],))
        return NOTHING

    def restated(self, text: str) -> Labels:
        """Return the options whose content words a text has in their order, among other words."""
        sequence = forms(text)
        found = set()
        for label, own in self.forms.items():
            content = [form for form in own if form not in words.STOP_WORDS or len(form) == 1]
            position = iter(sequence)
            if len(content) > 1 and all(form in position for form in content):
                found.add(label)
        return frozenset(found)

    def further_label(self, text: str) -> str | None:
        """Return another label that a text joins to one before it: "and B", ", C"."""
        match = self._further.match(text)
        return match["label"] if match else None

    def mentions(self, text: str) -> Iterator[Mention]:
        """Yield the options that a text names, by a marked label or by their whole text. The longest text counts."""
        found = tokens(text)
        position, covered = 0, []
        while position < len(found):
            for label in self._first.get(found[position].form, ()):
                own = self.forms[label]
                if tuple([token.form for token in found[position : position + len(own)]]) == own:
                    covered.append(Mention(label, found[position].start, found[position + len(own) - 1].end, False))
                    position += len(own) - 1
                    break
            position += 1
        for match in self._mention.finditer(text):
            start, end = match.span("label")
            if any(
                other.start <= start and end <= other.end and other.end - other.start > end - start for other in covered
            ):
                continue
            after = next(
                (text for text in covered if text.label == match["label"] and 0 <= text.start - match.end() < 3), None
            )
            covered = [other for other in covered if other is not after and (other.start, other.end) != (start, end)]
            covered.append(Mention(match["label"], start, after.end if after else match.end(), True))
        yield from sorted(covered, key=lambda mention: mention.start)

    def is_number(self, label: str) -> bool:
        """Return whether the text of an option is a number without a unit."""
        own = self.forms[label]
        return len(own) == 1 and own[0][-1:].isdigit()

    def is_function_word(self, label: str) -> bool:
        """Return whether the text of an option is a word that sentences also use otherwise."""
        return all(form in words.FUNCTION_WORDS for form in self.forms[label])


_ARTICLE_OR_PRONOUN = re.compile(r"\s+(?!because|since|as\b|or\b|and\b|is\b)\S*[a-z]")


@lru_cache(maxsize=512)
def _patterns(labels: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns of labels once for all questions with the same labels."""
    noun = r"(?i:option|choice|answer|letter|alternative|response|selection|选项|答案)"
    return (
        re.compile(
            rf"\s*(?:(?P<noun>{noun})(?P<noun_end>\s*(?:is\s)?(?:[:#-]\s?)?))?(?P<open>[\"'“(\[{{<]*)\s?(?P<label>{labels})(?![\w_^=+*/\\'’])"
            rf"(?P<close>\s?[\])}}>\"'.:,;!]+|\s?[-–—](?=\s)|\s(?=\()|\s*\Z|\s*\n)?"
        ),
        re.compile(
            rf"(?:\b{noun}s?\s[\"'(\[]*|(?<![\w)])[(\[]\s?(?=(?:{labels})\s?[)\]]))(?P<label>{labels})(?![\w_^=+*/'-])[\])\"']*"
        ),
        re.compile(
            rf"[\"')\].]*\s*(?:,|/|&|\band\b|\bor\b|\balong\swith\b|,\s?and|,\s?or)\s*(?:also\s)?(?:{noun}s?\s)?[(\[\"']*(?P<label>{labels})(?![\w_^'])(?!(?<=[AI])\s[a-z])"
        ),
    )

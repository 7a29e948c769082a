"""A reply that is parsed, and what its parts say about the options."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from known_unknowns.scoring.reply_parser import words
from known_unknowns.scoring.reply_parser.options import FIRST_REMOVED, NOTHING, Labels, Options
from known_unknowns.scoring.reply_parser.text import CURRENCIES, content_words, forms, sentences

_AROUND = 300  # characters of a sentence around a place
_CLAUSE = re.compile(
    r"[^.;\n]*?(?=[;\n]|[.!?,](?:\s|\Z)|\s(?:because|since|as|which|so|but)\b|\s?[—–]|\s-\s|\Z)|[^\n]*"
)
_SCALE = re.compile(r"\s?(?:hundred|thousand|million|billion|percent|dozen|times|plus|minus)\b|\s?[%/^]", re.IGNORECASE)
_ONE_UNIT = re.compile(r"\s?(?:°|[^\W\d_]+)\s?(?:[^\W\d_]+)?\s*(?:$|[.,;!)\n])")
_OPERATOR = re.compile(r"\s?(?:[-+*/=^√]|(?:plus|minus|times|divided\sby)\b)", re.IGNORECASE)
_OPERATOR_BEFORE = re.compile(r"(?:[-+*/^√<>≤≥$€£¥₹]|\b(?:plus|minus|times|divided\sby))\s?\Z", re.IGNORECASE)
_AROUND_A_LABEL = " .,:;!()[]{}<>\"'*\n"
_AROUND_A_NUMBER = re.compile(r"\A(?:[ ,:;!()\[\]{}\"'*\n]|[.<>](?![=<>]?\s?[-+.]?\d))+")
_CURRENCY_SIGN = re.compile(r"[$€£¥₹]\s?(?=[.\d])")
_DOLLARS = re.compile(r"(?<![\w$.])(\d[\d,.]*)\s?(?:US\s)?dollars?\b", re.IGNORECASE)
_DENIED_THEN_GIVEN = re.compile(
    r"(?:\b(?:not|neither)|n't)\s(?P<denied>[^.;:?!\n]{1,80}?)(?:,?\s(?:but|rather|instead)\b(?!\s(?:also|not)\b)"
    r"|\s?[,;.]\s(?=(?:it|that|this)(?:'s|\sis)\s|(?:not|instead|rather|the\sanswer)\b|[(\[]?[A-Z][)\]]?\W*\Z))",
    re.IGNORECASE,
)
_GIVEN_THEN_DENIED = re.compile(
    r"(?:,\s?(?:and\s|but\s)?|(?<=\S)\s)(?:not|rather\sthan|instead\sof)\s(?P<denied>[^,.;:?!\n]{1,60}?)(?=\s?(?:[.,;!)\n]|\Z))",
    re.IGNORECASE,
)
_SMALL_LABEL = re.compile(
    r"(?:(?<!\S)\(|\b(?i:option|choice|letter)\s\(?|\b(?i:answer)(?:\sis|:)\s\(?)[a-z](?:\)|(?=[.,;]|\s?\Z|\n))"
)


@lru_cache(maxsize=1024)
def _asked(question: str) -> tuple[frozenset[str], ...]:
    """Return the content words of the sentences of a question that ask, or of its last one."""
    pieces = [piece for piece, _ in sentences(question)]
    asking = [piece for piece in pieces if piece.endswith("?")] or pieces[-1:]
    return tuple(content for piece in asking if len(content := content_words(piece)) > 1)


class Reply:
    """A reply that is parsed: its cleaned final text, with the options, and the question, which it may repeat."""

    def __init__(self, text: str, options: Options, question: str) -> None:
        self.options = options
        self.question = f" {' '.join(forms(question))} "
        self.asked = _asked(question)
        named = [label for label, own in options.forms.items() if own and f" {' '.join(own)} " in self.question]
        numbers = [label for label in named if options.is_number(label)]
        self.repeated = frozenset(named if len(named) == 1 else numbers)  # an answer repeats one of "Red or blue?"
        text = words.RETRACTS.split(text)[-1].strip()
        text = self._with_currency_of_options(text)
        if not any(map(str.islower, options.texts)):
            text = _SMALL_LABEL.sub(lambda match: match[0].upper(), text)
        if len(question) > 15 and question in text:
            text = text.replace(question, "").strip() or text
        plain = [own for label, own in options.forms.items() if options.meanings[label] is None]
        if not any(words.NEGATIONS.intersection(own) for own in plain):
            text = _DENIED_THEN_GIVEN.sub(self._without_denied, text)
            text = _GIVEN_THEN_DENIED.sub(self._without_denied, text)
        self.text = text
        pieces = sentences(self.text)
        self.sentences = [piece for piece, _ in pieces]
        self.starts = [start for _, start in pieces]
        starts = options.patterns["line"].findall(self.text)
        every = {one or other for one, other in starts}
        self.is_list = len({line for line, _ in starts if line}) > 1 or len(every) == len(options.texts) > 2

    def _with_currency_of_options(self, text: str) -> str:
        """Write "20 dollars" as "$20" if an option has the sign, and leave a currency out that no option has."""
        known = {form for own in self.options.forms.values() for form in own if form in CURRENCIES}
        if "$" in known:
            text = _DOLLARS.sub(r"$\1", text)
        return text if known else _CURRENCY_SIGN.sub("", text)

    def _without_denied(self, match: re.Match[str]) -> str:
        """Leave out an option that is denied beside another one: "not A but B"."""
        denied = re.split(r",|\b(?:or|nor)\b", match["denied"])
        return " " if all(self.exact(part.strip()) for part in denied if part.strip()) else match[0]

    def exact(self, text: str) -> Labels:
        """Return the option that is the whole of a short text: a label, its text, both, or a part that only it has."""
        bare = _AROUND_A_NUMBER.sub("", text.rstrip(_AROUND_A_LABEL))
        if len(bare) == 1 and bare not in self.options.texts:
            bare = bare.upper()
        if bare in self.options.texts:
            return frozenset((bare,))
        if (match := self.options.marked_label_at_start(text)) is None:
            return self.options.same_text(text)
        label, rest = match["label"], text[match.end() :]
        if not forms(rest) or forms(rest) == self.options.forms[label]:
            return frozenset((label,))
        others, end = self.options.text_at_start(rest)
        return others | {label} if others and not forms(rest[end:]) else NOTHING

    def choice(self, text: str) -> Labels:
        """Return the options, or the kind of abstention, that the text after an announcement gives."""
        text = text[:_AROUND]
        if not (labels := self.labels_at_start(text)):
            lead = words.LEAD.match(text)
            text = text[lead.end() :] if lead else text
            labels = self.labels_at_start(text)
        found, end = self.options.text_at_start(text)
        match = self.options.label_at_start(text)
        has_label = match and found and end >= match.end("label") + (not match["noun"])  # "Point A", "A is closer"
        if labels and not has_label:
            return labels
        clause = match[0] if (match := _CLAUSE.match(text)) else text
        if found and self._ends(found, text[end:]):
            if (match := self.options.label_at_start(text[end:])) and match["open"]:
                found |= {match["label"]}
            return found
        return (
            self.abstains(clause)
            or self.options.same_text(clause)
            or self.options.same_text(text.split("\n")[0])
            or frozenset(mention.label for mention in self.options.mentions(clause) if mention.marked)
        )

    def whole_clause(self, text: str) -> Labels:
        """Return the option that is the whole first clause of a text, if it is no question."""
        text = text[:_AROUND]
        lead = words.LEAD.match(text)
        rest = text[lead.end() :] if lead else text
        for start in (text, rest):
            clause = _CLAUSE.match(start)
            if clause is None or start[clause.end() :].startswith("?"):
                continue
            if labels := self.exact(clause[0].strip()):
                return labels
        return NOTHING

    def _ends(self, labels: Labels, rest: str) -> bool:
        """Return whether the text of an option ends where an announcement goes on, and not a longer expression."""
        return bool(words.GOES_ON.match(rest)) or self.has_unit(labels, rest)

    def has_unit(self, labels: Labels, rest: str) -> bool:
        """Return whether a unit follows an option where all options are numbers without one."""
        numbers = all(map(self.options.is_number, labels)) and all(len(own) == 1 for own in self.options.forms.values())
        return bool(numbers and _ONE_UNIT.match(rest) and not _SCALE.match(rest))

    def labels_at_start(self, text: str) -> Labels:
        """Return the labels that a text starts with, and another option whose text contradicts the label."""
        match = self.options.label_at_start(text)
        if match is None:
            return NOTHING
        label, rest = match["label"], text[match.end() :]
        own, end = self.options.text_at_start(rest)
        if own and label not in own and re.match(r"\W*(?:\n|\Z)|[.;,]\s", rest[end:]):
            return own | {label}
        if self.options.meanings[label] is not None and not own and (other := self._stated(rest)):
            return other | {label}
        further = self.options.patterns["further"].match(rest[end:] if label in own else text[match.end("label") :])
        return frozenset((label, further["label"]) if further else (label,))

    def _stated(self, text: str) -> Labels:
        """Return the offered option that the first sentence of a text gives: "It is gold.", "The lamp is gold."."""
        pieces = sentences(text[:_AROUND])
        if not pieces:
            return NOTHING
        first = pieces[0][0]
        labels = self.whole_clause(first) or (self.asserted(first) if self.restates(first) else NOTHING)
        offered = frozenset(label for label in labels if label < FIRST_REMOVED and self.options.meanings[label] is None)
        return offered if len(labels) == 1 else NOTHING

    @staticmethod
    def abstains(text: str) -> Labels:
        """Return the kind of abstention that a text says, if any."""
        kind = next((kind for kind, pattern in words.ABSTENTIONS if pattern.search(text)), None)
        return NOTHING if kind is None else frozenset((kind,))

    def before(self, position: int) -> str:
        """Return the part of a sentence before a place in the reply, at most its last `_AROUND` characters."""
        number = bisect_right(self.starts, position) - 1
        return self.text[max(position - _AROUND, self.starts[number] if number >= 0 else 0) : position]

    def asserted(self, text: str) -> Labels:
        """Return the options that a sentence names and does not deny, ask, suppose, contrast, calculate or repeat."""
        if text.endswith("?") or words.HYPOTHESES.search(text):
            return NOTHING
        found = set()
        for mention in self.options.mentions(text):
            before, after = (
                text[max(0, mention.start - _AROUND) : mention.start],
                text[mention.end : mention.end + _AROUND],
            )
            denied = words.DENIALS.search(words.NEW_CLAUSE.split(before)[-1]) or words.DENIED_AFTER.match(after)
            if denied or words.CONTRASTS.search(before.split(", ")[-1]):
                continue
            repeats = mention.label in self.repeated or words.FUNCTION_WORDS.issuperset(
                self.options.forms[mention.label]
            )
            calculates = _OPERATOR.match(after) or _OPERATOR_BEFORE.search(before)
            scaled = self.options.is_number(mention.label) and _SCALE.match(after)
            if mention.marked or not (repeats or calculates or scaled):
                found.add(mention.label)
        return frozenset(found)

    def restates(self, text: str) -> bool:
        """Return whether a sentence has at least half of the content words of what the question asks."""
        content = content_words(text)
        return any(2 * len(content & asked) >= len(asked) for asked in self.asked)

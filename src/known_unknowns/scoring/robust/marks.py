"""Mark the options that a reply mentions.

`Marks.mark` replaces every mention of an option by one character of a private Unicode area. The rules of the robust
parser then search for marks, so that they are the same for all questions and are compiled once.

| pattern | mention |
|---|---|
| ``LETTER`` | a label: "B", "(b)", "option 2" |
| ``TEXT`` | an option's text: "Gold" |
| ``BOTH`` | a label with its own text: "D. Gold", "gold (D)" |
| ``MARK`` | any of these |
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cached_property, lru_cache

from known_unknowns.records import Option
from known_unknowns.scoring.robust.cleaning import ANSWER_MARK, bare, normalise
from known_unknowns.scoring.robust.loose import can_be_loose, loose_mentions
from known_unknowns.scoring.robust.mentions import AFTER_A_WORD, CLAUSE_START, NEARBY, is_mention
from known_unknowns.scoring.robust.options import option_texts, refuses
from known_unknowns.scoring.robust.positions import mark_positions, mentions_position

Claims = frozenset[str]
"""The labels of the options that a text chooses."""
NOTHING: Claims = frozenset()

_LETTERS = "ABCDEFGH"
_FIRST, _SIZE = 0xE000, 0x40
LETTER, TEXT, BOTH, MARK = "[\ue000-\ue03f]", "[\ue040-\ue07f]", "[\ue080-\ue0bf]", "[\ue000-\ue0bf]"
_MARK = re.compile(MARK)

_A_IS_A_LETTER_BEFORE = (
    r"(?:[B-H](?![\w-])|is|was|isn't|because|since|as|seems|looks|appears|would|should|must|can|cannot|could|and|or|but|for|matches|fits|if"
    r"|at\sfirst|earlier|oder|und|noch|nor|ni|sondern|sino|aber|mais|pero|değil|maar|utan|tylko|ama|ma|mas|men|vaan|melainkan|mà|hanem|ci|né|nem|ani|eller|nicht|pas|plus|vs|versus|ou|et|o|y|e|I|ist|est|es|maybe|actually|rather|instead|also)(?!\w)"
)
_NAMED_BY_A_LETTER = (
    r"(?<!\w)[A-Z]\.\s?[A-Z]\.\s[A-Z][a-z]+"  # initials
    r"|"
    r"\b(?i:vitamin|plan|figure|gate|route|class|grade|size|section|building|platform|terminal|hepatitis|team|"
    r"group|room|hotel|image|photo|picture|panel|box|point|exhibit|block|wing|row|column|seat|bus|line|lane|type|"
    r"zone|level|vitamine|model|serie|exit|track)s?(?:\s?:)?\s[A-Z](?![\w'])|\b(?i:with|has|shows?|reads?|says?|bears?|see|on)\s(?:a|the)\s(?:\w+\s)?letter\s[A-Z](?![\w'])|(?<![\w'])[A-Z]\s(?:is|was|as\sin)\s(?:for\b|(?:the|a)\s(?:\w+\s)?letter\b)|\b[Tt]he\s[A-Z]\s(?:in|on|of|at)\s(?:the|his|her|a)\b"
)
_LETTER_MENTION = re.compile(
    rf"{_NAMED_BY_A_LETTER}"
    r"|(?<![\w'&])(?<!\w\.)(?<![Nn]/)(?P<upper>(?!A (?!"
    + _A_IS_A_LETTER_BEFORE
    + r")[a-zA-Z\u00c0-\u024f])(?!I(?![\w'])(?!\s?[)\]]))[A-Z])"
    r"(?![\w'])(?![-.&]\w|\+)"
    r"|(?<!\w)(?i:options?|choice|letter|opción|opcion|réponse|antwort|option)\s\(?(?P<cued>[A-Za-z])(?![\w'-])"
    r"|(?:^|\n)[\s(\[{#>•·-]{0,5}(?P<line>[A-Z])(?=[.)](?:[^\W\d_]{2}|\d))"
    r"|(?<!\w)'(?P<quoted>[A-Z])'(?!\w)"
    r"|[(\[](?P<bracketed>[A-Za-z])[)\]]"
    r"|(?:^|\n)[\s(\[{#>•·-]{0,5}(?P<first>[a-z])(?=\s?[.):\]]|\s?\Z|\n|(?<!a)\sis\b)"
    rf"|(?:{ANSWER_MARK}|(?i:\banswer(?:\sis|\swould\sbe)?)\s?[:;=-]?\s?|(?<!km)(?<!\bm)[,/&]\s?|(?<![^\W\d_]{{2}})\s(?i:or|and)\s)(?P<announced>[a-z])"
    r"(?=\s?[.)\]<]?\s*(?:\Z|\n|</answer>))"
)
_COUNTING = re.compile(r"(?<![\w.,])1(?:,|\.{2,3})\s?2(?:(?:,|\.{2,3})\s?\d{1,2})+(?=[.:;!]?\s+\w)")
_STATEMENT = re.compile(r"\w\s(?:is|are|was|were|has|have|can|can't|cannot)\s\w", re.IGNORECASE)
"""An option's text that says by itself what it is about."""
_RANGE = re.compile(r"(?<![\w'])\(?([A-H])\)?(?:\s?[-\u2013]\s?|\s(?:to|through)\s)\(?([A-H])\)?(?![\w'])")

_PAIR_GAP = r"(?:\s?[.:)\]}>,;=|–—-]+\s?|\s)[(\[]?"
_LABEL_AND_TEXT = re.compile(rf"({LETTER}){_PAIR_GAP}((?:(?i:the|an?)\s)?{TEXT})")
_SENTENCE_GOES_ON = re.compile(r"\s(?!because|since|as\b)[a-z]")
_TEXT_ENDS = re.compile(r"\s?(?:[.,;:!?)\n]|\Z|</answer>)")
_TEXT_AND_LABEL = re.compile(rf"({TEXT})\s?(?:,\s|\s|-\s)?[(\[]?({LETTER})[)\]]?")

_OPTION_LINE = re.compile(r"\(?(?P<label>[A-Z])(?:\)?[.:)]\s?|\)\s)(?P<text>[^\n]{1,200})")
_PAIR = re.compile(
    r"(?<![\w'-])[(\[]?(?P<label>[A-Za-z0-9])(?P<gap>[)\]]?(?:\s?[.:)\]=\u2013-]\s?|\s)[(\['\[]?)(?P<text>[A-Za-z0-9])[)\]']?(?![\w'])(?!-\w)"
)
_SINGLE = re.compile(
    rf"(?P<cue>{ANSWER_MARK}\s?|(?i:\b(?:answer|option|choice|select|choose|pick)s?(?:\s(?:is|would\sbe))?\s?:?\s?[(\[]?))?"
    r"(?P<named>(?i:\bletter)\s(?=\S))?"
    r"(?<![\w'-])(?P<letter>[A-Z0-9])(?![\w'+])(?!-\w)(?P<article>(?=\s[a-z]))?"
)


def uses_letters(labels: tuple[str, ...]) -> bool:
    """Whether every label is a single capital letter."""
    return all(len(label) == 1 and "A" <= label <= "Z" for label in labels)


class Marks:
    """Marks mentions of ``options``, or of the letters A to H, in normalised replies. See `marks_of`."""

    def __init__(self, options: tuple[Option, ...]) -> None:
        labels = tuple(option.label for option in options)
        self.letters = uses_letters(labels)
        self.offered = frozenset(labels)
        self.labels = labels + tuple(letter for letter in _LETTERS if self.letters and letter not in labels)
        self._texts = option_texts(options)
        self._index = {label: index for index, label in enumerate(self.labels)}
        self._folded = {label.casefold(): label for label in reversed(labels)}
        self._statements = frozenset(option.label for option in options if _STATEMENT.search(option.text))
        words = {bare(option.text).casefold() for option in options} | self._folded.keys()
        self._letter_texts = {
            option.label: text for option in options if len(text := bare(option.text).casefold()) == 1
        }
        self.ambiguous = any(text in self._folded for text in self._letter_texts.values())
        """Whether an option's text is a label."""
        self.uses_no = "no" in words
        self._options = options
        self.about_it = any(option.text.endswith(" it") and not refuses(option.text) for option in options)
        self._ordinals = any(mentions_position(option.text) for option in options)
        self._in_place = [self._characters(frozenset({label}), 0) for label in labels]

    def whole(self, text: str) -> Claims:
        """The label if the text is only a label or an option's text. A letter comes first: prompts ask for a letter."""
        core = bare(text)
        if self.letters and len(core) == 1 and core.upper() in self._index:
            return frozenset(core.upper())
        if not self.letters and core.casefold() in self._folded:
            return frozenset({self._folded[core.casefold()]})
        line = _OPTION_LINE.fullmatch(text)
        if line is not None and self._texts.equal_to(line["text"]) == {line["label"]}:
            return frozenset(line["label"])
        if self.letters and len(core) > 2 and core in {letter * len(core) for letter in self.labels}:
            return frozenset(core[0])
        return self._texts.equal_to(text)

    def mark(self, text: str, *, counts_parts: bool = False) -> str:
        """Return the text with marks in place of mentions.

        Parameters
        ----------
        text : str
            A normalised reply.
        counts_parts : bool
            Whether the question asks how many *of* some things there are, so that "two of the windows" is an answer.
        """
        text = _COUNTING.sub("\u2026", text)
        if self._ordinals:
            text = mark_positions(text, self._in_place, _MARK, nouns_only=True)  # "third" can be an option's text
        parts, end = [], 0
        for mention in self._texts.within(text):
            if self._counts(text, mention.start, mention.end, counts_parts=counts_parts):
                parts += [text[end : mention.start], self._characters(mention.labels, 1)]
                end = mention.end
        parts.append(text[end:])
        marked = self._mark_labels("".join(parts))
        return self._merge(mark_positions(marked, self._in_place, _MARK, nouns_only=self._ordinals))

    @cached_property
    def _loose(self) -> list[str]:
        """The option texts of which other forms are recognized."""
        return [
            "" if refuses(option.text) or not can_be_loose(option.text) else normalise(option.text)
            for option in self._options
        ]

    def mark_loosely(self, text: str, asked: Collection[str]) -> str:
        """Return a text that mentions no option with marks in place of loose mentions of offered options.

        Parameters
        ----------
        text : str
            A normalised reply.
        asked : collection of str
            Roots of the question's words.
        """
        if self._ordinals or (not self.letters and any(map(str.isdigit, text))):
            return text  # whose numbers can be labels or positions
        parts, end = [], 0
        for place in sorted(loose_mentions(text, self._loose, asked), key=lambda place: place.start):
            if place.start < end:
                return text  # of two options
            parts += [text[end : place.start], self._characters(frozenset({self.labels[place.option]}), 1)]
            end = place.end
        return "".join([*parts, text[end:]])

    def mark_letter_texts(self, text: str) -> str:
        """Return the text with marks if an option's text is a label, so that a mention can mean two options.

        A label with its own text ("C. D", where C is "D") is one mention. A label with another text is a contradiction,
        and a letter in a sentence is marked as both options.
        """

        def pair(match: re.Match[str]) -> str:
            label, other = (self._label_of(match[name]) for name in ("label", "text"))
            if label is None or label not in self.offered:
                return match[0]
            if self._letter_texts.get(label) == match["text"].casefold():
                return self._characters(frozenset({label}), 2)
            if other is None or match["gap"].isspace():
                return match[0]
            return self._either(label, match["text"])

        def letter(match: re.Match[str]) -> str:
            label = self._label_of(match["letter"])
            if label is None or (label in "AI" and match["article"] is not None):
                return match[0]
            if match["named"] is not None:
                return match["named"] + self._either("", match["letter"])
            cued = match["cue"] is not None or match.start() == 0 or match.string[match.start() - 1] in "\n\u2026"
            mark = self._characters(frozenset({label}), 0) if cued else self._either(label, match["letter"])
            return match[0].replace(match["letter"], mark, 1) if not match["cue"] else f"{match['cue']}{mark}"

        return _SINGLE.sub(letter, _PAIR.sub(pair, text))

    def _label_of(self, word: str) -> str | None:
        if self.letters:
            return word.upper() if word.upper() in self._index and (word.isupper() or word not in "ai") else None
        return self._folded.get(word.casefold())

    def _either(self, label: str, text: str) -> str:
        labels = {label} - {""} | {other for other, named in self._letter_texts.items() if named == text.casefold()}
        return self._characters(frozenset(labels), 0)

    def claims(self, text: str) -> Claims:
        """The labels of all marks in a marked text."""
        return frozenset(self.in_order(text))

    def in_order(self, text: str) -> list[str]:
        """The labels of all marks in a marked text, in order."""
        return [self.labels[(ord(mark) - _FIRST) % _SIZE] for mark in _MARK.findall(text)]

    def texts_of(self, labels: Iterable[str]) -> frozenset[str]:
        """The marks of the texts of these options."""
        return frozenset(self._characters(frozenset({label}), 1) for label in labels)

    def is_statement(self, label: str) -> bool:
        """Whether an option's text is so long that it says by itself what it is about."""
        return label in self._statements

    def _characters(self, labels: Claims, kind: int) -> str:
        return "/".join(chr(_FIRST + kind * _SIZE + self._index[label]) for label in sorted(labels))

    def _counts(self, text: str, start: int, end: int, *, counts_parts: bool) -> bool:
        """Whether an option's text is a mention, and not marked as a label."""
        if text[start:end].casefold() in self._folded and not self.letters:
            return False
        return is_mention(text, start, end, counts_parts=counts_parts)

    def _mark_labels(self, text: str) -> str:
        if self.letters:
            if "chang" not in text:
                text = _RANGE.sub(lambda match: "\u2026" if ord(match[2]) - ord(match[1]) > 1 else match[0], text)
            return _LETTER_MENTION.sub(self._mark_letter, text)
        return _word_mention(self.labels).sub(self._mark_word, text)

    def _mark_letter(self, match: re.Match[str]) -> str:
        if match.lastgroup is None or match[match.lastgroup].upper() not in self._index:
            return match[0]
        mark = self._characters(frozenset(match[match.lastgroup].upper()), 0)
        start, end = (place - match.start() for place in match.span(match.lastgroup))
        return f"{match[0][:start]}{mark}{match[0][end:]}"

    def _mark_word(self, match: re.Match[str]) -> str:
        before = match.string[max(0, match.start() - NEARBY) : match.start()]
        word = match["word"] or match["number"] or match["cued"] or match["bracketed"]
        if match["word"] and not CLAUSE_START.search(before):
            return match[0]
        if match["number"] and not CLAUSE_START.search(before):
            return match[0]
        return match[0].replace(word, self._characters(frozenset({self._folded[word.casefold()]}), 0), 1)

    def _merge(self, text: str) -> str:
        """Join a label and its own text. A label that is not offered is dropped beside an offered option's text."""

        def pair(match: re.Match[str], label: str, named: str) -> str:
            article = self.claims(label) == {"A"} and match[0][1:-1] == " "
            if article and _SENTENCE_GOES_ON.match(match.string, match.end()):
                return named
            if self.claims(label) == self.claims(named):
                return self._characters(self.claims(label), 2)
            if self.claims(label) <= self.offered and _TEXT_ENDS.match(match.string, match.end()):
                return f"{label}/{named}"  # a contradiction
            return match[0] if self.claims(label) <= self.offered and not article else named

        text = _LABEL_AND_TEXT.sub(lambda match: pair(match, match[1], match[2]), text)
        return _TEXT_AND_LABEL.sub(lambda match: pair(match, match[2], match[1]), text)


@lru_cache(maxsize=256)
def _word_mention(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Mentions of labels that are words or numbers."""
    words = "|".join(re.escape(label) for label in labels if not label.isdigit()) or "(?!)"
    numbers = "|".join(re.escape(label) for label in labels if label.isdigit()) or "(?!)"
    either = "|".join(map(re.escape, labels))
    after_a_number = r"(?=\s?[.:;)\]}</](?!\d)|,(?!\d)|\s?\Z|\n|\s(?:is|because|since|as|and|or)\b)"
    return re.compile(
        rf"\b(?:options?|choice|answer)\s\(?(?P<cued>{either})(?!\w)|\((?P<bracketed>{either})\)"
        rf"|(?<!\w)(?P<word>{words})(?!\w){AFTER_A_WORD}|(?<![\w.,])(?P<number>{numbers})(?!\w){after_a_number}",
        re.IGNORECASE,
    )


@lru_cache(maxsize=4096)
def marks_of(options: tuple[Option, ...]) -> Marks:
    """Return the marker of these options, from a cache."""
    return Marks(options)

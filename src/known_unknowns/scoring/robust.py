"""What a careful person would read in a reply.

The reply is cleaned (`known_unknowns.scoring._cleaning`), then four readers look at it in turn, and the first that
finds any option decides:

1. the whole reply is a letter or an option's text ("e.", "Ｅ", "none of the above", "A car");
2. what follows the last announcement of an answer ("Answer:", "the answer is", a box, an <answer> tag, "so E");
3. the first line starts with a letter as a label ("E. None of the above", "(E)", "E because ..."), or the last line
   is nothing but a letter or an option's text;
4. the letters and option texts that are named anywhere and not denied ("I see yellow, so it must be B", "not A").

Exactly one option must come out; a reply that names several, or repeats all of them, is unparsed. So are decisions
that a careful person might take otherwise, and why we took them:

- Letter and text that contradict each other ("A. None of the above" where A is "Red") name two options: unparsed.
  If the letter is not on offer, it names nothing, and the text counts.
- The article is not option A: "A car" is A only if A's text is "car"; "A" before a word is a letter only in phrases
  like "A is", "A or", "A because".
- A refusal in other words ("I don't know", "I can't tell") is not the refusal option: the model was told to choose
  one, and did not. "None of these options" is "None of the above".
- A letter that is not on offer stays as read, and is unparsed. Letters beyond H are none, unless they are on offer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from known_unknowns.records import UNPARSED, AnsweredTurn, Question
from known_unknowns.scoring._cleaning import ANSWER_MARK, bare, normalise, without_thinking
from known_unknowns.scoring._options import OptionTexts, option_texts
from known_unknowns.scoring._word_labels import claims_of, uses_letters
from known_unknowns.scoring.parsed import Parsed, on_offer, parse_label

Claims = frozenset[str]
"""The letters of the options that a stretch of text chooses."""
_NOTHING: Claims = frozenset()
_LETTERS = frozenset("ABCDEFGH")

_A_IS_A_LETTER_BEFORE = (
    r"(?:is|was|isn't|because|since|as|seems|looks|appears|would|should|must|and|or|but|for|matches|fits|if)\b"
)
_LETTER = (
    r"(?<![\w'&+-])(?<!\w\.)(?<![Nn]/)(?P<upper>(?!A\s(?!" + _A_IS_A_LETTER_BEFORE + r")\w)[A-Z])(?![\w'])(?![-.&]\w)"
    r"|(?<!\w)(?i:option|choice|letter)\s\(?(?P<cued>[A-Za-z])(?![\w'-])"
    r"|\((?P<bracketed>[A-Za-z])\)"
)
_MENTION = re.compile(_LETTER)
_LABEL = re.compile(
    r"(?:(?i:option|choice|letter)\s)?(?P<letter>[A-Za-z])(?![\w'])(?!-\w)(?P<mark>\s?[)\]}>.:,;=|\u2013\u2014-]+|$|\n)?"
)
_JOINED = re.compile(r"\s?(?:(?i:and/or|and|or|nor)\s|[,/&]\s?(?:(?i:and|or)\s)?)\(?(?=[A-Za-z](?!\w))")

_ITEM = r"(?:(?i:option|choice|answer|letter)s?\s)?\(?[A-Z](?!\w)\)?"
_LIST = rf"{_ITEM}(?:\s?(?:,\s(?i:and|or|nor)\s|,\s?|/|\s(?i:and|or|nor)\s){_ITEM})*"
_DENIABLE = re.compile(
    r"(?P<before>(?i:\b(?:not|neither|nor|never|except|excluding|than|instead\sof|none\sof|rul(?:e|es|ed|ing)\sout"
    r"|eliminat(?:e|es|ed|ing)|exclud(?:e|es|ed))|n't)(?i:\s(?:be|either|both))?\s)?(?<![\w'])(?P<list>" + _LIST + ")"
    r"(?P<after>\s(?i:(?:(?P<one>is|was|does|seems|looks)|are|were|do|can|could|would|seem|look)"
    r"(?:n't|\snot\b|\s(?:all\s|both\s)?(?:wrong|incorrect|false|unlikely|impossible|out|ruled\sout)\b)|can't|cannot))?"
)  # one pass over every list of letters: looking for denied ones alone would read a long list again and again
_CAPITAL = re.compile(r"(?<!\w)[A-Z](?!\w)")

_ANNOUNCED = re.compile(
    rf"{ANSWER_MARK}"
    r"|(?<!wrong\s)(?<!incorrect\s)\b(?:answer|(?:correct|right|best|final|my)\s(?:option|choice|letter))"
    r"(?:\b[^.\n:=]{0,40}?\b(?:is|be)\b(?!\snot\b|n't)|\s?[:=\n-]|(?=\s(?-i:[B-H]\b|\([A-H]\))))"
    r"|\b(?:so|thus|therefore|hence)\b,?(?=\s\(?(?-i:[B-H]\b|A\b(?!\s[a-z])))"
    r"|\u7b54\u6848\s?(?:\u662f|\u4e3a)?",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"\n|[.!?]\s|\u3002|</answer>", re.IGNORECASE)


def robust(asked: AnsweredTurn, question: Question) -> Parsed:
    """Parse a reply as a careful person would, in time linear in its length; see the module's text.

    Labels that are not single capital letters (yes/no, 1 to 4) are parsed by `known_unknowns.scoring._word_labels`.
    """
    options = on_offer(asked, question)
    text = normalise(without_thinking(asked.reply.text))
    offered = frozenset(option.label for option in options)
    claims = (
        _Reader(option_texts(options), offered).read(text)
        if uses_letters(question.labels)
        else claims_of(text, options)
    )
    if len(claims) != 1:
        return Parsed(UNPARSED)
    (label,) = claims
    return parse_label(label, question) if label in offered else Parsed(UNPARSED, label)


class _Reader:
    """Reads normalised text for one set of options. Every method gives the claims of a stretch of it."""

    def __init__(self, texts: OptionTexts, offered: frozenset[str]) -> None:
        self.texts, self.offered = texts, offered
        self._letters = _LETTERS | offered

    def read(self, text: str) -> Claims:
        asserted = _DENIABLE.sub(_silenced, text)
        readers: tuple[tuple[Callable[[str], Claims], str], ...] = (
            (self.whole, text),
            (self.announced, asserted),
            (self.lines, asserted),
            (self.named, asserted),
        )
        for reader, what in readers:
            if claims := reader(what):
                return claims
        return _NOTHING

    def whole(self, text: str) -> Claims:
        """A letter, or an option's text, and nothing else. The letter wins, since a letter was asked for."""
        letter = bare(text).upper()
        if len(letter) == 1 and letter in self._letters:
            return frozenset(letter)
        return self.texts.equal_to(text)

    def announced(self, text: str) -> Claims:
        """What follows the last announcement that is followed by a choice."""
        end = len(text)
        for announcement in reversed(list(_ANNOUNCED.finditer(text))):
            segment = text[announcement.end() : end].lstrip(" \n:=-.([{<'")
            end = announcement.start()
            sentence = _SENTENCE_END.split(segment, maxsplit=1)[0]
            claims = self.whole(sentence) or self.labelled(segment) or self.named(sentence)
            if claims:
                return claims
        return _NOTHING

    def lines(self, text: str) -> Claims:
        """The label that the first line starts with, and the last line where it is a choice and nothing else."""
        text = text.strip()
        last = text.rpartition("\n")[2]
        return self.labelled(text.lstrip(" \n.,:;#>-([{<'\u2022\u00b7")) | self.whole(last) | self._label_alone(last)

    def labelled(self, text: str) -> Claims:
        """A letter as a label at the very start: followed by a mark, by its option's text, or by a verb."""
        label = self._label(text)
        if label is None:
            return _NOTHING
        letter, rest = label["letter"].upper(), text[label.end() :].lstrip(" \n([{<'")
        named = self.texts.at_start(rest)
        if not label["mark"] and not (named and letter in named.labels) and not self._unmarked(text):
            return _NOTHING
        joined = self._joined(text, label)
        if joined:
            return frozenset(letter) | joined
        if named is None:
            return frozenset(letter)
        if letter not in named.labels:  # a contradiction, unless the letter names nothing
            return named.labels | ({letter} & self.offered)
        listed = self._label(rest[named.end :].lstrip(" \n,;.([{<|"))
        return frozenset(letter) | (frozenset(listed["letter"].upper()) if listed and listed["mark"] else _NOTHING)

    def named(self, text: str) -> Claims:
        """Every letter and every option text that is named; together, so that a contradiction shows."""
        spans = list(self.texts.within(text))
        claims = frozenset().union(*(span.labels for span in spans))
        outside, end = [], 0
        for span in spans:  # a letter within an option's text ("Vitamin C") is not a choice
            outside.append(text[end : span.start])
            end = span.end
        outside.append(text[end:])
        for match in _MENTION.finditer(" \u2026 ".join(outside)):
            letter = (match["upper"] or match["cued"] or match["bracketed"]).upper()
            claims |= {letter} & self._letters
        return claims

    def _label(self, text: str) -> re.Match[str] | None:
        match = _LABEL.match(text)
        return match if match and match["letter"].upper() in self._letters else None

    def _label_alone(self, line: str) -> Claims:
        """A last line such as "E. None of the above"."""
        label = self._label(line.lstrip(" #>-([{<'"))
        if label is None or not label["mark"]:
            return _NOTHING
        letter = label["letter"].upper()
        rest = line.lstrip(" #>-([{<'")[label.end() :]
        return frozenset(letter) if letter in self.texts.equal_to(rest) else _NOTHING

    @staticmethod
    def _unmarked(text: str) -> bool:
        """Whether a letter at the start, followed by a word, is a letter: a capital, and A only before a verb."""
        match = _MENTION.match(text)
        return bool(match and (match["upper"] or match["cued"]) and text.startswith(" ", match.end()))

    def _joined(self, text: str, label: re.Match[str]) -> Claims:
        """The second letter of "A or B", "A, B" and "A/B"."""
        join = _JOINED.match(text, label.end("letter"))
        mention = _MENTION.match(text, join.end()) if join else None
        if mention is None and join and text[label.start("letter")].islower():
            mention = re.compile(r"(?P<upper>[a-z])(?!\w)").match(text, join.end())
        return frozenset(mention["upper"].upper()) & self._letters if mention and mention["upper"] else _NOTHING


def _silenced(match: re.Match[str]) -> str:
    """The same words with an article in the place of each denied letter. "E, A is wrong" denies A alone."""
    if not (match["before"] or match["after"]):
        return match[0]
    first = 0
    if match["one"] and not match["before"] and not re.search(r"\s(?i:or|nor)\s", match["list"]):
        first = [letter.start() for letter in _CAPITAL.finditer(match[0])][-1]
    return match[0][:first] + _CAPITAL.sub("the", match[0][first:])

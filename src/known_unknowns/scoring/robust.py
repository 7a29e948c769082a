"""The robust parser: tolerant of markup, reasoning and full sentences.

The reply is cleaned (`known_unknowns.scoring._cleaning`). Then four rules are applied in order, and the first that
finds an option decides:

1. the whole reply is a letter or an option's text ("e.", "Ｅ", "none of the above", "A car");
2. the text after the last announcement of an answer ("Answer:", "the answer is", a box, an <answer> tag, "so E");
3. the first line starts with a letter used as a label ("E. None of the above", "(E)", "E because ..."), or the last
   line is only a letter or an option's text;
4. the letters and option texts that are mentioned anywhere and not denied ("I see yellow, so it must be B", "not A").

The rule must find exactly one option. A reply that names several, or repeats all of them, is unparsed. Ambiguous cases
are decided as follows:

- A letter and a text that contradict each other ("A. None of the above" where A is "Red") name two options: unparsed.
  If the turn does not offer the letter, only the text counts.
- The article is not option A: "A car" is A only if A's text is "car"; "A" before a word is a letter only in phrases
  like "A is", "A or", "A because".
- A refusal in other words ("I don't know", "I can't tell") is not the refusal option, because the prompt asks for one
  of the options. "None of these options" is "None of the above".
- A letter that the turn does not offer is recorded as the label, and the outcome is unparsed. Letters after H are
  ignored unless they are offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from known_unknowns.records import UNPARSED, AnsweredTurn, Question
from known_unknowns.scoring._cleaning import ANSWER_MARK, bare, normalise, without_thinking
from known_unknowns.scoring._options import OptionTexts, option_texts
from known_unknowns.scoring._word_labels import claims_of, uses_letters
from known_unknowns.scoring.parsed_answer import ParsedAnswer, offered_options, parse_label

Claims = frozenset[str]
"""The labels of the options that a text chooses."""
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
)  # matches every list of letters: matching only denied ones would scan long lists repeatedly
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


def robust(turn: AnsweredTurn, question: Question) -> ParsedAnswer:
    """Parse a reply by the rules in the module's docstring, in time linear in its length.

    Parameters
    ----------
    turn : AnsweredTurn
        A turn whose reply did not fail.
    question : Question
        The turn's question. Labels that are not single capital letters (yes/no, 1 to 4) are parsed by
        `known_unknowns.scoring._word_labels`.

    Returns
    -------
    ParsedAnswer
        Unparsed unless exactly one offered option is found.
    """
    options = offered_options(turn, question)
    text = normalise(without_thinking(turn.reply.text))
    offered = frozenset(option.label for option in options)
    claims = (
        _LetterParser(option_texts(options), offered).parse(text)
        if uses_letters(question.labels)
        else claims_of(text, options)
    )
    if len(claims) != 1:
        return ParsedAnswer(UNPARSED)
    (label,) = claims
    return parse_label(label, question) if label in offered else ParsedAnswer(UNPARSED, label)


class _LetterParser:
    """Parses normalised text for one set of options. Every method returns the options that its text chooses."""

    def __init__(self, texts: OptionTexts, offered: frozenset[str]) -> None:
        self.texts, self.offered = texts, offered
        self._letters = _LETTERS | offered

    def parse(self, text: str) -> Claims:
        asserted = _DENIABLE.sub(_without_denied_letters, text)
        rules: tuple[tuple[Callable[[str], Claims], str], ...] = (
            (self.whole, text),
            (self.announced, asserted),
            (self.lines, asserted),
            (self.named, asserted),
        )
        for rule, part in rules:
            if claims := rule(part):
                return claims
        return _NOTHING

    def whole(self, text: str) -> Claims:
        """The text is only a letter or an option's text. A letter comes first, because prompts ask for a letter."""
        letter = bare(text).upper()
        if len(letter) == 1 and letter in self._letters:
            return frozenset(letter)
        return self.texts.equal_to(text)

    def announced(self, text: str) -> Claims:
        """The text after the last announcement that is followed by a choice."""
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
        """The label at the start of the first line, and the last line if it is only a choice."""
        text = text.strip()
        last = text.rpartition("\n")[2]
        return self.labelled(text.lstrip(" \n.,:;#>-([{<'\u2022\u00b7")) | self.whole(last) | self._label_alone(last)

    def labelled(self, text: str) -> Claims:
        """A letter at the start that is a label: followed by a mark, by its option's text, or by a verb."""
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
        if letter not in named.labels:  # a contradiction if the letter is offered
            return named.labels | ({letter} & self.offered)
        listed = self._label(rest[named.end :].lstrip(" \n,;.([{<|"))
        return frozenset(letter) | (frozenset(listed["letter"].upper()) if listed and listed["mark"] else _NOTHING)

    def named(self, text: str) -> Claims:
        """All letters and option texts that are mentioned. Both are collected, so that contradictions are detected."""
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
        """Whether a letter at the start, followed by a word, is a label: a capital, and A only before a verb."""
        match = _MENTION.match(text)
        return bool(match and (match["upper"] or match["cued"]) and text.startswith(" ", match.end()))

    def _joined(self, text: str, label: re.Match[str]) -> Claims:
        """The second letter of "A or B", "A, B" and "A/B"."""
        join = _JOINED.match(text, label.end("letter"))
        mention = _MENTION.match(text, join.end()) if join else None
        if mention is None and join and text[label.start("letter")].islower():
            mention = re.compile(r"(?P<upper>[a-z])(?!\w)").match(text, join.end())
        return frozenset(mention["upper"].upper()) & self._letters if mention and mention["upper"] else _NOTHING


def _without_denied_letters(match: re.Match[str]) -> str:
    """Replace each denied letter by an article. "E, A is wrong" denies only A."""
    if not (match["before"] or match["after"]):
        return match[0]
    first = 0
    if match["one"] and not match["before"] and not re.search(r"\s(?i:or|nor)\s", match["list"]):
        first = [letter.start() for letter in _CAPITAL.finditer(match[0])][-1]
    return match[0][:first] + _CAPITAL.sub("the", match[0][first:])

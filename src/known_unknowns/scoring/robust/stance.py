"""Whether a reply stands behind an option that it mentions.

The patterns of `statements` remove denied options whose wording they know. This module covers
the rest with few general rules. A reply is divided into clauses. An option is *doubtful* if its clause contains a
negation that no other rule has explained, reports what somebody else says, or depends on a condition. A reply withdraws
what it said if a clause without an option denies it ("That is false.", "but I don't agree"). The wording of these
clauses is not analysed further: in doubt, an option is not an answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from known_unknowns.scoring.robust import stance_words as words
from known_unknowns.scoring.robust.marks import MARK, Marks

_SHIFT = 0x300
"""A doubtful mark is the mark's character moved by this number."""
_DOUBTFUL_MARK = re.compile("[\ue300-\ue3bf]")

_MARK = re.compile(MARK)
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s?|\n|(?<=;)\s")
_CLAUSE = re.compile(
    r"(?:,(?!\s(?:dass|daß|ob|что|że|hogy)\b)|[:()\u2013\u2014\u2026\uff0c\u3001\uff1b]|\s-\s|->|\u2192|=)\s?"
    r"|\s(?=(?:but|because|since|as|so|and|which|while|although|though|yet|however|hence|therefore|thus|given|except"
    r"|aber|denn|weil|sondern|also|mais|car|donc|pero|porque|sino|así|ma|perché|mas|porque|а|но|потому)\s)",
    re.IGNORECASE,
)

_AFFIRMATIVE = re.compile(rf"\b{words.DOUBLE_NEGATIONS}\b|{words.DOUBLE_NEGATIONS_WITHOUT_SPACES}", re.IGNORECASE)
_NEGATION = re.compile(rf"\b{words.NEGATIONS}\b|{words.NEGATIONS_WITHOUT_SPACES}", re.IGNORECASE)
_ADVERBS = rf"(?:{words.ADVERBS}\s)*"
_REPORTED = re.compile(
    rf"(?<!\w)(?!{words.NO_PERSONS}\s)[a-z']+\s{_ADVERBS}{words.OPINIONS}(?!\w)"
    rf"|(?<!\w){words.PERSONS}\s(?:of\s\w+\s|(?:on|in|at|next\sto|behind|with)\s(?:\w+\s){{1,3}})?{_ADVERBS}{words.SAYINGS}(?!\w)"
    r"|\b(?:my|an?|the|your|his|her|our|their|any|every)\s\w+\s(?:would|will|might|could|may)\s"
    rf"{_ADVERBS}(?:{words.SAYINGS}|think|believe|claim)(?!\w)"
    rf"|\bone\s(?:would|could|might|may|can)\s{_ADVERBS}(?:{words.SAYINGS}|{words.OPINIONS}|think|believe|assume|expect)(?!\w)"
    rf"|\b(?:according\sto|in\sthe\sopinion\sof|as\sper|as\sclaimed\sby)\s(?!(?:the|this|its)\s(?!(?:\w+\s)?{words.PERSONS}\b))"
    rf"|\b(?:was|were|am|been|being|is|are|'m)\s{words.ORDERED}\sto\b|\b{words.ORDERS}\s(?:me|us)\s"
    rf"|\b(?:been|was|is|are|were)\s(?:often\s|widely\s|sometimes\s)?{words.PASSIVES}\s(?:that|to)\b"
    r"|\b(?:rumou?r|legend|gossip)\b"
    r"|\b(?:typical|common|frequent|popular|usual|naive|lazy|obvious|tempting)\s(?:wrong\s)?(?:answer|mistake|guess|error|choice)\b"
    rf"|\b{words.PERSONS}'s\s(?:\w+\s)?(?:answer|guess|choice|opinion|view|claim|vote|pick)|{words.REPORTED_ELSEWHERE}",
    re.IGNORECASE,
)
"""Somebody else's opinion."""
_DISPLAYED = re.compile(
    rf"\b{words.SIGNS}\b[^.,;:!?\n]{{0,60}}\b{words.READS}(?:\sthat)?[:,]?\s(?:the\s|my\s)?(?:\w+\s)?(?:answer|option|choice)\b",
    re.IGNORECASE,
)
"""A text in the image that names an answer."""
_TAG = re.compile(r",\s(?:right|correct|no|yes|huh|eh|is\sit|isn't\sit|am\sI\sright)\?\s?\Z", re.IGNORECASE)
_ENDORSED = re.compile(
    r"\b(?:he|she|they|it|that|who)(?:'s|'re|\sis|\sare)\s(?:absolutely\s|quite\s|probably\s|certainly\s|definitely\s)?(?:right|correct)\b"
    r"|\bI\s(?:fully\s|completely\s|totally\s|strongly\s)?(?:agree|concur)\b|\brightly\sso\b",
    re.IGNORECASE,
)
"""The reply agrees with somebody else's opinion."""
_OWN = re.compile(
    r"\b(?:I|we|let's|myself)\b(?!\s(?:was|am|were)\s(?:told|asked)\b)"
    r"|\b(?:correct|right|final|best|my|true)\s(?:answer|option|choice)\b",
    re.IGNORECASE,
)
_CONTRAST = re.compile(rf"\W*{words.CONTRASTS}\b|\W*(?:但|而|不过)", re.IGNORECASE)
_CONDITION = re.compile(
    rf"(?:\A\W*|,\s)(?:were|had)\s|\b{words.CONDITIONS}\b|{words.CONDITIONS_WITHOUT_SPACES}", re.IGNORECASE
)
_EXAMPLE = re.compile(rf"(?<!\w){words.EXAMPLES}|例如|比如", re.IGNORECASE)
_ANOTHER_TIME = re.compile(
    r"\b(?:was|were|had\sbeen)\b[^.;!?\n]*\b(?:ago|earlier|previously|yesterday)\b"
    r"|\bwill\b[^.;!?\n]*\b(?:soon|later|tomorrow)\b",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:in|for|on)\s(?:another|(?:an?|the|my|your)\s(?:similar|other|different|previous|earlier|last|next|older?))\s"
    r"(?:image|picture|photo|question|example|version|case|scene)\b",
    re.IGNORECASE,
)
"""Another question or image."""
_HABIT = re.compile(rf"\b{words.HABITS}\b", re.IGNORECASE)
_TURN = re.compile(r",\s(?:but|yet|so|and\snow|now)\s", re.IGNORECASE)
_REAL_CONDITION = re.compile(rf"\b{words.REAL_CONDITIONS}", re.IGNORECASE)
_MODAL = re.compile(rf"\b{words.MODALS}\b|(?<=\w)'d\b|就是|会是", re.IGNORECASE)
_OWN_MODAL = re.compile(
    r"\b(?:I|we)(?:'d|\swould|\smight|\scould)\s(?:rather\s|still\s|probably\s|definitely\s|therefore\s|also\s)?"
    rf"{words.CHOICES}\b|\bwould\sbe\s(?:my|the\s(?:best|correct|right|most))\b",
    re.IGNORECASE,
)
_LISTING = re.compile(
    r"(?:wrong|incorrect|false|excluded?|eliminated?|rejected?|out|discarded|impossible|not|following|options|choices"
    r"|answers)\W*\Z",
    re.IGNORECASE,
)
_QUESTION_END = re.compile(r"[?\uff1f]\s?\Z")
_AFFIRMED = re.compile(rf"\W*(?:{words.AFFIRMATIONS}\b|是)", re.IGNORECASE)
_CONCEDED = re.compile(
    r"\b(?:looks?|seems?|appears?|resembles?|reminds|might|may|could)\b[^.;!?\n]{0,60}"
    rf"(?=,?\s(?:but|yet|however|though\sit)\s[^.;!?\n]{{0,60}}{MARK})"
    r"|\b(?:resembles?|reminds)\b[^.;!?\n]{0,60}(?=,?\s(?:but|yet|however)\s)",
    re.IGNORECASE,
)
_AFTER_PUNCTUATION = r"\A|(?<=[.!?;,:\n\u2026\u2013\u2014(-]\s)|(?<=[\n(\u2026\u2013\u2014])"
_CLAUSE_ENDS = (
    r"(?=\s?(?:[.,;:!?\n\u2026\u2013\u2014)]|\Z"
    r"|\s(?:at\sall|though|however|anymore|either|because|since|as|so|and|here|with|to\sme)\b))"
)
_UNTRUE = re.compile(
    rf"(?:{_AFTER_PUNCTUATION}|(?<=\s)){words.ANAPHORS}"
    rf"(?:(?:'s|\s(?:is|was|are|seems|looks|does|would|must))\s(?:{words.EMPHASES}\s){{0,2}}{words.UNTRUE}"
    rf"|\sno\slonger\s(?:is|does|has|do|are|was)|\s(?:isn't|wasn't|doesn't|can't|cannot)(?:\s{words.EMPHASES}){{0,2}}(?:\s(?:correct|right|true|so|the\scase|it))?){_CLAUSE_ENDS}",
    re.IGNORECASE,
)
"""A clause that denies what was said before: "that is false", "but it isn't"."""
_DISSENT = re.compile(
    rf"(?:(?:{_AFTER_PUNCTUATION}|\b(?:but|and|though|yet|which)\s)I\s{words.DISSENTS}"
    rf"|(?:{_AFTER_PUNCTUATION}){words.EXCLAMATIONS}(?=\s?(?:[.!;\n]|\Z)))"
    r"(?=\s?(?:[.,;:!?\n\u2026)]|\Z)|\s(?:it|that|this|so|them|him|her|with|to|because|since|at)\b)",
    re.IGNORECASE,
)
"""A clause without an option in which the reply does not agree: "I disagree", "hardly"."""


def doubtful(text: str, asked: Collection[str] = ()) -> str:
    """Replace the marks that a reply does not stand behind.

    Parameters
    ----------
    text : str
        Marked text in which known denials have been replaced.
    asked : collection of str
        The question's words. They deny nothing ("the bus stop").
    """
    texts = _parts(_SENTENCE, _CONCEDED.sub(lambda match: _mask(match[0]), text))
    sentences = [
        _sentence(part, asked, endorsed=_ENDORSED.search(f"{part} {following}") is not None)
        for part, following in zip(texts, [*texts[1:], ""], strict=True)
    ]
    questions = _asked(sentences)
    return "".join(_mask(part) if place in questions else part for place, part in enumerate(sentences))


def plain(text: str) -> str:
    """Replace double negations and other phrases that only look like denials ("there is no doubt that")."""
    return _AFFIRMATIVE.sub("surely", text)


def labels_in_doubt(text: str, marks: Marks) -> frozenset[str]:
    """Return the labels of the doubtful marks in a text."""
    return marks.claims(_DOUBTFUL_MARK.sub(lambda mark: chr(ord(mark[0]) - _SHIFT), _MARK.sub("", text)))


def _mask(text: str) -> str:
    return _MARK.sub(lambda mark: chr(ord(mark[0]) + _SHIFT), text)


def _asked(sentences: Sequence[str]) -> set[int]:
    """The places of sentences that are questions, unless the reply ends with its only question or affirms it."""
    found = [place for place, text in enumerate(sentences) if _QUESTION_END.search(text) and _MARK.search(text)]
    last = max((place for place, text in enumerate(sentences) if re.search(r"\w|[\ue000-\ue0ff]", text)), default=0)
    if found == [last]:
        return set()
    return {place for place in found if place == last or not _AFFIRMED.match(sentences[place + 1])}


def _sentence(text: str, asked: Collection[str], *, endorsed: bool) -> str:
    if _MARK.search(text) is None:
        return text
    if _unreal(text):
        turn = _TURN.search(text)
        if turn is None or not _unreal(text[: turn.start()]) or _unreal(text[turn.start() :]):
            return _mask(text)
        rest = _sentence(text[turn.start() :], asked, endorsed=endorsed)
        return f"{_mask(text[: turn.start()])}{rest}"
    clauses: list[str] = []
    reported = negated = False
    for clause in _parts(_CLAUSE, text):
        if _CONTRAST.match(clause):
            reported = False
        if _REPORTED.search(clause) and not _OWN.search(clause):
            reported = True
        elif _OWN.search(clause):
            reported = False
        listed = negated and clause.startswith(":") and _LISTING.search(clauses[-1]) is not None
        negated = listed or any(match[0].casefold() not in asked for match in _NEGATION.finditer(clause))
        unstated = (reported and not endorsed) or negated or _HABIT.search(clause) is not None
        clauses.append(_mask(clause) if unstated else clause)
    return "".join(clauses)


def _unreal(text: str) -> bool:
    """Whether a sentence states an example, another time, a text in the image or a condition, or asks for approval."""
    patterns = (_EXAMPLE, _ANOTHER_TIME, _ELSEWHERE, _DISPLAYED, _TAG)
    return any(pattern.search(text) for pattern in patterns) or _conditional(text)


def _conditional(text: str) -> bool:
    """Whether a sentence says what the answer would be under a condition."""
    rest = _REAL_CONDITION.sub("", text)
    return bool(_CONDITION.search(rest) and _MODAL.search(_OWN_MODAL.sub("", rest) if rest != text else rest))


def withdrawn(text: str, *, denies: bool) -> tuple[str, int | None]:
    """Find the clauses that withdraw what was said before them.

    Parameters
    ----------
    text : str
        Marked text.
    denies : bool
        Whether "it is not" withdraws. It does not if an option is called "no".

    Returns
    -------
    tuple
        The text, in which the marks of a sentence are replaced that withdraws only itself ("The user says B, but
        that is wrong.", after another sentence with an option), and the end of the last other clause, or None.
    """
    first = _MARK.search(text)
    if first is None:
        return text, None
    patterns = (_DISSENT, _UNTRUE) if denies else (_DISSENT,)
    ends: list[int] = []
    for match in sorted((m for p in patterns for m in p.finditer(text, first.end())), key=lambda match: match.start()):
        start = max((found.end() for found in _SENTENCE.finditer(text, 0, match.start())), default=0)
        if _MARK.search(text, start, match.start()) and _MARK.search(text, 0, start):
            blank = "\u2026".ljust(match.end() - match.start())
            text = f"{text[:start]}{_mask(text[start : match.start()])}{blank}{text[match.end() :]}"
        else:
            ends.append(match.end())
    return text, max(ends, default=None)


def _parts(separator: re.Pattern[str], text: str) -> list[str]:
    """The parts of a text, each with the separator before it."""
    starts = [0, *(match.start() for match in separator.finditer(text) if match.end() > 0)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]

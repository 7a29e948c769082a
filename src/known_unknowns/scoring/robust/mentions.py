"""Whether an option's text in a reply is a mention of the option, and not a common word of the sentence."""

from __future__ import annotations

import re

from known_unknowns.scoring.robust.idioms import in_idiom
from known_unknowns.scoring.robust.numbers import NUMBER_WORDS

AFTER_A_WORD = (
    r"(?=\s?[.,:;!?)\]}\u2013\u2014\u2026<-]|\s?\Z|\n|\s?/|\s(?:and|or|but)\s"
    r"|\s(?:it|there|this|that|i|he|she|they|we|you|the|because|since|as)\b)"
)
CLAUSE_START = re.compile(
    r"(?:\A|[.,:;!?\n=\u2013\u2014\u2026({>-]\s?|\b(?:so|therefore|thus|hence|is|are|it's|with|be|say|says|mean|meant|to|and|or|actually|not|but|nor|neither|either|than)\s|/)\(?\Z",
    re.IGNORECASE,
)
_LABEL_BEFORE = re.compile(r"(?:\A|\W)[A-H][)\]]\s\Z|(?:\A|\n)\W{0,4}[A-H]\s\Z")
"""A label in brackets, or at the start of a line: "(B) No", "B No"."""
_ONE_AS_PRONOUN = re.compile(r"\s(?:of|is|can|could|with|that|which|who|more|another|or)\b", re.IGNORECASE)
_OF_THEM = re.compile(r"\sof\s(?:the|them|these|those|which|whom)\s\w", re.IGNORECASE)
_ONLY = re.compile(r"\b(?:but|so|of\swhich|while)\s(?:only|just)\s\Z", re.IGNORECASE)
_BEFORE_PRONOUN = re.compile(
    r"\b(?:the|this|that|each|any|no|which|every|another|as)\s(?:only\s|[a-z]+\s)?\Z", re.IGNORECASE
)
_LARGER = re.compile(r"(?:\s(?:and\s)?|-)(?:hundred|thousand|million)\b|\sand\sa\s(?:half|quarter)\b", re.IGNORECASE)
_TENS_BEFORE = re.compile(
    r"\b(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)[\s-]\Z", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"\b(?:person|step|figure|view|part|page|row|line|image|option|choice|question|fig\.|no\.|nr\.)\s\Z", re.IGNORECASE
)
_BOUND = re.compile(
    r"\b(?:before|after|above|below|over|under|beyond|past|exceed(?:s|ing)|(?:north|south|short|shy|upwards?|in\sexcess)\sof"
    r"|(?:later|earlier|more|fewer|less|higher|lower|other)\sthan)\s(?:the\syear\s|about\s|around\s)?\Z",
    re.IGNORECASE,
)
"""What is before a number that only bounds the answer: "well above 250", "some time before 1932"."""
_NEGATED = re.compile(r"\bthere(?:'s|\sis|\sare|\swas|\swere)\s\Z", re.IGNORECASE)
_A_NOUN = re.compile(r"\s(?!(?:at|in|on|here|there|near|next|allowed|whatsoever|\w+ing)\b)[a-z]+")
_STEP = re.compile(r"(?:\A|\n)[#\s(-]*\Z")
_ENDS = ("", ".", "!", "?")
_NOTHING_ELSE = re.compile(
    r"\s(?:in\s(?:this|the)\s\w+\s(?:tells|shows|says|suggests|indicates)|I|we|you|can|could|to\s(?:do|see|say)"
    r"|about|more|else|but|other|wrong|in\scommon)\b"
)
"""What follows "nothing" where it is no answer."""
_DISCOURSE = frozenset(
    {"clear", "correct", "good", "no", "okay", "plain", "right", "sure", "true", "welcome", "well", "yes"}
)
"""Texts that can also introduce a reply."""
_CHAT = re.compile(
    r"[\s,.:!;-]{1,3}(?:so[\s,]|let\sme\b|let's\b|here\b|please\b|thank|I(?:'d|\swould)\s(?:be\s(?:happy|glad)|love\sto)"
    r"|I(?:'ll|\scan|\swill|\scould|\sneed\sto)\s(?!(?:see|tell|say|confirm)\b)|I'm\s(?:happy|glad|ready))",
    re.IGNORECASE,
)
_ADVERB = re.compile(
    r"\s(?:now|away|here|there|next\sto|behind|above|below|beside|under|out|over|off|with|in\sfront|on\stop|by\s(?:the|an?)"
    r"|(?:on|at|in)\s(?:the|an?)|to\s(?!(?:the|us|me)\b))",
    re.IGNORECASE,
)
_NOUN_BEFORE = re.compile(
    r"(?:\A|[.:;!?,'\n(-]\s?|\b(?:the|its|his|her|my|your|far|say|answer|is|turn|turns|to|and)\s)\Z", re.IGNORECASE
)
NEARBY = 24
_VERBS = frozenset({"go", "may", "will"})
"""Verbs that are also names ("May", "Will", "Go"), and are written in lower case."""
_NAMED_AS_VERB = re.compile(r"\s(?:with|for|fly|be|have|I|it|you|me|we)\b", re.IGNORECASE)
_LEFT_BEHIND = re.compile(
    r"(?:\ball(?:\sthat(?:'s|\sis))?|\bbeen|\b(?:have|has|had|having)(?:\s(?:just|already|now|since))?|\b(?:you|they|we)(?:'ve|'d))\s\Z",
    re.IGNORECASE,
)
"""What is before "left" as a participle: "the car has left"."""
_AGREEING = re.compile(r"\b(?:you|I)(?:'re|\sare|'m|\sam|\swas|\swere)\s(?:\w+ly\s)?\Z", re.IGNORECASE)
"""What is before "right" as a judgement: "you are right"."""
_SIDE = re.compile(r"[\s-](?:hand|side|arm|leg|foot|one|lane|turn|wing|half|corner|and)\b", re.IGNORECASE)


def _is_direction(text: str, start: int, end: int) -> bool:
    """Whether "left" or "right" is a direction: not in "it was left out", "has left" or "you are right"."""
    before, after = text[max(0, start - NEARBY) : start], text[end : end + NEARBY]
    if _SIDE.match(after):
        return True
    if (_LEFT_BEHIND if text[start:end].casefold() == "left" else _AGREEING).search(before):
        return False
    return before[-4:] != "all " and not (_ADVERB.match(after) and not _NOUN_BEFORE.search(before))


def _is_number(word: str, before: str, after: str, *, counts_parts: bool) -> bool:
    """Whether a number is not a pronoun and no part of another number, of a name or of a list."""
    if word == "one" and (_ONE_AS_PRONOUN.match(after) or _BEFORE_PRONOUN.search(before)):
        return False
    if word != "one" and not counts_parts and _OF_THEM.match(after) and not _ONLY.search(before):
        return False  # "2 of them"
    if word in NUMBER_WORDS and word != "one" and (_LARGER.match(after) or _TENS_BEFORE.search(before)):
        return False  # "three" in "three thousand"
    if word.isdigit() and _NUMBERED.search(before):
        return False  # "person 2"
    if word.isdigit() and _STEP.search(before):
        return re.match(r"[.)]\s\w", after) is None  # "1. Look at the background"
    return True


def is_mention(text: str, start: int, end: int, *, counts_parts: bool) -> bool:
    """Whether an option's text ``text[start:end]`` is not just a common word of the sentence.

    Parameters
    ----------
    text : str
        A normalised reply.
    start, end : int
        The place of the option's text.
    counts_parts : bool
        Whether the question asks how many *of* some things there are, so that "two of the windows" is an answer.
    """
    word, before, after = (
        text[start:end].casefold(),
        text[max(0, start - NEARBY) : start],
        text[end : end + NEARBY],
    )
    if word in _DISCOURSE and text[:start].rstrip()[-1:] in _ENDS and _CHAT.match(text, end):
        return False  # "Right, let me look at the image."
    if word in {"yes", "no", "none"}:
        starts = CLAUSE_START.search(before) or _LABEL_BEFORE.search(before)
        return bool(starts and re.match(AFTER_A_WORD, after, re.IGNORECASE))
    if word in {"left", "right"}:
        return _is_direction(text, start, end) and not in_idiom(text, start, end)
    if word in {"i", "a"}:
        return re.match(r"(?!')(?:\W|\Z)(?!\w)|\)", after) is not None  # a numeral or a letter, not a word
    if word in _VERBS and (text[start].islower() or _NAMED_AS_VERB.match(after)):
        return False  # "It may be April."
    if re.match(r"'s\s(?!(?:an?|the|my|it|not|best|right|correct)\b)\w", after):
        return False  # "Einstein's student"
    if word == "nothing":
        return not _NOTHING_ELSE.match(after)
    if word.startswith("no ") and _NEGATED.search(before) and _A_NOUN.match(after):
        return False  # "there is no parking sign"
    if (word[0].isdigit() or word.split()[0] in NUMBER_WORDS) and _BOUND.search(before):
        return False
    if (word.isdigit() or word in NUMBER_WORDS) and not _is_number(word, before, after, counts_parts=counts_parts):
        return False
    return not in_idiom(text, start, end)

"""The last sentence or main clause of a reply that mentions other options before.

"The pedestrian signal shows red. The traffic light itself shows green." Writers name what is not meant first and the
answer last. The last clause decides if it holds one option, no negation, condition or comparison, and says itself that
it is about what the question asks.
"""

from __future__ import annotations

import re

from known_unknowns.scoring.robust import lexicon
from known_unknowns.scoring.robust.clauses import WORD
from known_unknowns.scoring.robust.marks import BOTH, LETTER, MARK, NOTHING, Claims, Marks
from known_unknowns.scoring.robust.relevance import Focus, Rule
from known_unknowns.scoring.robust.relevance_patterns import NOUN_AFTER
from known_unknowns.scoring.robust.stems import root, stem

_MARK = re.compile(MARK)
_LABELLED = re.compile(f"{LETTER}|{BOTH}")
_LETTER = re.compile(LETTER)
_ANY_MARK = re.compile("[\ue000-\ue0bf\ue0fe\ue300-\ue3bf]")
"""A mark, also one that is denied or doubtful."""
_BOUNDARY = re.compile(
    r"(?<=[.!?])\s(?!\d)|\s?[;\u2013\u2014]\s?|\s-{1,2}\s|,?\s(?:but|yet|however)[\s,]|,\sand\syet\s|:\s(?=(?:it|they)\b)"
    r"|,\s(?=(?:it|he|she|they)(?:'s|'re|\s(?:now\s|really\s|actually\s)?(?:is|are|was|has|looks?|seems?|turns|turned|[a-z]+s))\s)"
    r"|,\sand\s(?=[^,;.]{0,60}\b(?:itself|himself|herself|themselves)\b)",
    re.IGNORECASE,
)
"""The start of the last main clause. A comma and "and" also separate the parts of a list."""
_CONTRAST = re.compile(r"but|yet|however", re.IGNORECASE)
_GOES_ON = re.compile(r"[.!?;]\s+\w|\A.\s(?:that|to)\b")
_OPEN = re.compile(
    r"\b(?:or|would|could|might|may|if|unless|assuming|supposing|than|between|other|another|both|each|also|too|else"
    r"|some|others|forecast|tomorrow|next|not|no|never)\b|n't\b|\?",
    re.IGNORECASE,
)
"""Words of clauses that state no single option."""
_REFERS = re.compile(
    r"\A(?!(?:the|an?|its|his|her|their|my|this|that)\s)(?:\w+\s){1,4}(?:it|he|she|they)(?:'s|'re|\s(?:is|was|are|has|[a-z]+s))\s"
    r"|(?:\A|\b(?:today|now|here|instant|moment|fact|that|and|so|though|thus)[,\s]+)"
    r"(?:it|that|this(?!\sone\b)|they|she|he|these|those|what|the\s(?:one|former|latter))(?:'s|\s)"
    r"|\b(?:itself|himself|herself|themselves|proper|in\squestion|you\s(?:asked|mean|meant)|asked\sabout"
    r"|question\s(?:means|asks|concerns))\b",
    re.IGNORECASE,
)
"""A pronoun as subject, or words that return to the asked thing."""

_AGREES = re.compile(
    r"(?:[,;.]\s|\s(?=and\s))(?:and\s)?(?:this\stime\s|here\s|indeed\s)?"
    r"(?:(?:(?:he|she|they|you|it|that|every(?:body|one)|(?:the|my|this|most|all)\s\w+)(?:'s|'re|\s(?:is|are))\s"
    r"(?:absolutely\s|quite\s|probably\s|certainly\s|definitely\s)?(?:right|correct)"
    r"|I\s(?:fully\s|completely\s|totally\s|strongly\s)?(?:agree|concur|side\swith)"
    r"|I\s(?:second|share|support|endorse|confirm)\s(?:that|this|it|his|her|their|the)"
    r"|I(?:'m|\sam)\s(?:with|inclined\sto\sagree)|(?:I|one)\s(?:couldn't|could\snot)\sagree\smore"
    r"|(?:I\s)?(?:can't|cannot)\s(?:disagree|argue\swith\sthat|fault\sthat)|(?:it's\s)?hard\sto\s(?:disagree|argue)"
    r"|who\sam\sI\sto\s(?:disagree|argue|contradict)|I\s(?:have|see)\sno\sreason\sto\s(?:doubt|disagree)"
    r"|(?:and\s)?so\s(?:do|would|am)\sI|rightly\sso|me\stoo|same\shere)\b[^.!?;]*[.!]?\s?\Z)",
    re.IGNORECASE,
)
_DISAGREES = re.compile(r"\b(?:not|no|never|but|if|would|could|might|or|hardly)\b|n't\b|\?", re.IGNORECASE)

_TURNS = re.compile(r"\b(?:but|if|unless|not)\b|\?", re.IGNORECASE)


def concluded(text: str, marks: Marks, focus: Focus, refusal: str | None) -> Claims:
    """Return the option of the last clause if it contrasts with earlier mentions.

    Parameters
    ----------
    text : str
        Marked text in which denied and doubtful marks are replaced.
    marks : Marks
        The marks of the offered options.
    focus : Focus
        What the question asks.
    refusal : str or None
        The label of the refusal option, which has its own rules.
    """
    found = _MARK.findall(text)
    if not found or not focus.analysed or _LETTER.fullmatch(found[-1]):
        return NOTHING
    claims = marks.claims(found[-1])
    others = [mark for mark in found if marks.claims(mark) != claims]
    if not claims <= marks.offered - {refusal} or any(
        _LABELLED.fullmatch(mark) or marks.claims(mark) == {refusal} for mark in others
    ):
        return NOTHING
    place = text.rindex(found[-1])
    boundaries = list(_BOUNDARY.finditer(text, 0, place))
    if not boundaries or _ANY_MARK.search(text, 0, boundaries[-1].start()) is None:
        return NOTHING
    clause = text[boundaries[-1].end() :]
    if len(_ANY_MARK.findall(clause)) > 1 or _OPEN.search(clause) or _GOES_ON.search(text[place:]):
        return NOTHING
    after = NOUN_AFTER.match(text, place + 1)
    if (after and root(after[1]) not in focus.words) or ("will" in clause.split() and "will" not in focus.content):
        return NOTHING
    contrasted = _CONTRAST.search(boundaries[-1][0]) is not None
    return claims if _about_the_question(clause.strip(), focus, contrasted=contrasted) else NOTHING


def _about_the_question(clause: str, focus: Focus, *, contrasted: bool) -> bool:
    """Whether a clause refers to the asked thing, or answers the question on its own.

    It does not have to name a word of the question after "but".
    """
    if _REFERS.search(clause):
        return True
    words = [word.casefold() for word in WORD.findall(clause)]
    named = any(root(word) in focus.words for word in words)
    if not (named or contrasted) and any(word not in lexicon.FUNCTION_WORDS for word in words):
        return False
    return _MARK.search(focus.about_the_question(clause, (), Rule.EXPLAINED)) is not None


_SO_IS = re.compile(
    r"(?:[,.;]\s(?:and\s)?so|\sand\sso|[,.;]\s(?:and\s)?the\ssame\s(?:is\strue|goes|holds)\s(?:of|for))\s(?:(?:is|are|was|were|does|do|has)\s)?"
    r"(?:the|its|his|her|their)\s(?P<noun>[^.,;!?]{1,60})[.!]?\s?\Z",
    re.IGNORECASE,
)
"""A clause that says the same of another thing: "The window is round. So is the mirror."."""


def agreed(text: str, marks: Marks, focus: Focus) -> Claims:
    """Return the only option of a reply that names an answer and agrees: "You say B, and I agree with that."."""
    found = _MARK.findall(text)
    claims = marks.claims("".join(found))
    if len(claims) != 1 or not claims <= marks.offered:
        return NOTHING
    place = text.rindex(found[-1])
    same = _SO_IS.search(text, place)
    if same is not None and _DISAGREES.search(text) is None:
        return claims if focus.nouns & {stem(word) for word in WORD.findall(same["noun"].casefold())} else NOTHING
    end = _AGREES.search(text, place)
    if end is not None and _TURNS.search(end[0]):
        return NOTHING
    return claims if end is not None and _DISAGREES.search(text, 0, end.start()) is None else NOTHING

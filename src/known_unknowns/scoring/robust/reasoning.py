"""Forms of step-by-step reasoning: remarks on options in sentences, enumerations, and longer words for "is".

"Option A suggests a cat, which is not the case. Option B states a dog, which aligns with our observation." All
functions take time linear in the length of their text.
"""

from __future__ import annotations

import re

from known_unknowns.scoring.robust.marks import BOTH, LETTER, MARK, TEXT

_MARK = re.compile(MARK)
_FITS = (
    r"(?:\w+ly\s)?(?:aligns?|match(?:es)?|fits?|agrees?|corresponds?"
    r"|(?:is|seems|appears)\s(?:\w+ly\s)?(?:consistent|correct|right|accurate|true|supported|the\scase))"
)
_FAILS = (
    r"(?:we(?:'ve|\shave)\s(?:already\s)?(?:identified|found)|(?:we(?:'ve|\shave)|has\sbeen|have\sbeen|was|is|can\sbe)\s(?:already\s|also\s)?(?:ruled\sout|eliminated|excluded)"
    rf"|(?:does|do|did|is|are)(?:\snot|n't)\s(?:{_FITS}|\w+ly\s\w+|visible|present|shown|correct|right|accurate|true|supported"
    r"|consistent|the\scase)"
    r"|contradicts?|conflicts?|is\s(?:also\s|\w+ly\s)?(?:incorrect|wrong|inaccurate|false|inconsistent))"
)
_REMARK = re.compile(
    rf"\b(?:option|choice|answer)\s(?P<option>[(\[]?(?:{LETTER}|{BOTH})[)\]]?),?\s"
    r"(?:suggests|states|indicates|implies|says|mentions|describes|claims|proposes|represents|refers\sto|places|shows)"
    r"(?P<said>\s[^.;!?\n]{1,160}?),\s(?:which|(?:but|and|yet)(?:\s(?:this|that|it))?)\s"
    rf"(?:(?P<no>{_FAILS})|(?P<yes>{_FITS}))(?!\w)(?P<rest>[^.;!?\n]*)",
    re.IGNORECASE,
)
"""A sentence that says what an option states and whether it fits."""
_ENGAGED = re.compile(
    r"\b(?:(?:actively|currently)\s)?(?:engaged|involved|participating)\sin\s"
    rf"(?:the\s(?:act|action|activity|process|motion)\sof\s)?(?={MARK})",
    re.IGNORECASE,
)
_COORDINATED = re.compile(
    r"\b(?P<be>(?:is|are|was|were|appears?|looks?|seems?)(?:\sto\sbe)?)\s(?!not\b|no\b|between\b|neither\b|either\b|both\b)"
    rf"(?:[a-z]+\s){{1,2}}and\s(?={TEXT})"
)
"""Another adjective before the option: "appears overcast and gray"."""
_DESCRIBED = re.compile(
    r"\b(?:is|are|(?:can|could|may|might|would)\sbe)(?:\sbest)?\s(?:described|characteri[sz]ed|identified|classified|categori[sz]ed)\sas\b",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    rf"(?<={MARK})\s(?=(?:due\sto|owing\sto|thanks\sto|based\son|as\s(?:indicated|evidenced|suggested|shown|seen)\s(?:by|in|from))\s)",
    re.IGNORECASE,
)
_PARTS = re.compile(
    rf"(?P<total>{TEXT}(?:\s[a-z]+)?)\s?[:(]\s?{TEXT}(?:\s(?!or\b)[a-z]+){{1,8}},?\s(?:and\s)?{TEXT}(?:\s[a-z]+){{1,8}}\)?(?=[.;\n]|\Z)",
    re.IGNORECASE,
)
"""A number and its summands: "four people: two in front and two behind"."""
_RELATED = re.compile(
    rf"\b(?P<be>be|is)\srelated\sto\s(?:the\s(?:presence|use)\sof\s)?(?=(?:the\s|an?\s)?{MARK})", re.IGNORECASE
)
_ONE_BY_ONE = re.compile(
    rf"(?P<total>{TEXT}[^.,;:\n\ue000-\ue0bf]{{1,60}}),\s(?:with\s)?{TEXT}\s(?=(?:on|in|at|near|to|by|is)\s[^.;\n]{{1,80}}\b(?:another|the\s(?:other|second))\b)",
    re.IGNORECASE,
)
"""A number and its things one by one: "two lamps, one on the left and another on the right"."""
_ENUMERATED = re.compile(
    rf"(?P<one>(?:(?<=[.!?\n]\s)|(?<=\n)){TEXT})(?=\s(?:of\sthem\s|[a-z]+\s)?(?:is|are|sits|stands|lies|hangs|on|in|at|near|to|has)\s"
    r"[^.!?\n]{1,160}\b(?:(?:the|an)?other|another|(?:the\s)?(?:second|rest|remaining))\b)",
    re.IGNORECASE,
)
"""The first of several things one by one: "I see two spoons. One is in the sink, the other on the counter."."""


_HEADING = re.compile(r"(?:\A|(?<=\n))[A-Z][\w']*(?:\s[\w'()-]+){0,8}:\s(?=[A-Z])")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_FEWEST_SECTIONS = 2


def sentences_of_sections(text: str) -> list[str]:
    """Return the sentences of a complete reply in sections with headings ("Counting the birds: ..."), else none."""
    if len(_HEADING.findall(text)) < _FEWEST_SECTIONS or not text.endswith((".", "!")):
        return []
    return [sentence for sentence in _SENTENCE_END.split(_HEADING.sub("", text)) if sentence.strip()]


def plain(text: str) -> str:
    """Rewrite sentences with remarks on options as verdicts, and longer forms of "is" as "is"; remove enumerations."""
    text = _REMARK.sub(_verdict, text)
    text = _ONE_BY_ONE.sub("\\g<total>, \u2026 ", _PARTS.sub(r"\g<total>", _RELATED.sub(r"\g<be> ", text)))
    return _ENUMERATED.sub(
        "\u2026", _DESCRIBED.sub("is", _ENGAGED.sub("", _COORDINATED.sub(r"\g<be> ", _CAUSE.sub(", ", text))))
    )


def _verdict(match: re.Match[str]) -> str:
    rest = f". It is {match['rest']}" if _MARK.search(match["rest"]) else ""
    return f"{match['option']} is {'in' if match['no'] else ''}correct{rest}"

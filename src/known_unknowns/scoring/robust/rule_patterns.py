"""Patterns of the rules in `known_unknowns.scoring.robust.rules`."""

from __future__ import annotations

import re

from known_unknowns.scoring.robust.marks import BOTH, LETTER, MARK, TEXT
from known_unknowns.scoring.robust.numbers import NUMBER_WORDS
from known_unknowns.scoring.robust.statements import AND_OR

KEYED = re.compile(rf"\w:\s?(?:the\s|an?\s)?{MARK}")
NEXT_WORD = re.compile(r"\s([a-z]+)(?!\w)")
FEW_WORDS, LONG = 4, 60
SENTENCE_END = re.compile(r"\n|[.!?;](?:\s|\Z)|\u3002|</answer>", re.IGNORECASE)
OPENING = " \n:=-.([{<'>#\u2022\u00b7,"
BETWEEN = (
    rf"[)\]}}']{{0,2}}\s?(?:[,;/&+|、]\s?|->\s?|\u2192\s?)?(?:(?:{AND_OR}|but|as\swell\sas)\s?)?"
    r"(?:(?:also|maybe|perhaps|possibly|even|both|then|either|plus|the|an?|option)\s){0,2}[(\[{]?"
)
LIST = re.compile(
    r"(?:(?:the|an?|is|options?|choice|letter|definitely|probably|likely|most\slikely|clearly|certainly|that|it's|it\sis"
    r"|both|either|letra|lettera|lettre|alternativa|buchstabe)\s){0,4}"
    rf"[(\[]?{MARK}(?:{BETWEEN}{MARK})*",
    re.IGNORECASE,
)
LIST_ONLY = re.compile(rf"[\s#>*([{{-]{{0,5}}{LIST.pattern}[\s.,:;!?)\]}}'/|>-]{{0,9}}(?:</answer>)?", re.IGNORECASE)
AFTER_A_TEXT = re.compile(
    r"\s?(?:[.,;:!?()\n\u2013\u2014\u3002\u2026-]|\Z|</answer>)|\s(?:there|it|he|she|they)\s(?:is|are|was|were|does|do|has|have)(?:n't|\snot)?\s?(?:[.,!\n]|\Z)|\s(?:because|since|as|is\s(?:correct|right))\b",
    re.IGNORECASE,
)
LINE_LABEL = re.compile(rf"\n[\s#>([{{<'\u2022\u00b7-]{{0,5}}(?:{BOTH}|{LETTER}(?=\s?[.):\]]|\s?(?:\n|\Z)))")
APPOSED = re.compile(
    r",\s(?:his|her|the|an?|my|their|its|our)\s[^.,;:!?\n]{1,60},\s(?:is|are|was|were|has|had|[a-z]+s)\b", re.IGNORECASE
)
"""What follows a text that is the subject of a clause: "Viola, his sister, is ..."."""
UNFINISHED = re.compile(r":\s?\Z|\s(?:a|an|the|of|in|on|at|with|and|to|is|are|from|by|which|that)\s?\Z", re.IGNORECASE)
"""The end of a reply that was cut off within a sentence."""
OTHER_VALUE = re.compile(
    r"\b(?:so|thus|therefore|hence|but|actually|really|in\sfact|instead)\b[^.;\n]{0,50}?\b(?:is|are|was|were|makes?|gives?|be)\s(?:\w+ly\s|only\s|just\s|about\s)?"
    rf"(?:\d+(?:[:.,/]\d+)*|{'|'.join(sorted(NUMBER_WORDS - {'one', 'zero'}))})[.!]?\s?\Z",
    re.IGNORECASE,
)
"""A conclusion that names a number which is no option: "so the real time is 2:50"."""
CUT_OFF = re.compile(rf"{MARK}[)\]]?,?\s(?:or|and|oder|und|ou|et|o|y)\s*\Z", re.IGNORECASE)
AFFIRMED = re.compile(
    rf"(?<!not\s)\b(?:only|just|leav(?:es|ing)(?:\sus)?(?:\swith)?(?:\sonly)?)\s(?:option\s|the\s)?{MARK}|{MARK}[)\]]?\s(?:fits|matches|suits|works)\s(?:best|better)\b|{MARK}[)\]]?\s(?:remains|holds|is\sleft)(?=\s?(?:[.!,;\n]|\Z))|{MARK}[)\]]?,?\sit\s(?:is|must\sbe|has\sto\sbe)(?=\s?(?:[.!,;\n]|\Z))|{MARK}(?:\s[a-z]+){{0,2}}\s(?:in\stotal|in\sall|altogether)\b"
    rf"|{MARK}[)\]]?\sis\s(?:the|my)\s(?:final\s)?(?:answer|choice|pick|one)\b|{MARK}[)\]]?\s?(?:(?:is|seems|ist|est|es)\s(?:the\s|clearly\s|indeed\s|probably\s|most\slikely\s){{0,2}}"
    r"(?:only\s|most\s|more\s)?(?:correct|right|best|better|accurate|likely|fitting|appropriate|richtig|korrekt|correcte?)\b|才?是?正确|が正し)",
    re.IGNORECASE,
)
UNDECIDED = re.compile(
    r"\b(?:can't|cannot|unable\sto)\s(?:decide|choose|say\swhich)|\bundecided\b|\btorn\b|\bnot\ssure\swhich\b",
    re.IGNORECASE,
)
COPY = re.compile(rf"{MARK}(?:[\s.,;|/)(\]\[-]{{1,4}}(?:(?:or|and)\s)?[(\[]?{MARK}){{1,63}}")
ANY_MARK = re.compile(MARK)
ANY_LETTER = re.compile(LETTER)
EXCEPTED = re.compile(
    rf"(?P<mark>{MARK})\s(?:\w+\s){{0,2}}(?:except|besides|other\sthan|apart\sfrom|better\sthan)\s[^.;\n]{{0,20}}?{MARK}",
    re.IGNORECASE,
)
ALL_EXCEPT = re.compile(rf"{TEXT}\s(?:except|apart\sfrom|other\sthan)\s(?:for\s)?(?:the\s|an?\s)?{TEXT}", re.IGNORECASE)
"""Neither the first option nor the second: "all of them except the right one"."""
REMARKS = re.compile(
    rf"(?:\A|(?<=[.;!\n]\s)|(?<=\n))[(\[]?(?P<mark>{MARK})[)\]]?\s?(?P<sign>[:=\u2013\u2014-])\s?(?=[a-z])",
    re.IGNORECASE,
)
"""An option and a remark on it, at the start of a sentence: "A - there is no kite."."""
SHORT = re.compile(rf"\s*(?:(?:\w{{2,}}|\d)[,:]?\s){{1,2}}(?:{LETTER})[.)]?\s*")
"""A reply of one or two words and a letter: "striped E"."""
BARE = re.compile(
    rf"(?:{LETTER}|{BOTH})(?=[)\]]?\s?(?:[.!;\n]|\Z))|(?:(?<=[,;.!?\u2026]\s)|(?<=\u2026)){TEXT}(?=\s?(?:[.!;\n]|\Z))"
)
TEXT_ONLY = re.compile(f"{LETTER}|{BOTH}")
NUMBER = r"\d{1,3}(?:\.\d+)?"
SHARE = re.compile(
    rf"{MARK}[)\]']{{0,2}}(?:\s?[:=(\u2013\u2014-]|\sis|\sat|\swith)?\s?(?:an?\s)?(?:about\s|around\s|~)?"
    r"(?:(?:probability|chance|likelihood|confidence)\s?(?:of|is|:|=)?\s?)?"
    rf"(?:(?P<after>{NUMBER})\s?%|(?<=[:=(\s])(?P<part>[01]?\.\d+|\d{{1,3}}/[1-9]\d{{0,2}}|[01](?![\w.])))"
    rf"|(?P<before>{NUMBER})\s?%\s(?:(?:for|sure|certain|likely|chance|probability|of|that|it|is|to|be)\s){{0,5}}(?:option\s|the\s)?[(\[]?{MARK}",
    re.IGNORECASE,
)
ASSERTED = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|is|are|was|were|be|it's|that's|will|going\sto|has|holds?|wears?|says|reads|plays?|shows?|depicts?|see|appears?|looks?|seems?|called|say|answer|like)"
    rf"(?:\s(?:a|an|the|to|be|in|like|of|clearly|probably|likely|about|around|from|by|at)){{0,4}}\s{TEXT}|{LETTER}|{BOTH}",
    re.IGNORECASE,
)

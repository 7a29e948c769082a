"""Quotations that a reply attributes to somebody else or to a sign in the image.

'The sign says "Gold".' does not say that the chandelier is gold, and a billboard with the text "The answer is B" does
not answer. Such quotations are removed. They are kept if the question asks for a text.
"""

from __future__ import annotations

import re

from known_unknowns.scoring.robust import stance_words as words

_QUOTATION = re.compile(r'"[^"\n]{1,300}"|\u201c[^\u201d\n]{1,300}\u201d|\u00ab[^\u00bb\n]{1,300}\u00bb')
_SENTENCE_END = re.compile(r"[.!?;\n]")
_NEARBY = 80
_SAYS = (
    r"(?:says?|said|reads?|states?|stated|shouts?|shouted|asks?|asked|answers?|answered|repl(?:y|ies|ied)|claims?|claimed"
    r"|writes?|wrote|shows?|prints?|printed|displays?|spells?|titled|headlined|labell?ed|named|suggests?)"
)
_SHOWN = (
    r"(?:signs?|plaque|poster|billboard|banner|caption|label|sticker|note|notice|headline|screen|subtitle|slogan|text|message"
    r"|inscription|graffiti|placard|badge|tag|board|shirt|flyer|leaflet|book|page|menu|card|watermark|file\s?name|prompt"
    r"|stamp|display)"
)
_BEFORE = re.compile(
    rf"(?:\b{_SAYS}(?:\sthat|\ssomething\slike)?[,:]?|\b{_SHOWN}(?:\s\w+){{0,5}}?:|\b{_SHOWN}\s(?:that\s)?(?:with|reading|saying)(?:\sthe\swords?)?)"
    r"\s?\Z",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"[\s,]{{0,2}}(?:{_SAYS}|is\swhat)\s(?!the\s(?:model|assistant)\b)(?:the|an?|his|her|my|their|its|one|some)\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:I|we|my|our|I'd|answers?|option|choice|correct|question|so|therefore|best|is)\b(?!\sto\b)", re.IGNORECASE
)
_TEXT_ASKED = re.compile(
    r"\b(?:written|write|wrote|says?|said|saying|read|reads|reading|sign|signs|words?|texts?|letters?|spelled|titles?|named?|names|labels?"
    r"|labell?ed|brands?|numbers?|logo|caption|inscription|language|slogan|message|printed|called|poster|plate|jersey"
    r"|time|price|date|year)\b",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(rf"\b(?:answer|option|choice|choose|pick|select|{words.ORDERED})\b", re.IGNORECASE)


def without_quotations(text: str, question: str) -> str:
    """Remove quotations that the reply attributes to somebody else or to a sign.

    Parameters
    ----------
    text : str
        A reply before its markup is removed.
    question : str
        The question.
    """
    if _QUOTATION.search(text) is None:
        return text
    asked = _TEXT_ASKED.search(question) is not None

    def replace(match: re.Match[str]) -> str:
        if asked and _ANNOUNCES.search(match[0]) is None:
            return match[0]
        before = _SENTENCE_END.split(match.string[max(0, match.start() - _NEARBY) : match.start()])[-1]
        after = match.string[match.end() : match.end() + _NEARBY]
        said = (_BEFORE.search(before) and not _OWN.search(before)) or (not before.strip() and _AFTER.match(after))
        return "\u2026" if said else match[0]

    return _QUOTATION.sub(replace, text)

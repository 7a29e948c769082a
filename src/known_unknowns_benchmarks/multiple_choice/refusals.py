"""Options that are refusals: "None of the above", "I don't know", "Cannot be determined", ..."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_OTHERS = (
    r"(?:the\s)?(?:above|below|these|those|them|others?|(?:other|given|listed|provided|available|above)\s)?"
    r"(?:answers?|options?|choices?|alternatives?)?(?:\s(?:above|below|given|listed|provided|available|mentioned))?"
)
_KNOW = r"(?:know|tell|say|answer|determine|see|decide|judge)"
_STANDARD = [
    rf"(?:none|neither|not\sany|no\sone)\sof\s(?:all\s)?(?=\w){_OTHERS}(?:\s(?:is|are)\s(?:correct|right|true))?",
    r"(?:no|there\sis\sno)\s(?:correct|right|valid|suitable|appropriate)\s(?:answer|option|choice)"
    r"(?:\s(?:above|below|given|listed|provided|available))?",
    r"(?:the\s)?correct\s(?:answer|option)\sis\snot\s(?:given|listed|provided|available|here|among\sthe\soptions)",
    r"n\s?/?\s?o\s?/?\s?t\s?/?\s?a",
    r"(?:sorry,?\s)?i\s(?:do\snot|don't)\sknow(?:\sthe\sanswer)?|don't\sknow|do\snot\sknow",
    r"(?:sorry,?\s)?i\s(?:can't|cannot|can\snot)\s(?:help\swith\s(?:it|this|that)|"
    + _KNOW
    + r")(?:\s(?:it|this|that))?",
    r"(?:i\sam\s|i'm\s)?(?:not\ssure|unsure|uncertain)",
    r"(?:it\s|this\s|the\sanswer\s)?(?:can't|cannot|can\snot|could\snot)\sbe\s"
    r"(?:determined|answered|inferred|told|known|seen|decided|identified|judged|said)"
    r"(?:\sfrom\sthe\s(?:image|picture|photo|question|information(?:\s(?:given|provided))?))?",
    rf"(?:can't|cannot|can\snot)\s{_KNOW}|(?:it\sis\s)?(?:impossible|not\spossible|unable)\sto\s{_KNOW}",
    r"(?:the\squestion\s(?:is|cannot\sbe)\s)?(?:unanswerable|not\sanswerable|undeterminable)",
    r"(?:there\sis\s)?(?:not\senough|insufficient)\s(?:information|evidence|context|data)",
    r"refuse\sto\sanswer|decline\sto\sanswer|abstain",
    r"(?:keine[rs]?|nichts)\s(?:der|von)\s(?:oben\s)?(?:genannten|obigen|antworten|optionen)(?:\santworten|\soptionen)?",
    r"(?:ich\s)?wei(?:ß|ss)\s(?:ich\s|es\s)?nicht|ich\swei(?:ß|ss)\ses\snicht",
    r"ninguna\sde\slas\s(?:anteriores|opciones)|ninguno\sde\slos\santeriores|no\s(?:lo\s)?sé",
    r"aucune\sde\sces\sréponses|aucune\sdes\sréponses(?:\sci-dessus)?|aucun\sde\sceux-ci|je\sne\ssais\spas",
    r"以上(?:都|皆|均)(?:不是|不对|不正确|非)|以上选项(?:都|均)不(?:对|正确)|没有正确(?:答案|选项)|无法(?:确定|判断|回答)|(?:我)?不知道",
    r"上記のいずれでもない|どれでもない|わからない|分からない",
]
_REFUSAL = re.compile("|".join(f"(?:{pattern})" for pattern in _STANDARD))
_AROUND = " .,;:!?()[]{}'\"\u2026\u3002\u201c\u201d*_-"
_SPACES = re.compile(r"\s+")
_LONGEST = 120
"""Longer options are not compared with the standard phrasings."""


def plain(text: str) -> str:
    """Return a text for comparisons: in normal form, lower case, without surrounding punctuation and extra spaces."""
    text = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    return _SPACES.sub(" ", text).strip(_AROUND)


def is_standard_refusal(text: str) -> bool:
    """Whether an option's text is one of the standard phrasings of a refusal.

    "None", "Nothing" and "Unknown" alone are not: they can be answers ("How many dogs?").
    """
    return len(text) <= _LONGEST and _REFUSAL.fullmatch(plain(text)) is not None


def find_refusal(texts: Sequence[str], named: Sequence[str] | None) -> int | None:
    """Return the index of the refusal among the texts of options; None if there is none.

    Parameters
    ----------
    texts : sequence of str
        The texts of the options.
    named : sequence of str, optional
        The refusal's texts in params.yaml. Without them, the standard phrasings are searched.

    Raises
    ------
    ValueError
        If several options are refusals.
    """
    if named is None:
        found = [index for index, text in enumerate(texts) if is_standard_refusal(text)]
    else:
        names = {plain(text) for text in named}
        found = [index for index, text in enumerate(texts) if plain(text) in names]
    if len(found) > 1:
        shown = " and ".join(repr(texts[index]) for index in found)
        raise ValueError(f"{shown} are refusals, and only one option can be; name it with refusal in params.yaml")
    return found[0] if found else None

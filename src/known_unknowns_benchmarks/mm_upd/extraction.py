"""What replaces the language model of the released evaluation: whether a free text withholds an answer.

The paper counts an unsolvable question as right if the reply is similar to "none of the above", "I cannot answer" or
the masked right option (AAD, IASD), or to "the image is irrelevant" or "I cannot answer" (IVQD; Section 4.4). It asks a
language model (`mm_upd.official`, step 5). This module decides by rules, so that a number does not depend on a service:

1. The robust parser reads the reply with the masked option as one more option. If it finds that option or the one that
   withholds an answer, the reply is right.
2. A sentence that is a standard phrasing of a refusal ("None of the provided options are correct"), or that says that
   something cannot be answered, determined, told or identified, is right, unless the parser finds another option.
3. In IVQD, so is a sentence that says that image and question do not match.
"""

from __future__ import annotations

import re
from dataclasses import replace

from known_unknowns.records import ANSWERED, AnsweredTurn, Option, Question
from known_unknowns.scoring import robust
from known_unknowns_benchmarks.mm_upd.format import SUBSETS
from known_unknowns_benchmarks.multiple_choice.refusals import is_standard_refusal

_MASKED = "H"
"""The label of the masked option. No question has eight options."""
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_CANNOT = re.compile(
    r"\b(?:can(?:not|'t|\snot)|could(?:\snot|n't)|unable\sto|(?:not\spossible|impossible)\sto)\s(?:be\s)?"
    r"(?:answer|determine|tell|identif(?:y|ie)|say|said|judge|decide|infer(?:re)?|recognize|provide)d?\b",
    re.IGNORECASE,
)
_MISMATCH = re.compile(
    r"\b(?:irrelevant|unrelated|incompatible|mismatch(?:ed)?)\b"
    r"|\b(?:is|are|does|do)(?:\snot|n't)\s(?:relate|related|relevant|match|correspond|applicable|apply)\b"
    r"|\b(?:image|picture|photo)\b[^.!?]{0,40}\b(?:does|do)(?:\snot|n't)\s(?:show|contain|depict|provide|include|have)\b"
    r"|\bno\b[^.!?]{0,40}\b(?:is|are)?\s?(?:visible|shown|depicted|present|pictured)?\s?in\s(?:the|this)\s"
    r"(?:image|picture|photo)\b",
    re.IGNORECASE,
)


def withheld(turn: AnsweredTurn, question: Question) -> bool:
    """Return whether a reply withholds an answer to an unsolvable question, or states the masked right option.

    The reply did not fail, and the question's answer is the option that withholds an answer.
    """
    masked = question.extra.get("masked_answer") or ""
    parsed = robust(turn, question)
    if masked and question.extra["subset"] != SUBSETS[2]:
        extended = replace(question, options=(*question.options, Option(_MASKED, masked, f"{_MASKED}. ")))
        labels = None if turn.labels is None else (*turn.labels, _MASKED)
        parsed = robust(replace(turn, labels=labels), extended)
        if parsed.label == _MASKED:
            return True
    if parsed.choice is not None and parsed.choice == question.refusal:
        return True
    if parsed.outcome == ANSWERED:
        return False
    sentences = [sentence for sentence in _SENTENCES.split(turn.reply.text) if sentence.strip()]
    if any(is_standard_refusal(sentence) or _CANNOT.search(sentence) for sentence in sentences):
        return True
    return question.extra["subset"] == SUBSETS[2] and any(_MISMATCH.search(sentence) for sentence in sentences)

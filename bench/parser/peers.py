"""The extraction rules of other evaluation tools, written again in a few lines each. No code was copied.

Each function returns the label that the tool would score, or None. Where a tool draws an option at random because it
found none, the result is None, which favours the tool's share of wrong options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Texts = Mapping[str, str]


def vlmevalkit(reply: str, options: Texts) -> str | None:
    """VLMEvalKit's exact matching: one label near the end of the words, else one text in a short reply."""
    spaced = re.sub(r"[.()\[\],:;!*#{}]", " ", reply).split()
    present = [label for label in options if label in spaced]
    if len(present) == 1:
        if "A" in spaced and len(spaced) > 3:
            return None
        if spaced.index(present[0]) > len(spaced) - 5:
            return present[0]
    lower = reply.lower()
    if len(lower) > 2 * sum(len(text) for text in options.values()):
        return None
    named = [label for label, text in options.items() if text.lower() in lower]
    return named[0] if len(named) == 1 else None


def lmms_eval(reply: str, options: Texts) -> str | None:
    """lmms-eval's rule for MMMU: the last "(A)", else "A ", else "A.", else the last text in over 5 words."""
    padded = f" {reply.strip(',.!?;:' + chr(39))} "
    for form in ("({})", "{} ", "{}."):
        found = {label: padded.rfind(form.format(label)) for label in options if form.format(label) in padded}
        if found:
            return max(found, key=found.__getitem__)
    if len(padded.split()) > 5:
        found = {
            label: padded.lower().rfind(text.lower())
            for label, text in options.items()
            if text.lower() in padded.lower()
        }
        if found:
            return max(found, key=found.__getitem__)
    return None


def lm_eval(reply: str, options: Texts) -> str | None:
    """lm-evaluation-harness's flexible extraction: the last "(A)", else the last text, else the last ": A"."""
    if found := re.findall(r"\(([A-Z])\)", reply):
        return found[-1] if found[-1] in options else None
    plain = re.sub(r"[^\w\s]", "", reply.lower())
    texts = {re.sub(r"[^\w\s]", "", text.lower()): label for label, text in options.items()}
    if found := re.findall("|".join(re.escape(text) for text in texts if text) or r"(?!)", plain):
        return texts[found[-1]]
    labels = "|".join(map(re.escape, options))
    found = re.findall(rf":\s*({labels})", reply)
    return found[-1] if found else None


def mmlu_pro(reply: str, options: Texts) -> str | None:
    """MMLU-Pro's three stages: "answer is (A)", "Answer: A", and the last single letter."""
    stages = (r"answer is \(?([A-J])\)?", r".*[aA]nswer:\s*([A-J])", r"(?s)\b([A-J])\b(?!.*\b[A-J]\b)")
    for stage in stages:
        if match := re.search(stage, reply):
            return match[1] if match[1] in options else None
    return None


PEERS = {"VLMEvalKit": vlmevalkit, "lmms-eval": lmms_eval, "lm-eval": lm_eval, "MMLU-Pro": mmlu_pro}

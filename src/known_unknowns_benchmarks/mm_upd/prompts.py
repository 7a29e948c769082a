"""The prompts of MM-UPD's settings, word for word [1]_, [2]_.

A hint comes before the question; the options follow, one a line ("A. sunny"). The last line depends on the setting.

References
----------
.. [1] Miyai et al., arXiv:2403.20331v4, Section 4.3 and Figure 2.
.. [2] github.com/AtsuMiyai/UPD, ``vlms/llava/eval/llava_vqa_updbench.py`` (``prompt_id`` 0 to 3) and
   ``scripts/inference/llava1.5``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from known_unknowns.records import Question

LETTER = "Answer with the option's letter from the given choices directly."
ABSENT = 'If all the options are incorrect, answer "F. None of the above".'
IRRELEVANT = 'If the given image is irrelevant to the question, answer "F. The image and question are irrelevant.".'
INSTRUCTIONS: Mapping[str, str] = {"AAD": ABSENT, "IASD": ABSENT, "IVQD": IRRELEVANT}

BASE, OPTION, INSTRUCTION, ORIGINAL_STANDARD = "base", "option", "instruction", "original standard"
"""Names of the settings. "Original standard" is MMBench's own prompt: no option and no word about withholding."""


def _shown(question: Question, *, refusal: bool) -> str:
    """The question and its options, with or without the option that withholds an answer."""
    options = question.options
    if not refusal:
        options = tuple(option for index, option in enumerate(options) if index != question.refusal)
    return "\n".join([question.text, *(option.line for option in options)])


def base(question: Question) -> str:
    """Return the prompt of the base setting, which ends with an empty line."""
    return f"{_shown(question, refusal=False)}\n"


def option(question: Question) -> str:
    """Return the prompt of the option setting: one more option, and the sentence that asks for a letter."""
    return f"{_shown(question, refusal=True)}\n{LETTER}"


def instruction(question: Question) -> str:
    """Return the prompt of the instruction setting, whose sentence depends on the subset."""
    return f"{_shown(question, refusal=False)}\n{INSTRUCTIONS[question.extra['subset']]}"


def original_standard(question: Question) -> str:
    """Return MMBench's own prompt, which the paper calls original standard."""
    return f"{_shown(question, refusal=False)}\n{LETTER}"


PROMPTS: Mapping[str, Callable[[Question], str]] = {
    BASE: base,
    OPTION: option,
    INSTRUCTION: instruction,
    ORIGINAL_STANDARD: original_standard,
}


def setting_of(question: Question, prompt: str) -> str | None:
    """Return the setting whose prompt was sent; None if it is none of them."""
    return next((name for name, build in PROMPTS.items() if build(question) == prompt), None)

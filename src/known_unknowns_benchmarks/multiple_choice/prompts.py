"""The prompts, and the strict parser, which stands for the official one: the user's questions have no released code."""

from __future__ import annotations

import re

from known_unknowns.benchmark.image_places import has_mark
from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.records import Question
from known_unknowns_benchmarks.multiple_choice.refusals import plain
from known_unknowns_benchmarks.multiple_choice.settings import PLACEHOLDER

_INSTRUCTION = "Answer with the option's letter from the given choices directly."
_LINE = re.compile(r"^[*_]*ANSWER[*_]*\s*:[*_\s]*\(?([A-Z])\)?[.*_]*\s*\Z", re.MULTILINE)
"""The form that inspect_ai's prompts ask for: the last line is "ANSWER: B"."""
_START = re.compile(r"\(?([A-Z])(?:[).:]+(?=\s|\Z)|\Z)")


def prompt(question: Question) -> str:
    """Return the hint (if there is one), the question, the options one per line, and the instruction.

    The instruction is the one that LLaVA-1.5 was trained with (Liu et al., arXiv:2310.03744, Table 7) and that
    VLMEvalKit and lmms-eval use for many models. The line of the hint is VLMEvalKit's. A template in params.yaml
    (``prompt``) takes the place of all this.
    """
    if "prompt" in question.extra:
        return _filled(question.extra["prompt"], question)
    return f"{_with_hint(question)}\n{_INSTRUCTION}"


def refusal_prompt(question: Question) -> str:
    """Return the prompt with one more sentence that names the refusal option; the same prompt without such an option.

    The sentence is our own. A template in params.yaml (``refusal_prompt``) takes its place.
    """
    if question.refusal is None:
        return prompt(question)
    if "refusal_prompt" in question.extra:
        return _filled(question.extra["refusal_prompt"], question)
    option = question.options[question.refusal]
    return f"{prompt(question)} If you do not know the answer, answer with {option.label}."


def _filled(template: str, question: Question) -> str:
    values = {
        "question": question.text,
        "options": "\n".join(option.line for option in question.options),
        "hint": question.extra.get("hint", ""),
        "refusal": "" if question.refusal is None else question.options[question.refusal].label,
    }
    return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def _with_hint(question: Question) -> str:
    hint = question.extra.get("hint")
    return f"Hint: {hint}\n{question.rendered}" if hint else question.rendered


def official(text: str, question: Question) -> ParsedAnswer:
    """Parse a reply strictly: it is a label or starts with one ("B", "(B)", "B. Blue"), or is exactly an option's text.

    A reply whose last line is "ANSWER: B" gives B, whatever is above.
    """
    text = text.strip()
    found = _LINE.search(text) or _START.match(text)
    if found:
        return parse_label(found[1], question)
    options = [option for option in question.options if not has_mark(option.text)]
    same = [option.label for option in options if plain(option.text) == plain(text) != ""]
    return parse_label(same[0] if len(same) == 1 else None, question)

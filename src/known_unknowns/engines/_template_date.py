"""The date that a chat template writes, such as those of Llama 3.2, Mistral Small 3 and Granite.

By themselves they write the day of the run, so that the prompts of two days differ.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from known_unknowns.errors import ConfigError

DEFAULT = "2024-07-26"
"""The date that Llama 3.2's template writes where it cannot ask for today's."""
_CALL = re.compile(r"""strftime_now\(\s*(?P<quote>["'])(?P<form>[^"']*)(?P=quote)\s*\)""")
_ANY_CALL = "strftime_now("


def fix(processor: Any, day: str | None, *, path: str) -> str | None:
    """Let a processor's chat template write a fixed day.

    Parameters
    ----------
    day : str or None
        The entry's ``template_date``; None for `DEFAULT`.
    path : str
        The path of the entry, for errors.

    Returns
    -------
    str or None
        The day that it writes; None for a template that writes no date.

    Raises
    ------
    ConfigError
        The template writes no date though the entry sets one, or it writes the date in a form that is not fixed.
    """
    template = processor.chat_template
    texts = list(template.values()) if isinstance(template, dict) else [template]
    if not any(_ANY_CALL in text for text in texts):
        if day is not None:
            raise ConfigError("the chat template writes no date; remove the key", path=f"{path}.template_date")
        return None
    chosen = day or DEFAULT
    if isinstance(template, dict):
        processor.chat_template = {name: _with_date(text, chosen, path) for name, text in template.items()}
    else:
        processor.chat_template = _with_date(template, chosen, path)
    return chosen


def _with_date(template: str, day: str, path: str) -> str:
    on = date.fromisoformat(day)
    fixed = _CALL.sub(lambda call: repr(on.strftime(call["form"])), template)
    if _ANY_CALL in fixed:
        raise ConfigError(
            "the chat template writes today's date in a form that it computes, so that each day has other prompts; "
            "set prompt_template to the template with a fixed date",
            path=f"{path}.source",
        )
    return fixed

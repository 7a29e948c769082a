"""The date that a chat template writes, such as those of Llama 3.2, Mistral Small 3 and Granite.

By themselves they write the day of the run, so that the prompts of two days differ.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from known_unknowns.errors import ConfigError

DAY = date(2024, 7, 26)
"""The date that Llama 3.2's template writes where it cannot ask for today's."""
_CALL = re.compile(r"""strftime_now\(\s*(?P<quote>["'])(?P<form>[^"']*)(?P=quote)\s*\)""")
_ANY_CALL = "strftime_now("


def fix(processor: Any, *, path: str) -> str | None:
    """Let a processor's chat template write `DAY`, and return it; None for a template that writes no date.

    Raises ConfigError, with the ``path`` of the entry, if the template writes the date in a form that is not fixed.
    """
    template = processor.chat_template
    texts = list(template.values()) if isinstance(template, dict) else [template]
    if not any(_ANY_CALL in text for text in texts):
        return None
    if isinstance(template, dict):
        processor.chat_template = {name: _with_date(text, path) for name, text in template.items()}
    else:
        processor.chat_template = _with_date(template, path)
    return DAY.isoformat()


def _with_date(template: str, path: str) -> str:
    fixed = _CALL.sub(lambda call: repr(DAY.strftime(call["form"])), template)
    if _ANY_CALL in fixed:
        raise ConfigError(
            "the chat template writes today's date in a form that it computes, so that each day has other prompts; "
            "set prompt_template to the template with a fixed date",
            path=f"{path}.source",
        )
    return fixed

"""The key ``prompt_template`` of a model's entry: the text around a question, or a chat template in Jinja."""

from __future__ import annotations

import re

PROMPT, SYSTEM = "{prompt}", "{system}"
_JINJA = re.compile(r"\{%|\{\{")


def is_chat_template(template: str) -> bool:
    """Return whether a template is in Jinja, not a text with a placeholder."""
    return bool(_JINJA.search(template))


def mistake(template: str, system: str | None) -> str:
    """Return what is wrong with the ``prompt_template`` of an entry with this system prompt; "" if nothing is."""
    if is_chat_template(template):
        return "" if "messages" in template else "a Jinja template must write the variable messages"
    if template.count(PROMPT) != 1:
        return f'write {PROMPT} once, where the question stands, as in "Question: {PROMPT} Answer:"'
    if template.count(SYSTEM) > 1:
        return f"write {SYSTEM} at most once"
    if system and SYSTEM not in template:
        return f"the entry has a system prompt; write {SYSTEM} where it stands"
    return ""

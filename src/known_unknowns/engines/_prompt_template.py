"""Chat templates from a model's entry, for checkpoints that have none (BLIP-2, InstructBLIP, base models).

``prompt_template`` is either the text around a question, such as ``"Question: {prompt} Answer:"``, or a chat template
in Jinja as transformers uses it.
"""

from __future__ import annotations

from typing import Any

from PIL import Image

from known_unknowns.config.prompt_template import PROMPT, SYSTEM, is_chat_template
from known_unknowns.errors import ConfigError

_IMAGE_SIDE = 64


def apply(processor: Any, template: str, *, path: str) -> None:
    """Set a processor's chat template to an entry's ``prompt_template``.

    Raises ConfigError if the processor builds no prompt with an image from it.
    """
    if is_chat_template(template):
        processor.chat_template = template
        return
    token = getattr(processor, "image_token", None) or getattr(processor.tokenizer, "image_token", None)
    # Some processors (BLIP-2's) write the image's tokens themselves, others replace a token in the text.
    reasons = []
    for image in dict.fromkeys(["", str(token or "")]):
        processor.chat_template = _chat_template(template, image)
        if not (reason := _why_not(processor, token)):
            return
        reasons.append(reason)
    raise ConfigError(f"the processor builds no prompt with an image from it: {reasons[-1]}", path=path)


def _chat_template(template: str, image: str) -> str:
    """Return a Jinja template that writes the user's message in place of the placeholder."""
    before, _, after = template.partition(PROMPT)
    parts = (
        "{% for m in messages if m['role'] == 'user' %}{% for c in m['content'] %}"
        f"{{{{ {image!r} if c['type'] == 'image' else c['text'] }}}}"
        "{% endfor %}{% endfor %}"
    )
    return _with_system(before) + parts + _with_system(after)


def _with_system(text: str) -> str:
    before, found, after = text.partition(SYSTEM)
    if not found:
        return f"{{{{ {text!r} }}}}"
    system = "{% for m in messages if m['role'] == 'system' %}{{ m['content'][0]['text'] }}{% endfor %}"
    return f"{{{{ {before!r} }}}}{system}{{{{ {after!r} }}}}"


def _why_not(processor: Any, token: Any) -> str:
    """Return why the processor's template gives no prompt with an image; "" if it does."""
    image = Image.new("RGB", (_IMAGE_SIDE, _IMAGE_SIDE))
    content = [{"type": "image", "image": image}, {"type": "text", "text": "What is it?"}]
    try:
        encoded = processor.apply_chat_template(
            [[{"role": "user", "content": content}]],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
    except Exception as error:  # processors raise errors of many types
        return f"{type(error).__name__}: {error}"
    if token is None:
        return ""
    number = processor.tokenizer.convert_tokens_to_ids(str(token))
    return "" if number in encoded["input_ids"][0].tolist() else f"the prompt has no {token}"

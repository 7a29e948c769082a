"""Values of the configuration that may contain a secret. No message shows them."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

_SECRET_NAME = re.compile(r"key|secret|passw|credential|auth|bearer|token(?!s)|base_url", re.IGNORECASE)
_KEY_OF_A_MAPPING = "[key]"  # pydantic's location of a bad key itself


def may_be_secret(location: tuple[int | str, ...], value: Any) -> bool:
    """Whether the value may be or contain a secret: by the name of its key, or because it is an address."""
    names = [part for part in location if isinstance(part, str) and part != _KEY_OF_A_MAPPING]
    is_address = isinstance(value, str) and "://" in value and not value.startswith("file:///")
    return any(map(_SECRET_NAME.search, names)) or is_address


def invalid(location: tuple[int | str, ...], value: Any, reason: str) -> str:
    """Return the message for an invalid value. It shows only values that are short and cannot be secret."""
    reason = reason[0].lower() + reason[1:]
    if may_be_secret(location, value):
        return f"the value (hidden, because it may contain a secret) is not valid: {reason}"
    return reason if isinstance(value, dict | list) else f"{value!r} is not valid: {reason}"


def address_mistake(address: str) -> str | None:
    """Return what is wrong with an endpoint's address, without the address; None if it is sound."""
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        sound = sound and not re.search(r"[\s\x00-\x1f]", address)
    except ValueError:  # its text may contain the address
        sound = False
    if "@" in address or "?" in address or "#" in address:
        return (
            "the address contains a user, a password or a query, which would be recorded with every run; give the "
            "address alone, and the key in the environment (key_env)"
        )
    return None if sound else "not an address; expected something like http://localhost:8000/v1"

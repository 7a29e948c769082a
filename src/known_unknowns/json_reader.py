"""JSON of others, in which a key that is given twice, nesting without end, and endless numbers are errors."""

from __future__ import annotations

import json
from typing import Any

_DIGITS = "int_max_str_digits"


def parse_json(text: str) -> Any:
    """Return the value of a JSON document.

    Raises
    ------
    json.JSONDecodeError
        If ``text`` is not JSON.
    ValueError
        If an object has a key twice, of which Python keeps the last one, if values are nested too deep, or if an
        integer has more digits than Python reads.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if _DIGITS in str(error):
            raise ValueError("an integer has too many digits") from None
        raise


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:60]!r} is given twice; remove one of them")
    return found

"""The configuration of a trial: an edition with one model, one benchmark, few variants, and a limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from known_unknowns.config import Params

CHANGED = "nota_only"
"""The variant without the right option: the second half of the dual accuracy."""
_ORIGINAL = "original"


def variants_of(params: Params, benchmark: str) -> list[str]:
    """Return the variants of a trial: the published questions by the default protocol, and `CHANGED` if listed."""
    listed = params.listed_variants(benchmark)
    default = params.benchmark(benchmark).protocol

    def is_main(name: str) -> bool:
        return params.variant(name).function == _ORIGINAL and params.protocol_name(benchmark, name) == default

    main = _ORIGINAL if _ORIGINAL in listed else next(filter(is_main, listed), _ORIGINAL)
    return [main, *(name for name in listed if name == CHANGED)]


def overlay(
    params: Params,
    edition: str,
    model: str,
    benchmark: str,
    *,
    variants: list[str],
    entry: Mapping[str, Any] | None = None,
    limit: int | None = None,
) -> dict[str, Any]:
    """Return the keys that a trial adds to a configuration (`config.merged`): its ``edition``.

    The data and the first seed are those of the selected edition of ``params``. ``entry`` is the model's, None if the
    configuration or the catalogue has one; ``limit`` is the largest number of questions, None for all.
    """
    selected = {
        "data": params.data_name,
        "benchmarks": [benchmark],
        "models": [model],
        "seeds": params.seeds[:1],
        "variants": {benchmark: variants},
        "limit": limit,
    }
    added = {} if entry is None else {"models": {model: dict(entry)}}
    return {"edition": edition, "editions": {edition: selected}, **added}

"""Sampled replies of the `transformers` engine: each row of a batch draws its tokens with a generator of its own.

``generate`` draws the tokens of all rows with one generator, so that a reply would depend on the others in its batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from transformers import (
    EpsilonLogitsWarper,
    EtaLogitsWarper,
    GenerationConfig,
    LogitsProcessor,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

WARPERS: Mapping[str, tuple[Callable[[Any], LogitsProcessor], float]] = {
    "temperature": (TemperatureLogitsWarper, 1.0),
    "top_k": (TopKLogitsWarper, 0),
    "top_p": (TopPLogitsWarper, 1.0),
    "min_p": (MinPLogitsWarper, 0.0),
    "typical_p": (TypicalLogitsWarper, 1.0),
    "epsilon_cutoff": (EpsilonLogitsWarper, 0.0),
    "eta_cutoff": (EtaLogitsWarper, 0.0),
}
"""Settings of sampling, in the order in which ``generate`` applies them, and the values that change nothing."""
_DEFAULTS = {"temperature": 1.0, "top_k": 50}
"""Those of ``generate``."""


def sampling_settings(checkpoint: GenerationConfig, decoding: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that replies are sampled with; {} for greedy decoding, which ``top_k: 1`` is, too.

    The checkpoint's own settings count if ``decoding``, of the model's entry, has ``sampling: checkpoint`` and they
    sample.
    """
    given = {name: decoding[name] for name in WARPERS if name in decoding}
    own = checkpoint.to_diff_dict() if "sampling" in decoding and checkpoint.do_sample else {}
    settings = _DEFAULTS | {name: own[name] for name in WARPERS if own.get(name) is not None} | given
    if given.get("temperature", 1.0 if own else 0) == 0 or settings["top_k"] == 1:
        return {}
    return {name: value for name, value in settings.items() if name in _DEFAULTS or value != WARPERS[name][1]}


class Sampler(LogitsProcessor):
    """Draw the next token of each row. In the scores that it returns, only this token is possible.

    ``settings`` are names in `WARPERS` with their values, ``seeds`` those of the rows.
    """

    def __init__(self, settings: Mapping[str, Any], seeds: Sequence[int]) -> None:
        used = [(WARPERS[name], settings[name]) for name in WARPERS if name in settings]
        self._warpers = [make(value) for (make, neutral), value in used if value != neutral]
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        warped: Any = scores.float()
        for warp in self._warpers:
            warped = warp(input_ids, warped)
        cumulative = warped.softmax(dim=-1).double().cumsum(dim=-1)
        drawn = torch.stack([1 - torch.rand(1, generator=each, dtype=torch.float64) for each in self._generators])
        tokens = torch.searchsorted(cumulative, drawn.to(scores.device) * cumulative[:, -1:])
        tokens = tokens.clamp(max=scores.shape[-1] - 1)  # scores that are not finite are reported by the recorder
        chosen: Any = torch.full_like(scores, -torch.inf).scatter_(1, tokens, 0.0)
        return chosen

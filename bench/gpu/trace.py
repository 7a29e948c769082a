"""Count the operators of the engine's stages on a CPU, by the plans that it has on a GPU; see README.md.

    python bench/gpu/trace.py

An operator that is no view stands for a kernel launch. Models with two and four layers give the operators of a layer,
and these the operators of the 7B model's shape. The windows of a layer of the vision tower are one call on a GPU, and
are counted as one.
"""

from __future__ import annotations

import copy
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import transformers  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from bench.gpu.prompts import SMALL_SIZES, TOKENS, prompt_set  # noqa: E402
from bench.throughput import random_model  # noqa: E402
from prefix_sharing import SharedPrefixDecoder, prefix_plans, rows, shared_decoder, token_tree  # noqa: E402
from prefix_sharing.prefix_plans import FEATURES  # noqa: E402

IMAGES = 16
"""Prefixes in one pass, with five questions each."""
_LAYERS = {"text": 28, "vision": 32}
_NO_KERNEL = {"detach", "detach_", "_unsafe_view", "empty", "empty_like", "new_empty", "empty_strided", "lift_fresh"}
_WAITS = {"_local_scalar_dense", "item", "is_nonzero"}
"""On a GPU, the host waits for the value."""
_ATTENTION = "scaled_dot_product_attention"
_STAGES = {
    "prefixes": (prefix_plans.PrefixPlans, "from_features"),
    "prefixes cut out": (prefix_plans, "select_row"),
    "prefixes gathered": (token_tree, "gather_prefixes"),
    "questions": (shared_decoder, "forward_trees"),
    "gathered for a step": (rows, "_gather_caches"),
    "a step": (rows.RowContinuation, "step"),
}


class _Operators(TorchDispatchMode):
    """Counts operators by the innermost stage."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = ["rest"]
        self.counts: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        if name in _WAITS:
            self.waits[self.stage[-1]] += 1
        elif self.stage[-1] == "vision" and name == _ATTENTION:
            pass  # one call a layer on a GPU, which `main` adds
        elif not (func.is_view or name in _NO_KERNEL):
            self.counts[self.stage[-1]] += 1
        return func(*args, **(kwargs or {}))

    def within(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.stage.append(stage)
            try:
                return function(*args, **kwargs)
            finally:
                self.stage.pop()

        return call


@contextmanager
def _wrapped(operators: _Operators) -> Iterator[None]:
    before = {stage: getattr(*place) for stage, place in _STAGES.items()}
    for stage, (where, name) in _STAGES.items():
        setattr(where, name, operators.within(stage, before[stage]))
    try:
        yield
    finally:
        for stage, (where, name) in _STAGES.items():
            setattr(where, name, before[stage])


def count(text: int, vision: int) -> tuple[Counter[str], Counter[str]]:
    """Return the operators and the waits of each stage, for a tiny model with these numbers of layers."""
    shape = copy.deepcopy(random_model.SHAPES["tiny"])
    shape["text"]["num_hidden_layers"], shape["vision"]["depth"], shape["full"] = text, vision, [vision - 1]
    random_model.SHAPES["traced"] = shape
    model = random_model.make_model("traced", TOKENS, dtype="float32", device="cpu", seed=0)
    model.generation_config.eos_token_id = None
    operators = _Operators()
    model.model.visual.forward = operators.within("vision", model.model.visual.forward)
    decoder = SharedPrefixDecoder(
        model, closing_tokens=[TOKENS.vision_end], prefixes_per_pass=IMAGES, tokens_per_pass=6500
    )
    # The plans of a GPU, without the check of the first use.
    decoder._architecture = replace(decoder._architecture, grouped_configs=(), can_continue=False)
    decoder.prefix_plans._architecture = decoder._architecture
    decoder.prefix_plans.ways = [FEATURES]
    decoder.prefix_plans._checked = {False}
    decoder.plans.remove(shared_decoder.SEPARATE)
    decoder.prefixes_checked = 1
    asked = prompt_set("questions", images=IMAGES, noise_questions=0, sizes=SMALL_SIZES, seed=1)
    with _wrapped(operators), operators:
        decoder.generate(asked.prompts, 2)
    return operators.counts, operators.waits


def main() -> None:
    transformers.logging.set_verbosity_error()
    few, waits = count(2, 2)
    more_text, more_vision = count(4, 2)[0], count(2, 4)[0]
    few["vision"] += 2
    more_text["vision"] += 2
    more_vision["vision"] += 4
    print("| stage | a text layer | a vision layer | an image, 7B shape | waits a pass |")
    print("|---|---|---|---|---|")
    total = 0.0
    for stage in ("vision", *_STAGES, "rest"):
        of_text, of_vision = (more_text[stage] - few[stage]) / 2, (more_vision[stage] - few[stage]) / 2
        whole = few[stage] + of_text * (_LAYERS["text"] - 2) + of_vision * (_LAYERS["vision"] - 2)
        total += whole / IMAGES
        print(f"| {stage} | {of_text:.0f} | {of_vision:.0f} | {whole / IMAGES:.0f} | {waits[stage]} |")
    print(f"| all | | | {total:.0f} | {waits.total()} |")


if __name__ == "__main__":
    main()

"""The loop of vLLM's offline engine, for machines that have vLLM. It has the checkpoint's weights a second time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.throughput.loops import Said, Settings, load_processor
from bench.throughput.peers import prompts
from known_unknowns.images import open_image
from known_unknowns.records import Turn

CONTEXT = 4096
"""Tokens of a prompt and its reply."""


class VllmOffline:
    """``LLM.generate`` on all questions at once, with prefix caching.

    Parameters
    ----------
    settings : Settings
        The checkpoint and its dtype. The device is vLLM's own: the one that the installed build is for.
    memory : float
        The share of the GPU's memory that vLLM reserves (``gpu_memory_utilization``).
    """

    def __init__(self, settings: Settings, *, memory: float) -> None:
        try:
            import vllm
        except ImportError as error:
            raise SystemExit("--loops vllm needs the package vllm: pip install vllm") from error
        self.name = "vLLM, offline"
        self.note = f"vllm.LLM.generate of vLLM {vllm.__version__}, prefix caching on, {memory:.0%} of the GPU's memory"
        self._sampling = vllm.SamplingParams
        self._processor = load_processor(settings)
        self._llm = vllm.LLM(
            model=str(settings.checkpoint),
            dtype=settings.dtype,
            seed=0,
            max_model_len=CONTEXT,
            enable_prefix_caching=True,
            limit_mm_per_prompt={"image": 1},
            gpu_memory_utilization=memory,
        )

    def __call__(self, turns: Sequence[Turn], folder: Path) -> Said:
        asked = [
            {"prompt": text, "multi_modal_data": {"image": open_image(turn.images[0], folder)}}
            for text, turn in zip(prompts(self._processor, turns), turns, strict=True)
        ]
        greedy = self._sampling(temperature=0.0, max_tokens=turns[0].max_new_tokens)
        answered = self._llm.generate(asked, greedy, use_tqdm=False)
        shown = self._processor.image_token_id
        return Said(
            [reply.outputs[0].text for reply in answered],
            [list(reply.prompt_token_ids).count(shown) for reply in answered],
            [None] * len(turns),
        )

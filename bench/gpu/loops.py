"""What is compared: ``generate``, prefix sharing, and vLLM. Each returns the first token of each reply.

All but vLLM have one set of weights.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import BatchFeature

from bench.gpu.prompts import START, TOKENS, PromptSet
from prefix_sharing import Prompt, SharedPrefixDecoder, choose_kernels
from prefix_sharing.prefix import several_rows

MAX_NEW_TOKENS = 16
_AT_ONCE = 200
"""Prompts that prefix sharing gets at once, as many as the `transformers` engine gives it for a model of 7B."""
_EFFICIENT_FLOPS_GPU, _EFFICIENT_FLOPS_CPU = 1e14, 2e11
_MIN_TOKENS, _PREFIXES_GPU = 512, 16
_IMPORT_SECONDS = 120
_VLLM_CONTEXT = 4096


class Loop(Protocol):
    name: str
    whole: bool
    """Whether it is asked all questions of a set, not only a part."""

    def __call__(self, asked: PromptSet) -> list[int]: ...


class Generate:
    """transformers' ``generate`` in batches, padded on the left."""

    whole = False

    def __init__(self, model: Any, batch_size: int, name: str = "") -> None:
        self.name = name or f"generate, batch {batch_size}"
        self._model, self._batch_size = model, batch_size

    @torch.inference_mode()
    def __call__(self, asked: PromptSet) -> list[int]:
        first: list[int] = []
        for start in range(0, len(asked.prompts), self._batch_size):
            inputs = _batch(asked.prompts[start : start + self._batch_size])
            inputs = inputs.to(self._model.device, dtype=self._model.dtype)
            out = self._model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, do_sample=False)
            first += out[:, inputs["input_ids"].shape[1]].tolist()
        return first


def _batch(prompts: Sequence[Prompt]) -> BatchFeature:
    return BatchFeature(several_rows([prompt.whole_inputs() for prompt in prompts]))


class Engine:
    """Prefix sharing as the `transformers` engine uses it, with the same sizes of passes."""

    whole = True
    name = "engine"

    def __init__(self, model: Any) -> None:
        on_gpu = model.device.type == "cuda"
        weights = sum(weight.numel() for weight in model.parameters())
        flops = _EFFICIENT_FLOPS_GPU if on_gpu else _EFFICIENT_FLOPS_CPU
        self.decoder = SharedPrefixDecoder(
            model,
            closing_tokens=[TOKENS.vision_end],
            prefixes_per_pass=_PREFIXES_GPU if on_gpu else 1,
            tokens_per_pass=min(16384, max(_MIN_TOKENS, int(flops / (2 * weights)))),
        )

    def __call__(self, asked: PromptSet) -> list[int]:
        self.decoder.prefixes.clear()
        first: list[int] = []
        for start in range(0, len(asked.prompts), _AT_ONCE):
            replies = self.decoder.generate(asked.prompts[start : start + _AT_ONCE], MAX_NEW_TOKENS)
            first += [reply[0] for reply in replies]
        return first


def with_other_kernels(model: Any) -> tuple[Any, dict[str, str]]:
    """Return a model that has the same weights and the kernels of prefix sharing, and the names of these."""
    weights = {id(weight): weight for weight in chain(model.parameters(), model.buffers())}
    twin = copy.deepcopy(model, memo=weights)
    return twin, choose_kernels(twin)


def vllm_fault() -> str:
    """Return why vLLM cannot be imported; "" if it can. A process of its own tries, since an import may crash."""
    if find_spec("vllm") is None:
        return "vLLM is not installed"
    try:
        tried = subprocess.run(
            [sys.executable, "-c", "import vllm"], capture_output=True, text=True, timeout=_IMPORT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"vLLM is not imported within {_IMPORT_SECONDS} s"
    return "" if tried.returncode == 0 else f"vLLM cannot be imported: {tried.stderr.strip().rpartition(chr(10))[2]}"


class Vllm:
    """vLLM's offline engine, with prefix caching. It reads the images, and has the weights a second time.

    Parameters
    ----------
    folder : Path
        The model is written to it.
    memory : float
        The share of the GPU's memory that vLLM reserves.
    """

    whole = True
    name = "vLLM"

    def __init__(self, model: Any, folder: Path, *, memory: float) -> None:
        import vllm

        _save(model, folder)
        dtype = str(model.dtype).removeprefix("torch.")
        self.version = vllm.__version__
        self._sampling = vllm.SamplingParams(temperature=0.0, max_tokens=MAX_NEW_TOKENS)
        self._llm = vllm.LLM(
            model=str(folder),
            dtype=dtype,
            seed=0,
            max_model_len=_VLLM_CONTEXT,
            enable_prefix_caching=True,
            limit_mm_per_prompt={"image": 1, "video": 0},
            gpu_memory_utilization=memory,
        )

    def __call__(self, asked: PromptSet) -> list[int]:
        from PIL import Image

        requests = []
        for prompt, image in zip(asked.prompts, asked.images, strict=True):
            shown = Image.fromarray(image.pixels.permute(1, 2, 0).contiguous().numpy())
            requests.append({"prompt_token_ids": _one_image_token(prompt), "multi_modal_data": {"image": shown}})
        replies = self._llm.generate(requests, self._sampling, use_tqdm=False)
        return [reply.outputs[0].token_ids[0] for reply in replies]


def _one_image_token(prompt: Prompt) -> list[int]:
    """Return a prompt's tokens with one token for the image, in whose place vLLM puts as many as it needs."""
    place = prompt.ids.index(TOKENS.image)
    return [*prompt.ids[: place + 1], *(token for token in prompt.ids[place + 1 :] if token != TOKENS.image)]


def _save(model: Any, folder: Path) -> None:
    """Write the model with the tokenizer and the settings of the image processor that vLLM needs."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    named = {
        TOKENS.pad: "<|endoftext|>",
        TOKENS.end: "<|im_end|>",
        START: "<|im_start|>",
        TOKENS.image: "<|image_pad|>",
        TOKENS.video: "<|video_pad|>",
        TOKENS.vision_start: "<|vision_start|>",
        TOKENS.vision_end: "<|vision_end|>",
    }
    size = model.config.get_text_config().vocab_size
    words = {named.get(number, f"t{number}"): number for number in range(size)}
    word_level = Tokenizer(models.WordLevel(words, named[TOKENS.pad]))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=word_level,
        pad_token=named[TOKENS.pad],
        eos_token=named[TOKENS.end],
        additional_special_tokens=[named[number] for number in sorted(named)],
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    images = {"patch_size": 14, "merge_size": 2, "temporal_patch_size": 2, "min_pixels": 3136, "max_pixels": 12845056}
    described = images | {"image_processor_type": "Qwen2VLImageProcessor", "processor_class": "Qwen2_5_VLProcessor"}
    (folder / "preprocessor_config.json").write_text(json.dumps(described), encoding="utf-8")
    videos = images | {"video_processor_type": "Qwen2VLVideoProcessor"}
    (folder / "video_preprocessor_config.json").write_text(json.dumps(videos), encoding="utf-8")

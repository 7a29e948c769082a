"""Calls of a model's own ``generate``, and the explanation of the errors of models that it does not work for."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
import transformers
from transformers import GenerationMixin

from known_unknowns.engines._checkpoint import Checkpoint
from known_unknowns.engines._prompts import UnusableProcessorError
from known_unknowns.engines._reply_builder import LabelRecorder
from known_unknowns.engines._sampling import Sampler
from known_unknowns.errors import ConfigError, KnownUnknownsError

_LONGEST_REASON = 300

Item = TypeVar("Item")


class Generation:
    """Generates with a checkpoint, and records the options' log-probabilities."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._model = checkpoint.model
        self._settings = checkpoint.generation
        self._sampling = checkpoint.sampling
        stop: dict[str, Any] = {"stop_strings": list(checkpoint.stop), "tokenizer": checkpoint.tokenizer}
        self._stop = stop if checkpoint.stop else {}
        self._generate: Callable[..., torch.Tensor] = checkpoint.model.generate

    @torch.inference_mode()
    def __call__(
        self, inputs: Any, recorder: LabelRecorder, max_new_tokens: int, seeds: Sequence[int] = ()
    ) -> list[list[int]]:
        """Return the new tokens of each prompt. The recorder gets the logits of each step.

        ``seeds`` are those of the prompts, for a checkpoint whose replies are sampled.

        Raises ValueError if the model does not generate its reply token by token.
        """
        sequences = self._call(inputs, recorder, max_new_tokens, seeds)
        if not recorder.steps and type(self._model).generate is not GenerationMixin.generate:
            # A class's own function may drop the recorder (Janus), which the general one does not.
            self._generate = GenerationMixin.generate.__get__(self._model)
            sequences = self._call(inputs, recorder, max_new_tokens, seeds)
        if not recorder.steps:
            raise ValueError("its generate() reports no logits")
        return sequences[:, -recorder.steps :].tolist()

    def _call(self, inputs: Any, recorder: LabelRecorder, max_new_tokens: int, seeds: Sequence[int]) -> torch.Tensor:
        sampler = [Sampler(self._sampling, seeds)] if self._sampling else []
        return self._generate(
            **inputs,
            generation_config=self._settings,
            max_new_tokens=max_new_tokens,
            logits_processor=[recorder, *sampler],
            return_dict_in_generate=False,
            **self._stop,
        )


def explained(answers: Iterator[Item], model: Any, *, path: str, worked: Callable[[], bool]) -> Iterator[Item]:
    """Yield the items of an iterator over a model's replies, and explain an error before the first reply.

    Raises ConfigError, for the key ``path``, if the model or its processor failed before it ``worked``: the fault is
    then not in a question.
    """
    while True:
        try:
            item = next(answers, None)
        except (KnownUnknownsError, OSError, MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # models and processors that do not fit raise errors of many types
            if worked():
                raise
            reason = _reason(error)
            raise ConfigError(
                f"{type(model).__name__} of transformers {transformers.__version__} gives no reply to a question with "
                f"an image ({reason}); try another dtype or version of transformers, or serve the model behind an "
                "endpoint (docs/models.md)",
                path=path,
            ) from error
        if item is None:
            return
        yield item


def _reason(error: Exception) -> str:
    """Return why a model gave no reply: our own reason, or the error of a library and where it comes from."""
    if isinstance(error, UnusableProcessorError):
        return str(error)
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST_REASON]
    files = {Path(frame.filename).name for frame in traceback.extract_tb(error.__traceback__)}
    if any(name.startswith("image_processing_pil_") for name in files):  # Fuyu's expects arrays and is given tensors
        return f"its image processor for Pillow fails, {text}; image_backend: torchvision selects another one"
    return text

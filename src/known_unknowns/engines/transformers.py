"""The `transformers` engine: any image-text-to-text checkpoint with a chat template, in process, on a CPU or a GPU.

One ``generate`` call a batch gives both the text, decoded greedily, and the option letters' log-probabilities, from
the same forward passes. Needs torch, transformers, NumPy and Pillow, and nothing else.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers

from known_unknowns.engines import _checkpoint
from known_unknowns.engines._letters import Forms, LetterRecorder, letter_step, token_forms
from known_unknowns.errors import ConfigError
from known_unknowns.images import open_image
from known_unknowns.records import Reply, Turn

DEFAULT_BATCH_SIZE = 8


class TransformersEngine:
    """Answers turns with a checkpoint; the keys of ``entry`` are in schemas/params.schema.yaml.

    ``Reply.text`` is the new tokens without special ones; ``finish`` is "stop" or, when the length limit cut the
    reply, "length"; ``output_tokens`` counts the end token. ``Reply.logprobs`` are natural logarithms over the whole
    vocabulary, rounded to 6 decimals, at the step that gives the reply's first bare letter on offer (else at step 0);
    they are None for free text, or when a letter is no single token. ``seconds`` is the batch's time over its size.

    Raises:
        ConfigError: the checkpoint cannot be used (see `_checkpoint.load`), or the device is not there.
    """

    scripted = False

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self.name = name
        self.device = _device(entry.get("device", "auto"), path=f"models.{name}.device")
        self.batch_size = entry.get("batch_size", DEFAULT_BATCH_SIZE)
        self.system = entry.get("system")
        self.max_new_tokens = entry.get("decoding", {}).get("max_new_tokens")
        self.checkpoint = _checkpoint.load(name, entry, self.device)
        self._known_forms: dict[tuple[str, ...], Forms] = {}
        self.facts = self._facts(entry)
        self.about = self._about()

    def _facts(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        decoding = _checkpoint.decoding_facts(self.checkpoint.generation)
        if self.max_new_tokens is not None:
            decoding["max_new_tokens"] = self.max_new_tokens
        return {
            "engine": "transformers",
            "source": entry["source"],
            **self.checkpoint.identity,
            "dtype": entry["dtype"],
            "decoding": decoding,
            "system": self.system,
        }

    def _about(self) -> dict[str, Any]:
        on_gpu = self.device.startswith("cuda")
        return {
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
            "device": torch.cuda.get_device_name(self.device) if on_gpu else f"cpu ({platform.machine()})",
            "threads": torch.get_num_threads(),
            "parameters": sum(weight.numel() for weight in self.checkpoint.model.parameters()),
            "batch_size": self.batch_size,
        }

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        """Answer every turn once, a batch at a time. Raises DataError for a picture that cannot be read."""
        for batch in batches(turns, self.batch_size, max_new_tokens=self.max_new_tokens):
            replies = self._answer([turns[index] for index in batch], folder)
            yield list(zip(batch, replies, strict=True))

    def _answer(self, turns: Sequence[Turn], folder: Path) -> list[Reply]:
        """The replies to one batch; when memory runs out, to its two halves in turn."""
        started = time.perf_counter()
        failure = ""
        try:
            replies = self._generate(turns, folder)
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            failure = str(error).partition("\n")[0] or type(error).__name__
        seconds = (time.perf_counter() - started) / len(turns)
        # Only here are the failed pass's tensors free: the exception had held them.
        if not failure:
            return [replace(reply, seconds=seconds) for reply in replies]
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        if len(turns) == 1:
            return [Reply(text="", finish="error", error=f"out of memory: {failure}", seconds=seconds)]
        half = len(turns) // 2
        return self._answer(turns[:half], folder) + self._answer(turns[half:], folder)

    @torch.inference_mode()
    def _generate(self, turns: Sequence[Turn], folder: Path) -> list[Reply]:
        inputs = self._inputs(turns, folder).to(self.device, dtype=self.checkpoint.model.dtype)
        forms = [self._forms(turn.letters or ()) for turn in turns]
        recorder = LetterRecorder(token for row in forms for tokens in row.values() for token in tokens)
        sequences = self.checkpoint.model.generate(
            **inputs,
            max_new_tokens=self.max_new_tokens or turns[0].max_new_tokens,
            logits_processor=[recorder],
        )
        new_tokens = sequences[:, -recorder.steps :].tolist()
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        visual = self._visual_tokens(inputs["input_ids"])
        return [
            replace(
                self._reply(turn, new_tokens[row], forms[row], recorder, row),
                input_tokens=lengths[row],
                visual_tokens=visual[row],
            )
            for row, turn in enumerate(turns)
        ]

    def _visual_tokens(self, input_ids: torch.Tensor) -> list[int | None]:
        """How many tokens of each row stand for pictures; None where the checkpoint has no token for that."""
        token = getattr(self.checkpoint.model.config, "image_token_id", None)
        if token is None:
            return [None] * len(input_ids)
        return (input_ids == token).sum(dim=1).tolist()

    def _reply(self, turn: Turn, new_tokens: list[int], forms: Forms, recorder: LetterRecorder, row: int) -> Reply:
        tokenizer = self.checkpoint.tokenizer
        tokens, finish = self._until_end(new_tokens)
        if not recorder.sound(row, len(tokens)):
            error = f"the logits are no finite numbers in {self.facts['dtype']}; use float32 or bfloat16"
            return Reply(text="", finish="error", error=error)
        logprobs = None
        if turn.letters and len(forms) == len(turn.letters):
            logprobs = recorder.logprobs(row, letter_step(tokenizer, tokens, forms), forms)
        text = tokenizer.decode(tokens, skip_special_tokens=True)
        return Reply(text=text, logprobs=logprobs, output_tokens=len(tokens), finish=finish)

    def _forms(self, letters: tuple[str, ...]) -> Forms:
        if letters not in self._known_forms:
            self._known_forms[letters] = token_forms(self.checkpoint.tokenizer, letters)
        return self._known_forms[letters]

    def _until_end(self, tokens: list[int]) -> tuple[list[int], str]:
        """A row's tokens up to and with its end token (padding follows), and how it finished."""
        ends = self.checkpoint.generation.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or ())
        for place, token in enumerate(tokens):
            if token in ends:
                return tokens[: place + 1], "stop"
        return tokens, "length"

    def _inputs(self, turns: Sequence[Turn], folder: Path) -> Any:
        """The processor's tensors for a batch, padded on the left."""
        pictures = {image: open_image(image, folder) for turn in turns for image in turn.images}
        # A question is data: an "<image>" or an end token in its text must stay text.
        sanitize = any(token in turn.text for turn in turns for token in self.checkpoint.tokenizer.all_special_tokens)
        try:
            return self.checkpoint.processor.apply_chat_template(
                [self._conversation(turn, pictures) for turn in turns],
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                sanitize_control_tokens=sanitize,
                processor_kwargs={"padding": True, "padding_side": "left"},
            )
        except NotImplementedError as error:
            raise ConfigError(
                "a question's text holds one of the tokenizer's control tokens, and this checkpoint's chat template "
                f"cannot keep it as text ({error}); leave the question out, or ask another checkpoint",
                path=f"models.{self.name}",
            ) from error

    def _conversation(self, turn: Turn, pictures: Mapping[Any, Any]) -> list[dict[str, Any]]:
        content = [
            {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": pictures[part]}
            for part in turn.content
        ]
        system = [{"role": "system", "content": [{"type": "text", "text": self.system}]}] if self.system else []
        return [*system, {"role": "user", "content": content}]


def batches(turns: Sequence[Turn], size: int, *, max_new_tokens: int | None = None) -> Iterator[list[int]]:
    """Indices into ``turns``, at most ``size`` at a time, each batch alike in its number of pictures and its limit.

    The batches are runs of one stable order, so that what is left after the first of them is batched as it would
    have been: a run that was cut off and goes on computes the same bits as one that was not.
    """

    def kind(index: int) -> tuple[int, int]:
        return len(turns[index].images), max_new_tokens or turns[index].max_new_tokens

    batch: list[int] = []
    for index in sorted(range(len(turns)), key=kind):
        if batch and (len(batch) == size or kind(index) != kind(batch[0])):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _device(wanted: str, *, path: str) -> str:
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted.startswith("cuda"):
        index = int(wanted.partition(":")[2] or 0)
        if index >= torch.cuda.device_count():
            raise ConfigError(
                f"there is no {wanted}: torch sees {torch.cuda.device_count()} GPU(s); use cpu or auto", path=path
            )
    return wanted


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return "can't allocate memory" in str(error) or "not enough memory" in str(error)

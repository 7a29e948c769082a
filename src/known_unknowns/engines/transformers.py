"""The `transformers` engine: any image-text-to-text checkpoint with a chat template, in process, on a CPU or a GPU.

A picture's tokens are computed once for all questions about it (`known_unknowns.engines.sharing`); where a model
cannot share, or is not asked to, one ``generate`` call a batch does it all. Either way the same forward passes give
the text, decoded greedily, and the option letters' log-probabilities. Needs torch, transformers, NumPy and Pillow,
and nothing else. See docs/shared_prefixes.md.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers

from known_unknowns.engines import _checkpoint, _memory
from known_unknowns.engines._batch_invariance import TOLERANCE_NATS, BatchInvarianceCheck
from known_unknowns.engines._grouping import batches, prefix_chunks
from known_unknowns.engines._linear import use_onednn
from known_unknowns.engines._option_labels import Forms, LabelRecorder, label_step, token_forms
from known_unknowns.engines._prompts import Prompt, PromptBuilder, image_token_ids, prefetch, prompt_head
from known_unknowns.engines.sharing import check
from known_unknowns.engines.sharing.architecture import has_length_dependent_positions
from known_unknowns.engines.sharing.shared_decoder import CHECKED_IMAGES, SharedPrefixDecoder
from known_unknowns.errors import ConfigError
from known_unknowns.records import Reply, Turn

OFF, AUTO, ON = "off", "auto", "on"
_YAML_BOOLEANS = {False: OFF, True: ON}
"""What YAML makes of a bare off and on."""
_UNSHARED_BATCH_SIZE = 8
"""Turns in one call of ``generate``, where the entry does not say: whole prompts of unequal length are padded."""

_MAX_REJECTED = 20
"""So many turns that cannot be asked, and none that can: then it is not the questions."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Turns that go through the model together, and whether they share the prefixes of their pictures."""

    indices: Sequence[int]
    shared: bool


class TransformersEngine:
    """Answers turns with a checkpoint; the keys of ``entry`` are in schemas/params.schema.yaml.

    ``Reply.text`` is the new tokens without special ones; ``finish`` is "stop" or, when the length limit cut the
    reply, "length"; ``output_tokens`` counts the end token. A turn of which no prompt can be made has ``finish``
    "rejected", one that fails otherwise "error", and both say why in ``error``. ``Reply.logprobs`` are natural
    logarithms over the whole vocabulary, rounded to 6 decimals, at the step that gives the reply's first bare letter on
    offer (else at step 0); they are None for free text, or when a letter is no single token. ``seconds`` is the chunk's
    time over its size.

    ``about["sharing"]`` tells which plans of sharing were used, how far each was from ``generate`` when it was
    checked, and which were given up and why; ``about["linear_layers"]``, what multiplied them (see
    `_linear.use_onednn`); ``about["certificate"]``, in half precision and where prefixes are shared,
    how often the letter was another one than at batch 1.

    Raises:
        ConfigError: the checkpoint cannot be used (see `_checkpoint.load`), or the device is not there.
    """

    scripted = False

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self.name = name
        self.device = _device(entry.get("device", "auto"), path=f"models.{name}.device")
        if "threads" in entry:
            torch.set_num_threads(_thread_limit(entry["threads"]))
        if self.device == "cpu":
            _memory.retain_freed_memory()
        self.system = entry.get("system")
        self.max_new_tokens = entry.get("decoding", {}).get("max_new_tokens")
        asked = entry.get("sharing", AUTO)
        self.sharing = _YAML_BOOLEANS.get(asked, asked)
        self.notes: Path | None = None
        self.checkpoint = _checkpoint.load(name, entry, self.device)
        self._linear = use_onednn(self.checkpoint.model) if self.device == "cpu" else "torch"
        self._capacity = _memory.capacity(self.checkpoint.model, self.device)
        self.batch_size = entry.get("batch_size") or self._capacity.batch_size
        alone = has_length_dependent_positions(
            self.checkpoint.model
        )  # a longer prompt in the batch would turn a shorter one's angles
        self._unshared_batch_size = entry.get("batch_size") or (
            1 if alone else min(_UNSHARED_BATCH_SIZE, self._capacity.batch_size)
        )
        self._prompts = PromptBuilder(self.checkpoint, self.system)
        self._known_forms: dict[tuple[str, ...], Forms] = {}
        self._any_turn_accepted = False
        self._answered = 0
        self.facts = self._facts(entry)
        self._half = entry["dtype"] != "float32"
        self._sharing_error = ""
        self._decoder = self._create_decoder(entry)
        self._invariance = (
            BatchInvarianceCheck(self.facts, half=self._half) if self._half or self._decoder is not None else None
        )
        self.about = self._about()

    def _create_decoder(self, entry: Mapping[str, Any]) -> SharedPrefixDecoder | None:
        if self.sharing == OFF:
            return None
        limit = int(entry.get("cache_gib", _memory.CACHE_GIB) * 2**30)
        try:
            capacity = self._capacity
            return SharedPrefixDecoder(
                self.checkpoint, limit=limit, prefixes_per_pass=capacity.prefixes, tokens=capacity.tokens_per_pass
            )
        except ValueError as error:
            self._sharing_error = str(error)
            return None

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
            "linear_layers": self._linear,
            "sharing": self._sharing_summary(),
        }

    def _sharing_summary(self) -> dict[str, Any]:
        told: dict[str, Any] = {"asked": self.sharing}
        if self._sharing_error:
            told["fell_back"] = [{"plan": "all", "why": self._sharing_error}]
        if self._decoder is not None:
            told |= self._decoder.summary()
        return told

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        """Answer every turn once, a chunk at a time; first those that cannot be asked, as failed.

        Raises DataError for a picture that cannot be read, ConfigError where not one of many turns can be asked.
        """
        rejected = self._rejected(turns, folder)
        if rejected:
            yield list(rejected.items())
        left = [index for index in range(len(turns)) if index not in rejected]
        for rows in self._answer_chunks([turns[index] for index in left], folder):
            yield [(left[index], reply) for index, reply in rows]

    def _rejected(self, turns: Sequence[Turn], folder: Path) -> dict[int, Reply]:
        """Failed replies to the turns that no prompt can be made of, by their indices. It looks at each turn alone, so
        that what is left is grouped as if they had never been there."""
        doubtful = [index for index, turn in enumerate(turns) if self._prompts.has_control_token(turn)]
        self._any_turn_accepted = self._any_turn_accepted or len(doubtful) < len(turns)
        rejected: dict[int, Reply] = {}
        for index in doubtful:
            why = self._prompts.rejection_reason(turns[index], folder)
            if why is None:
                self._any_turn_accepted = True
                continue
            rejected[index] = Reply(text="", finish="rejected", error=why)
            if len(rejected) >= _MAX_REJECTED and not self._any_turn_accepted:
                raise ConfigError(f"no question can be asked: {why}; none is recorded", path=f"models.{self.name}")
        return rejected

    def _answer_chunks(self, turns: Sequence[Turn], folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        if self._invariance is not None:
            self._invariance.load(self.notes)
            self._disable_sharing_if_inaccurate("as a run before this one found")
        try:
            self._check_sharing(turns, folder)

            def make(chunk: Chunk) -> Any:
                return self._build_inputs([turns[index] for index in chunk.indices], folder, shared=chunk.shared)

            for chunk, made in prefetch(make, self._chunks(turns), spare=_memory.has_spare_core(self.device)):
                asked = [turns[index] for index in chunk.indices]
                replies = self._answer(asked, made, folder, shared=chunk.shared)
                yield list(zip(chunk.indices, replies, strict=True))
                self._answered += len(asked)
                if self._half or chunk.shared:
                    self._check_batch_invariance(asked[0], replies[0], folder)
        finally:
            self.about["sharing"] = self._sharing_summary()
            if self._invariance is not None:
                self.about["certificate"] = self._invariance.summary()

    def _shares(self, turn: Turn) -> bool:
        return self._decoder is not None and bool(self._decoder.plans) and bool(turn.images)

    def _chunks(self, turns: Sequence[Turn]) -> Iterator[Chunk]:
        sharing = {index for index, turn in enumerate(turns) if self._shares(turn)}
        capacity = self._capacity
        for indices in prefix_chunks(
            turns, sorted(sharing), size=self.batch_size, tokens=capacity.tokens, max_images=capacity.images
        ):
            yield Chunk(indices, shared=True)
        rest = [index for index in range(len(turns)) if index not in sharing]
        plain = [turns[index] for index in rest]
        for batch in batches(plain, self._unshared_batch_size, max_new_tokens=self.max_new_tokens):
            yield Chunk([rest[index] for index in batch], shared=False)

    def _build_inputs(self, turns: Sequence[Turn], folder: Path, *, shared: bool) -> Any:
        return self._prompts.build(turns, folder) if shared else self._prompts.build_batch(turns, folder)

    def _check_sharing(self, turns: Sequence[Turn], folder: Path) -> None:
        """At the first use: does sharing give what ``generate`` gives?"""
        heads: dict[Any, list[Turn]] = {}
        for turn in turns:
            if self._shares(turn):
                heads.setdefault(prompt_head(turn), []).append(turn)
        if not heads:
            return
        decoder = self._decoder
        decoder.prefixes.keep_only(heads.keys(), {tuple(i.sha256 for i in asked[0].images) for asked in heads.values()})
        wanted = CHECKED_IMAGES - decoder.images_checked
        if wanted <= 0:
            return
        # Those with most questions, so that they are seen not to look at each other.
        some = sorted(heads.values(), key=len, reverse=True)[:wanted]
        decoder.verify([self._sampled(asked, folder) for asked in some])

    def _sampled(self, turns: Sequence[Turn], folder: Path) -> list[tuple[Prompt, Any]]:
        prompts = self._prompts.build(turns[: check.MAX_CANDIDATES], folder)
        picked = check.sample(prompts)
        return [(prompts[index], self._prompts.build_batch([turns[index]], folder)) for index in picked]

    def _answer(
        self, turns: Sequence[Turn], made: Any, folder: Path, *, shared: bool, limit: int | None = None
    ) -> list[Reply]:
        """The replies to one chunk; when memory runs out, to its two halves in turn. A ``limit`` of new tokens, lower
        than the turns' own, is kept where nothing is shared."""
        started = time.perf_counter()
        failure = ""
        try:
            replies = self._generate_shared(turns, made, folder) if shared else self._generate(turns, made, limit)
        except (RuntimeError, MemoryError) as error:
            if not _memory.is_out_of_memory(error):
                raise
            failure = str(error).partition("\n")[0] or type(error).__name__
        seconds = (time.perf_counter() - started) / len(turns)
        # Only here are the failed pass's tensors free: the exception had held them.
        if not failure:
            return [replace(reply, seconds=seconds) for reply in replies]
        if self._decoder is not None:
            self._decoder.prefixes.clear()
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        if len(turns) == 1:
            return [Reply(text="", finish="error", error=f"out of memory: {failure}", seconds=seconds)]
        half = len(turns) // 2
        return [
            reply
            for some in (slice(None, half), slice(half, None))
            for reply in self._answer(
                turns[some],
                made[some] if shared else self._prompts.build_batch(turns[some], folder),
                folder,
                shared=shared,
                limit=limit,
            )
        ]

    def _generate_shared(self, turns: Sequence[Turn], prompts: Sequence[Prompt], folder: Path) -> list[Reply]:
        """The replies by a shared prefix; by ``generate``, once sharing has been given up."""
        replies: dict[int, Reply] = {}
        for some in self._decoder.split(prompts) if self._decoder.plans else ():
            asked = [turns[index] for index in some]
            limits = [self.max_new_tokens or turn.max_new_tokens for turn in asked]
            forms, recorder = self._recorder(asked)
            try:
                written = self._decoder.decode([prompts[index] for index in some], limits, recorder)
            except Exception as error:
                if isinstance(error, (RuntimeError, MemoryError)) and _memory.is_out_of_memory(error):
                    raise
                self._decoder.disable_all(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
                break
            for row, index in enumerate(some):
                reply = self._reply(asked[row], written[row], forms[row], recorder, row)
                replies[index] = self._with_token_counts(reply, prompts[index].ids)
        left = [index for index in range(len(turns)) if index not in replies]
        again = [turns[index] for index in left]
        for batch in batches(again, self._unshared_batch_size, max_new_tokens=self.max_new_tokens):
            asked = [again[index] for index in batch]
            found = self._generate(asked, self._prompts.build_batch(asked, folder))
            replies |= {left[index]: reply for index, reply in zip(batch, found, strict=True)}
        return [replies[index] for index in range(len(turns))]

    @torch.inference_mode()
    def _generate(self, turns: Sequence[Turn], inputs: Any, limit: int | None = None) -> list[Reply]:
        """The replies by one ``generate`` call."""
        model = self.checkpoint.model
        inputs = inputs.to(self.device, dtype=model.dtype)
        forms, recorder = self._recorder(turns)
        sequences = model.generate(
            **inputs,
            generation_config=self.checkpoint.generation,
            max_new_tokens=limit or self.max_new_tokens or turns[0].max_new_tokens,
            logits_processor=[recorder],
        )
        new_tokens = sequences[:, -recorder.steps :].tolist()
        prompts = [
            row[there.bool()].tolist()
            for row, there in zip(inputs["input_ids"].cpu(), inputs["attention_mask"].cpu(), strict=True)
        ]
        return [
            self._with_token_counts(self._reply(turn, new_tokens[row], forms[row], recorder, row), prompts[row])
            for row, turn in enumerate(turns)
        ]

    def _recorder(self, turns: Sequence[Turn]) -> tuple[list[Forms], LabelRecorder]:
        forms = [self._forms(turn.labels or ()) for turn in turns]
        return forms, LabelRecorder(token for row in forms for tokens in row.values() for token in tokens)

    def _with_token_counts(self, reply: Reply, prompt: Sequence[int]) -> Reply:
        """With the tokens of its prompt, and those of them that stand for pictures."""
        pictures = image_token_ids(self.checkpoint)
        visual = sum(token in pictures for token in prompt) if pictures else None
        return replace(reply, input_tokens=len(prompt), visual_tokens=visual)

    def _reply(self, turn: Turn, new_tokens: list[int], forms: Forms, recorder: LabelRecorder, row: int) -> Reply:
        tokenizer = self.checkpoint.tokenizer
        tokens, finish = self._cut_at_end(new_tokens)
        if not recorder.sound(row, len(tokens)):
            error = f"the logits are no finite numbers in {self.facts['dtype']}; use float32 or bfloat16"
            return Reply(text="", finish="error", error=error)
        logprobs = None
        if turn.labels and len(forms) == len(turn.labels):
            logprobs = recorder.logprobs(row, label_step(tokenizer, tokens, forms), forms)
        text = tokenizer.decode(tokens, skip_special_tokens=True)
        return Reply(text=text, logprobs=logprobs, output_tokens=len(tokens), finish=finish)

    def _forms(self, labels: tuple[str, ...]) -> Forms:
        if labels not in self._known_forms:
            self._known_forms[labels] = token_forms(self.checkpoint.tokenizer, labels)
        return self._known_forms[labels]

    def _cut_at_end(self, tokens: list[int]) -> tuple[list[int], str]:
        """A row's tokens up to and with its end token (padding follows), and how it finished."""
        ends = self.checkpoint.generation.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or ())
        for place, token in enumerate(tokens):
            if token in ends:
                return tokens[: place + 1], "stop"
        return tokens, "length"

    def _check_batch_invariance(self, turn: Turn, reply: Reply, folder: Path) -> None:
        """What does the same turn say at batch 1, by ``generate``? In float32 it has to say the same."""
        if self._invariance is None or not reply.logprobs or not self._invariance.is_due(self._answered):
            return
        made = self._prompts.build_batch([turn], folder)
        # Nothing that is compared comes with the end token; unless the letter comes later than it did together.
        short = max(1, reply.output_tokens - 1) if reply.finish == "stop" else None
        for limit in dict.fromkeys((short, None)):
            alone = self._answer([turn], made, folder, shared=False, limit=limit)[0]
            if alone.logprobs:
                break
        if not alone.logprobs:
            return
        self._invariance.add(alone.logprobs, reply.logprobs)
        self._disable_sharing_if_inaccurate(f"after {self._answered} turns")

    def _disable_sharing_if_inaccurate(self, when: str) -> None:
        """In float32 a shared prefix gives what ``generate`` gives, or is shared no more."""
        if not self._half and self._decoder.plans and self._invariance.largest_difference > TOLERANCE_NATS:
            apart = f"{self._invariance.largest_difference:.2g} nats"
            self._decoder.disable_all(f"a letter's log-probability differs from generate's by {apart}, {when}")


def _thread_limit(threads: int) -> int:
    """So many, or fewer where Snakemake, which was given fewer cores, says so."""
    most = os.environ.get("OMP_NUM_THREADS", "")
    return min(threads, int(most)) if most.isdecimal() and int(most) else threads


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

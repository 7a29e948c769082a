"""The `transformers` engine: any image-text-to-text checkpoint with a chat template, in process, on a CPU or a GPU.

An image's tokens are computed once for all questions about it (`prefix_sharing`). If a model cannot share prefixes,
sharing is off, or replies are sampled, batches go through ``generate``. In each case the same forward passes give the
text and the options' log-probabilities. Needs torch, transformers, NumPy and Pillow only. See docs/shared_prefixes.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from known_unknowns.config import TransformersModel
from known_unknowns.engines import _checkpoint, _device
from known_unknowns.engines._batch_invariance import TOLERANCE_NATS, BatchInvarianceCheck
from known_unknowns.engines._generation import Generation, explained
from known_unknowns.engines._grouping import Chunk, batches, prefix_chunks
from known_unknowns.engines._likelihood import ContinuationScorer
from known_unknowns.engines._prompts import PromptBuilder, prefetch, prompt_head
from known_unknowns.engines._reply_builder import ReplyBuilder
from known_unknowns.engines.memory_needs import require_memory
from known_unknowns.errors import ConfigError, KnownUnknownsError
from known_unknowns.images import recipe_image
from known_unknowns.records import Reply, Turn, sampling_seed
from known_unknowns.unusable import MAX_FIRST
from prefix_sharing import PaddingCheck, Prompt, SharedPrefixDecoder, check, choose_kernels
from prefix_sharing.architecture import has_length_dependent_positions
from prefix_sharing.prompts import image_token_ids, special_token_ids
from prefix_sharing.shared_decoder import CHECKED_PREFIXES

OFF, AUTO, ON = "off", "auto", "on"
_YAML_BOOLEANS = {False: OFF, True: ON}
"""YAML reads a bare off and on as booleans."""
_PLAIN_SIZE = 224
_UNSHARED_BATCH_SIZE = 8
"""Default number of turns in one call of ``generate``, where whole prompts of unequal length are padded."""
_TIMED = 2
"""Number of measurements of each way of asking, after a warm-up. The shortest counts."""


class TransformersEngine:
    """Answers turns with a checkpoint.

    Raises ConfigError if the checkpoint cannot be used (see `_checkpoint.load`), or the device does not exist.

    Notes
    -----
    ``Reply.text`` holds the new tokens without special tokens, and without reasoning, which ``details`` holds.
    ``finish`` is "stop", "length" if the limit cut the reply, "rejected" if no prompt can be built, or "error";
    ``error`` explains the last two. ``output_tokens`` includes the end token. ``logprobs`` are natural logarithms over
    the whole vocabulary, rounded to 6 decimals, at the step of the reply's first bare option label (else at step 0).
    They are None for free text, or if a label is not a single token. ``seconds`` is the chunk's time divided by its
    size.

    ``about["sharing"]`` reports the plans used, their difference from ``generate`` in the check, the seconds of the
    check's turns asked both ways (``sharing: auto``), and the disabled plans with the reason.
    ``about["linear_layers"]`` and ``about["vision_attention"]`` name their implementation (see
    `prefix_sharing.choose_kernels`).
    ``about["certificate"]`` reports, in half precision and for shared prefixes, how often the chosen option differs
    from that at batch size 1.
    """

    scripted = False

    def __init__(self, name: str, entry: TransformersModel) -> None:
        self.name = name
        self.device = _device.select_device(entry.device, path=f"models.{name}.device")
        require_memory(name, entry, self.device)
        if entry.threads is not None:
            _device.limit_threads(entry.threads)
        self.system = entry.system
        self.max_new_tokens = entry.decoding.max_new_tokens
        self.sharing: str = _YAML_BOOLEANS[entry.sharing] if isinstance(entry.sharing, bool) else entry.sharing
        self.notes: Path | None = None
        self.checkpoint = _checkpoint.load(name, entry, self.device)
        model = self.checkpoint.model
        self._parameters = sum(weight.numel() for weight in model.parameters())
        self._kernels = choose_kernels(model)
        self._capacity = _device.capacity(model, self.device)
        self.batch_size = entry.batch_size or self._capacity.batch_size
        # A longer prompt in a batch would change the positions of a shorter one.
        unshared = 1 if has_length_dependent_positions(model) else min(_UNSHARED_BATCH_SIZE, self._capacity.batch_size)
        self._unshared_batch_size = entry.batch_size or unshared
        self._prompts = PromptBuilder(self.checkpoint, self.system, entry.template)
        if self.system and self._prompts.drops_system():
            message = "the chat template drops the system text, so that it changes nothing; remove the key"
            raise ConfigError(message, path=f"models.{name}.system")
        self._generation = Generation(self.checkpoint)
        self._marks = entry.reasoning.marks if entry.reasoning else None
        self._replies = ReplyBuilder(self.checkpoint, entry.dtype, self._marks)
        self._scorer = ContinuationScorer(self.checkpoint, self._prompts, entry.dtype)
        self._any_turn_accepted = False
        self._answered = 0
        self.facts = self._facts(entry)
        self._half = entry.dtype != "float32"
        self._sharing_error = ""
        self._decoder = self._create_decoder()
        self._padding = PaddingCheck(model)
        compares = self._half or self._decoder is not None or self._unshared_batch_size > 1
        self._invariance = BatchInvarianceCheck(self.facts, half=self._half) if compares else None
        self.about = self._about()

    def reference_prompt(self) -> dict[str, Any] | None:
        """Return how a fixed question about a fixed image is rendered (see `engines.RendersReference`)."""
        try:
            rendered = self._prompts.reference()
        except Exception:  # the first question explains why it cannot be asked
            return None
        environment = _device.environment(self.device)
        versions = {name: environment[name] for name in ("transformers", "tokenizers", "torch")}
        return rendered | {"versions": versions | {"pillow": version("pillow"), "numpy": version("numpy")}}

    def _create_decoder(self) -> SharedPrefixDecoder | None:
        if self.sharing == OFF:
            return None
        if self.checkpoint.sampling:  # likelihoods are not, and share prefixes
            self._sharing_error = "its replies are sampled"
        if not image_token_ids(self.checkpoint.model):
            self._sharing_error = "its configuration does not name the token that represents images"
            return None
        try:
            return SharedPrefixDecoder(
                self.checkpoint.model,
                closing_tokens=special_token_ids(self.checkpoint.tokenizer),
                cache_bytes=_device.CACHE_BYTES,
                prefixes_per_pass=self._capacity.prefixes,
                tokens_per_pass=self._capacity.tokens_per_pass,
            )
        except Exception as error:  # of models that do not support it
            self._sharing_error = str(error) if isinstance(error, ValueError) else check.failure(error)
            return None

    def _facts(self, entry: TransformersModel) -> dict[str, Any]:
        decoding = _checkpoint.decoding_facts(self.checkpoint)
        if self.max_new_tokens is not None:
            decoding["max_new_tokens"] = self.max_new_tokens
        return {
            "engine": "transformers",
            **self.checkpoint.identity,
            "dtype": entry.dtype,
            "decoding": decoding,
            "system": self.system,
            **({"reasoning": self._marks} if self._marks else {}),
            **({"template": entry.template} if entry.template else {}),
        }

    def _about(self) -> dict[str, Any]:
        return {
            **_device.environment(self.device),
            "parameters": self._parameters,
            "unexpected_tensors": list(self.checkpoint.unexpected),
            "batch_size": self.batch_size,
            **self._kernels,
            "sharing": self._sharing_summary(),
        }

    def _sharing_summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = {"asked": self.sharing}
        if self._decoder is not None:
            summary |= self._decoder.summary()
        if self.sharing == AUTO and self._invariance is not None and self._invariance.seconds:
            summary["seconds"] = self._invariance.seconds
        if self._sharing_error:
            summary["fell_back"] = [{"plan": "all", "why": self._sharing_error}, *summary.get("fell_back", ())]
        self._padding.add_to(summary)
        return summary

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        """Answer every turn once, a chunk at a time. Turns that cannot be asked are failed replies, beside others.

        Raises
        ------
        DataError
            An image cannot be read.
        ConfigError
            None of many turns can be asked, or the model fails at the first.
        """
        answers = self._answer_turns(turns, folder)
        path = f"models.{self.name}.source"
        yield from explained(answers, self.checkpoint.model, path=path, worked=lambda: bool(self._answered))

    def _answer_turns(self, turns: Sequence[Turn], folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        left, rejected = list(range(len(turns))), self._rejected(turns, folder)
        while True:
            left = [index for index in left if index not in rejected]
            answered: set[int] = set()
            try:
                for rows in self._answer_chunks([turns[index] for index in left], folder):
                    answered.update(left[index] for index, _ in rows)
                    yield [*rejected.items(), *((left[index], reply) for index, reply in rows)]
                    rejected = {}
                if rejected:
                    yield list(rejected.items())
                return
            except (KnownUnknownsError, OSError, MemoryError, torch.OutOfMemoryError):
                raise
            except Exception:  # processors raise errors of many types
                left = [index for index in left if index not in answered]
                unprepared = self._unprepared({index: turns[index] for index in left}, folder)
                if not unprepared:
                    raise
                rejected |= unprepared

    def _unprepared(self, turns: Mapping[int, Turn], folder: Path) -> dict[int, Reply]:
        """Return failed replies to the turns that the processor cannot prepare, by their indices.

        There are none if it cannot prepare a plain image either: the fault is then not in the questions.
        """
        reasons: dict[Any, str | None] = {}
        rejected: dict[int, Reply] = {}
        for index, turn in turns.items():
            head = prompt_head(turn)
            if not reasons and self._prompts.failure(_with_plain_images(turn), folder) is not None:
                return {}
            if head not in reasons:
                reasons[head] = self._prompts.failure(turn, folder)
            if (reason := reasons[head]) is not None:
                images = ", ".join(image.source for image in turn.images) or "no image"
                error = f"the processor cannot prepare the question {turn.question_id} with {images} ({reason})"
                rejected[index] = Reply(text="", finish="rejected", error=error)
        return rejected

    def _rejected(self, turns: Sequence[Turn], folder: Path) -> dict[int, Reply]:
        """Return failed replies to the turns that no prompt can be built for, by their indices.

        Each turn is checked alone, so that the others are grouped as if the rejected ones did not exist.
        """
        candidates = [index for index, turn in enumerate(turns) if self._prompts.has_control_token(turn.text)]
        self._any_turn_accepted = self._any_turn_accepted or len(candidates) < len(turns)
        rejected: dict[int, Reply] = {}
        for index in candidates:
            reason = self._prompts.rejection_reason(turns[index], folder)
            if reason is None:
                self._any_turn_accepted = True
                continue
            rejected[index] = Reply(text="", finish="rejected", error=reason)
            if len(rejected) >= MAX_FIRST and not self._any_turn_accepted:
                raise ConfigError(f"no question can be asked: {reason}; none is recorded", path=f"models.{self.name}")
        return rejected

    def _answer_chunks(self, turns: Sequence[Turn], folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        if self._invariance is not None:
            self._invariance.load(self.notes)
            self._disable_sharing_if_inaccurate("found in a previous run")
            self._disable_sharing_if_slower()
        try:
            self._check_sharing(turns, folder)
            self._check_padding([turn for turn in turns if not self._shares(turn) and not _is_scored(turn)], folder)

            def build(chunk: Chunk) -> Any:
                return self._build_inputs([turns[index] for index in chunk.indices], folder, shared=chunk.shared)

            for chunk, inputs in prefetch(build, self._chunks(turns), spare=_device.has_spare_core(self.device)):
                members = [turns[index] for index in chunk.indices]
                replies = self._answer(members, inputs, folder, shared=chunk.shared)
                yield list(zip(chunk.indices, replies, strict=True))
                self._answered += len(members)
                if self._half or chunk.shared or len(members) > 1:
                    self._check_batch_invariance(members[0], replies[0], folder, padded=not chunk.shared)
        finally:
            self.about["sharing"] = self._sharing_summary()
            if self._invariance is not None:
                self.about["certificate"] = self._invariance.summary()

    def _shares(self, turn: Turn) -> bool:
        if self.checkpoint.sampling and not _is_scored(turn):
            return False
        return self._decoder is not None and bool(self._decoder.plans) and bool(turn.images)

    def _chunks(self, turns: Sequence[Turn]) -> Iterator[Chunk]:
        sharing = {index for index, turn in enumerate(turns) if self._shares(turn)}
        scored = [index for index, turn in enumerate(turns) if _is_scored(turn)]
        capacity = self._capacity
        for group in (sorted(sharing.difference(scored)), sorted(sharing.intersection(scored))):
            for indices in prefix_chunks(
                turns, group, size=self.batch_size, tokens=capacity.tokens, max_images=capacity.images
            ):
                yield Chunk(indices, shared=True)
        yield from (Chunk([index], shared=False) for index in scored if index not in sharing)
        rest = [index for index in range(len(turns)) if index not in sharing.union(scored)]
        plain = [turns[index] for index in rest]
        for batch in batches(plain, self._unshared_batch_size, max_new_tokens=self.max_new_tokens):
            size = min(len(batch), self._unshared_batch_size)  # 1 if a check has failed since
            for start in range(0, len(batch), size):
                yield Chunk([rest[index] for index in batch[start : start + size]], shared=False)

    def _build_inputs(self, turns: Sequence[Turn], folder: Path, *, shared: bool) -> Any:
        if not shared:
            return self._prompts.build_batch_or_each(turns, folder)
        prompts = self._prompts.build(turns, folder)
        if self._decoder is not None:
            self._decoder.prepare(prompts, self._prompts.pool)
        return prompts

    def _check_sharing(self, turns: Sequence[Turn], folder: Path) -> None:
        """Compare sharing with ``generate`` at the first use, and drop prefixes that these turns do not need."""
        heads: dict[Any, list[Turn]] = {}
        for turn in turns:
            if self._shares(turn):
                heads.setdefault(prompt_head(turn), []).append(turn)
        if not heads or self._decoder is None:
            return
        images = {image.sha256 for members in heads.values() for image in members[0].images}
        self._decoder.prefixes.keep_only(heads.keys(), images)
        remaining = CHECKED_PREFIXES - self._decoder.prefixes_checked
        if remaining <= 0:
            return
        # The heads with the most questions, to check that questions do not attend to each other.
        largest = sorted(heads.values(), key=len, reverse=True)[:remaining]
        prompts: list[Prompt] = []
        inputs: list[Any] = []
        asked: list[Turn] = []
        for members in largest:
            candidates = self._prompts.build(members[: check.MAX_CANDIDATES], folder)
            for index in check.sample(candidates):
                prompts.append(candidates[index])
                inputs.append(self._prompts.build_batch([members[index]], folder))
                asked.append(members[index])
        self._decoder.verify(prompts, inputs)
        # Without two turns about the same images there is nothing to gain yet.
        if self.sharing == AUTO and self._decoder.plans and len(largest[0]) > 1:
            self._time_both_ways(self._decoder, asked, prompts, folder)
            self._disable_sharing_if_slower()

    def _time_both_ways(
        self, decoder: SharedPrefixDecoder, turns: Sequence[Turn], prompts: Sequence[Prompt], folder: Path
    ) -> None:
        """Time the first tokens after the check's turns, with shared prefixes and by ``generate``, once in a run."""
        if self._invariance is None or self._invariance.seconds:
            return
        self._check_padding(turns, folder)
        whole: list[Any] = []
        for batch in batches(turns, self._unshared_batch_size, max_new_tokens=check.STEPS):
            inputs = self._prompts.build_batch_or_each([turns[index] for index in batch], folder)
            whole += inputs if isinstance(inputs, list) else [inputs]
        shared: list[float] = []
        plain: list[float] = []
        try:
            for _ in range(1 + _TIMED):
                shared.append(decoder.seconds(prompts))
                started = time.perf_counter()
                for inputs in whole:
                    check.reference(self.checkpoint.model, inputs)
                plain.append(time.perf_counter() - started)
        except (RuntimeError, MemoryError) as error:
            if not _device.is_out_of_memory(error):
                raise
            return  # the turns are asked in smaller chunks
        self._invariance.add_seconds({"shared": min(shared[1:]), "generate": min(plain[1:])})

    def _disable_sharing_if_slower(self) -> None:
        if self.sharing != AUTO or self._decoder is None or self._invariance is None:
            return
        seconds = self._invariance.seconds
        if seconds and seconds["shared"] >= seconds["generate"]:
            self._decoder.disable_all(
                f"generate is faster on this machine: {seconds['generate']:g} s for the turns of the check, against "
                f"{seconds['shared']:g} s"
            )

    def _answer(
        self, turns: Sequence[Turn], inputs: Any, folder: Path, *, shared: bool, limit: int | None = None
    ) -> list[Reply]:
        """Return the replies to one chunk; if memory runs out, to its two halves in turn.

        ``limit`` lowers the limit of new tokens. It applies without sharing only.
        """
        started = time.perf_counter()
        failure = ""
        try:
            if _is_scored(turns[0]):
                replies = self._score(turns, inputs, folder, shared=shared)
            elif shared:
                replies = self._generate_shared(turns, inputs, folder)
            else:
                replies = self._generate(turns, inputs, limit)
        except (RuntimeError, MemoryError) as error:
            if not _device.is_out_of_memory(error):
                raise
            failure = str(error).partition("\n")[0] or type(error).__name__
        seconds = (time.perf_counter() - started) / len(turns)
        # The failed pass's tensors are free only here, because the exception referenced them.
        if not failure:
            return [replace(reply, seconds=seconds) for reply in replies]
        if self._decoder is not None:
            self._decoder.prefixes.clear()
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
        if len(turns) == 1:
            return [Reply(text="", finish="error", error=f"out of memory: {failure}", seconds=seconds)]
        half = len(turns) // 2
        _device.report_halving(self.name, self.about, len(turns), failure)
        return [
            reply
            for part in (slice(None, half), slice(half, None))
            for reply in self._answer(
                turns[part],
                inputs[part] if shared else self._prompts.build_batch_or_each(turns[part], folder),
                folder,
                shared=shared,
                limit=limit,
            )
        ]

    def _score(self, turns: Sequence[Turn], inputs: Any, folder: Path, *, shared: bool) -> list[Reply]:
        """Return the likelihoods of the options' texts, by shared prefixes or by whole prompts."""
        decoder = self._decoder
        if not shared:
            return [self._scorer.plain(turn, inputs) for turn in turns]
        if decoder is not None and decoder.scores_continuations:
            try:
                return self._scorer.shared(decoder, turns, inputs)
            except Exception as error:
                if isinstance(error, (RuntimeError, MemoryError)) and _device.is_out_of_memory(error):
                    raise
                decoder.disable_all(check.failure(error))
        return [self._scorer.plain(turn, self._prompts.build_batch([turn], folder)) for turn in turns]

    def _generate_shared(self, turns: Sequence[Turn], prompts: Sequence[Prompt], folder: Path) -> list[Reply]:
        """Return the replies by shared prefixes; by ``generate`` if sharing is disabled."""
        replies: dict[int, Reply] = {}
        decoder = self._decoder
        if decoder is not None and decoder.plans:
            for indices in decoder.split(prompts):
                members = [turns[index] for index in indices]
                limits = [self.max_new_tokens or turn.max_new_tokens for turn in members]
                recorder = self._replies.recorder(members)
                try:
                    tokens = decoder.decode([prompts[index] for index in indices], limits, recorder.record)
                except Exception as error:
                    if isinstance(error, (RuntimeError, MemoryError)) and _device.is_out_of_memory(error):
                        raise
                    decoder.disable_all(check.failure(error))
                    break
                for row, index in enumerate(indices):
                    replies[index] = self._replies.build(turns[index], prompts[index].ids, tokens[row], recorder, row)
        left = [index for index in range(len(turns)) if index not in replies]
        rest = [turns[index] for index in left]
        self._check_padding(rest, folder)
        for batch in batches(rest, self._unshared_batch_size, max_new_tokens=self.max_new_tokens):
            members = [rest[index] for index in batch]
            answers = self._generate(members, self._prompts.build_batch_or_each(members, folder))
            replies |= {left[index]: reply for index, reply in zip(batch, answers, strict=True)}
        return [replies[index] for index in range(len(turns))]

    def _generate(self, turns: Sequence[Turn], inputs: Any, limit: int | None = None) -> list[Reply]:
        """Return the replies by one call of ``generate``, or by one for each turn if there is no batch of them."""
        if isinstance(inputs, list):
            return [self._generate([turn], own, limit)[0] for turn, own in zip(turns, inputs, strict=True)]
        inputs = inputs.to(self.device, dtype=self.checkpoint.model.dtype)
        recorder = self._replies.recorder(turns)
        limit = limit or self.max_new_tokens or turns[0].max_new_tokens
        seeds = [sampling_seed(turn.key(self.facts)) for turn in turns] if self.checkpoint.sampling else []
        new_tokens = self._generation(inputs, recorder, limit, seeds)
        prompts = [
            ids[mask.bool()].tolist()
            for ids, mask in zip(inputs["input_ids"].cpu(), inputs["attention_mask"].cpu(), strict=True)
        ]
        return [
            self._replies.build(turn, prompts[row], new_tokens[row], recorder, row) for row, turn in enumerate(turns)
        ]

    def _check_padding(self, turns: Sequence[Turn], folder: Path) -> None:
        """Compare a padded batch of ``generate`` with its turns alone. If it differs, use no batches any more."""
        for batch in batches(turns, self._unshared_batch_size, max_new_tokens=self.max_new_tokens):
            members = [turns[index] for index in batch]

            def encode(indices: Sequence[int], members: Sequence[Turn] = members) -> Any:
                return self._prompts.build_batch([members[index] for index in indices], folder)

            self._padding.check(len(members), encode)
            if self._padding.fault:
                self._unshared_batch_size = 1
                return

    def _check_batch_invariance(self, turn: Turn, reply: Reply, folder: Path, *, padded: bool) -> None:
        """Ask a turn again at batch size 1, by ``generate``, if one more sample is due."""
        if self._invariance is None or not reply.logprobs or not self._invariance.is_due(self._answered):
            return
        inputs = self._prompts.build_batch([turn], folder)
        # The end token is not compared, so it need not be generated. Without a label, try the full limit.
        short = max(1, (reply.output_tokens or 0) - 1) if reply.finish == "stop" else None
        for limit in dict.fromkeys((short, None)):
            alone = self._answer([turn], inputs, folder, shared=False, limit=limit)[0]
            if alone.logprobs:
                self._invariance.add(alone.logprobs, reply.logprobs, padded=padded)
                self._disable_sharing_if_inaccurate(f"after {self._answered} turns")
                return

    def _disable_sharing_if_inaccurate(self, when: str) -> None:
        """In float32, disable a way of batching that differs from ``generate`` for one turn."""
        if self._half or self._invariance is None:
            return
        if (apart := self._invariance.largest_of_padded) > TOLERANCE_NATS and self._unshared_batch_size > 1:
            self._padding.fault = f"an option's log-probability differs from that of a turn alone by {apart:.2g} nats"
            self._unshared_batch_size = 1
        if self._decoder is None or not self._decoder.plans:
            return
        difference = self._invariance.largest_difference
        if difference > TOLERANCE_NATS:
            text = f"an option's log-probability differs from generate's by {difference:.2g} nats, {when}"
            self._decoder.disable_all(text)


def _is_scored(turn: Turn) -> bool:
    """Whether a turn asks for likelihoods, and for no text."""
    return turn.continuations is not None


def _with_plain_images(turn: Turn) -> Turn:
    """Return a turn with a grey square in place of each image."""
    square = recipe_image("blank", _PLAIN_SIZE, _PLAIN_SIZE)
    return replace(turn, content=tuple(part if isinstance(part, str) else square for part in turn.content))

"""Choice of the plan for prefix sharing: the cheapest of those that agree with ``generate``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import torch

from known_unknowns.engines._checkpoint import Checkpoint
from known_unknowns.engines._option_labels import LabelRecorder
from known_unknowns.engines._prompts import Prompt, image_token_ids, special_token_ids
from prefix_sharing import check
from prefix_sharing.architecture import Architecture
from prefix_sharing.decoding import Continuation, DecodingRules, decode
from prefix_sharing.prefix import Prefix
from prefix_sharing.prefix_cache import PrefixCache
from prefix_sharing.prefix_plans import PrefixPlans
from prefix_sharing.rows import QuestionState, RowContinuation
from prefix_sharing.segments import Segment, forward_segments
from prefix_sharing.state_copies import StateCopies
from prefix_sharing.token_tree import (
    MAX_PACKED_TOKENS,
    PACKED,
    ROWS,
    TokenTree,
    TreePass,
    build_trees,
    estimate_cost,
    estimate_segments_cost,
    forward_trees,
)

COPIES, SEPARATE = "copies", "separate"
CHECKED_IMAGES = 2
"""Number of images on whose questions a plan is checked."""

Started = tuple[torch.Tensor, Callable[[Sequence[int]], Continuation]]
"""The logits of the first tokens, and the function that continues from there (see `decoding.decode`)."""


class SharedPrefixDecoder:
    """Answers prompts that share prefixes.

    Parameters
    ----------
    checkpoint : Checkpoint
        The model.
    limit : int
        Bytes for cached prefixes and image features.
    prefixes_per_pass : int
        Prefixes computed in one pass.
    tokens : int
        Tokens of questions in one pass; longer passes are not more efficient.

    Raises
    ------
    ValueError
        The model cannot share prefixes.
    """

    def __init__(self, checkpoint: Checkpoint, *, limit: int, prefixes_per_pass: int, tokens: int) -> None:
        self._model = checkpoint.model
        if not image_token_ids(checkpoint):
            raise ValueError("its configuration does not name the token that represents images")
        self._rules = DecodingRules.from_config(checkpoint.generation, str(self._model.device))
        self._architecture = Architecture.from_model(self._model)
        self.plans = [COPIES] if self._architecture.recurrent else [PACKED, ROWS]
        if self._architecture.can_continue:
            self.plans.append(SEPARATE)
        self.disabled_plans: list[dict[str, str]] = []
        self.differences: dict[str, float] = {}
        self.used: Counter[str] = Counter()
        self.images_checked = 0
        self._limit = limit
        self._at_once = prefixes_per_pass
        self._tokens = tokens
        self.prefix_plans = PrefixPlans(
            self._model,
            self._architecture,
            feature_bytes=limit // 4,
            together=prefixes_per_pass > 1,
            image_tokens=image_token_ids(checkpoint),
            closing_tokens=special_token_ids(checkpoint),
        )
        self.prefixes = self._new_prefixes()

    @property
    def weights(self) -> int:
        """Number of weights that a text token passes through."""
        return self._architecture.weights

    def summary(self) -> dict[str, Any]:
        """Return what is recorded: prompts per plan, differences from ``generate``, and the disabled plans."""
        return {
            "prompts": dict(self.used),
            "checked_on_pictures": self.images_checked,
            "differences": {plan: float(f"{worst:.2g}") for plan, worst in self.differences.items()},
            "fell_back": list(self.disabled_plans),
            "prefixes": self.prefixes.summary(),
        }

    def _new_prefixes(self) -> PrefixCache:
        if self.prefix_plans.encoder is not None:
            self.prefix_plans.encoder.forget()
        return PrefixCache(self.prefix_plans, limit=self._limit, prefixes_per_pass=self._at_once)

    def prepare(self, prompts: Sequence[Prompt], pool: Executor) -> None:
        """Do in other threads what `decode` needs and the model need not wait for."""
        if self.prefix_plans.encoder is not None:
            self.prefix_plans.encoder.prepare(prompts, pool)

    def decode(self, prompts: Sequence[Prompt], limits: Sequence[int], recorder: LabelRecorder) -> list[list[int]]:
        """Return the tokens of the replies. `split` returns which prompts may share a call."""
        first, continue_from = self._start(prompts)
        ids = [prompt.ids for prompt in prompts]
        return decode(first, continue_from, prompts=ids, limits=limits, rules=self._rules, recorder=recorder)

    def split(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Return which prompts share one call of `decode`: all of them, except for recurrent models."""
        if not self._architecture.recurrent:
            return [list(range(len(prompts)))]
        alike: dict[Any, list[int]] = {}
        for index, prompt in enumerate(prompts):
            alike.setdefault((prompt.head, len(prompt.ids)), []).append(index)
        return list(alike.values())

    def disable(self, plan: str, why: str) -> None:
        """Disable a plan."""
        self.plans.remove(plan)
        self.disabled_plans.append({"plan": plan, "why": why})

    def disable_all(self, why: str) -> None:
        """Disable all plans."""
        for plan in list(self.plans):
            self.disable(plan, why)

    def verify(self, groups: Sequence[Sequence[tuple[Prompt, Any]]]) -> None:
        """Compare each plan with ``generate`` in float32, and disable those that differ.

        Parameters
        ----------
        groups : sequence
            For one or two images, their prompts, each with the processor's tensors for it.
        """
        self.images_checked += len(groups)
        try:
            with check.in_float32(self._model):
                expected = [check.reference(self._model, inputs) for group in groups for _, inputs in group]
                prompts = [prompt for group in groups for prompt, _ in group]
                for plan in list(self.plans):
                    self._verify_plan(plan, prompts, expected)
        except (torch.OutOfMemoryError, MemoryError):
            self.disable_all("there is not enough memory to check it against generate in float32")
        finally:
            self.prefixes = self._new_prefixes()

    def _verify_plan(
        self, plan: str, prompts: Sequence[Prompt], expected: Sequence[tuple[torch.Tensor, list[int]]]
    ) -> None:
        try:
            self.prefixes = self._new_prefixes()
            worst = max(
                self._difference(plan, [prompts[index] for index in some], [expected[index] for index in some])
                for some in self.split(prompts)
            )
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:  # any error of a model that does not support it
            self.disable(plan, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
            return
        self.differences[plan] = max(worst, self.differences.get(plan, 0.0))
        if not worst <= check.TOLERANCE:
            self.disable(plan, f"its logits differ from generate's by {worst:.2g} of their standard deviation")

    @torch.inference_mode()
    def _difference(
        self, plan: str, prompts: Sequence[Prompt], expected: Sequence[tuple[torch.Tensor, list[int]]]
    ) -> float:
        """Return the largest difference at the first and the second token of the replies."""
        logits, continue_from = self._start(prompts, plan)
        worst = max(check.difference(row.float(), steps[0]) for row, (steps, _) in zip(logits, expected, strict=True))
        longer = [index for index, (steps, _) in enumerate(expected) if len(steps) > 1]
        if longer:
            logits = continue_from(longer).step([expected[index][1][0] for index in longer])
            for row, index in zip(logits, longer, strict=True):
                worst = max(worst, check.difference(row.float(), expected[index][0][1]))
        return worst

    @torch.inference_mode()
    def _start(self, prompts: Sequence[Prompt], plan: str | None = None) -> Started:
        """Compute the first tokens' logits, by the given plan or by the cheapest."""
        one_each = list({prompt.head: prompt for prompt in prompts}.values())
        prefixes = dict(zip((prompt.head for prompt in one_each), self.prefixes.get(one_each), strict=True))
        if self._architecture.recurrent:
            self.used[COPIES] += len(prompts) if plan is None else 0
            return self._forward_copies(
                prefixes[prompts[0].head], [prompt.ids[prompt.prefix_length :] for prompt in prompts]
            )
        left: dict[int, QuestionState] = {}
        for some in split_into_passes([prompt.head for prompt in prompts], list(map(_length, prompts)), self._tokens):
            asked = [prompts[index] for index in some]
            states = self._pass(asked, prefixes, plan)
            left |= zip(some, states, strict=True)
        first = torch.stack([left[index].tree_pass.logits[left[index].question] for index in range(len(prompts))])

        def continue_from(questions: Sequence[int]) -> Continuation:
            return RowContinuation(self._model, self._architecture, [left[question] for question in questions])

        return first, continue_from

    def _pass(self, prompts: Sequence[Prompt], prefixes: Mapping[Any, Prefix], plan: str | None) -> list[QuestionState]:
        """Compute some questions in one pass, by the given plan or by the cheapest."""
        ways: dict[str, list[TokenTree]] = {
            name: _trees(prompts, limit)
            for name, limit in ((PACKED, MAX_PACKED_TOKENS), (ROWS, 0))
            if name in self.plans
        }
        distinct = [prefixes[head] for head in dict.fromkeys(prompt.head for prompt in prompts)]
        if plan is None:
            costs = {name: estimate_cost(self._architecture, distinct, trees) for name, trees in ways.items()}
            if SEPARATE in self.plans:
                lengths = [(_length(prompt), prefixes[prompt.head].length) for prompt in prompts]
                costs[SEPARATE] = estimate_segments_cost(self._architecture, lengths)
            plan = min(costs, key=costs.__getitem__)
            self.used[plan] += len(prompts)
        if plan == SEPARATE:
            return self._separate(prompts, [prefixes[prompt.head] for prompt in prompts])
        tree_pass = forward_trees(self._model, self._architecture, distinct, ways[plan])
        return [QuestionState(tree_pass, question, prefixes[prompt.head]) for question, prompt in enumerate(prompts)]

    def _separate(self, prompts: Sequence[Prompt], prefixes: Sequence[Prefix]) -> list[QuestionState]:
        asked = []
        for prompt, prefix in zip(prompts, prefixes, strict=True):
            tokens = prompt.ids[prompt.prefix_length :]
            positions = prefix.length + prefix.delta + torch.arange(len(tokens))
            asked.append(Segment(tokens, positions[None], prefix.cache))
        caches, logits = forward_segments(self._model, self._architecture, asked, None)
        states = []
        for row, (segment, cache, prefix) in enumerate(zip(asked, caches, prefixes, strict=True)):
            count = len(segment.tokens)
            places = torch.arange(prefix.length + count)
            alone = TreePass(logits[row : row + 1], cache, [0], [places], count, count)
            states.append(QuestionState(alone, 0, prefix))
        return states

    def _forward_copies(self, prefix: Prefix, suffixes: Sequence[Sequence[int]]) -> Started:
        copies = StateCopies(self._model, prefix, suffixes)

        def continue_from(questions: Sequence[int]) -> Continuation:
            if len(questions) < len(suffixes):
                copies.select(questions)
            return copies

        return copies.logits, continue_from


def split_into_passes(heads: Sequence[Hashable], lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Return which questions share a pass, given their heads and their lengths after the head.

    Questions of one head stay together, sorted by length to reduce padding. Heads with few questions share a pass of
    about ``tokens`` tokens, heads with many are split.
    """
    members: dict[Hashable, list[int]] = {}
    for question, head in enumerate(heads):
        members.setdefault(head, []).append(question)
    found: list[list[int]] = [[]]
    room = tokens
    for questions in members.values():
        if found[-1] and sum(lengths[question] for question in questions) > room:
            found.append([])
            room = tokens
        for question in sorted(questions, key=lambda question: lengths[question]):
            if found[-1] and lengths[question] > room:
                found.append([])
                room = tokens
            found[-1].append(question)
            room -= lengths[question]
    return found


def _length(prompt: Prompt) -> int:
    return len(prompt.ids) - prompt.prefix_length


def _trees(prompts: Sequence[Prompt], limit: int) -> list[TokenTree]:
    """Return the trees of prompts. Heads are numbered in the order of their first prompt."""
    members: dict[Hashable, list[int]] = {}
    for question, prompt in enumerate(prompts):
        members.setdefault(prompt.head, []).append(question)
    return [
        tree
        for place, questions in enumerate(members.values())
        for tree in build_trees(
            place,
            questions,
            [prompts[question].ids[prompts[question].prefix_length :] for question in questions],
            limit=limit,
        )
    ]

"""Which way of sharing is used: by cost, among those that have been found to give what ``generate`` gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import torch

from known_unknowns.engines._checkpoint import Checkpoint
from known_unknowns.engines._letters import LetterRecorder
from known_unknowns.engines._prompts import Prompt, picture_tokens
from known_unknowns.engines.sharing import check
from known_unknowns.engines.sharing.architecture import Architecture
from known_unknowns.engines.sharing.decoding import GoesOn, Rules, write
from known_unknowns.engines.sharing.prefix import Prefix, Prefixes
from known_unknowns.engines.sharing.rows import Left, Rows
from known_unknowns.engines.sharing.state_copies import Copies
from known_unknowns.engines.sharing.token_tree import PACK, PACKED, ROWS, Grown, Tree, cost, forward, grow

COPIES = "copies"
GROUPS = 2
"""How many pictures' questions a plan is checked on."""

Started = tuple[torch.Tensor, Callable[[Sequence[int]], GoesOn]]
"""The logits of the first tokens, and what goes on from there (see `writing.write`)."""


class Sharer:
    """Answers prompts that share prefixes.

    Raises ValueError, saying why, for a model that cannot share.
    """

    def __init__(self, checkpoint: Checkpoint, *, limit: int, at_once: int, tokens: int) -> None:
        """``limit``: bytes to remember pictures in; ``at_once``: prefixes computed in one pass; ``tokens``: of
        questions in one pass, beyond which a longer one is no more efficient."""
        self._model = checkpoint.model
        if not picture_tokens(checkpoint):
            raise ValueError("its configuration does not name the token that stands for pictures")
        self._rules = Rules.of(checkpoint.generation, str(self._model.device))
        self._architecture = Architecture.of(self._model)
        self.plans = [COPIES] if self._architecture.recurrent else [PACKED, ROWS]
        self.fell_back: list[dict[str, str]] = []
        self.differences: dict[str, float] = {}
        self.used: Counter[str] = Counter()
        self.checked = 0
        self._limit = limit
        self._at_once = at_once
        self._tokens = tokens
        self.prefixes = self._new_prefixes()

    @property
    def weights(self) -> int:
        """How many weights a token of text goes through."""
        return self._architecture.weights

    def told(self) -> dict[str, Any]:
        """For the record: which plan answered how many prompts, how far each was from generate, what was given up."""
        return {
            "prompts": dict(self.used),
            "checked_on_pictures": self.checked,
            "differences": {plan: float(f"{worst:.2g}") for plan, worst in self.differences.items()},
            "fell_back": list(self.fell_back),
        }

    def _new_prefixes(self) -> Prefixes:
        return Prefixes(self._model, self._architecture, limit=self._limit, at_once=self._at_once)

    def write(self, prompts: Sequence[Prompt], limits: Sequence[int], recorder: LetterRecorder) -> list[list[int]]:
        """The tokens of the replies; `split` says which prompts may go together."""
        first, go_on = self._start(prompts)
        ids = [prompt.ids for prompt in prompts]
        return write(first, go_on, prompts=ids, limits=limits, rules=self._rules, recorder=recorder)

    def split(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Which of the prompts go together in one call of `write`: all, but for recurrent models."""
        if not self._architecture.recurrent:
            return [list(range(len(prompts)))]
        alike: dict[Any, list[int]] = {}
        for index, prompt in enumerate(prompts):
            alike.setdefault((prompt.head, len(prompt.ids)), []).append(index)
        return list(alike.values())

    def drop(self, plan: str, why: str) -> None:
        """Never use a plan again."""
        self.plans.remove(plan)
        self.fell_back.append({"plan": plan, "why": why})

    def drop_all(self, why: str) -> None:
        for plan in list(self.plans):
            self.drop(plan, why)

    def check(self, groups: Sequence[Sequence[tuple[Prompt, Any]]]) -> None:
        """Compare each plan with ``generate`` on the prompts of one or two pictures, each prompt with the processor's
        tensors for it, in float32; drop the plans that differ."""
        self.checked += len(groups)
        try:
            with check.in_float32(self._model):
                expected = [check.reference(self._model, inputs) for group in groups for _, inputs in group]
                prompts = [prompt for group in groups for prompt, _ in group]
                for plan in list(self.plans):
                    self._compare(plan, prompts, expected)
        except (torch.OutOfMemoryError, MemoryError):
            self.drop_all("there is not enough memory to check it against generate in float32")
        finally:
            self.prefixes = self._new_prefixes()

    def _compare(
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
        except Exception as error:  # whatever a model that is not made for this trips over
            self.drop(plan, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
            return
        self.differences[plan] = max(worst, self.differences.get(plan, 0.0))
        if not worst <= check.TOLERANCE:
            self.drop(plan, f"its logits differ from generate's by {worst:.2g} of their standard deviation")

    @torch.inference_mode()
    def _difference(
        self, plan: str, prompts: Sequence[Prompt], expected: Sequence[tuple[torch.Tensor, list[int]]]
    ) -> float:
        """The largest at the first and at the second token of the replies."""
        logits, go_on = self._start(prompts, plan)
        worst = max(check.difference(row.float(), steps[0]) for row, (steps, _) in zip(logits, expected, strict=True))
        longer = [index for index, (steps, _) in enumerate(expected) if len(steps) > 1]
        if longer:
            logits = go_on(longer).step([expected[index][1][0] for index in longer])
            for row, index in zip(logits, longer, strict=True):
                worst = max(worst, check.difference(row.float(), expected[index][0][1]))
        return worst

    @torch.inference_mode()
    def _start(self, prompts: Sequence[Prompt], plan: str | None = None) -> Started:
        """By the given plan, or by the cheapest."""
        one_each = list({prompt.head: prompt for prompt in prompts}.values())
        prefixes = dict(zip((prompt.head for prompt in one_each), self.prefixes.of(one_each), strict=True))
        if self._architecture.recurrent:
            self.used[COPIES] += len(prompts) if plan is None else 0
            return self._copied(prefixes[prompts[0].head], [prompt.ids[prompt.cut :] for prompt in prompts])
        left: dict[int, Left] = {}
        for some in passes([prompt.head for prompt in prompts], list(map(_length, prompts)), self._tokens):
            asked = [prompts[index] for index in some]
            grown = self._grown(asked, prefixes, plan)
            for question, index in enumerate(some):
                left[index] = Left(grown, question, prefixes[prompts[index].head])
        first = torch.stack([left[index].grown.logits[left[index].question] for index in range(len(prompts))])

        def go_on(questions: Sequence[int]) -> GoesOn:
            return Rows(self._model, self._architecture, [left[question] for question in questions])

        return first, go_on

    def _grown(self, prompts: Sequence[Prompt], prefixes: Mapping[Any, Prefix], plan: str | None) -> Grown:
        ways: dict[str, list[Tree]] = {
            name: _trees(prompts, limit) for name, limit in ((PACKED, PACK), (ROWS, 0)) if name in self.plans
        }
        distinct = [prefixes[head] for head in dict.fromkeys(prompt.head for prompt in prompts)]
        if plan is None:
            plan = min(ways, key=lambda name: cost(self._architecture, distinct, ways[name]))
            self.used[plan] += len(prompts)
        return forward(self._model, self._architecture, distinct, ways[plan])

    def _copied(self, prefix: Prefix, suffixes: Sequence[Sequence[int]]) -> Started:
        copies = Copies(self._model, prefix, suffixes)

        def go_on(questions: Sequence[int]) -> GoesOn:
            if len(questions) < len(suffixes):
                copies.keep(questions)
            return copies

        return copies.logits, go_on


def passes(heads: Sequence[Hashable], lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Which of some questions go through the model in one pass, given their heads and their lengths behind them.

    Those of one head together, in the order of their lengths, so that there is little padding; heads with few
    together, those with many cut up, where there are about ``tokens``.
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
    return len(prompt.ids) - prompt.cut


def _trees(prompts: Sequence[Prompt], limit: int) -> list[Tree]:
    """The trees of prompts, whose heads are numbered as they come."""
    members: dict[Hashable, list[int]] = {}
    for question, prompt in enumerate(prompts):
        members.setdefault(prompt.head, []).append(question)
    return [
        tree
        for place, questions in enumerate(members.values())
        for tree in grow(
            place, questions, [prompts[question].ids[prompts[question].cut :] for question in questions], limit=limit
        )
    ]

"""Generated tokens as `Reply` objects: text, finish, token counts and the options' log-probabilities.

The log-probabilities are those of the forward passes that generate the reply.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from transformers import LogitsProcessor

from known_unknowns.engines._checkpoint import Checkpoint
from known_unknowns.reasoning_marks import opens_reasoning, split_reply
from known_unknowns.records import Reply, Turn
from prefix_sharing.prompts import image_token_ids

DECIMALS = 6
"""Log-probabilities are rounded to this many decimals. Further digits differ between machines."""
LOWEST = -1e4
"""Stands for minus infinity, which JSON cannot represent: a label that the decoding settings forbid."""

Forms = Mapping[str, tuple[int, ...]]
"""Label to the tokens that represent it."""

_WORD_STARTS = ("", "Ġ", "▁")  # byte-level BPE and SentencePiece write a leading space so
_TAIL = 16
"""Last tokens of a prompt, in which a template may open the reasoning."""


class ReplyBuilder:
    """Builds the replies of one checkpoint.

    ``dtype`` is its precision, for errors, and ``marks`` open and close its reasoning besides the known ones.
    """

    def __init__(self, checkpoint: Checkpoint, dtype: str, marks: Sequence[str] | None = None) -> None:
        self._tokenizer = checkpoint.tokenizer
        self._image_tokens = image_token_ids(checkpoint.model)
        ends = checkpoint.generation.eos_token_id
        self._end_tokens = frozenset({ends} if isinstance(ends, int) else ends or ())
        self._stops = checkpoint.stop
        self._dtype, self._marks = dtype, marks
        self._forms: dict[tuple[str, ...], Forms] = {}

    def recorder(self, turns: Sequence[Turn]) -> LabelRecorder:
        """Return a recorder of the log-probabilities of all labels that the turns offer."""
        forms = [self._label_forms(turn) for turn in turns]
        return LabelRecorder(token for row in forms for tokens in row.values() for token in tokens)

    def build(
        self, turn: Turn, prompt: Sequence[int], new_tokens: Sequence[int], recorder: LabelRecorder, row: int
    ) -> Reply:
        """Return the reply in a ``row`` of a pass. Padding may follow its new tokens."""
        images = sum(token in self._image_tokens for token in prompt) if self._image_tokens else None
        tokens, finish = self._cut_at_end(new_tokens)
        if not recorder.sound(row, len(tokens)):
            error = not_finite(self._dtype)
            return Reply(text="", finish="error", error=error, input_tokens=len(prompt), visual_tokens=images)
        forms, logprobs = self._label_forms(turn), None
        if turn.labels and len(forms) == len(turn.labels):
            logprobs = recorder.logprobs(row, label_step(self._tokenizer, tokens, forms), forms)
        text, reasoning, is_open = self._text(prompt, tokens)
        raw = self._before_stop(self._tokenizer.decode(list(tokens), skip_special_tokens=True)) if reasoning else None
        return Reply(
            text=text,
            logprobs=logprobs,
            input_tokens=len(prompt),
            visual_tokens=images,
            output_tokens=len(tokens),
            finish="length" if is_open else finish,
            details={"reasoning": reasoning} if reasoning else None,
            raw=raw,
        )

    def _text(self, prompt: Sequence[int], tokens: Sequence[int]) -> tuple[str, str, bool]:
        """Return the answer, the reasoning before it, and whether the reasoning did not end.

        Marks of reasoning may be special tokens, and the template may have written the first one.
        """
        text = self._tokenizer.decode(list(tokens), skip_special_tokens=True)
        marks = self._marks
        opened = opens_reasoning(self._tokenizer.decode(list(prompt[-_TAIL:]), skip_special_tokens=False), marks)
        split = split_reply(self._tokenizer.decode(list(tokens), skip_special_tokens=False), opened=opened, marks=marks)
        if not split.reasoning and not split.open and not opened:
            return self._before_stop(text), "", False
        answer = self._before_stop(split.text)
        for token in self._tokenizer.all_special_tokens:
            answer = answer.replace(token, "")
        return answer.strip(), split.reasoning, split.open

    def _label_forms(self, turn: Turn) -> Forms:
        labels = turn.labels or ()
        if labels not in self._forms:
            self._forms[labels] = token_forms(self._tokenizer, labels)
        return self._forms[labels]

    def _cut_at_end(self, tokens: Sequence[int]) -> tuple[list[int], str]:
        """Return a row's tokens up to and including its end token, and how the reply finished."""
        for place, token in enumerate(tokens):
            if token in self._end_tokens:
                tokens, finish = tokens[: place + 1], "stop"
                break
        else:
            finish = "length"
        if not self._stops:
            return list(tokens), finish
        last = bisect_left(range(len(tokens)), True, key=lambda place: self._stopped(tokens[: place + 1]))
        return (list(tokens), finish) if last == len(tokens) else (list(tokens[: last + 1]), "stop")

    def _stopped(self, tokens: Sequence[int]) -> bool:
        """Whether the text of these tokens has one of the texts that end a reply."""
        text = self._tokenizer.decode(list(tokens), skip_special_tokens=True)
        return any(stop in text for stop in self._stops)

    def _before_stop(self, text: str) -> str:
        return text[: min((place for stop in self._stops if (place := text.find(stop)) >= 0), default=None)]


def not_finite(dtype: str) -> str:
    """Return the error of a reply whose logits overflow."""
    return f"the logits are not finite in {dtype}; use float32 or bfloat16"


def token_forms(tokenizer: Any, labels: Iterable[str]) -> Forms:
    """Return the tokens that are a bare label, with and without a leading space: {"E": (36, 412), ...}.

    Labels that are not a single token of the vocabulary are left out. So is a label of several characters that is one
    token only with a leading space, or only without: the other spelling has several tokens, whose probability would
    be missing.
    """
    vocabulary = tokenizer.get_vocab()
    spaced = "▁" if "▁" in vocabulary else "Ġ"
    forms = {
        label: tuple(vocabulary[start + label] for start in _WORD_STARTS if start + label in vocabulary)
        for label in labels
    }
    return {
        label: tokens
        for label, tokens in forms.items()
        if tokens and (len(label) == 1 or {label, spaced + label} <= vocabulary.keys())
    }


class LabelRecorder(LogitsProcessor):
    """Record the log-probabilities of some tokens at each step of ``generate``, without changing them.

    ``generate`` runs it after its own processors. It sees the distribution that greedy decoding chooses from: the
    model's, after the checkpoint's repetition penalty if there is one. Only the columns of ``tokens`` are kept, so that
    memory does not grow with the vocabulary.
    """

    def __init__(self, tokens: Iterable[int]) -> None:
        self.columns = {token: column for column, token in enumerate(sorted(set(tokens)))}
        self._index: torch.Tensor | None = None
        self._measured: list[tuple[Sequence[int], torch.Tensor]] = []
        self._steps: list[dict[int, list[float]]] = []

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        self.record(range(len(scores)), scores)
        return scores

    def record(self, rows: Sequence[int], scores: torch.Tensor) -> None:
        """Record a step. ``rows`` are the replies that the rows of ``scores`` belong to."""
        if self._index is None or self._index.device != scores.device:
            self._index = torch.tensor(list(self.columns), dtype=torch.long, device=scores.device)
        total = scores.float().logsumexp(dim=-1, keepdim=True)
        # The values stay on the device until they are asked for, so that no step waits for it.
        self._measured.append((rows, torch.cat([scores[:, self._index].float() - total, total], dim=-1)))

    def _values(self) -> list[dict[int, list[float]]]:
        """Return, for each step and row, the log-probabilities, and last the logarithm of the sum."""
        for rows, measured in self._measured[len(self._steps) :]:
            self._steps.append(dict(zip(rows, measured.tolist(), strict=True)))
        return self._steps

    @property
    def steps(self) -> int:
        return len(self._measured)

    def sound(self, row: int, steps: int) -> bool:
        """Return whether the first ``steps`` logits of a row have a finite sum. Half precision can overflow."""
        return all(math.isfinite(values[row][-1]) for values in self._values()[:steps])

    def logprobs(self, row: int, step: int, forms: Forms) -> dict[str, float]:
        """Return each label's natural log-probability at a step of a row: that of its most likely form."""
        recorded = self._values()[step][row]
        best = {label: max(recorded[self.columns[token]] for token in tokens) for label, tokens in forms.items()}
        return {label: round(value, DECIMALS) if math.isfinite(value) else LOWEST for label, value in best.items()}


def label_step(tokenizer: Any, tokens: Sequence[int], forms: Forms) -> int:
    """Return the step at which a reply gives its first bare label: 0 for "B", 1 for "yellow B"; 0 if it gives none.

    ``tokens`` are the reply's tokens, ``forms`` those of the offered labels (see `token_forms`). A token that is a part
    of a word ("A" of "Apple", "B" of "USB") is not a bare label.
    """
    bare = {token for alternatives in forms.values() for token in alternatives}
    for step, token in enumerate(tokens):
        if token in bare and not _within_word(tokenizer, tokens, step):
            return step
    return 0


def _within_word(tokenizer: Any, tokens: Sequence[int], step: int) -> bool:
    before, through, whole = (
        tokenizer.decode(list(tokens[:end]), skip_special_tokens=True) for end in (step, step + 1, len(tokens))
    )
    added, after = through[len(before) :], whole[len(through) :]
    joined_before = before[-1:].isalnum() and not added[:1].isspace()
    return joined_before or after[:1].isalnum()

"""Generated tokens as `Reply` objects: text, finish, token counts and the options' log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from known_unknowns.engines._checkpoint import Checkpoint
from known_unknowns.engines._option_labels import Forms, LabelRecorder, label_step, token_forms
from known_unknowns.reasoning_marks import opens_reasoning, split_reply
from known_unknowns.records import Reply, Turn
from prefix_sharing.prompts import image_token_ids

_TAIL = 16
"""Last tokens of a prompt, in which a template may open the reasoning."""


class ReplyBuilder:
    """Builds the replies of one checkpoint. ``dtype`` is its precision, for errors."""

    def __init__(self, checkpoint: Checkpoint, dtype: str) -> None:
        self._tokenizer = checkpoint.tokenizer
        self._image_tokens = image_token_ids(checkpoint.model)
        ends = checkpoint.generation.eos_token_id
        self._end_tokens = frozenset({ends} if isinstance(ends, int) else ends or ())
        self._dtype = dtype
        self._forms: dict[tuple[str, ...], Forms] = {}

    def recorder(self, turns: Sequence[Turn]) -> LabelRecorder:
        """Return a recorder of the log-probabilities of all labels that the turns offer."""
        forms = [self._label_forms(turn) for turn in turns]
        return LabelRecorder(token for row in forms for tokens in row.values() for token in tokens)

    def build(
        self, turn: Turn, prompt: Sequence[int], new_tokens: Sequence[int], recorder: LabelRecorder, row: int
    ) -> Reply:
        """Return the reply in a row of a pass.

        Parameters
        ----------
        turn : Turn
            The turn.
        prompt, new_tokens : sequence of int
            The tokens of its prompt and of its reply, which padding may follow.
        recorder : LabelRecorder
            The recorder of the pass.
        row : int
            The reply's row in the recorder.
        """
        images = sum(token in self._image_tokens for token in prompt) if self._image_tokens else None
        tokens, finish = self._cut_at_end(new_tokens)
        if not recorder.sound(row, len(tokens)):
            error = f"the logits are not finite in {self._dtype}; use float32 or bfloat16"
            return Reply(text="", finish="error", error=error, input_tokens=len(prompt), visual_tokens=images)
        forms, logprobs = self._label_forms(turn), None
        if turn.labels and len(forms) == len(turn.labels):
            logprobs = recorder.logprobs(row, label_step(self._tokenizer, tokens, forms), forms)
        text, reasoning, is_open = self._text(prompt, tokens)
        return Reply(
            text=text,
            logprobs=logprobs,
            input_tokens=len(prompt),
            visual_tokens=images,
            output_tokens=len(tokens),
            finish="length" if is_open else finish,
            details={"reasoning": reasoning} if reasoning else None,
        )

    def _text(self, prompt: Sequence[int], tokens: Sequence[int]) -> tuple[str, str, bool]:
        """Return the answer, the reasoning before it, and whether the reasoning did not end.

        Marks of reasoning may be special tokens, and the template may have written the first one.
        """
        text = self._tokenizer.decode(list(tokens), skip_special_tokens=True)
        opened = opens_reasoning(self._tokenizer.decode(list(prompt[-_TAIL:]), skip_special_tokens=False))
        split = split_reply(self._tokenizer.decode(list(tokens), skip_special_tokens=False), opened=opened)
        if not split.reasoning and not split.open and not opened:
            return text, "", False
        answer = split.text
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
                return list(tokens[: place + 1]), "stop"
        return list(tokens), "length"

"""Generated tokens as `Reply` objects: text, finish, token counts and the options' log-probabilities."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from known_unknowns.engines._checkpoint import Checkpoint
from known_unknowns.engines._option_labels import Forms, LabelRecorder, label_step, token_forms
from known_unknowns.reasoning_marks import opens_reasoning, split_reply
from known_unknowns.records import Reply, Turn
from prefix_sharing.prompts import image_token_ids

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

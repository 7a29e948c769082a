"""HumbleBench's released replies; released.yaml describes the files.

A log is an object with "Accuracy" (each type, Overall_accuracy, E_accuracy) and "Proportions" (A to E, NA), in percent.
Older logs are lines of text that end in the same object. The released code computes each number as a count divided by a
count, times 100, so that equal counts give exactly equal numbers.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from known_unknowns.benchmark.question_text import parse_question
from known_unknowns.errors import DataError
from known_unknowns.exchange.released_reader import Numbers, ReleasedReader, ReplyRow, Setting
from known_unknowns.records import OVERALL, Image, Question
from known_unknowns_benchmarks.humblebench.loader import LETTERS, NAME, REFUSAL
from known_unknowns_benchmarks.humblebench.official import letter, released_label
from known_unknowns_benchmarks.humblebench.protocols import CAUTIOUS, FORCED_GROUNDING

_PARTS = ("Accuracy", "Proportions")


class HumbleBenchReleased(ReleasedReader):
    """The questions in rows of predictions, and the numbers of the logs."""

    folder = Path(__file__).parent
    texts: ClassVar = {"CAUTIOUS": CAUTIOUS, "FORCED_GROUNDING": FORCED_GROUNDING}

    def question(self, name: str, text: str, label: str, kind: str, image: str) -> Question:
        stem, options = parse_question(text)
        labels = [option.label for option in options]
        for named, role in ((label, "the label"), (REFUSAL, "the refusal")):
            if named not in labels:
                raise ValueError(f"no option {named}, which is {role}; the options are {', '.join(labels)}")
        return Question(
            id=name,
            benchmark=NAME,
            text=stem,
            options=options,
            answer=labels.index(label),
            refusal=labels.index(REFUSAL),
            images=(Image(image, sha256(image.encode()).hexdigest(), 0, 0),),
            category=kind,
            group=image or f"question {name}",
            extra={"question_id": int(name) if name.isdecimal() else name, "label": label, "image_path": image},
        )

    def label(self, question: Question, setting: Setting) -> str:
        return question.extra["label"] if setting.has_noise else released_label(question)

    def read_numbers(self, path: Path) -> dict[str, float]:
        content = _object(path.read_text(encoding="utf-8", errors="replace"))
        try:
            numbers = {name: float(value) for part in _PARTS for name, value in content[part].items()}
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            text = "not a log of the released code: no object with Accuracy and Proportions"
            raise DataError(text, file=path) from error
        for name, value in numbers.items():
            if not 0 <= value <= 100:
                raise DataError(f"not a log of the released code: {name} {value!r} is not a percentage", file=path)
        return numbers

    def recompute(self, rows: Sequence[ReplyRow], questions: Sequence[Question] = ()) -> dict[str, float]:
        """Compute the numbers as ``compute_metrics``: rows without a label are left out, no reply is an empty one."""
        rows = [row for row in rows if row.text is not None]
        parsed = [letter(row.reply or "") for row in rows]
        letters, total = Counter(parsed), Counter(row.type for row in rows)
        right = Counter(row.type for row, found in zip(rows, parsed, strict=True) if found == row.label)
        exact = [row.reply == REFUSAL for row in rows if row.label == REFUSAL]
        if not rows:
            return {}
        return {
            **{f"{kind}_accuracy": right[kind] / total[kind] * 100 for kind in total},
            "Overall_accuracy": right.total() / len(rows) * 100,
            "E_accuracy": sum(exact) / max(len(exact), 1) * 100,
            **{f"{name}_proportion": letters[name] / len(rows) * 100 for name in LETTERS},
            "NA_proportion": letters[None] / len(rows) * 100,
        }

    def comparable(self, logged: Numbers, found: Numbers) -> tuple[Numbers, Numbers, str]:
        if self._has_old_types(logged) == self._has_old_types(found):
            return logged, found, ""
        remark = "the log and the raw file divide the attributes differently; all other numbers are equal"
        return self._without_attributes(logged), self._without_attributes(found), remark

    def _has_old_types(self, numbers: Numbers) -> bool:
        return any(f"{kind}_accuracy" in numbers for kind in self.layout.types)

    def _without_attributes(self, numbers: Numbers) -> dict[str, float]:
        """Rename the objects, and leave out the types that older files divide differently."""
        of_objects = {f"{old}_accuracy": f"{new}_accuracy" for old, new in self.layout.types.items() if new == "Object"}
        merged = {f"{kind}_accuracy" for pair in self.layout.types.items() for kind in pair}
        left_out = merged - {"Object_accuracy", *of_objects}
        return {of_objects.get(name, name): value for name, value in numbers.items() if name not in left_out}

    def metric(self, name: str, setting: Setting) -> tuple[str, str, str] | None:
        """E accuracy is exact E among the questions labelled E. After all options were shuffled, E is any option."""
        what, _, kind = name.partition("_")
        if kind == "proportion":
            return ("share_no_letter" if what == "NA" else f"share_{what}", OVERALL, OVERALL)
        if name == "E_accuracy":
            is_moved = setting.variant == "shuffled_all_options"
            return None if is_moved else ("exact_refusal_recall", OVERALL, REFUSAL)
        category = self.layout.types.get(what, what)
        if category != what and category != "Object":
            return None
        return ("accuracy_published_labels" if setting.has_noise else "accuracy", category, category)

    def counts(self, questions: Sequence[Question], setting: Setting) -> dict[str, int]:
        """Return the numbers of questions of each type, of all, and (under E) of those with the label E."""
        of_type = Counter(question.category for question in questions)
        labels = Counter(self.label(question, setting) for question in questions)
        return {**of_type, OVERALL: of_type.total(), REFUSAL: labels[REFUSAL]}


def _object(text: str) -> Any:
    """The last object of a text, which starts with its "Accuracy": as JSON, or as Python prints it."""
    for start in reversed([place for place in range(len(text)) if text[place] == "{"]):
        if text[start + 1 :].lstrip()[1:9] != "Accuracy":
            continue
        for parse in (json.loads, ast.literal_eval):
            try:
                return parse(text[start : text.rfind("}") + 1])
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return None


RELEASED = HumbleBenchReleased()

"""Corrections of published questions: a file, and what it makes of a question.

The file is a JSON object with the name of the benchmark and a list of corrections. Each names a question by its id and
by the digest of its published content, so that it never changes another version of the question.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns.records import Question

if TYPE_CHECKING:
    from known_unknowns.records import ResolvedVariant

FORMAT = 1


def content_sha256(question: str, labels: Sequence[str], options: Sequence[str], answer: str | None) -> str:
    """Return the digest of a question's text, its labelled options, and the label of its answer."""
    values = [question, [list(pair) for pair in zip(labels, options, strict=True)], answer]
    return sha256(json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def question_sha256(question: Question) -> str:
    """Return `content_sha256` of a question."""
    answer = None if question.answer is None else question.labels[question.answer]
    return content_sha256(question.text, question.labels, [option.text for option in question.options], answer)


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction of one question.

    Parameters
    ----------
    id : str
        The question.
    sha256 : str
        `question_sha256` of the published question.
    why : str
        The reason.
    before : Mapping
        ``question``, ``labels``, ``options`` and ``answer`` (a label or None) as published.
    after : Mapping or None
        The same after the correction; None if the question is left out.
    """

    id: str
    sha256: str
    why: str
    before: Mapping[str, Any]
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Corrections:
    """A file of corrections, by the id of the question."""

    path: str
    benchmark: str
    by_id: Mapping[str, Correction]

    def left_out(self, questions: Sequence[Question]) -> frozenset[str]:
        """Return the ids of the questions that are left out.

        Raises
        ------
        ValueError
            If the file is for another benchmark, for a question that is not there, or for another version of one.
        """
        for benchmark in {question.benchmark for question in questions} - {self.benchmark}:
            raise ValueError(
                f"{self.path} corrects {self.benchmark}, not {benchmark}; name another file in params.yaml"
            )
        found = {question.id: question for question in questions}
        missing = [identifier for identifier in self.by_id if identifier not in found]
        if missing:
            raise ValueError(
                f"{self.path} corrects question {missing[0]!r}, which is not one of the {len(found)} questions "
                f"({len(missing)} such corrections); remove them, or review this version of the benchmark"
            )
        for identifier, correction in self.by_id.items():
            self._check_version(correction, found[identifier])
        return frozenset(identifier for identifier, correction in self.by_id.items() if correction.after is None)

    def applied(self, question: Question) -> Question:
        """Return the corrected question; the same one if there is no correction.

        Raises
        ------
        ValueError
            If the correction is of another version of the question, or leaves it out.
        """
        correction = self.by_id.get(question.id)
        if correction is None:
            return question
        self._check_version(correction, question)
        after = correction.after
        if after is None:
            raise ValueError(f"{self.path} leaves out question {question.id!r}")
        options = tuple(
            replace(option, text=text) for option, text in zip(question.options, after["options"], strict=True)
        )
        answer = None if after["answer"] is None else question.labels.index(after["answer"])
        return replace(question, text=after["question"], options=options, answer=answer)

    def _check_version(self, correction: Correction, question: Question) -> None:
        if correction.sha256 != question_sha256(question):
            raise ValueError(
                f"{self.path} corrects another version of question {question.id!r}: it has "
                f"{_shortened(correction.before)}, and the question is {_shortened(_content(question))}. Review the "
                "question again, or remove its correction"
            )


def corrected(question: Question, *, corrections: str) -> Question:
    """Correct the question as a review of the published questions found (docs/construction.md#review).

    Parameters
    ----------
    question : Question
        A published question.
    corrections : str
        The file of corrections, relative to the project's folder. The questions that it leaves out are not in the table
        of the variant (`dropped`).

    Raises
    ------
    ValueError
        If the file cannot be read, or corrects another version of the question.
    """
    return read_corrections(corrections).applied(question)


def dropped(entry: ResolvedVariant, questions: Sequence[Question]) -> frozenset[str]:
    """Return the ids of the questions that a variant, given by its entry in params.yaml, leaves out of a benchmark.

    Raises
    ------
    ValueError
        If the variant does not belong to these questions.
    """
    return frozenset().union(*(read_corrections(file).left_out(questions) for file in files(entry)))


def files(entry: ResolvedVariant) -> list[str]:
    """Return the files that a variant, given by its entry in params.yaml, reads."""
    return [entry.arguments["corrections"]] if entry.function == corrected.__name__ else []


def _content(question: Question) -> dict[str, Any]:
    answer = None if question.answer is None else question.labels[question.answer]
    return {"question": question.text, "options": [option.text for option in question.options], "answer": answer}


def _shortened(content: Mapping[str, Any]) -> str:
    text = f"{content['question']} {list(content['options'])} answer {content['answer']}"
    return repr(text if len(text) <= 200 else f"{text[:200]}...")


def read_corrections(path: str | Path) -> Corrections:
    """Read a file of corrections.

    Raises
    ------
    ValueError
        If the file cannot be read, or is not one. The message names the file and the entry.
    """
    path = Path(path)
    try:
        state = path.stat()
    except OSError as error:
        raise ValueError(
            f"{path}: {error.strerror}; write it with  known-unknowns review apply --benchmark NAME --out {path}"
        ) from error
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, modified: int, size: int) -> Corrections:
    try:
        values = json.loads(path.read_bytes())
        if values["format"] != FORMAT:
            raise ValueError(f"the format is {values['format']!r}, not {FORMAT}")
        benchmark, entries = values["benchmark"], values["corrections"]
    except (ValueError, KeyError, TypeError, RecursionError, OSError) as error:
        raise ValueError(f"{path}: not a file of corrections ({error})") from error
    found: dict[str, Correction] = {}
    for number, entry in enumerate(entries):
        try:
            correction = _correction(entry)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: corrections[{number}] is not sound ({error})") from error
        if correction.id in found:
            raise ValueError(f"{path}: corrections[{number}]: question {correction.id!r} has two corrections")
        found[correction.id] = correction
    return Corrections(str(path), benchmark, found)


def _correction(entry: Mapping[str, Any]) -> Correction:
    before, after = _checked(entry["before"]), entry["after"]
    for name in ("id", "sha256", "why"):
        if not isinstance(entry[name], str):
            raise TypeError(f"{name} is not a text")
    digest = content_sha256(before["question"], before["labels"], before["options"], before["answer"])
    if digest != entry["sha256"]:
        raise ValueError("the content under 'before' does not have this sha256")
    if after is not None and list(_checked(after)["labels"]) != list(before["labels"]):
        raise ValueError("the correction changes the labels of the options")
    return Correction(entry["id"], entry["sha256"], entry["why"], before, after)


def _checked(content: Mapping[str, Any]) -> Mapping[str, Any]:
    labels, options, answer = content["labels"], content["options"], content["answer"]
    texts = [content["question"], *labels, *options]
    if not all(isinstance(text, str) for text in texts) or len(labels) != len(options):
        raise ValueError("a text is missing")
    if answer is not None and answer not in labels:
        raise ValueError(f"the answer {answer!r} is not one of the labels")
    return content

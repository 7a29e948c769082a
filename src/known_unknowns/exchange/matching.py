"""Predictions to the questions they answer, and to rows of the house's table of replies. Nothing is dropped: what
cannot be matched is an error that names its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from known_unknowns.benchmarks.humblebench.loader import parse_question
from known_unknowns.errors import DataError
from known_unknowns.exchange import embedded_questions
from known_unknowns.exchange.predictions import Prediction, Predictions
from known_unknowns.protocols import ANSWER, FORCED
from known_unknowns.records import AnsweredTurn, Question, Reply
from known_unknowns.variants import without_refusal

Pair = tuple[Question, list[AnsweredTurn]]
"""A question with its turns, in the order they were asked."""
NOTA_ONLY, ORIGINAL = "nota_only", "original"


def carried_questions(files: Iterable[Predictions], benchmark: str, function: str) -> list[Question]:
    """The questions that the files themselves carry, one for each id, in their order.

    Raises DataError naming the line of a row that carries none, or another question under the same id.
    """
    found: dict[str, Question] = {}
    for file in files:
        for prediction in file.predictions:
            if prediction.fields is None:
                raise DataError(
                    f"predictions of the format {file.format} do not say what was asked; name the questions with "
                    "--annotations (the benchmark's own files, or a table of questions)",
                    file=file.file,
                )
            name = _name(prediction)
            try:
                question = embedded_questions.question(benchmark, prediction.fields, name, function)
            except ValueError as error:
                raise prediction.row.error(str(error)) from error
            if found.setdefault(name, question) != question:
                raise prediction.row.error(f"another question has the id {name!r} too")
    return list(found.values())


def guessed_function(files: Iterable[Predictions]) -> str:
    """The variant of questions that are carried: `nota_only` where an option was removed, which leaves a gap in the
    lettering as in nothing that is published, else `original`."""
    for file in files:
        for prediction in file.predictions:
            text = embedded_questions.text_of(prediction.fields or {}) or ""
            try:
                labels = [option.label for option in parse_question(text)[1]]
            except ValueError:
                continue
            if labels != [chr(ord("A") + place) for place in range(len(labels))]:
                return NOTA_ONLY
    return ORIGINAL


def matched(
    files: Sequence[Predictions],
    questions: Sequence[Question],
    *,
    source: str,
    placed: bool = False,
    partial: bool = False,
) -> list[Pair]:
    """Every question with its reply, in the order of ``questions``, which ``source`` names in errors.

    With ``placed``, ``questions`` stand in published order, and a prediction that names none is found by its place.
    With ``partial``, questions that no file answers are left out, instead of being an error.
    Raises DataError naming the line of a prediction for a question that is not there or answered already.
    """
    by_id = {question.id: question for question in questions}
    found: dict[str, dict[str, Prediction]] = {}
    for file in files:
        for prediction in file.predictions:
            question = _question(prediction, questions, by_id, placed=placed, source=source)
            _check_text(prediction, question, file.format)
            steps = found.setdefault(question.id, {})
            if prediction.step in steps:
                other = steps[prediction.step].row
                raise prediction.row.error(
                    f"question {question.id!r} is already answered in {other.file}, line {other.line}"
                )
            steps[prediction.step] = prediction
    unanswered = [question.id for question in questions if question.id not in found]
    if unanswered and not partial:
        raise DataError(
            f"{len(unanswered)} of the {len(questions)} questions of {source} have no prediction, the first of them "
            f"{unanswered[0]!r}; --partial scores the others alone",
            file=names(files),
        )
    return [(question, _turns(question, found[question.id])) for question in questions if question.id in found]


def names(files: Iterable[Predictions]) -> str:
    """The files, for errors."""
    return ", ".join(str(file.file) for file in files)


def _name(prediction: Prediction) -> str:
    return prediction.id if prediction.id is not None else str(prediction.place)


def _question(
    prediction: Prediction, questions: Sequence[Question], by_id: Mapping[str, Question], *, placed: bool, source: str
) -> Question:
    if placed and prediction.id is None and prediction.place is not None:
        if prediction.place >= len(questions):
            raise prediction.row.error(f"there is no such question: {source} has {len(questions)}")
        return questions[prediction.place]
    name = _name(prediction)
    if name not in by_id:
        raise prediction.row.error(f"the question {name!r} is not one of the {len(questions)} of {source}")
    return by_id[name]


def _check_text(prediction: Prediction, question: Question, format: str) -> None:
    """A row that repeats its question must repeat the one it is matched with: the order may have slipped, or the
    variant be another."""
    text = embedded_questions.text_of(prediction.fields or {})
    if text is None:
        return
    said, ours, whole = (" ".join(part.split()) for part in (text, question.text, question.rendered))
    if ours not in said or (format == "humblebench" and said != whole):
        raise prediction.row.error(
            f"asks {said[:120]!r}, where question {question.id!r} is {whole[:120]!r}; "
            "are these its questions, and its variant?"
        )


def _turns(question: Question, steps: Mapping[str, Prediction]) -> list[AnsweredTurn]:
    if ANSWER not in steps:
        raise next(iter(steps.values())).row.error(f"the step {ANSWER!r} of question {question.id!r} is missing")
    ordered = [ANSWER, *(step for step in steps if step != ANSWER)]
    return [_asked(question, turn, steps[step]) for turn, step in enumerate(ordered)]


def _asked(question: Question, turn: int, prediction: Prediction) -> AnsweredTurn:
    if prediction.step not in (ANSWER, FORCED):
        raise prediction.row.error(f"the step is {prediction.step!r}, neither {ANSWER!r} nor {FORCED!r}")
    offered = without_refusal(question) if prediction.step == FORCED else question
    return AnsweredTurn(question.id, turn, prediction.step, "", (), offered.labels, "", _reply(prediction, offered))


def _reply(prediction: Prediction, question: Question) -> Reply:
    if prediction.logprobs is None:
        return Reply(prediction.text, error=prediction.error)
    labels = question.labels
    if len(prediction.logprobs) != len(labels):
        raise prediction.row.error(f"{len(prediction.logprobs)} likelihoods for {len(labels)} options")
    logprobs = dict(zip(labels, prediction.logprobs, strict=True))
    return Reply(max(labels, key=lambda label: logprobs[label]), logprobs=logprobs)


def likelihoods(pairs: Iterable[Pair]) -> bool:
    """Whether any reply has log-probabilities, which the likelihood reading needs."""
    return any(asked.reply.logprobs for _, turns in pairs for asked in turns)

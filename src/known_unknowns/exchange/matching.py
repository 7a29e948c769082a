"""Match predictions with the questions they answer. Nothing is dropped: each prediction matches or is an error."""

from __future__ import annotations

import inspect
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import FileFormat, Prediction, PredictionFile, QuestionTurns
from known_unknowns.benchmark.image_places import has_mark
from known_unknowns.benchmark.protocol import ANSWER, FORCED, VIEW
from known_unknowns.benchmark.question_text import COLUMNS
from known_unknowns.errors import DataError
from known_unknowns.exchange.embedded_questions import question_text
from known_unknowns.exchange.harness_logs import PROMPT
from known_unknowns.exchange.reader import file_names
from known_unknowns.inference.bound_protocols import bound
from known_unknowns.records import AnsweredTurn, Question, Reply, ResolvedProtocol
from known_unknowns.variants import without_refusal


def match(
    files: Sequence[PredictionFile],
    questions: Sequence[Question],
    *,
    source: str,
    by_index: bool = False,
    by_text: bool = False,
    partial: bool = False,
    published: Sequence[Question] = (),
) -> list[QuestionTurns]:
    """Match every question with its turns, in the order of ``questions``, which is the published one.

    ``source`` is the origin of the questions, for error messages. A prediction is matched by its id, and with
    ``by_index`` by its number if it has none; what else its row has of the question must then agree. With ``by_text``
    it is matched by the text of its question alone. With ``partial``, questions without a prediction are left out.
    ``published`` are the published questions; predictions for those that the variant leaves out are ignored.

    Raises DataError if a prediction answers no question, or one that is already answered, if its row is about another
    question, or if a question has no prediction.
    """
    by_id = {question.id: question for question in questions}
    left_out = {question.id: question for question in published if question.id not in by_id}
    as_published = {question.id: question for question in published}
    texts = _by_text([*questions, *left_out.values()]) if by_text else {}
    confirmed: list[tuple[Prediction, Sequence[Question]]] = []
    ordered = (
        _ordered(files, questions, published if left_out else (), partial=partial) if by_index and not by_text else None
    )
    found: dict[str, list[Prediction]] = {}
    for file in files:
        for prediction in file.predictions:
            if by_text:
                question = _find_by_text(prediction, texts)
            else:
                question = _find(prediction, ordered, by_id | left_out, source=source)
                forms = [question, as_published.get(question.id, question)]
                _check_text(prediction, forms, file.format)
                _check_option_texts(prediction, forms)
                confirmed.append((prediction, forms))
            if question.id in left_out:
                continue
            _check_options(prediction, question)
            of_question = found.setdefault(question.id, [])
            repeated = [other.row for other in of_question if other.step == prediction.step]
            if repeated and prediction.step != VIEW:
                raise prediction.row.error(
                    f"question {question.id!r} is already answered in {repeated[0].file}, line {repeated[0].line}"
                )
            of_question.append(prediction)
    if published:
        _check_targets(confirmed)
    unanswered = [question.id for question in questions if question.id not in found]
    if unanswered and not partial:
        raise DataError(
            f"{len(unanswered)} of the {len(questions)} questions of {source} have no prediction, the first of them "
            f"{unanswered[0]!r}; --partial scores the others alone{_unfinished(files)}",
            file=file_names(files),
        )
    return [(question, _turns(question, found[question.id])) for question in questions if question.id in found]


def _unfinished(files: Sequence[PredictionFile]) -> str:
    """Return why files lack replies, as far as they say it; "" if they do not."""
    return "".join(f"; {file.unfinished}" for file in files if file.unfinished)


def _ordered(
    files: Sequence[PredictionFile], questions: Sequence[Question], published: Sequence[Question], *, partial: bool
) -> Sequence[Question]:
    """Return the questions that the numbers of predictions without an id count.

    If some published questions are left out, these are the published ones or the others: the predictions answer all of
    them, so that the largest number tells which.
    """
    numbers = [p.index for file in files for p in file.predictions if p.id is None and p.index is not None]
    if not published or not numbers:
        return questions
    if partial:
        raise DataError(
            f"the predictions have no question_id, and {len(published) - len(questions)} questions are left out: their "
            "numbers fit several questions; add a column question_id, or omit --partial",
            file=file_names(files),
        )
    return published if max(numbers) >= len(questions) else questions


def by_sample(files: Sequence[PredictionFile]) -> list[list[PredictionFile]]:
    """Return the files with the predictions of each sample. DataError if the numbers of the samples have a gap."""
    numbers = sorted({prediction.sample for file in files for prediction in file.predictions})
    if numbers != list(range(len(numbers))):
        raise DataError(f"the samples are {', '.join(map(str, numbers))}; count them from 0", file=file_names(files))
    return [
        [replace(file, predictions=tuple(p for p in file.predictions if p.sample == number)) for file in files]
        for number in numbers
    ]


def left_out_note(questions: Sequence[Question], published: Sequence[Question]) -> tuple[str, ...]:
    """Return how many published questions the variant leaves out; () if none."""
    count = len(published) - len(questions)
    if not count:
        return ()
    text = f"{count} of {len(published)} questions are left out of the variant; predictions for them are not scored"
    return (text,)


def have_logprobs(pairs: Iterable[QuestionTurns]) -> bool:
    """Whether any reply has log-probabilities, which the likelihood parser needs."""
    return any(turn.reply.logprobs for _, turns in pairs for turn in turns)


def _find(
    prediction: Prediction, ordered: Sequence[Question] | None, by_id: Mapping[str, Question], *, source: str
) -> Question:
    if ordered is not None and prediction.id is None and prediction.index is not None:
        if prediction.index >= len(ordered):
            raise prediction.row.error(f"there is no such question: {source} has {len(ordered)}")
        return ordered[prediction.index]
    if prediction.name not in by_id:
        raise prediction.row.error(f"the question {prediction.name!r} is not one of the {len(by_id)} of {source}")
    return by_id[prediction.name]


def _plain(text: str) -> str:
    return " ".join(text.split())


def _by_text(questions: Sequence[Question]) -> dict[str, list[Question]]:
    """Return the questions by their text, with and without their options."""
    found: dict[str, list[Question]] = {}
    for question in questions:
        for text in {_plain(question.text), _plain(question.rendered)}:
            found.setdefault(text, []).append(question)
    return found


def _find_by_text(prediction: Prediction, texts: Mapping[str, Sequence[Question]]) -> Question:
    """Return the question with the text of a row; a prompt contains it."""
    text = question_text(prediction.fields)
    prompt = prediction.fields.get(PROMPT)
    if text is None and not isinstance(prompt, str):
        raise prediction.row.error("it has no text of its question, which --match text needs")
    in_row = _plain(text or str(prompt))
    fitting = list(texts.get(in_row, ()))
    if not fitting:
        contained = {question.id: question for known in texts if known in in_row for question in texts[known]}
        fitting = list(contained.values())
    if len(fitting) != 1:
        ids = ", ".join(repr(question.id) for question in fitting[:3])
        raise prediction.row.error(f"{in_row[:120]!r} is the text of {len(fitting)} questions ({ids or 'none'})")
    return fitting[0]


_WAY_OUT = "if the ids of the file are those of other questions, match by the text alone: --match text"


def _check_text(prediction: Prediction, forms: Sequence[Question], format: FileFormat) -> None:
    """Check that a row which repeats its question, or the prompt, repeats the one it is matched with.

    ``forms`` are the question as it was asked, and as it was published. Otherwise the order of the rows has shifted,
    or the variant is another one.
    """
    question = forms[0]
    text, prompt = question_text(prediction.fields), prediction.fields.get(PROMPT)
    if text is None and isinstance(prompt, str) and not has_mark(question.text):
        text = prompt
    if text is None:
        return
    in_row, whole = _plain(text), _plain(question.rendered)
    is_repeated = any(_plain(form.text) in in_row for form in forms)
    if not is_repeated or (format.whole_question and in_row != whole):
        raise prediction.row.error(
            f"asks {in_row[:120]!r}, where question {question.id!r} is {whole[:120]!r}; "
            f"are these its questions, and its variant? {_WAY_OUT}"
        )


def _check_option_texts(prediction: Prediction, forms: Sequence[Question]) -> None:
    """Check that a row which repeats the options has at least one of those of its question."""
    given = _option_texts(prediction.fields)
    options = [option for form in forms for option in form.options]
    known = {_plain(option.text) for option in options} | {_plain(option.line) for option in options}
    if given and known.isdisjoint(given):
        raise prediction.row.error(
            f"has the options {', '.join(given)[:120]!r}, where question {forms[0].id!r} has "
            f"{', '.join(option.text for option in forms[0].options)[:120]!r}; {_WAY_OUT}"
        )


def _option_texts(fields: Mapping[str, Any]) -> list[str]:
    listed = [fields[name] for name in COLUMNS["options"] if isinstance(fields.get(name), list)]
    columns = [fields.get(letter) for letter in string.ascii_uppercase]
    texts = listed[0] if listed else columns
    return [_plain(text) for text in texts if isinstance(text, str) and text.strip()]


def _check_targets(matched: Sequence[tuple[Prediction, Sequence[Question]]]) -> None:
    """Check that the targets of the rows are the right options, in one way to name an option that fits all rows."""
    wrong: dict[str, list[tuple[Prediction, Question, str]]] = {name: [] for name in _TARGET_KINDS}
    for prediction, forms in matched:
        # without a question, a column "answer" can be the answer that another tool found in the reply
        names = ("target",) if question_text(prediction.fields) is None else _TARGETS
        values = (prediction.fields.get(name) for name in names)
        target = next((_plain(str(value)) for value in values if isinstance(value, str | int) and value != ""), "")
        named = [_named_option(target, form) for form in forms]
        if not any(named) or forms[0].answer is None:
            continue
        for kind in _TARGET_KINDS:
            is_right = any(places.get(kind, -1) == form.answer for places, form in zip(named, forms, strict=True))
            if not is_right:
                wrong[kind].append((prediction, forms[0], target))
    fewest = min(wrong.values(), key=len)
    if fewest:
        prediction, question, target = fewest[0]
        assert question.answer is not None
        raise prediction.row.error(
            f"its target is {target[:60]!r}, where the right option of question {question.id!r} "
            f"({_plain(question.text)[:120]!r}) is {question.options[question.answer].line!r}; {_WAY_OUT}"
        )


_TARGETS = ("target", "answer", "label")
_TARGET_KINDS = ("letter", "text", "index", "number")


def _named_option(target: str, question: Question) -> dict[str, int]:
    """Return the option that a target names, by what the target can be."""
    letter = target.strip("().: ").upper()
    texts = [_plain(option.text).casefold() for option in question.options]
    named = {}
    if letter in question.labels:
        named["letter"] = question.labels.index(letter)
    if target.casefold() in texts:
        named["text"] = texts.index(target.casefold())
    if re.fullmatch(r"\d{1,2}", target):
        numbers = {"index": int(target), "number": int(target) - 1}
        named |= {kind: place for kind, place in numbers.items() if 0 <= place < len(texts)}
    return named


def _check_options(prediction: Prediction, question: Question) -> None:
    """Check that a row which repeats its options in columns has them under the question's labels.

    Otherwise a letter would mean another option: the options were shuffled, or the labels are wrong.
    """
    labels = {" ".join(option.text.split()): option.label for option in question.options}
    for option in question.options:
        given = prediction.fields.get(option.label)
        text = " ".join(given.split()) if isinstance(given, str) else ""
        if text != " ".join(option.text.split()) and labels.get(text, option.label) != option.label:
            raise prediction.row.error(
                f"column {option.label} is {text[:60]!r}, which is option {labels[text]} of question {question.id!r}; "
                "put the options in the question's order, or name the variant and the seed that they are from"
            )


STATED = "stated"
"""The key of `Reply.details` with the outcomes by the scorers of the file."""

_STEPS = (VIEW, ANSWER, FORCED)
"""The steps of a question, in the order in which they are asked. There can be several views."""


def _turns(question: Question, predictions: Sequence[Prediction]) -> list[AnsweredTurn]:
    for prediction in predictions:
        if prediction.step not in _STEPS:
            raise prediction.row.error(f"the step is {prediction.step!r}, not one of {', '.join(_STEPS)}")
    if all(prediction.step != ANSWER for prediction in predictions):
        raise predictions[0].row.error(f"the step {ANSWER!r} of question {question.id!r} is missing")
    ordered = sorted(predictions, key=lambda prediction: _STEPS.index(prediction.step))
    return [_turn(question, number, prediction) for number, prediction in enumerate(ordered)]


def _turn(question: Question, number: int, prediction: Prediction) -> AnsweredTurn:
    offered = without_refusal(question) if prediction.step == FORCED else question
    reply = _reply(prediction, offered)
    if prediction.stated:
        reply = replace(reply, details={STATED: prediction.stated})
    return AnsweredTurn(question.id, number, prediction.step, "", (), offered.labels, "", reply)


def _reply(prediction: Prediction, question: Question) -> Reply:
    if prediction.likelihoods is None:
        logprobs = prediction.logprobs
        return Reply(prediction.text, logprobs=logprobs, error=prediction.error, finish=prediction.finish)
    if len(prediction.likelihoods) != len(question.labels):
        message = f"{len(prediction.likelihoods)} likelihoods for {len(question.labels)} options"
        raise prediction.row.error(message)
    # likelihoods of whole options, which are shares of each other: the probability of other texts is unknown
    total = float(np.logaddexp.reduce(prediction.likelihoods))
    total = total if np.isfinite(total) else 0.0
    by_label = {label: value - total for label, value in zip(question.labels, prediction.likelihoods, strict=True)}
    return Reply(max(by_label, key=by_label.__getitem__), logprobs=by_label)


def with_prompts(pairs: Sequence[QuestionTurns], benchmark: str, protocol: str) -> list[QuestionTurns]:
    """Return the turns with the prompts of one of the benchmark's own protocols, as far as these are known.

    A benchmark can parse a reply by the prompt. A dialogue with several requests, or a
    protocol that needs arguments, is left without prompts.
    """
    own = registry.get(benchmark).protocols().get(protocol)
    if own is None:
        return list(pairs)
    parameters = inspect.signature(own.function).parameters.values()
    if any(p.default is p.empty and p.name != "question" for p in parameters):
        return list(pairs)
    ask = bound(registry.get(benchmark), ResolvedProtocol.of(name=protocol), parsers=())
    found = []
    for question, turns in pairs:
        text = next(ask(question)).text if len(turns) == 1 else ""
        found.append((question, [replace(turn, text=text) for turn in turns]))
    return found

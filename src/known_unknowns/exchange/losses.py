"""What a file of exported predictions does not hold: the file is read again and compared with the replies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import Prediction, PredictionFile, QuestionTurns
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.errors import DataError
from known_unknowns.exchange.embedded_questions import (
    ORIGINAL,
    collect_questions,
    function_of,
    question_text,
    stated_function,
)
from known_unknowns.exchange.reader import parse_file
from known_unknowns.files import write_text
from known_unknowns.records import AnsweredTurn, Question

_ANNOTATIONS = "give rescore the --annotations, the --variant and its --seed"


def losses(pairs: Sequence[QuestionTurns], content: str, suffix: str) -> Iterator[str]:
    """Yield what a file of this content and suffix does not hold of the questions and of all their turns."""
    with TemporaryDirectory() as folder:
        file = Path(folder, f"export{suffix}")
        write_text(file, content)
        parsed = parse_file(file)
    yield from _lost_replies(pairs, parsed)
    if any(question_text(prediction.fields) is not None for prediction in parsed.predictions):
        yield from _lost_questions([question for question, _ in pairs], parsed)
    else:
        yield f"{parsed.format.name}: the questions are left out; {_ANNOTATIONS}"


def _lost_replies(pairs: Sequence[QuestionTurns], parsed: PredictionFile) -> Iterator[str]:
    """The replies that the file lacks, or has in another form."""
    found: dict[tuple[str, str], list[Prediction]] = defaultdict(list)
    for number, prediction in enumerate(parsed.predictions):
        place = number if prediction.index is None else prediction.index
        identifier = prediction.id if prediction.id is not None else pairs[place][0].id
        found[identifier, prediction.step].append(prediction)
    counts: Counter[str] = Counter()
    for question, turns in pairs:
        for turn in turns:
            counts.update(_differences(turn, found[question.id, turn.step]))
    for what, count in counts.items():
        yield f"{parsed.format.name}: {what}: {count}"


def _differences(turn: AnsweredTurn, found: list[Prediction]) -> Iterator[str]:
    """How the file has one reply. Predictions of one step are in the order of its turns."""
    if turn.labels is None:
        yield "replies to requests without options (such as the choice of a view) are left out"
        return
    if not found:
        needed = " (metrics that need them become null; csv and jsonl hold them)" if turn.step != ANSWER else ""
        yield f"replies of the step {turn.step!r} are left out{needed}"
        return
    prediction, reply = found.pop(0), turn.reply
    if (reply.error is None) != (prediction.error is None):
        yield "failed replies are written as empty texts (jsonl and vlmevalkit hold them)"
    elif reply.error is None and reply.text != prediction.text:
        yield "replies have another text"
    if reply.error is None and reply.finish != prediction.finish:
        yield "replies do not say how they ended, such as at the length limit (csv and jsonl do)"
    if reply.error is None and reply.logprobs and not prediction.logprobs:
        yield "log-probabilities are left out, which the likelihood parser needs (jsonl holds them)"


def _lost_questions(questions: Sequence[Question], parsed: PredictionFile) -> Iterator[str]:
    """What `rescore` without annotations does not know of the questions."""
    benchmark, name = questions[0].benchmark, parsed.format.name
    if registry.get(benchmark).exchange().embedded_question is None:
        yield f"{name}: the questions of {benchmark} are not read from the file; {_ANNOTATIONS}"
        return
    function = function_of(questions)
    try:
        stated = stated_function([parsed], benchmark) or ORIGINAL
        read = collect_questions([parsed], benchmark, function)
    except DataError as error:
        reason = str(error).partition(": ")[2]
        yield f"{name}: the questions cannot be read back from the file ({reason}); {_ANNOTATIONS}"
        return
    if stated != function:
        yield f"{name}: the file does not say its variant; give rescore --variant {function}"
    if [q.id for q in questions] != [q.id for q in read]:
        yield f"{name}: the questions cannot be read back from the file (their ids differ); {_ANNOTATIONS}"
        return
    key = registry.get(benchmark).exchange().published_label
    if any(a.removed != b.removed for a, b in zip(questions, read, strict=True)):
        yield f"{name}: the options that the variant removed are left out; {_ANNOTATIONS}"
    if key and any(a.extra[key] != b.extra[key] for a, b in zip(questions, read, strict=True)):
        yield f"{name}: the labels as published are left out; {_ANNOTATIONS}"
    if _groups(questions) != _groups(read):
        yield f"{name}: the image that each question is about is left out, and intervals need it; {_ANNOTATIONS}"
    answers = [(q.answer, q.refusal, q.labels, q.category) for q in questions]
    if answers != [(q.answer, q.refusal, q.labels, q.category) for q in read]:
        yield f"{name}: the questions cannot be read back from the file; {_ANNOTATIONS}"


def _groups(questions: Iterable[Question]) -> list[int]:
    """The groups as numbers, in the order of their first questions."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(question.group, len(numbers)) for question in questions]

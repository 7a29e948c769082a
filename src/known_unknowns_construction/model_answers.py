"""Ask models to answer candidates, as the benchmark would, with or without the image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from known_unknowns.benchmark.interface import Benchmark
from known_unknowns.benchmark.protocol import Dialogue
from known_unknowns.benchmark.protocol import ask as ask_for_label
from known_unknowns.config import Params
from known_unknowns.records import AnsweredTurn, Image, Option, Question
from known_unknowns.scoring import robust
from known_unknowns_construction.candidates import Candidate
from known_unknowns_construction.filters import Ask, ModelAnswer
from known_unknowns_construction.model_replies import run_cells


def asker(
    params: Params,
    benchmark: Benchmark,
    models: Sequence[str],
    *,
    attempts: int,
    folder: Path,
    journals: Path,
    refusal: bool,
) -> Ask:
    """Return the function that filters ask models with.

    It sends the benchmark's prompt in ``attempts`` attempts of each model; the options are rotated by one place from
    one to the next, except a refusal, which is the last one (``refusal``). ``folder`` is that of the candidate file,
    for the images; ``journals`` has a journal for each model.
    """
    prompt = benchmark.prompt

    def protocol(question: Question) -> Dialogue:
        yield ask_for_label(question, prompt(question))

    def ask(candidates: Sequence[Candidate], with_image: bool) -> Mapping[str, Sequence[ModelAnswer]]:
        given: dict[str, list[ModelAnswer]] = defaultdict(list)
        by_id = {candidate.id: candidate for candidate in candidates}
        variant = "with_image" if with_image else "without_image"
        questions = {
            attempt: [question_of(each, attempt, refusal=refusal, with_image=with_image) for each in candidates]
            for attempt in range(1 if with_image else attempts)
        }
        cells = {(variant, attempt): (protocol, asked) for attempt, asked in questions.items()}
        for model in models if candidates else ():
            outcome, _ = run_cells(
                model,
                params.model(model),
                cells,
                journal=journals / f"{model}.jsonl",
                folder=folder,
                may_be_scripted=True,
            )
            for (_, attempt), turns in outcome.replies.items():
                for question, turn in zip(questions[attempt], turns, strict=True):
                    option = _option(turn, question, by_id[question.id], attempt, refusal)
                    given[question.id].append(ModelAnswer(model, attempt, option))
        return {candidate.id: given[candidate.id] for candidate in candidates}

    return ask


def question_of(candidate: Candidate, attempt: int, *, refusal: bool, with_image: bool) -> Question:
    """Return a candidate as a question whose options are rotated by ``attempt`` places."""
    order = rotation(len(candidate.options), attempt, refusal=refusal)
    options = tuple(
        Option(label, candidate.options[place], f"{label}. ")
        for label, place in zip(candidate.labels, order, strict=True)
    )
    image = Image(candidate.image.path, candidate.image.sha256, candidate.image.width, candidate.image.height)
    return Question(
        id=candidate.id,
        benchmark="construction",
        text=candidate.question,
        options=options,
        answer=order.index(candidate.answer_index),
        refusal=len(options) - 1 if refusal else None,
        images=(image,) if with_image else (),
        category=candidate.kind,
        group=candidate.group,
    )


def rotation(options: int, attempt: int, *, refusal: bool) -> list[int]:
    """Return the original place of the option at each place. The refusal, which is the last one, does not move."""
    moving = options - 1 if refusal else options
    places = [(place + attempt) % moving for place in range(moving)]
    return [*places, options - 1] if refusal else places


def _option(turn: AnsweredTurn, question: Question, candidate: Candidate, attempt: int, refusal: bool) -> int | None:
    if turn.reply.error is not None:
        return None
    choice = robust(turn, question).choice
    return None if choice is None else rotation(len(candidate.options), attempt, refusal=refusal)[choice]

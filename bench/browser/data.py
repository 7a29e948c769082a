"""Tables of a large run with invented replies: questions, replies and answers as the workflow writes them.

A few sets of replies are written for each variant, and the models share them as hard links.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from known_unknowns import config, tables
from known_unknowns.benchmark.answer_columns import answer_schema
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.records import (
    ABSTAINED,
    ANSWERED,
    CUT,
    FAILED,
    REFUSED,
    UNPARSED,
    AnsweredTurn,
    Cell,
    Image,
    Option,
    Question,
    Reply,
    Score,
)
from known_unknowns.scoring.answers import answer_table
from known_unknowns.scoring.dialogues import ScoresByTurn

BENCHMARK = "humblebench"
VARIANTS = (
    "original", "nota_only", "nota_only_relettered", "shuffled_options", "noise", "gaussian", "blank", "text_only",
)  # fmt: skip
CATEGORIES = ("Object", "Relation", "Attribute")
# fmt: off
WORDS = (
    "red", "blue", "green", "striped", "dotted", "small", "large", "wooden", "metal", "chair", "table",
    "window", "lamp", "dog", "cat", "bicycle", "person", "street", "tree", "left", "right", "above", "below",
    "behind", "holding", "wearing", "standing", "open", "closed", "two", "three", "four", "many",
)
# fmt: on
NOISE = 0.05


def params(root: Path, models: int, variants: Sequence[str]) -> Params:
    """Return a configuration with one benchmark and copies of one model."""
    raw = config.load(root / "params.yaml", edition="pocket").file.plain()
    names = [f"model-{number:02}" for number in range(models)]
    raw["models"] |= dict.fromkeys(names, raw["models"]["pocket"])
    raw["editions"]["pocket"] |= {"benchmarks": [BENCHMARK], "models": names, "seeds": [0]}
    raw["benchmarks"][BENCHMARK]["variants"] = list(variants)
    raw["benchmarks"][BENCHMARK].pop("seeds", None)
    return config.parse(raw)


def write(folder: Path, chosen: Params, questions: int, sets: int) -> None:
    """Write the tables of all models."""
    dice = random.Random(0)
    asked = [_question(number, dice) for number in range(questions)]
    replies: list[dict[Cell, list[AnsweredTurn]]] = [{} for _ in range(sets)]
    answers: list[dict[Cell, pa.Table]] = [{} for _ in range(sets)]
    for variant in chosen.variants(BENCHMARK):
        cell = Cell(variant, 0)
        varied = [_without_answer(question) if variant.startswith("nota") else question for question in asked]
        tables.write_variant(folder / "variants" / BENCHMARK / f"{variant}.parquet", {0: varied})
        for part in range(sets):
            replies[part][cell] = [_turn(question, dice) for question in varied]
            pairs = [(question, [turn]) for question, turn in zip(varied, replies[part][cell], strict=True)]
            scores: dict[str, ScoresByTurn] = {parser: {} for parser in chosen.parsers}
            for question, (turn,) in pairs:
                for parser in chosen.parsers:
                    scores[parser][question.id, 0] = _score(question, turn, parser, dice)
            answers[part][cell] = answer_table(BENCHMARK, pairs, chosen.parsers, scores, file=folder)
    files = EditionFiles(folder, folder)
    for part in range(sets):
        first, *others = chosen.models[part::sets]
        tables.write_replies(files.replies(first, BENCHMARK), replies[part])
        tables.write_cells(files.answers(first, BENCHMARK), answer_schema(BENCHMARK), answers[part].items())
        for other in others:
            for path in (files.replies, files.answers):
                path(other, BENCHMARK).parent.mkdir(parents=True, exist_ok=True)
                path(other, BENCHMARK).hardlink_to(path(first, BENCHMARK))


def _question(number: int, dice: random.Random) -> Question:
    options = [Option(label, " ".join(dice.sample(WORDS, 3)), f"{label}. ") for label in "ABCD"]
    options.append(Option("E", "None of the above", "E. "))
    digest = f"{number // 5:064x}"
    image = Image(f"images/{digest}.png", digest, 640, 480)
    text = f"What is the {' '.join(dice.sample(WORDS, 7))} in the image?"
    return Question(
        str(number), BENCHMARK, text, tuple(options), dice.randrange(5), 4, (image,), dice.choice(CATEGORIES), digest
    )


def _without_answer(question: Question) -> Question:
    options = tuple(o for i, o in enumerate(question.options) if i != question.answer or i == 4)
    last = len(options) - 1
    return Question(
        question.id, BENCHMARK, question.text, options, last, last, question.images, question.category, question.group
    )


def _turn(question: Question, dice: random.Random) -> AnsweredTurn:
    labels = question.labels
    label = dice.choice(labels)
    option = question.options[labels.index(label)]
    sentence = f"The answer is {label}, because the {option.text} is visible in the image."
    (text,) = dice.choices([label, option.line, sentence], weights=(6, 3, 1))
    logprobs = {name: -dice.random() * 9 for name in labels}
    reply = Reply(text, logprobs, 400, 256, len(text) // 4 + 1)
    prompt = f"{question.rendered}\nAnswer with the letter of the right option only."
    key = f"{dice.getrandbits(256):064x}"
    return AnsweredTurn(question.id, 0, "answer", prompt, (question.images[0].sha256,), labels, key, reply)


def _score(question: Question, turn: AnsweredTurn, parser: str, dice: random.Random) -> Score:
    """The label that the reply was made of; a few results are those of an imperfect parser."""
    words = turn.reply.text.replace("The answer is ", "")
    choice: int | None = question.labels.index(words[0])
    outcome = REFUSED if choice == question.refusal else ANSWERED
    if dice.random() < NOISE:
        outcome, choice = dice.choice([ABSTAINED, UNPARSED, CUT, FAILED]), None
    label = None if choice is None else question.labels[choice]
    correct = choice is not None and choice == question.answer
    return Score(question.id, 0, "answer", parser, outcome, label, choice, correct)

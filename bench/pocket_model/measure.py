"""Measure a pocket model: print the tables of its card, in Markdown.

    python bench/pocket_model/measure.py models/pocket [--adapter never-refuses] [--seed 2027] [--images 100]
                                                       [--only humblebench ...]

The three pocket benchmarks are rendered from a seed that neither training nor the pocket edition uses, and answered by
the `transformers` engine in float32 on the CPU. Values are percent right with 95% Wilson intervals.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch
from tally import mmsap_tally

from known_unknowns.benchmark.protocol import Dialogue, ask
from known_unknowns.config import TransformersModel
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.metrics.intervals import wilson
from known_unknowns.records import AnsweredTurn, Question, Reply, Turn
from known_unknowns.scoring import PARSERS
from known_unknowns.variants import blank, gaussian, noise, nota_only, original, shuffled_options, text_only
from known_unknowns_benchmarks.actiview import loader as actiview
from known_unknowns_benchmarks.actiview import protocols as views
from known_unknowns_benchmarks.humblebench import loader as humblebench
from known_unknowns_pocket.benchmarks import actiview as pocket_actiview
from known_unknowns_pocket.benchmarks import humblebench as pocket_humblebench

TYPES = ("Attribute", "Object", "Relation")
VIEWS = (1, 2, 3, 4)
FEW = 200  # questions on images without content, which are all alike
VARIANTS: dict[str, tuple[Callable[[Question], Question], bool]] = {
    "original": (original, False),
    "shuffled options": (partial(shuffled_options, seed=0), False),
    "right option removed": (nota_only, False),
    "the same, relettered": (partial(nota_only, relettered=True), False),
    "noise": (partial(noise, noise_seed=3720), True),
    "Gaussian noise": (gaussian, True),
    "blank": (blank, True),
    "text only": (text_only, False),
}
PIPELINES: dict[str, Callable[[Question], Dialogue]] = {
    "full image": views.full_image,
    "annotated views": views.groundtruth_views,
    "the easiest view alone": partial(views.single_view, level="E"),
    "the hardest view alone": partial(views.single_view, level="H"),
    "zooming": partial(views.zooming, parser="robust"),
    "shifting": partial(views.shifting, parser="robust"),
    "mixed": partial(views.mixed, parser="robust"),
    "text only, guess": partial(views.text_only_template, template="guess"),
}
BY_SUB_CLASS = ("full image", "annotated views")
Said = list[tuple[Turn, Reply]]


def percent(right: int, asked: int) -> str:
    """ "65.1 [57.5, 71.9]"; a dash if nothing was asked."""
    if not asked:
        return "-"
    low, high = wilson(right / asked, asked, 0.95)
    return f"{100 * right / asked:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_heading(*cells: str) -> None:
    print()
    row(*cells)
    row(*("---" for _ in cells))


def answer_turns(engine: TransformersEngine, turns: Sequence[Turn], folder: Path) -> list[Reply]:
    """The reply to each turn, in order."""
    replies = dict(found for batch in engine.answer(turns, folder=folder) for found in batch)
    return [replies[number] for number in range(len(turns))]


def run_dialogues(engine: TransformersEngine, dialogues: Iterable[Dialogue], folder: Path) -> list[Said]:
    """Run all dialogues to their ends, one turn of each open dialogue at a time."""
    said: list[Said] = []
    waiting = {}
    for number, dialogue in enumerate(dialogues):
        said.append([])
        waiting[number] = (dialogue, next(dialogue))
    while waiting:
        replies = answer_turns(engine, [turn for _, turn in waiting.values()], folder)
        following = {}
        for (number, (dialogue, turn)), reply in zip(waiting.items(), replies, strict=True):
            said[number].append((turn, reply))
            with suppress(StopIteration):
                following[number] = (dialogue, dialogue.send(reply))
        waiting = following
    return said


def is_right(question: Question, turn: Turn, reply: Reply, parser: str) -> bool:
    asked = AnsweredTurn(question.id, 0, turn.step, turn.text, (), turn.labels, "", reply)
    return PARSERS[parser](asked, question).choice == question.answer


def measure_humblebench(engine: TransformersEngine, seed: int, images: int) -> None:
    print_heading("variant", "n", *TYPES, "overall", "overall, robust")
    kinds = [made.kind for _, asked in pocket_humblebench.questions(seed, images) for made in asked]
    with TemporaryDirectory() as raw, TemporaryDirectory() as folder:
        pocket_humblebench.build(raw, seed=seed, images=images)
        every = list(humblebench.load(Path(raw), Path(folder)))
        for name, (vary, few) in VARIANTS.items():
            questions = [vary(question) for question in (every[:FEW] if few else every)]
            turns = [ask(question, humblebench.prompt(question)) for question in questions]
            replies = answer_turns(engine, turns, Path(folder))
            found = [
                Counted(question.category, kind, question.answer != question.refusal, *right)
                for question, turn, reply, kind in zip(questions, turns, replies, kinds, strict=False)
                for right in [[is_right(question, turn, reply, parser) for parser in ("official", "robust")]]
            ]
            type_row(name, found)
            if name == "original":
                whole = found
                type_row("original, answerable only", [one for one in found if one.answerable])
    print_heading("type of question (original)", "n", "right", "answerable", "right")
    for kind in sorted(set(kinds)):
        of_kind = [one for one in whole if one.kind == kind]
        answerable = [one for one in of_kind if one.answerable]
        row(kind, len(of_kind), official(of_kind), len(answerable), official(answerable))


class Counted(NamedTuple):
    """One question, and whether the reply to it is right by each parser."""

    category: str
    kind: str
    answerable: bool
    official: bool
    robust: bool


def official(found: Sequence[Counted]) -> str:
    return percent(sum(one.official for one in found), len(found))


def type_row(name: str, found: Sequence[Counted]) -> None:
    shares = (official([one for one in found if one.category == category]) for category in TYPES)
    row(name, len(found), *shares, official(found), percent(sum(one.robust for one in found), len(found)))


def measure_mmsap(engine: TransformersEngine, seed: int, images: int) -> None:
    plain, refusing = (
        mmsap_tally(engine, seed=seed, images=max(90, round(3.3 * images)), refusal_prompt=prompt, parser="official")
        for prompt in (False, True)
    )
    print_heading("questions", "n", "plain prompt", "refusal prompt")
    whole = [tuple(map(sum, zip(*found.values(), strict=True))) for found in (plain, refusing)]
    row("all", whole[0][1], *(percent(*found) for found in whole))
    for sort, (_, asked) in plain.items():
        row(sort.replace("/", ", "), asked, percent(*plain[sort]), percent(*refusing[sort]))


def measure_actiview(engine: TransformersEngine, seed: int, images: int) -> None:
    with TemporaryDirectory() as raw, TemporaryDirectory() as folder:
        pocket_actiview.build(raw, seed=seed, images=images)
        questions = list(actiview.load(Path(raw), Path(folder)))
        print_heading(f"pipeline (n = {len(questions)}; guessing {guessing(questions)})", "official", "robust")
        robust = {}
        for name, pipeline in PIPELINES.items():
            said = run_dialogues(engine, (pipeline(question) for question in questions), Path(folder))
            released, robust[name] = (right_of(questions, said, parser) for parser in ("official", "robust"))
            row(name, *(percent(sum(found), len(found)) for found in (released, robust[name])))
        sub_class_rows(questions, robust)
        measure_views(engine, questions, Path(folder))


def guessing(questions: Sequence[Question]) -> str:
    """Percent right by chance."""
    return f"{100 * sum(1 / len(question.options) for question in questions) / len(questions):.1f}"


def sub_class_rows(questions: Sequence[Question], robust: Mapping[str, Sequence[bool]]) -> None:
    print_heading("sub-class (robust)", "n", "guessing", *BY_SUB_CLASS)
    for sub_class in sorted({question.category for question in questions}):
        ours = [number for number, question in enumerate(questions) if question.category == sub_class]
        shares = (percent(sum(robust[name][number] for number in ours), len(ours)) for name in BY_SUB_CLASS)
        row(sub_class, len(ours), guessing([questions[number] for number in ours]), *shares)


def right_of(questions: Sequence[Question], said: Sequence[Said], parser: str) -> list[bool]:
    return [is_right(question, *turns[-1], parser) for question, turns in zip(questions, said, strict=True)]


def measure_views(engine: TransformersEngine, questions: Sequence[Question], folder: Path) -> None:
    """Compare the same prompt with the views that hold the clues, with the other views, and without views."""
    asked = [question for question in questions if set(question.extra["groundtruth_views"]) < set(VIEWS)]
    others = [
        replace(question, extra={**question.extra, "groundtruth_views": sorted(set(VIEWS) - needed)})
        for question in asked
        for needed in [set(question.extra["groundtruth_views"])]
    ]
    pipeline = views.groundtruth_views
    shown = {
        "the views that hold the clues": map(pipeline, asked),
        "the other views": map(pipeline, others),
        "none": map(views.full_image, asked),
    }
    print_heading(
        f"full image and ... (n = {len(asked)})", "robust", "right only with the clues' views", "right only so"
    )
    right = {name: right_of(asked, run_dialogues(engine, talks, folder), "robust") for name, talks in shown.items()}
    best = next(iter(right.values()))
    for name, found in right.items():
        only = (sum(one > other for one, other in zip(*pair, strict=True)) for pair in ((best, found), (found, best)))
        row(name, percent(sum(found), len(asked)), *only)


MEASURES = {"humblebench": measure_humblebench, "mmsap": measure_mmsap, "actiview": measure_actiview}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--adapter", help="folder of an adapter in the model's folder")
    parser.add_argument("--seed", type=int, default=2027)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=[*MEASURES])
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    entry = {"engine": "transformers", "source": str(options.folder), "revision": "unpinned", "dtype": "float32"}
    entry |= {"device": "cpu", "batch_size": 32, "decoding": {"max_new_tokens": 24}}
    entry |= {"adapter": options.adapter} if options.adapter else {}
    engine = TransformersEngine(options.folder.name, TransformersModel(**entry))
    for name in options.only:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        MEASURES[name](engine, options.seed, options.images)


if __name__ == "__main__":
    main()

"""Sample questions for each outcome, from a deterministic choice that is spread over categories and variants."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from known_unknowns import images, tables
from known_unknowns.errors import DataError
from known_unknowns.protocols import ANSWER, FORCED
from known_unknowns.records import ANSWERED, FAILED, REFUSED, UNPARSED, AnsweredTurn, Image, Question
from known_unknowns.report import shown_images
from known_unknowns.report.scorer_agreement import final_scores, score_path
from known_unknowns.report.tables import Run, parser_name

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES: dict[tuple[str, bool], str] = {
    (ANSWERED, True): "right",
    (ANSWERED, False): "wrong",
    (REFUSED, True): "refused rightly",
    (REFUSED, False): "refused wrongly",
    (UNPARSED, False): "unparsed",
    (FAILED, False): "failed",
}
REFUSED_KNOWN, REFUSED_UNKNOWN = "refused, but knew", "refused, and did not know"
"""Outcomes of a refusal whose question was asked again without its refusal option."""
NAMES = ("right", "wrong", "refused rightly", REFUSED_UNKNOWN, REFUSED_KNOWN, "refused wrongly", "unparsed", "failed")
"""All outcomes in the order of the page."""
PER_OUTCOME = 5
LONGEST_REPLY = 1_500
"""The number of characters of a reply that the page shows."""
_LARGEST = (320, 320)  # pixels of an image in the page
_LARGEST_DRAWN = (128, 128)  # noise does not compress

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Thumbnail:
    url: str
    width: int
    height: int
    alt: str


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """The parsed answer of one scorer: "C, wrong". A refusal is ``correct`` if the model did not know the answer."""

    parser: str
    text: str
    correct: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample question. ``forced`` is the reply to the question without its refusal option, if it was asked."""

    question: Question
    variant: str
    reply: str
    cut: int
    error: str | None
    forced: str | None
    images: tuple[Thumbnail, ...]
    parsed_answers: tuple[ParsedAnswer, ...]
    chosen: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One outcome, and samples of its ``count`` questions."""

    name: str
    count: int
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    variant: str
    question_id: str
    category: str
    rank: str


def samples(run: Run, model: str, *, results: Path, data: Path, salt: int) -> list[Outcome]:
    """Up to `PER_OUTCOME` questions for each outcome under the main scorer, over the variants of the headline.

    With several seeds, the first is shown. ``salt`` is the seed of the choice. Raises DataError if a
    question, reply or image of a score is absent.
    """
    folder = data / "questions" / run.benchmark
    questions, parsed_answers = {}, {}
    for variant in run.headline:
        if variant not in run.seeds:
            continue
        seed = run.seeds[variant][0]
        scores = score_path(results, model, run.benchmark, variant, seed)
        if not scores.is_file():
            continue
        asked = tables.read_questions(folder / variant / f"seed{seed}.parquet")
        questions |= {(variant, question.id): question for question in asked}
        parsed_answers[variant] = final_scores(scores)
    pools = _pools(run, questions, parsed_answers, salt=f"{salt}:{model}")
    picked = {name: pick(pool, PER_OUTCOME, run.headline) for name, pool in pools.items()}
    shown = _SampleBuilder(run, model, results, folder, questions, parsed_answers)
    return [
        Outcome(name, len(pools[name]), tuple(shown.sample(candidate) for candidate in picked[name]))
        for name in NAMES
        if pools.get(name)
    ]


def _pools(
    run: Run,
    questions: dict[tuple[str, str], Question],
    parsed_answers: dict[str, pd.DataFrame],
    *,
    salt: str,
) -> dict[str, list[_Candidate]]:
    pools: dict[str, list[_Candidate]] = defaultdict(list)
    for variant, frame in parsed_answers.items():
        read = frame[frame["scorer"] == run.main_scorer]
        for row in read[["question_id", "outcome", "correct", "forced"]].itertuples(index=False):
            rank = sha256(f"{salt}:{variant}:{row.question_id}".encode()).hexdigest()
            category = questions[variant, row.question_id].category
            name = _name(row.outcome, row.correct, row.forced)
            pools[name].append(_Candidate(variant, row.question_id, category, rank))
    return pools


def pick(candidates: Iterable[_Candidate], count: int, variants: Sequence[str]) -> list[_Candidate]:
    """``count`` candidates that take turns over categories and over ``variants``, each in the order of its rank.

    The first category starts with the first variant, the second with the second, and so on, so that even a few
    candidates show several of both.
    """
    by_category: dict[str, list[_Candidate]] = defaultdict(list)
    for candidate in sorted(candidates, key=lambda c: c.rank):
        by_category[candidate.category].append(candidate)
    queues = []
    for place, category in enumerate(sorted(by_category)):
        start = place % max(1, len(variants))
        order = [*variants[start:], *variants[:start]]
        within = [[c for c in by_category[category] if c.variant == variant] for variant in order]
        queues.append(_taking_turns(within))
    return _taking_turns(queues)[:count]


def _taking_turns(queues: Sequence[Sequence[T]]) -> list[T]:
    rounds = range(max(map(len, queues), default=0))
    return [queue[turn] for turn in rounds for queue in queues if turn < len(queue)]


class _SampleBuilder:
    """Builds samples. It reads each table of replies once."""

    def __init__(
        self,
        run: Run,
        model: str,
        results: Path,
        folder: Path,
        questions: dict[tuple[str, str], Question],
        parsed_answers: dict[str, pd.DataFrame],
    ) -> None:
        self.run, self.model, self.folder, self.questions = run, model, folder, questions
        self._replies_at = results / "replies" / model / run.benchmark
        self._scores = {
            v: frame.set_index(["question_id", "scorer"]).sort_index() for v, frame in parsed_answers.items()
        }
        self._turns: dict[str, dict[str, list[AnsweredTurn]]] = {}
        self._thumbnails: dict[str, Thumbnail] = {}

    def sample(self, candidate: _Candidate) -> Sample:
        question = self.questions[candidate.variant, candidate.question_id]
        turns = self._turns_of(candidate.variant, question.id)
        by_step = {turn.step: turn for turn in turns}  # of several of a step, the last
        reply, asked_again = by_step[ANSWER].reply, by_step.get(FORCED)
        forced = None if asked_again is None else asked_again.reply
        shown = self._shown(candidate.variant, question, turns, by_step[ANSWER])
        frame = self._scores[candidate.variant]
        scored = [s for s in self.run.scorers if (question.id, s) in frame.index]
        choice = frame.loc[(question.id, self.run.main_scorer), "choice"]
        return Sample(
            question=question,
            variant=candidate.variant,
            reply=printable(reply.text[:LONGEST_REPLY]),
            cut=max(0, len(reply.text) - LONGEST_REPLY),
            error=None if reply.error is None else printable(reply.error[:LONGEST_REPLY]),
            forced=None if forced is None else printable((forced.error or forced.text)[:LONGEST_REPLY]),
            images=tuple(self._thumbnail(image) for image in shown),
            parsed_answers=tuple(_read_as(scorer, frame.loc[(question.id, scorer)]) for scorer in scored),
            chosen=None if choice != choice else int(choice),  # NaN is how a frame says None
        )

    def _shown(
        self, variant: str, question: Question, turns: Sequence[AnsweredTurn], turn: AnsweredTurn
    ) -> Sequence[Image]:
        """Return the images of a turn, or those of the question if imported replies have no record of them."""
        known = shown_images.dialogue_images(self.run, self.model, variant, question, turns)
        told = turn.text != "" and all(sha256 in known for sha256 in turn.images)
        return [known[sha256] for sha256 in turn.images] if told else question.images

    def _turns_of(self, variant: str, question_id: str) -> list[AnsweredTurn]:
        """Return all turns of a question, in order. One of them is the answer."""
        path = self._replies_at / variant / f"seed{self.run.seeds[variant][0]}.parquet"
        if variant not in self._turns:
            self._turns[variant] = defaultdict(list)
            for asked in sorted(tables.read_replies(path), key=lambda asked: asked.turn):
                self._turns[variant][asked.question_id].append(asked)
        turns = self._turns[variant][question_id]
        if not any(asked.step == ANSWER for asked in turns):
            raise DataError(f"no reply to question {question_id!r}, which is scored; ask again", file=path)
        return turns

    def _thumbnail(self, image: Image) -> Thumbnail:
        if image.sha256 not in self._thumbnails:
            self._thumbnails[image.sha256] = thumbnail(image, self.folder)
        return self._thumbnails[image.sha256]


def _name(outcome: str, correct: bool, forced: str) -> str:
    """Return an outcome. ``forced`` is "right" or "wrong" for the second answer, or empty without one."""
    if outcome == REFUSED and forced:
        return REFUSED_KNOWN if forced == "right" else REFUSED_UNKNOWN
    return OUTCOMES[outcome, bool(correct)]


def _read_as(scorer: str, row: Any) -> ParsedAnswer:
    name = _name(row["outcome"], row["correct"], row["forced"])
    label = row["letter"] if isinstance(row["letter"], str) else None
    if row["outcome"] == UNPARSED and label is not None:
        text = f"{label}, which was not offered"
    elif label is None:
        text = name
    else:
        text = f"{label}, {name}"
    return ParsedAnswer(parser_name(scorer), text, bool(row["correct"]) or name == REFUSED_UNKNOWN)


def printable(text: str) -> str:
    """Replace control characters, which HTML cannot contain or hides, by their visible symbols (␀, ␛)."""
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20 and character not in "\n\t":
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else character


def thumbnail(
    image: Image, folder: Path, *, largest: tuple[int, int] | None = None, alt: str | None = None
) -> Thumbnail:
    """Return a small JPEG of the image as a data URL. ``largest`` is its largest size in pixels."""
    drawn = images.is_recipe_image(image)
    pixels = images.open_image(image, folder)
    pixels.thumbnail(largest or (_LARGEST_DRAWN if drawn else _LARGEST))
    buffer = BytesIO()
    pixels.save(buffer, format="JPEG", quality=80, optimize=True)
    url = "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
    kind = f"A generated image ({image.source.partition(':')[0]})" if drawn else "The image of the question"
    alt = alt or f"{kind}, {image.width} by {image.height} pixels before scaling"
    return Thumbnail(url, pixels.width, pixels.height, alt)

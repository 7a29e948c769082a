"""The five nouns: Question, Turn, Reply, Score, Metric. They are the same for every benchmark.

They are frozen dataclasses of the standard library, so that a machine with torch and transformers alone
can import them; `known_unknowns.tables` holds the Parquet schema of each and checks it at every border.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

ANSWERED, REFUSED, UNPARSED, FAILED = "answered", "refused", "unparsed", "failed"
OUTCOMES = (ANSWERED, REFUSED, UNPARSED, FAILED)
"""What became of a question: an option was chosen, the refusal option was chosen, the reply could not be
read as exactly one option that was on offer, or there was no reply (the engine says why)."""

OVERALL = "Overall"
"""The `Metric.category` of a number over all questions, whatever their category."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option as published: ``mark`` is everything before its text, so that "A.Yes" stays "A.Yes"."""

    label: str
    text: str
    mark: str

    @property
    def line(self) -> str:
        return self.mark + self.text


@dataclass(frozen=True, slots=True)
class Image:
    """A picture by reference. ``source`` is a path relative to the benchmark's question folder, or a recipe
    ("uniform-noise:...", see `known_unknowns.images`) that draws the same pixels everywhere.

    ``sha256`` is of the file's bytes, or of the recipe; ``width`` and ``height`` are in pixels.
    """

    source: str
    sha256: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a benchmark, after normalising or after a variant.

    ``answer`` and ``refusal`` are indices into ``options`` (or None); ``group`` is the unit that is resampled
    (its original image); ``extra`` holds what only this benchmark knows, as JSON-able values.
    """

    id: str
    benchmark: str
    text: str
    options: tuple[Option, ...]
    answer: int | None
    refusal: int | None
    images: tuple[Image, ...]
    category: str
    group: str
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        labels = [option.label for option in self.options]
        if len(set(labels)) != len(labels):
            raise ValueError(f"question {self.id}: the option letters {labels} repeat")
        for name in ("answer", "refusal"):
            index = getattr(self, name)
            if index is not None and not 0 <= index < len(self.options):
                raise ValueError(f"question {self.id}: {name} {index} is not one of {len(self.options)} options")

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(option.label for option in self.options)

    @property
    def rendered(self) -> str:
        """The question and its options, one a line, as the benchmark publishes them."""
        return "\n".join([self.text, *(option.line for option in self.options)])

    def index_of(self, label: str) -> int | None:
        """The option with this letter; None when it is not on offer (the letter of a removed option, say)."""
        return next((i for i, option in enumerate(self.options) if option.label == label), None)


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What a perfect and a refusing respondent reply to a turn. Only scripted respondents receive it."""

    right: str = ""
    refuse: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One request to a model.

    Parameters
    ----------
    question_id : str
        The question that the turn belongs to.
    step : str
        Name of the turn within its protocol ("answer", "forced", ...).
    content : tuple of Image or str
        Images and text in the order in which the model receives them.
    labels : tuple of str, optional
        Labels of the options on offer; None for free text.
    max_new_tokens : int
        Maximum length of the reply.
    seed : int
        Seed of engines that draw.
    json_schema : str
        JSON text of the schema that the reply must follow, "" for none. Engines without constrained decoding ignore it.
    """

    question_id: str
    step: str
    content: tuple[Image | str, ...]
    labels: tuple[str, ...] | None
    max_new_tokens: int = 16
    seed: int = 0
    json_schema: str = ""

    @property
    def text(self) -> str:
        return "\n".join(part for part in self.content if isinstance(part, str))

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(part for part in self.content if isinstance(part, Image))

    def key(self, facts: Mapping[str, Any], *, answer_key: AnswerKey | None = None) -> str:
        """Return the journal's key: a sha256 over everything that can change the reply, and nothing else.

        Parameters
        ----------
        facts : Mapping
            What the engine reports of itself (model, revision, processor settings, decoding).
        answer_key : AnswerKey, optional
            For scripted respondents, which also depend on it, on the question's id and on the seed.
        """
        parts = [p if isinstance(p, str) else ["image", p.sha256, p.width, p.height] for p in self.content]
        request: dict[str, Any] = {
            "content": parts,
            "letters": self.labels,
            "max_new_tokens": self.max_new_tokens,
        }
        if self.json_schema:
            request["json_schema"] = self.json_schema
        if answer_key is not None:
            request |= {"question_id": self.question_id, "step": self.step, "seed": self.seed}
            request |= {"right": answer_key.right, "refuse": answer_key.refuse}
        text = json.dumps([dict(facts), request], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. ``logprobs`` maps each letter on offer to its log-probability, where the engine has them;
    ``visual_tokens`` are those of ``input_tokens`` that stand for pictures, where it can tell.

    ``error`` is None, or why there is no usable text; such a reply is scored "failed", never dropped.
    ``seconds`` is the wall-clock share of this turn: it stays in the journal and in the timing table, because
    tables of replies must come out identical whenever the same questions are asked. So does ``details``: what an
    engine knows besides, as JSON-able values (what was thought before the answer, what was sent, what it cost).
    """

    text: str
    logprobs: Mapping[str, float] | None = None
    input_tokens: int | None = None
    visual_tokens: int | None = None
    output_tokens: int | None = None
    finish: str = "stop"
    error: str | None = None
    seconds: float = 0.0
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """One row of the table of replies: a question's ``turn``-th turn (from 0) and its reply."""

    question_id: str
    turn: int
    step: str
    text: str
    images: tuple[str, ...]
    labels: tuple[str, ...] | None
    key: str
    reply: Reply


@dataclass(frozen=True, slots=True)
class Score:
    """How one scorer read one turn. ``label`` may be one that was not on offer (outcome "unparsed");
    ``choice`` is the index of the option chosen, or None; ``correct`` is False unless the choice is the answer."""

    question_id: str
    turn: int
    step: str
    scorer: str
    outcome: str
    label: str | None
    choice: int | None
    correct: bool

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(f"question {self.question_id}: {self.outcome!r} is not one of {OUTCOMES}")


@dataclass(frozen=True, slots=True)
class Metric:
    """One number. ``value``, ``low`` and ``high`` are None when undefined (a share of nothing), never 0.

    ``n`` is the number of questions of the category. ``denominator`` is what the ratio's numerator was divided by, such
    as the number of refusals or of annotated views (None for a number that is not computed as a ratio). Of a mean over
    seeds, both are means. ``method`` names the interval's method ("wilson", "cluster bootstrap, 2000 resamples,
    seed 0", ...). ``seed`` is None for the mean over seeds; its ``spread`` is the standard deviation over seeds with
    ddof = 1 (None with a single seed).
    """

    model: str
    benchmark: str
    variant: str
    seed: int | None
    scorer: str
    category: str
    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str
    spread: float | None = None
    denominator: float | None = None

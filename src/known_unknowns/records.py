"""The records of every benchmark: Question, Turn, Reply, Score, Answer and Metric; and its variants and protocols.

They are frozen dataclasses that need only the standard library. `known_unknowns.tables` has their Parquet schemas and
checks them whenever a table is read or written.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple, TypeGuard

ANSWERED, REFUSED, ABSTAINED, UNPARSED, CUT, FAILED = "answered", "refused", "abstained", "unparsed", "cut", "failed"
OUTCOMES = (ANSWERED, REFUSED, ABSTAINED, UNPARSED, CUT, FAILED)
"""Outcomes of a turn.

The reply chooses an option; chooses the offered refusal option; says that it cannot tell, that no option is right, or
declines, without choosing an option; cannot be parsed as exactly one offered option; was ended by the length limit
before an answer; or failed (`Reply.error` has the reason).
"""

UNUSABLE = (UNPARSED, CUT, FAILED)
"""Outcomes of replies from which no answer can be taken."""

NOT_OFFERED = "not offered"
"""The `Score.label` of a reply that gives an option which a variant removed (`Question.removed`)."""

OVERALL = "Overall"
"""The `Metric.category` of a value over all categories."""
LIKELIHOOD = "likelihood"
"""The parser that reads the labels' probabilities instead of the reply's text."""
NO_INPUT = "no reply has what the parser needs"
"""The `Answer.undefined` of a parser without input."""
JUDGE = "judge"
"""The parser that asks a model, by its name in params.yaml."""


SEED_LIMIT = 1_000_000
"""Seeds of variants are smaller, so that `Turn.scripted_seed` is another number for each repeat."""


class Repeat(NamedTuple):
    """One of the times that a variant is asked: with a seed, and as one of several samples, numbered from 0.

    Examples
    --------
    >>> str(Repeat(3)), str(Repeat(3, sample=2)), Repeat(3, sample=2).slug
    ('seed 3', 'seed 3 sample 2', 'seed3-sample2')
    """

    seed: int
    sample: int = 0

    @property
    def slug(self) -> str:
        """The text as a part of file names."""
        return f"seed{self.seed}" + (f"-sample{self.sample}" if self.sample else "")

    def __str__(self) -> str:
        return f"seed {self.seed}" + (f" sample {self.sample}" if self.sample else "")


def repeats_name(repeats: Collection[Repeat]) -> str:
    """Return the number of seeds and samples as text, such as "5 samples" or "2 seeds x 5 samples"."""
    seeds, samples = (len(set(numbers)) for numbers in zip(*repeats, strict=True))
    if samples == 1:
        return f"{seeds} seeds"
    return f"{samples} samples" if seeds == 1 else f"{seeds} seeds x {samples} samples"


class Cell(NamedTuple):
    """A variant, and one of the times that it is asked.

    Examples
    --------
    >>> str(Cell("noise", seed=3)), Cell("noise", 3, sample=2).repeat
    ('noise, seed 3', Repeat(seed=3, sample=2))
    """

    variant: str
    seed: int
    sample: int = 0

    @property
    def repeat(self) -> Repeat:
        return Repeat(self.seed, self.sample)

    def __str__(self) -> str:
        return f"{self.variant}, {self.repeat}"


@dataclass(frozen=True, slots=True)
class Option:
    """One option as published. ``mark`` is everything before its text, such as "A." in "A.Yes"."""

    label: str
    text: str
    mark: str

    @property
    def line(self) -> str:
        return self.mark + self.text


@dataclass(frozen=True, slots=True)
class Image:
    """A reference to an image.

    Parameters
    ----------
    source : str
        Path relative to the benchmark's question folder, or a recipe ("uniform-noise:...", see `known_unknowns.images`)
        that gives the same pixels on every machine.
    sha256 : str
        Digest of the file's bytes, or of the recipe.
    width, height : int
        Size in pixels.
    """

    source: str
    sha256: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a benchmark, as loaded or after a variant.

    Parameters
    ----------
    id : str
        Unique within the benchmark.
    benchmark : str
        Name of the benchmark.
    text : str
        The question without its options.
    options : tuple of Option
        Options with distinct labels.
    answer, refusal : int or None
        Indices of the correct option and of the refusal option in ``options``.
    images : tuple of Image
        The images, in order.
    category : str
        The published category.
    group : str
        The cluster of the confidence intervals: the original image.
    extra : Mapping
        JSON-able values that only this benchmark uses, and what variants note: "relettered", "removed".

    Raises
    ------
    ValueError
        If labels repeat, or if an index is out of range.
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
            raise ValueError(f"question {self.id}: the option labels {labels} repeat")
        for name, index in (("answer", self.answer), ("refusal", self.refusal)):
            if index is not None and not 0 <= index < len(self.options):
                raise ValueError(f"question {self.id}: {name} {index} is not one of {len(self.options)} options")

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(option.label for option in self.options)

    @property
    def removed(self) -> tuple[str, ...]:
        """The texts of the options that variants removed. No prompt contains them."""
        return tuple(self.extra.get("removed", ()))

    @property
    def rendered(self) -> str:
        """The question and its options, one a line, as the benchmark publishes them."""
        return "\n".join([self.text, *(option.line for option in self.options)])

    def index_of(self, label: str) -> int | None:
        """Return the index of the option with this label, or None if there is none (it may have been removed)."""
        for index, option in enumerate(self.options):
            if option.label == label:
                return index
        return None


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What a perfect and a refusing respondent reply to a turn. Only scripted respondents receive it."""

    right: str = ""
    refuse: str = ""


CONTINUATIONS_WRITTEN_BY = "chat template"
"""What writes the text of an option as a reply (docs/metrics.md). It decides which tokens are scored."""


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
    seed, sample : int
        Which time the question is asked (`Repeat`). Engines that sample add the sample's number to their own seed.
    json_schema : str
        JSON text of the schema that the reply must follow, "" for none. Engines without constrained decoding ignore it.
    continuations : tuple of str, optional
        Texts of the options on offer, parallel to ``labels``. Such a turn asks for their log-probabilities as the
        reply (`Reply.continuations`), and for no text. They are the same for every sample.
    """

    question_id: str
    step: str
    content: tuple[Image | str, ...]
    labels: tuple[str, ...] | None
    max_new_tokens: int = 16
    seed: int = 0
    sample: int = 0
    json_schema: str = ""
    continuations: tuple[str, ...] | None = None

    @property
    def scripted_seed(self) -> int:
        """The seed of a scripted respondent's choice, which is part of its journal keys."""
        return self.seed + SEED_LIMIT * self.sample

    @property
    def text(self) -> str:
        return "\n".join(part for part in self.content if isinstance(part, str))

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(part for part in self.content if isinstance(part, Image))

    def key(self, facts: Mapping[str, Any] | str, *, answer_key: AnswerKey | None = None) -> str:
        """Return the journal's key: a sha256 over everything that can change the reply, and nothing else.

        Parameters
        ----------
        facts : Mapping or str
            What the engine reports of itself (model, revision, processor settings, decoding), or its `facts_text`.
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
        if self.continuations is not None:
            request["continuations"] = self.continuations
            if answer_key is None:
                request["written_by"] = CONTINUATIONS_WRITTEN_BY
        if answer_key is None and self.sample and self.continuations is None:
            request["sample"] = self.sample
        if answer_key is not None:
            request |= {"question_id": self.question_id, "step": self.step, "seed": self.scripted_seed}
            request |= {"right": answer_key.right, "refuse": answer_key.refuse}
        text = facts if isinstance(facts, str) else facts_text(facts)
        return sha256(f"[{text},{_to_json(request)}]".encode()).hexdigest()


_to_json = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode


def facts_text(facts: Mapping[str, Any]) -> str:
    """Return the facts of an engine as the text that is part of every key (`Turn.key`)."""
    return _to_json(dict(facts))


def sampling_seed(key: str) -> int:
    """Return the seed of a sampled reply: a function of its journal key, so that it depends on no other reply.

    The number of a sample enters the seed as a part of `Turn.key`.
    """
    return int(key[:15], 16)


MAX_TOKENS = 2**31 - 1
"""The largest number of tokens that is recorded. Endpoints report numbers that no table can hold."""


def is_token_count(value: object) -> TypeGuard[int]:
    """Whether a value is a number of tokens: an integer from 0 to `MAX_TOKENS`, and not True or False."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS


class Continuation(NamedTuple):
    """The likelihood of a text as the reply.

    ``logprob`` is the sum of the natural log-probabilities of its tokens, and ``tokens`` their number.
    """

    logprob: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of an engine to a turn.

    Parameters
    ----------
    text : str
        The text of the reply.
    logprobs : Mapping, optional
        Log-probability of each offered label at the reply's first bare label (docs/metrics.md#confidence), if the
        engine reports them.
    input_tokens, visual_tokens, output_tokens : int, optional
        Numbers of tokens. ``visual_tokens`` is the part of ``input_tokens`` that represents images.
    finish : str
        Why the reply ended.
    error : str, optional
        Why there is no usable text. Such a reply is scored as failed and never dropped.
    seconds : float
        This turn's share of the wall-clock time. It is kept in the journal and the timing table only, so that tables of
        replies are reproducible.
    details : Mapping, optional
        Other JSON-able values of the engine (reasoning, request, cost). Kept in the journal only.
    continuations : Mapping, optional
        The likelihood of the text of each offered option, by its label, if the turn asks for it.
    raw : str, optional
        The reply as the model wrote it, its reasoning included, if ``text`` is only a part of it.
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
    continuations: Mapping[str, Continuation] | None = None
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """One row of the table of replies: a question's ``turn``-th turn (from 0) and its reply.

    ``labels`` are those of the options that the reply may choose; None for a turn whose reply is not parsed as one.
    """

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
    """The result of one parser for one turn.

    Parameters
    ----------
    question_id : str
        The question.
    turn : int
        Index of the turn, from 0.
    step : str
        Name of the turn within its protocol.
    parser : str
        Name of the parser.
    outcome : str
        One of `OUTCOMES`.
    label : str, optional
        The label that was parsed, even if the turn did not offer it (outcome "unparsed"), or `NOT_OFFERED`.
    choice : int, optional
        Index of the chosen option.
    correct : bool
        Whether the choice is the answer; False without a choice.
    """

    question_id: str
    turn: int
    step: str
    parser: str
    outcome: str
    label: str | None
    choice: int | None
    correct: bool

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(f"question {self.question_id}: {self.outcome!r} is not one of {OUTCOMES}")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question under one parser: what metrics need of the question, its replies and their scores.

    A benchmark adds columns of its own (`known_unknowns.benchmark.metrics`).

    Parameters
    ----------
    question_id, parser : str
        The question and the name of the parser.
    category, group : str
        Those of the question.
    outcome : str
        One of `OUTCOMES`. Only the outcomes "answered" and "refused" have a choice.
    label : str, optional
        The parsed label, as in `Score`.
    choice : int, optional
        Index of the chosen option.
    chosen_text : str, optional
        The text of the chosen option.
    correct : bool
        Whether the choice is the answer.
    right_label, refusal_label : str, optional
        Labels of the right option and of the refusal; None if there is no such option.
    refusal_is_correct : bool
        Whether the refusal is the answer.
    chance : float
        Probability that a random option is the answer; 0 if no option is.
    options : str
        The texts of the options by label, as a JSON object in the order in which they were asked.
    forced_outcome : str
        The outcome without the refusal option (the step "forced"); "" if the question was not asked again, and under
        the parsers of the options' texts, for which it has no likelihoods. Files of other tools may lack these replies:
        there it is "failed", and `Benchmark.forced_choice_metrics` are undefined.
    forced_correct : bool
        Whether that answer is right.
    undefined : str
        Why the parser's metrics of this variant and seed are undefined; "" if they are defined, `NO_INPUT` if the
        parser had nothing to read.
    label_mass : float, optional
        The probability of all labels together (`known_unknowns.scoring.likelihood.label_mass`).
    label_follows_text : bool
        Whether the log-probabilities of the labels are not those at the reply's beginning
        (`known_unknowns.scoring.likelihood.label_follows_text`).
    turns : sequence of tuple
        What the parser parsed of each turn with options, this answer's included: turn, step, outcome, label, choice,
        correct. Empty without input.
    would_be_right : bool, optional
        Whether the answer is right if there must be one: that of an attempt; of a refusal the answer without the
        refusal option; False if it refuses or abstains and no option but the refusal is right. None if it is unknown,
        and under other parsers than "robust".
    letters, option_text, option_text_sum, verbalised : float, optional
        Confidences from 0 to 1 (docs/metrics.md#confidence), under the parser "robust". ``option_text_sum`` is that of
        the sum of the log-probabilities, without a division by the number of tokens.
    option_text_error, verbalised_error : str, optional
        The error of the turn that asks for these confidences; "" without one, and None if there was no such turn.
    """

    question_id: str
    parser: str
    category: str
    group: str
    outcome: str
    label: str | None
    choice: int | None
    chosen_text: str | None
    correct: bool
    right_label: str | None
    refusal_label: str | None
    refusal_is_correct: bool
    chance: float
    options: str
    forced_outcome: str
    forced_correct: bool
    undefined: str
    label_mass: float | None
    label_follows_text: bool
    turns: Sequence[tuple[int, str, str, str | None, int | None, bool]]
    would_be_right: bool | None = None
    letters: float | None = None
    option_text: float | None = None
    option_text_sum: float | None = None
    verbalised: float | None = None
    option_text_error: str | None = None
    verbalised_error: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """What a number or a column of a page is, in one sentence, and the section of the documentation that says more."""

    sentence: str
    section: str  # "docs/metrics.md#dual-accuracy"


@dataclass(frozen=True, slots=True)
class Metric:
    """One value of a metric.

    Parameters
    ----------
    model, benchmark, variant : str
        What was measured.
    seed, sample : int, optional
        The seed, and the number of the sample, from 0. Both are None for the mean over seeds and samples.
    parser, category, name : str
        Name of the parser, of the category (or `OVERALL`) and of the metric.
    value, low, high : float, optional
        The value and its confidence interval; None if undefined (a share of nothing), never 0.
    n : int
        Number of questions of the category.
    method : str
        Method of the interval ("modified Wilson", ...); docs/metrics.md#intervals describes them.
    spread : float, optional
        Standard deviation over seeds and samples with ddof = 1, for the mean over several.
    denominator : float, optional
        Denominator of a ratio, such as the number of refusals; None for other metrics. A mean for the mean over seeds.
    reason : str, optional
        Why the value is undefined; None if it is defined.
    label : str, optional
        The label that a constant answer replies, or several that are right equally often; None for other metrics.
    """

    model: str
    benchmark: str
    variant: str
    seed: int | None
    sample: int | None
    parser: str
    category: str
    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str
    spread: float | None = None
    denominator: float | None = None
    reason: str | None = None
    label: str | None = None

    def undefined(self, reason: str) -> Metric:
        """Return the metric without a value, for a reason."""
        method = f"undefined: {reason}"
        return replace(self, value=None, low=None, high=None, spread=None, method=method, reason=reason)

    @property
    def repeat(self) -> Repeat | None:
        """The seed and the sample; None for the mean over them."""
        return None if self.seed is None or self.sample is None else Repeat(self.seed, self.sample)


@dataclass(frozen=True)
class ResolvedVariant:
    """A variant as it is applied: an entry of params.yaml, or a benchmark's protocol with the published questions.

    Attributes
    ----------
    function : str
        The name of the variant's function.
    protocol : str, optional
        How the changed questions are asked; by default the benchmark's protocol.
    arguments : mapping
        The arguments of the function.
    """

    function: str
    protocol: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, function: str, protocol: str | None = None, **arguments: Any) -> ResolvedVariant:
        """Return that of the keys of an entry: all others are arguments."""
        return cls(function, protocol, arguments)

    def plain(self) -> dict[str, Any]:
        """Return the keys of an entry (`of`)."""
        protocol = {} if self.protocol is None else {"protocol": self.protocol}
        return {"function": self.function, **protocol, **self.arguments}


@dataclass(frozen=True)
class ResolvedProtocol:
    """A protocol as it is run: its function's name, and the arguments."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, **arguments: Any) -> ResolvedProtocol:
        """Return a protocol with these arguments."""
        return cls(name, arguments)

    def plain(self) -> dict[str, Any]:
        """Return the name and the arguments as one mapping (`of`)."""
        return {"name": self.name, **self.arguments}

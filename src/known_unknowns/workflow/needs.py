"""What models need: memory, time and GPUs of a job, and the disk, memory and money of an edition.

All numbers follow from the models' entries, without a measurement.

Those of a job are requests, not predictions: a job that exceeds its memory or its time is ended. `memory_mb` and
`minutes` are therefore upper estimates, and a later attempt of a job gets more memory. If a time limit ends a job, its
replies are kept, and the next attempt continues it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, inf
from pathlib import Path
from statistics import fmean
from typing import TypeGuard

import pyarrow as pa
import pyarrow.parquet as pq

from known_unknowns import comparison
from known_unknowns.config import ModelEntry, OpenAIModel, Params, RespondentModel, ScenesData, TransformersModel
from known_unknowns.engines import memory_needs, prices
from known_unknowns.protocols import single_turn
from known_unknowns.records import OVERALL, Reply

RESPONDENTS = "respondents"
"""The group of the jobs of scripted respondents: a cluster runs several of them in one submission."""
QUESTIONS_GIB = 4.0
"""Memory of a job without a model: the questions and replies of a benchmark of 23,000 questions in 12 variants."""
PROCESS_GIB = 6.0
"""Memory of a job in addition to a model: the same, Python's libraries, and prepared images."""
UNKNOWN_GIB = 64.0
"""Size of the weights of a model with an unknown number of parameters: 34 billion in 16 bits."""
MORE_PER_ATTEMPT = 1.5
"""The factor of the memory of the second attempt, and of each later one."""
QUESTIONS = 25_000
"""Number of questions of a benchmark where nothing says it (`questions_of`)."""
PREFILL_SECONDS, DECODE_SECONDS = 0.035, 0.000125
"""GPU seconds of one turn per billion parameters: for its prompt, and for each new token.

A prompt of 1,500 tokens takes 2 operations per parameter and token, at 30% of 312 TFLOP/s (an A100). A new token reads
2 bytes per parameter at 2 TB/s, for a batch of 8."""
CPU_FACTOR = 60
"""How much longer a CPU takes than that GPU."""
SLACK = 2.0
"""The factor between the estimate and the time limit."""
START_MINUTES = 30
"""Minutes to load weights and to write tables."""
MIN_MINUTES, MAX_MINUTES = 60, 1440
"""Limits of the time limit. Many clusters end every job after a day; a longer job continues in its next attempt."""


def memory_mb(params: Params, model: str, attempt: int = 1) -> int:
    """Return the main memory of a job that asks a model, in MB (10**6 bytes).

    A model on a CPU needs `memory_needs.memory_gib`. On a GPU, its weights only pass through main memory, as those of a
    server that the job starts.
    """
    entry = params.model(model)
    if entry.job.memory_gib is not None:
        return _mb(entry.job.memory_gib, attempt)
    if isinstance(entry, OpenAIModel) and entry.launch is not None:
        return _mb(_weights_gib(entry) + PROCESS_GIB, attempt)
    if not isinstance(entry, TransformersModel):
        return _mb(QUESTIONS_GIB if isinstance(entry, RespondentModel) else PROCESS_GIB, attempt)
    weights = _weights_gib(entry)
    own = weights * memory_needs.MARGIN + memory_needs.WORKING_GIB if entry.device == "cpu" else weights
    return _mb(own + PROCESS_GIB, attempt)


def minutes(params: Params, model: str, benchmark: str, data: Path) -> int:
    """Return the time limit of a job that asks a model all questions of a benchmark.

    ``data`` is the edition's folder of data, whose table of questions has their number. The limit of a model behind an
    endpoint is the longest one, because the time depends on the endpoint.
    """
    entry = params.model(model)
    if entry.job.hours is not None:
        return ceil(60 * entry.job.hours)
    questions = questions_of(params, benchmark, data) or QUESTIONS
    seconds = seconds_of(params, entry, benchmark, questions * params.samples(model))
    if seconds is None:
        return MAX_MINUTES
    asking = ceil(round(SLACK * seconds / (_shards(entry) or 1) / 60, 6))
    return min(max(asking + START_MINUTES, MIN_MINUTES), MAX_MINUTES)


def table_memory_mb(params: Params, model: str, attempt: int = 1) -> int:
    """Return the memory of the job that writes the tables: after shards it loads no model."""
    return _mb(QUESTIONS_GIB, attempt) if _shards(params.model(model)) else memory_mb(params, model, attempt)


def table_minutes(params: Params, model: str, benchmark: str, data: Path) -> int:
    """Return the time limit of the job that writes the tables."""
    return MIN_MINUTES if _shards(params.model(model)) else minutes(params, model, benchmark, data)


def group(params: Params, model: str) -> str | None:
    """Return the group of a model's jobs: scripted respondents need seconds, any other model has jobs of its own."""
    entry = params.model(model)
    return RESPONDENTS if isinstance(entry, RespondentModel) and not entry.seconds_per_reply else None


def gpu_seconds(params: Params, entry: TransformersModel | OpenAIModel, benchmark: str, questions: int) -> float | None:
    """Return the estimated GPU seconds of a model for one turn of each question in each cell.

    Replies have the maximum length. None if the number of parameters is unknown.
    """
    parameters = memory_needs.parameters(entry)
    if parameters is None:
        return None
    total = 0.0
    for cell in params.cells(benchmark):
        tokens = reply_tokens(params, entry, benchmark, cell.variant)
        total += questions * parameters / 1e9 * (PREFILL_SECONDS + DECODE_SECONDS * tokens)
    return total


def seconds_of(params: Params, entry: ModelEntry, benchmark: str, questions: int) -> float | None:
    """Return the estimated duration of a turn of each question in each cell, at most; None if it is unknown.

    The GPUs that share a model divide its time. An endpoint that the job does not start takes an unknown time.
    """
    if isinstance(entry, RespondentModel):
        return len(params.cells(benchmark)) * questions * entry.seconds_per_reply
    if isinstance(entry, OpenAIModel) and entry.launch is not None:
        total = gpu_seconds(params, entry, benchmark, questions)
        return None if total is None else total / entry.gpus
    if isinstance(entry, TransformersModel):
        total = gpu_seconds(params, entry, benchmark, questions)
        return total * CPU_FACTOR if total is not None and entry.device == "cpu" else total
    return None


def _weights_gib(entry: TransformersModel | OpenAIModel) -> float:
    size = memory_needs.weights_bytes(entry)
    return UNKNOWN_GIB if size is None else size / memory_needs.GIB


def _shards(entry: ModelEntry) -> int | None:
    return getattr(entry, "shards", None)


def rows_of(path: Path) -> int | None:
    """Return the number of rows of a table; None if it does not exist or is damaged, which the job reports."""
    return _rows_at(path, path.stat().st_mtime_ns) if path.is_file() else None


@cache
def _rows_at(path: Path, changed: int) -> int | None:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return None


def _mb(gib: float, attempt: int = 1) -> int:
    return ceil(gib * MORE_PER_ATTEMPT ** (attempt - 1) * memory_needs.GIB / 1e6)


PROMPT_TOKENS = 1_500
"""Tokens of a prompt with one image, for estimates."""
IN_PROCESS, SERVER, HOSTED = "in process", "server", "hosted"
"""Where a model of the edition runs: with the engine `transformers`, behind a server of one's own, or elsewhere."""


@dataclass(frozen=True, slots=True)
class ModelNeeds:
    """What a model of an edition needs. A number is None if the number of parameters is unknown.

    Attributes
    ----------
    model : str
    runs : str
        `IN_PROCESS`, `SERVER` or `HOSTED`. A hosted model needs none of these resources.
    disk_gb : float, optional
        Size of the weights in GB (10**9 bytes).
    memory_gib : float, optional
        `memory_needs.memory_gib`.
    """

    model: str
    runs: str
    disk_gb: float | None = None
    memory_gib: float | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the models of an edition; the memory is that of the largest model."""

    models: int
    unknown: int
    disk_gb: float
    memory_gib: float


def of_edition(params: Params) -> list[ModelNeeds]:
    """Return the needs of each model of the edition that has weights or an endpoint."""
    return [
        _of_model(name, entry)
        for name in params.models
        if isinstance(entry := params.model(name), TransformersModel | OpenAIModel)
    ]


def totals(needs: Sequence[ModelNeeds]) -> Totals:
    """Return the sums of the known needs."""
    local = [each for each in needs if each.runs != HOSTED]
    return Totals(
        models=len(local),
        unknown=sum(each.disk_gb is None for each in local),
        disk_gb=round(sum(each.disk_gb or 0.0 for each in local), 1),
        memory_gib=max((each.memory_gib or 0.0 for each in local), default=0.0),
    )


def questions_of(params: Params, benchmark: str, data: Path) -> int | None:
    """Return how many questions of a benchmark the edition asks, before variants; None if nothing says it.

    It is the number of its table in the folder ``data``, of its entry or the published one, and at most the edition's
    limit.
    """
    found, entry = rows_of(data / "questions" / benchmark / "questions.parquet"), params.data(benchmark)
    if found is None and isinstance(entry, ScenesData):
        found = entry.images * entry.questions_per_image
    if found is None:
        cells = comparison.load(benchmark)
        found = next((cell.questions for cell in cells if cell.category == OVERALL and cell.questions), None)
    return found if found is None else int(min(found, params.limit or inf))


def _of_model(name: str, entry: TransformersModel | OpenAIModel) -> ModelNeeds:
    size = memory_needs.weights_bytes(entry)
    if isinstance(entry, OpenAIModel) and size is None and entry.launch is None:
        return ModelNeeds(name, HOSTED)
    runs = IN_PROCESS if isinstance(entry, TransformersModel) else SERVER
    if size is None:
        return ModelNeeds(name, runs)
    return ModelNeeds(name, runs, disk_gb=round(size / 1e9, 1), memory_gib=memory_needs.memory_gib(entry))


def estimate(params: Params, model: str, benchmark: str, limit: int) -> str:
    """Return the number of questions, and the memory or money that they take as far as it is known."""
    entry, samples = params.model(model), params.samples(model)
    total = questions_of(params, benchmark, Path("data", params.data_name)) or QUESTIONS
    questions = min(total, limit or total)
    cells = params.cells(benchmark, model)
    variants = len(cells) // samples
    text = f"{questions:,} questions in {variants} variant{'s' * (variants > 1)}"
    text += f", {samples} samples of each" * (samples > 1)
    if isinstance(entry, TransformersModel):
        memory = memory_needs.memory_gib(entry)
        return text if memory is None else f"{text}, {memory:g} GiB of memory"
    if not is_hosted(entry) or (price := prices.find(entry.source)) is None:
        return text
    turns, as_of = questions * len(cells), f"at the prices of {price[1]}"
    money = usd(params, model, benchmark, turns, [])
    if money is None:
        return f"{text}, an unknown price, because the length of its reasoning has no limit"
    bound = "at least" if may_be_dialogues(params, model, benchmark) else "at most about"
    return f"{text}, {bound} {money:.2f} USD {as_of} and {PROMPT_TOKENS:,} tokens per prompt"


def may_be_dialogues(params: Params, model: str, benchmark: str) -> bool:
    """Return whether a model may be asked further turns after the first one of a question."""
    # Only of this protocol it is known that it asks one turn. A confidence is asked for after the answer.
    variants = {cell.variant for cell in params.cells(benchmark, model)}
    protocols = {params.protocol(benchmark, variant).name for variant in variants}
    return bool(params.confidence) or protocols != {single_turn.__name__}


def is_hosted(entry: ModelEntry) -> TypeGuard[OpenAIModel]:
    """Return whether a model answers behind an endpoint that the job does not start."""
    return isinstance(entry, OpenAIModel) and entry.launch is None


def usd(params: Params, model: str, benchmark: str, turns: int | None, replies: Iterable[Reply]) -> float | None:
    """Return the price of so many turns in US dollars; None if it is unknown.

    It follows from the mean usage of ``replies``. Without any, a prompt has `PROMPT_TOKENS`, and a reply and the
    reasoning before it are as long as they may be.
    """
    entry = params.model(model)
    if not is_hosted(entry) or turns == 0:
        return 0.0
    price = prices.find(entry.source)
    if price is None or turns is None:
        return None
    used = [(each.input_tokens, each.output_tokens) for each in replies if each.input_tokens and each.output_tokens]
    if used:
        prompt, reply = (fmean(numbers) for numbers in zip(*used, strict=True))
    else:
        reasoning = entry.asked_in(benchmark).reasoning
        if reasoning is not None and reasoning.tokens is None:
            return None  # it may be any length
        variants = {cell.variant for cell in params.cells(benchmark, model)}
        prompt, reply = PROMPT_TOKENS, max(reply_tokens(params, entry, benchmark, variant) for variant in variants)
        reply += reasoning.tokens or 0 if reasoning is not None else 0
    return price[0].of(prices.Usage(round(turns * prompt), round(turns * reply)))


def reply_tokens(params: Params, entry: ModelEntry, benchmark: str, variant: str) -> int:
    """Return the maximum length of a reply, without the tokens of a model that reasons first."""
    decoding = getattr(entry.asked_in(benchmark), "decoding", None)
    own = decoding.max_new_tokens if decoding else None
    return int(own or params.protocol(benchmark, variant).plain().get("max_new_tokens", 0))

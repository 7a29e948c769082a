"""Memory, time and GPUs of a job that asks a model, for clusters. They follow from the model's entry.

They are requests, not predictions: a job that exceeds its memory or its time is ended. `memory_mb` and `minutes` are
therefore upper estimates, and a later attempt of a job gets more memory. If a time limit ends a job, its replies are
kept, and the next attempt continues it.
"""

from __future__ import annotations

from functools import cache
from math import ceil, inf
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from known_unknowns.config import ModelEntry, OpenAIModel, Params, RespondentModel, TransformersModel
from known_unknowns.engines import memory_needs

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
"""Number of questions of a benchmark whose table has not been written."""
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

    A model on a CPU needs `memory_needs.memory_gib`. On a GPU, its weights only pass through main memory.
    """
    entry = params.model(model)
    if entry.job.memory_gib is not None:
        return _mb(entry.job.memory_gib, attempt)
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
    rows = rows_of(data / "questions" / benchmark / "questions.parquet")
    questions = min(params.limit or inf, QUESTIONS if rows is None else rows)
    seconds = _seconds(params, entry, benchmark, int(questions))
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


def gpu_seconds(
    params: Params,
    entry: TransformersModel | OpenAIModel,
    benchmark: str,
    billions: float,
    questions: int,
    *,
    replies: bool = True,
) -> float:
    """Return the estimated GPU seconds of a model of ``billions`` of parameters, for one turn of each question.

    ``replies`` adds replies of the maximum length.
    """
    total, entry = 0.0, entry.asked_in(benchmark)
    for variant, _ in params.cells(benchmark):
        protocol = params.protocol(benchmark, variant).as_dict()
        tokens = entry.decoding.max_new_tokens or protocol.get("max_new_tokens", 0)
        total += questions * billions * (PREFILL_SECONDS + DECODE_SECONDS * tokens * replies)
    return total


def _seconds(params: Params, entry: ModelEntry, benchmark: str, questions: int) -> float | None:
    """Return the estimated duration of all turns; None if it is unknown."""
    if isinstance(entry, RespondentModel):
        return len(params.cells(benchmark)) * questions * entry.seconds_per_reply
    parameters = memory_needs.parameters(entry) if isinstance(entry, TransformersModel) else None
    if not isinstance(entry, TransformersModel) or parameters is None:
        return None
    total = gpu_seconds(params, entry, benchmark, parameters / 1e9, questions)
    return total * (CPU_FACTOR if entry.device == "cpu" else 1)


def _weights_gib(entry: TransformersModel) -> float:
    count = memory_needs.parameters(entry)
    return UNKNOWN_GIB if count is None else count * memory_needs.BYTES[entry.dtype] / memory_needs.GIB


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

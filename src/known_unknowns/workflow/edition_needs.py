"""Disk, memory and GPU hours that an edition needs, for each model with weights.

All numbers are computed from the models' entries, without a measurement: see `memory_needs` and `job_needs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from known_unknowns import comparison
from known_unknowns.config import ModelEntry, OpenAIModel, Params, TransformersModel
from known_unknowns.engines import memory_needs, prices
from known_unknowns.progress import duration
from known_unknowns.records import OVERALL
from known_unknowns.workflow import job_needs

_PROMPT_TOKENS = 1_500
"""Tokens of a prompt with one image, for estimates."""
_MINUTE = 60
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
    gpu_hours : float, optional
        Estimated hours of an A100 to read all prompts, one turn per question (`job_needs.gpu_seconds`).
    gpu_hours_at_most : float, optional
        The same with replies of the maximum length.
    """

    model: str
    runs: str
    disk_gb: float | None = None
    memory_gib: float | None = None
    gpu_hours: float | None = None
    gpu_hours_at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the models of an edition; the memory is that of the largest model."""

    models: int
    unknown: int
    disk_gb: float
    memory_gib: float
    gpu_hours: float
    gpu_hours_at_most: float


def of_edition(params: Params, data: Path) -> list[ModelNeeds]:
    """Return the needs of each model of the edition that has weights or an endpoint.

    Parameters
    ----------
    params : Params
    data : Path
        The folder of the edition's data. Before its tables of questions exist, the published numbers count.
    """
    return [
        _of_model(params, name, entry, data)
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
        gpu_hours=round(sum(each.gpu_hours or 0.0 for each in local), 1),
        gpu_hours_at_most=round(sum(each.gpu_hours_at_most or 0.0 for each in local), 1),
    )


def questions_of(params: Params, benchmark: str, data: Path) -> int:
    """Return the number of questions of a benchmark: of its table, else the published one, else an upper estimate."""
    found = job_needs.rows_of(data / "questions" / benchmark / "questions.parquet")
    if found is not None:
        return found
    if params.data(benchmark).source == "scenes":
        return job_needs.QUESTIONS
    cells = comparison.load(benchmark)
    return next((cell.questions for cell in cells if cell.category == OVERALL and cell.questions), job_needs.QUESTIONS)


def _of_model(params: Params, name: str, entry: TransformersModel | OpenAIModel, data: Path) -> ModelNeeds:
    parameters = _parameters(entry)
    if isinstance(entry, OpenAIModel) and parameters is None:
        return ModelNeeds(name, HOSTED)
    runs = IN_PROCESS if isinstance(entry, TransformersModel) else SERVER
    if parameters is None:
        return ModelNeeds(name, runs)
    size = memory_needs.BYTES[getattr(entry, "dtype", "bfloat16")]
    weights, on_cpu = parameters * size, getattr(entry, "device", None) == "cpu"
    billions, questions = parameters / 1e9, {name: questions_of(params, name, data) for name in params.benchmarks}

    def hours(*, replies: bool) -> float:
        seconds = (
            job_needs.gpu_seconds(params, entry, benchmark, billions, number, replies=replies)
            for benchmark, number in questions.items()
        )
        return 0.0 if on_cpu else round(sum(seconds) / 3600, 1)

    return ModelNeeds(
        name,
        runs,
        disk_gb=round(weights / 1e9, 1),
        memory_gib=memory_needs.with_margin(weights / memory_needs.GIB),
        gpu_hours=hours(replies=False),
        gpu_hours_at_most=hours(replies=True),
    )


def _parameters(entry: TransformersModel | OpenAIModel) -> float | None:
    if isinstance(entry, TransformersModel):
        return memory_needs.parameters(entry)
    return None if entry.card is None or entry.card.parameters is None else entry.card.parameters * 1e9


def estimate(params: Params, model: str, benchmark: str, limit: int) -> str:
    """Return the number of questions, and the time and money that they take as far as they are known."""
    entry, samples = params.model(model), params.samples(model)
    total = questions_of(params, benchmark, Path("data", params.data_name))
    questions = min(total, limit or total)
    cells = params.cells(benchmark, model)
    variants = len(cells) // samples
    text = f"{questions:,} questions in {variants} variant{'s' * (variants > 1)}"
    text += f", {samples} samples of each" * (samples > 1)
    if isinstance(entry, TransformersModel):
        return text + _time(params, entry, benchmark, questions * samples)
    price = prices.load().models.get(entry.source) if isinstance(entry, OpenAIModel) else None
    if price is None:
        return text
    replies = max(_reply_tokens(params, entry, benchmark, variant) for variant, _ in cells)
    turns = questions * len(cells)
    usd = price.of(prices.Usage(turns * _PROMPT_TOKENS, turns * replies))
    return (
        f"{text}, about {usd:.2f} USD at the prices of {prices.load().as_of} and {_PROMPT_TOKENS:,} tokens per prompt"
    )


def _reply_tokens(params: Params, entry: ModelEntry, benchmark: str, variant: str) -> int:
    decoding = getattr(entry.asked_in(benchmark), "decoding", None)
    own = decoding.max_new_tokens if decoding else None
    return int(own or params.protocol(benchmark, variant).as_dict().get("max_new_tokens", 0))


def _time(params: Params, entry: TransformersModel, benchmark: str, questions: int) -> str:
    count = memory_needs.parameters(entry)
    if count is None:
        return ""
    machine = memory_needs.this_machine()
    on_gpu = entry.device != "cpu" and bool(machine.gpus)
    seconds = job_needs.gpu_seconds(params, entry, benchmark, count / 1e9, questions)
    need = memory_needs.memory_gib(entry)
    memory = "" if need is None else f", {need:g} GiB of memory"
    where = machine.gpus[0][0] if on_gpu else "this CPU"
    asking = seconds if on_gpu else seconds * job_needs.CPU_FACTOR
    time = f"at most about {duration(asking)}" if asking > _MINUTE else "less than a minute"
    return f", {time} on {where} besides loading{memory}"

"""The plan of a run: what it will ask, on how many GPUs, and what it downloads and costs.

Nothing is started and no network is used. What is not known is None, never zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from known_unknowns import tables
from known_unknowns.config import ModelEntry, OpenAIModel, Params, RespondentModel, TransformersModel, locked_commits
from known_unknowns.data import hub
from known_unknowns.data.variant_tables import vary
from known_unknowns.edition_files import EditionFiles
from known_unknowns.engines import memory_needs, prices
from known_unknowns.errors import DataError
from known_unknowns.files.pins import human
from known_unknowns.inference.asking import Asking
from known_unknowns.inference.runner import known_turns
from known_unknowns.inference.shards import replies_of, shards_of
from known_unknowns.model_runs import lazy_engine, model_run
from known_unknowns.progress import progress
from known_unknowns.records import Reply
from known_unknowns.tables.aligned_text import align
from known_unknowns.workflow import needs
from known_unknowns.workflow.run_settings import whole_run

UNKNOWN, NONE, REFUSED = "unknown", "-", "refused"


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """What a run asks of a model. A number is None if it is unknown.

    Attributes
    ----------
    model : str
    new : int, optional
        Turns without a recorded reply. Of a question that is asked in several turns, the later ones are not counted.
    at_most : bool
        Whether some of them may have a reply, which only the loaded model can tell.
    at_least : bool
        Whether later turns may follow (`needs.may_be_dialogues`).
    gpus, jobs : int
        GPUs of a job, and jobs that ask at the same time.
    download : int, optional
        Bytes of weights that are not on this machine.
    hosted : bool
        Whether an endpoint has the weights.
    usd : float, optional
        Money; 0 for a model that runs here.
    refused : str, optional
        Why the model cannot run on the GPUs of the run, if that is known.
    """

    model: str
    new: int | None
    at_most: bool
    at_least: bool
    gpus: int
    jobs: int
    download: int | None
    hosted: bool
    usd: float | None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The plan of an edition's run: its models, the bytes of its data by benchmark, and the GPUs with their memory."""

    edition: str
    gpus: int | None
    models: Sequence[ModelPlan]
    data: dict[str, int | None]
    prices_as_of: Sequence[str]
    gpu_gib: float | None = None


def of_run(params: Params, gpus: int | None, gpu_gib: float | None = None) -> RunPlan:
    """Return the plan of a run on so many GPUs of so much memory, with the shards that it has there.

    Both are None if they are unknown; then nothing is refused for them.
    """
    files = EditionFiles.of(params)
    with TemporaryDirectory(prefix="known-unknowns-") as scratch:
        asked = _AskedVariants(params, files, Path(scratch))
        names = [name for name in params.models if not params.is_imported(name)]
        models = [_of_model(params, name, files, asked, refusal(params.model(name), gpus, gpu_gib)) for name in names]
    hosted = (params.model(name) for name in params.models)
    found = [prices.find(entry.source) for entry in hosted if needs.is_hosted(entry)]
    dates = sorted({each[1] for each in found if each is not None})
    return RunPlan(
        params.edition, gpus, models, {name: _data(params, name, files) for name in params.benchmarks}, dates, gpu_gib
    )


def refusal(entry: ModelEntry, gpus: int | None, gpu_gib: float | None) -> str | None:
    """Return why a model cannot run on so many GPUs of so much memory, each of them; None if nothing is known."""
    if gpus is not None and entry.gpus > gpus:
        return f"needs {entry.gpus} GPUs, which are not there"
    return memory_needs.shortage(entry, gpu_gib)


class _AskedVariants:
    """The tables of variants that the run will ask.

    Those of the last whole run are used if it made them with the same settings. Others are made in the folder
    ``scratch``, as after a run with another limit.
    """

    def __init__(self, params: Params, files: EditionFiles, scratch: Path) -> None:
        self._params, self._files, self._scratch = params, files, scratch
        self._last = whole_run(params.edition)
        self._folders: dict[str, Path | None] = {}

    def folder(self, benchmark: str) -> Path | None:
        """Return the folder of a benchmark's variants; None if there are no questions of which to make them."""
        if benchmark not in self._folders:
            self._folders[benchmark] = self._made(benchmark)
        return self._folders[benchmark]

    def _made(self, benchmark: str) -> Path | None:
        files, names = self._files, self._params.variants(benchmark)
        table = files.question_table(benchmark)
        if not table.is_file() or not self._has_same_data(benchmark):
            return None
        kept = files.variants(benchmark)
        if self._has_same_variants(benchmark) and all(map(_is_readable, (kept / f"{name}.parquet" for name in names))):
            return kept
        folder = self._scratch / benchmark
        try:
            with progress(f"counting the questions of {benchmark}", len(names)) as advance:
                for name in names:
                    seeds = self._params.seeds_of(benchmark, name)
                    entry, out = self._params.variant(name), folder / f"{name}.parquet"
                    vary(entry, table, out, seeds=seeds, limit=self._params.limit)
                    advance(1)
        except DataError:
            return None  # the run will name what is wrong
        return folder

    def _has_same_data(self, benchmark: str) -> bool:
        """Whether the last whole run, if there was one, had the same data."""
        if self._last is None or benchmark not in self._last.benchmarks:
            return True
        return self._last.data(benchmark) == self._params.data(benchmark)

    def _has_same_variants(self, benchmark: str) -> bool:
        """Whether the last whole run made the variants with the same settings."""
        last, params = self._last, self._params
        if last is None or benchmark not in last.benchmarks or last.limit != params.limit:
            return False
        made = {name: (last.variant(name), last.seeds_of(benchmark, name)) for name in last.variants(benchmark)}
        return all(
            made.get(name) == (params.variant(name), params.seeds_of(benchmark, name))
            for name in params.variants(benchmark)
        )


def _is_readable(variant: Path) -> bool:
    """Whether the table of a variant is there, and of this version."""
    return variant.is_file() and not tables.is_of_earlier_version(variant, tables.QUESTIONS)


def _of_model(params: Params, name: str, files: EditionFiles, asked: _AskedVariants, refused: str | None) -> ModelPlan:
    entry = params.model(name)
    new, usd = [], []
    at_most = at_least = False
    for benchmark in params.benchmarks:
        replies = replies_of(_journal(name, benchmark))
        count, exact = _new_turns(params, name, benchmark, asked, replies)
        at_most = at_most or not exact
        at_least = at_least or (count != 0 and needs.may_be_dialogues(params, name, benchmark))
        new.append(count)
        usd.append(needs.usd(params, name, benchmark, count, replies.values()))
    turns = _sum(new)
    return ModelPlan(
        name,
        new=None if turns is None else int(turns),
        at_most=at_most,
        at_least=at_least,
        gpus=entry.gpus,
        jobs=shards_of(entry) or 1,
        download=0 if turns == 0 else _weights(entry),
        hosted=needs.is_hosted(entry),
        usd=_sum(usd),
        refused=refused,
    )


def _journal(model: str, benchmark: str) -> Path:
    return Path("journal", model, f"{benchmark}.jsonl")


def _new_turns(
    params: Params, model: str, benchmark: str, asked: _AskedVariants, replies: dict[str, Reply]
) -> tuple[int | None, bool]:
    """Return the number of turns without a reply, and whether it is exact."""
    cells = params.cells(benchmark, model)
    folder = asked.folder(benchmark)
    if folder is None:
        questions = needs.questions_of(params, benchmark, EditionFiles.of(params).data)
        return None if questions is None else len(cells) * questions, not replies
    entry = params.model(model).asked_in(benchmark)
    engine = lazy_engine.without_loading(model, entry, _journal(model, benchmark)) if replies else None
    if engine is not None:
        of_cells = model_run.cells_of(Asking.of(params, model, benchmark), benchmark, folder)
        return len(known_turns(of_cells, engine, replies).keys() - replies.keys()), True
    rows = (needs.rows_of(folder / f"{cell.variant}.parquet") or 0 for cell in cells)
    number = sum(
        found // len(params.seeds_of(benchmark, cell.variant)) for found, cell in zip(rows, cells, strict=True)
    )
    return number, not replies  # the recorded ones may be of another edition or with other settings


def _weights(entry: ModelEntry) -> int | None:
    """Return the bytes of weights to download: those of the lock, or of the number of parameters and the dtype."""
    if isinstance(entry, RespondentModel) or needs.is_hosted(entry):
        return 0
    if not isinstance(entry, TransformersModel | OpenAIModel):
        return None
    if Path(entry.source).expanduser().is_dir() or hub.commit_in_cache(entry.source, entry.revision or "main"):
        return 0
    if (locked := locked_commits.model_entry(entry)) is not None and locked.files:
        return locked.size
    size = memory_needs.weights_bytes(entry)
    return None if size is None else round(size)


def _data(params: Params, benchmark: str, files: EditionFiles) -> int | None:
    """Return the bytes of a benchmark's data to download."""
    entry = params.data(benchmark)
    if files.raw(benchmark).is_dir() or entry.source in ("scenes", "folder"):
        return 0
    source = locked_commits.data_source(benchmark, entry)
    locked = None if source is None else locked_commits.read().get(source.key)
    return locked.size if locked is not None and locked.files else None


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum; None if one of the values is unknown."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def as_text(plan: RunPlan) -> str:
    """Return the plan as a table with a total, and what its numbers mean."""
    rows = [("model", "new first turns", "GPUs", "download", "USD")]
    asked = [each for each in plan.models if each.refused is None]
    for each in plan.models:
        gpus = f"{each.jobs} x {each.gpus}" if each.gpus else NONE
        if each.refused is not None:
            rows.append((each.model, REFUSED, gpus, NONE, NONE))
            continue
        download = "the server has it" if each.hosted else _size(each.download)
        usd = _number(each.usd)
        rows.append((each.model, _turns(each), gpus, download, _at_least(usd) if each.at_least else usd))
    totals = {name: [getattr(each, name) for each in asked] for name in ("new", "download", "usd")}
    new, download, usd = map(_total, totals.values(), (_count, _size, _number))
    if any(each.at_least for each in asked) and not any(each.at_most for each in asked):
        new, usd = _at_least(new), _at_least(usd)
    rows.append(("all", new, "", download, usd))
    machine = "" if plan.gpus is None else f" with at most {plan.gpus} GPU{'s' * (plan.gpus != 1)}"
    notes = [
        f"Data to download: {', '.join(f'{name} {_size(size)}' for name, size in plan.data.items())}.",
        "New turns have no recorded reply. Equal turns are asked once.",
    ]
    if any(each.at_least for each in asked):
        notes.append('"At least": dialogues ask later turns too, which depend on the replies and are not counted.')
    if dates := ", ".join(plan.prices_as_of):
        notes += [
            f"USD follow from prices of {dates} ({prices.PROJECT}, or else the packaged table) and",
            f"the tokens of recorded replies; without any, {needs.PROMPT_TOKENS:,} per prompt and the longest replies.",
        ]
    if plan.gpu_gib is None and any(each.gpus for each in plan.models):
        notes.append("The memory of the GPUs is not known: whether the models fit is not checked (--gpu-memory GIB).")
    refused = [f"{each.model} {each.refused}." for each in plan.models if each.refused is not None]
    if refused:
        notes += [
            "",
            *refused,
            "Refused models are not in the sums: serve them on more GPUs (`launch`, docs/models.md),",
        ]
        notes += ["or leave them out of the edition. `known-unknowns models list --fits` lists those that fit here."]
    return "\n".join([f"Plan of the edition {plan.edition}{machine}; nothing is started", "", *align(rows), "", *notes])


def _turns(plan: ModelPlan) -> str:
    number = _count(plan.new)
    if plan.at_most:
        return f"at most {number}"
    return _at_least(number) if plan.at_least else number


def _at_least(number: str) -> str:
    """Say that a number is a lower bound, if there is one."""
    return number if number in (UNKNOWN, NONE) else f"at least {number}"


def _total(values: Sequence[float | None], text: Callable[[float | None], str]) -> str:
    """Return the sum of the known values, and whether there are others."""
    known = [value for value in values if value is not None]
    if len(known) == len(values):
        return text(sum(known))
    return f"{text(sum(known))} + {UNKNOWN}" if any(known) else UNKNOWN


def _count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _size(value: float | None) -> str:
    return UNKNOWN if value is None else human(int(value)) if value else NONE


def _number(value: float | None) -> str:
    if not value:
        return UNKNOWN if value is None else NONE
    return f"{value:,.2f}" if value >= 0.01 else "< 0.01"

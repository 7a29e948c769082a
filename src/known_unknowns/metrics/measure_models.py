"""Compute the tables of metrics of all models on one benchmark that are out of date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from known_unknowns.data.up_to_date import UpToDate
from known_unknowns.errors import raise_any
from known_unknowns.metrics.measure import measure
from known_unknowns.processes import Call, in_processes
from known_unknowns.progress import progress

if TYPE_CHECKING:
    from known_unknowns.config import Params


def measure_models(
    params: Params,
    benchmark: str,
    *,
    questions: Path,
    scores: Path,
    replies: Path,
    out: Path,
    up_to_date: UpToDate,
    workers: int = 1,
) -> None:
    """Apply `measure` to every model of the configuration that answers the benchmark.

    Parameters
    ----------
    params : Params
        The configuration.
    benchmark : str
        The benchmark's name.
    questions : Path
        Its folder of questions, with a table per variant and seed, <variant>/seed<k>.parquet.
    scores, replies : Path
        The edition's folders, <model>/<benchmark>/<variant>/seed<k>.parquet.
    out : Path
        The edition's folder of metrics, <model>/<benchmark>.parquet.
    up_to_date : UpToDate
        Which tables of metrics are up to date.
    workers : int
        Number of processes.

    Raises
    ------
    DataError, MachineError, SeveralErrors
        After all models, if the tables of some could not be measured.
    """
    calls: list[Call] = []
    inputs: dict[str, str] = {}
    errors: list[Exception] = []
    settings = [params.statistics.as_dict(), params.parsers]
    for model in params.models:
        cells = [Path(variant) / f"seed{seed}.parquet" for variant, seed in params.cells(benchmark, model)]
        if not cells:
            continue
        of_scores, of_replies, written = (
            scores / model / benchmark,
            replies / model / benchmark,
            out / model / f"{benchmark}.parquet",
        )
        files = [folder / cell for folder in (questions, of_scores, of_replies) for cell in cells]
        inputs[model] = up_to_date.digest_of(files, [*settings, [str(cell) for cell in cells]])
        if not up_to_date.keep(written, inputs[model]):
            calls.append((measure, (params, model, benchmark, questions, of_scores, of_replies, written)))
    with progress("measuring", len(calls)) as advance:
        for (_, (_, model, *_, written)), error in in_processes(calls, workers=workers):
            if error is None:
                up_to_date.add(written, inputs[model])
            else:
                errors.append(error)
            advance(1)
    raise_any(errors)
    up_to_date.succeed()

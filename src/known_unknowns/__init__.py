"""Known Unknowns: benchmarks of refusal and abstention in multimodal LLMs, from pinned data to a report."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def evaluate(
    answer: Callable[[str, list[Any]], str],
    benchmark: str | None = None,
    *,
    limit: int | None = 100,
    data: str | Path | None = None,
) -> Any:
    """Evaluate a function that answers questions about images. It needs no project and no workflow.

    The questions are asked as published, and without their right option (`nota_only`), if the benchmark has a refusal
    option. A dialogue has the turns of the benchmark's default protocol: one call for each.

    Parameters
    ----------
    answer : callable
        ``answer(prompt, images)`` returns the reply as a str. ``images`` is a list of PIL.Image.Image (RGB). An
        exception is a failed reply; if the first three calls fail, the evaluation stops.
    benchmark : str, optional
        A benchmark of params.yaml; by default the first one of the pocket edition.
    limit : int, optional
        The largest number of questions: a sample of whole images, the same in every run. None for all.
    data : str or Path, optional
        Where the questions are from: an edition whose questions are in the project of the current folder ("full"), a
        folder with questions.parquet, or a folder of your own files, for the benchmark that reads them
        (docs/own_data.md). By default the questions of the pocket edition are rendered, which are not the published
        ones.

    Returns
    -------
    known_unknowns.evaluation.Evaluation
        ``summary()`` is a text, ``to_pandas()`` a table, ``report(path)`` writes an HTML page.

    Raises
    ------
    ConfigError
        If the benchmark or the data are unknown, or if the first calls of ``answer`` fail.

    Examples
    --------
    >>> result = evaluate(lambda prompt, images: "E", limit=20)
    >>> result.asked, result.total
    (20, 300)
    """
    return import_module("known_unknowns.evaluation").evaluate(answer, benchmark, limit=limit, data=data)

"""Evaluate a function that answers questions: in this process, without the workflow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from known_unknowns import tables
from known_unknowns.config import Params, merged
from known_unknowns.data.variant_tables import vary
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.evaluation import trial
from known_unknowns.evaluation.questions import questions_of
from known_unknowns.evaluation.result import Evaluation, read
from known_unknowns.images import open_image
from known_unknowns.inference.asking import Asking
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.inference.unchanged_turns import check_turns
from known_unknowns.metrics.measure import measure
from known_unknowns.model_runs.model_run import cells_of
from known_unknowns.records import Reply, Turn
from known_unknowns.scoring.table import parse
from known_unknowns.workflow import configuration, project

if TYPE_CHECKING:
    from PIL import Image

FIRST_FAILURES = 3
"""If so many replies fail and none has succeeded, the evaluation stops."""
_NAME, _PARSERS = "answer", ["official", "robust"]
_LONGEST_ERROR = 500


def evaluate(
    answer: Callable[[str, list[Image.Image]], str],
    benchmark: str | None = None,
    *,
    limit: int | None = 100,
    data: str | Path | None = None,
) -> Evaluation:
    """Evaluate a function that answers questions about images. It needs no project and no workflow.

    The questions are asked as published, and without their right option (`nota_only`), if the benchmark has a refusal
    option. A dialogue has the turns of the benchmark's default protocol: one call for each.

    Parameters
    ----------
    answer : callable
        ``answer(prompt, images)`` returns the reply as a str. ``images`` is a list of PIL.Image.Image (RGB), in the
        order in which a model gets them; the prompt says ``<image 2>`` where one stands within the text. An exception
        is a failed reply; if the first three calls fail, the evaluation stops.
    benchmark : str, optional
        A benchmark of params.yaml; by default the first one of the pocket edition.
    limit : int, optional
        The largest number of questions: a sample of as many images as possible, the same in every run. None or 0 for
        all.
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
        If the benchmark or the data are unknown, ``answer`` is no function, ``limit`` is negative, or the first calls
        of ``answer`` fail.

    Examples
    --------
    >>> result = evaluate(lambda prompt, images: "E", limit=20)
    >>> result.asked, result.total
    (20, 300)
    """
    if not callable(answer):
        message = f"is {type(answer).__name__}; give a function of the prompt and the images that returns the reply"
        raise ConfigError(message, path="answer")
    if limit is not None and limit < 0:
        raise ConfigError("is negative; give the largest number of questions, or 0 for all", path="limit")
    params = configuration.load(project.template()[Path("params.yaml")], edition="pocket")
    benchmark = params.benchmarks[0] if benchmark is None else benchmark
    if benchmark not in params.file.benchmarks:
        raise ConfigError(unknown_name(benchmark, params.file.benchmarks), path="benchmark")
    scratch = TemporaryDirectory(prefix="known-unknowns-")
    files = EditionFiles(Path(scratch.name, "data"), Path(scratch.name, "results"))
    folder, described, rendered = questions_of(params, benchmark, data, Path(scratch.name))
    files.questions(benchmark).parent.mkdir(parents=True)
    files.questions(benchmark).symlink_to(folder.resolve(), target_is_directory=True)
    varied = files.variants(benchmark)
    chosen = _trial(params, benchmark, _varied(params, benchmark, folder, varied, limit or None))
    asking = Asking.of(chosen, _NAME, benchmark)
    cells = cells_of(asking, benchmark, varied)
    check_turns(asking.variants, benchmark, cells, folder / "questions.parquet")
    with Journal(Path(scratch.name, "journal.jsonl")) as journal:
        outcome = run(cells, _FunctionEngine(answer), journal, folder=folder)
    replies, answers = files.replies(_NAME, benchmark), files.answers(_NAME, benchmark)
    tables.write_replies(replies, outcome.replies)
    parse(varied, replies, answers, cells=list(cells), parsers=_PARSERS)
    measure(
        _NAME,
        benchmark,
        answers=answers,
        out=files.metrics(_NAME, benchmark),
        cells=asking.cells,
        parsers=_PARSERS,
        confidence_level=chosen.statistics.confidence,
        variants=asking.variants,
        protocols=asking.protocols,
    )
    name = getattr(answer, "__name__", "<lambda>")
    return read(
        chosen,
        _NAME,
        benchmark,
        files,
        name="the function" if name == "<lambda>" else name,
        data=described,
        rendered=rendered,
        folder=scratch,
    )


def _trial(params: Params, benchmark: str, variants: list[str]) -> Params:
    """The configuration with an edition of this evaluation alone. Its data are not looked at."""
    name = next(iter(params.benchmark(benchmark).data))
    added = trial.overlay(
        params,
        _NAME,
        _NAME,
        benchmark,
        variants=variants,
        entry={"engine": "respondent", "behaviour": "oracle"},
    )
    added["editions"][_NAME]["data"] = name
    return configuration.check(merged(params.file.plain(), added | {"parsers": _PARSERS}))


def _varied(params: Params, benchmark: str, folder: Path, out: Path, limit: int | None) -> list[str]:
    """Write the tables of the variants, and return their names. `trial.CHANGED` is left out if it fits no question."""
    done: list[str] = []
    for name in trial.variants_of(params, benchmark):
        try:
            table = folder / "questions.parquet"
            vary(params.variant(name), table, out / f"{name}.parquet", seeds=params.seeds[:1], limit=limit)
        except DataError:
            if not done:
                raise
        else:
            done.append(name)
    return done


class _FunctionEngine:
    """An engine that calls a function. Its exceptions are failed replies."""

    scripted = False

    def __init__(self, answer: Callable[[str, list[Image.Image]], str]) -> None:
        self._answer = answer
        self._failed, self._succeeded = 0, False
        self.facts: Mapping[str, Any] = {"engine": "function"}
        self.about: Mapping[str, Any] = {}
        self.notes: Path | None = None

    def answer(self, turns: Sequence[Turn], *, folder: Path) -> Iterator[list[tuple[int, Reply]]]:
        for index, turn in enumerate(turns):
            images = [open_image(image, folder) for image in turn.images]
            yield [(index, self._reply(_prompt(turn), images))]

    def _reply(self, prompt: str, images: list[Image.Image]) -> Reply:
        try:
            text = self._answer(prompt, images)
            if not isinstance(text, str):
                raise TypeError(f"it returned {type(text).__name__}, not str")
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self._failed += 1
            if not self._succeeded and self._failed >= FIRST_FAILURES:
                raise ConfigError(
                    f"the first {self._failed} calls failed, the last with {reason}", path="answer"
                ) from error
            return Reply("", finish="error", error=_storable(reason)[:_LONGEST_ERROR])
        self._succeeded = True
        return Reply(_storable(text))


def _prompt(turn: Turn) -> str:
    """Return the text of a turn; an image that stands within the text is ``<image 1>``, ``<image 2>``, ..."""
    first = next((place for place, part in enumerate(turn.content) if isinstance(part, str)), 0)
    within = turn.content[first:]
    if all(isinstance(part, str) for part in within):
        return turn.text
    numbers = iter(range(first + 1, len(turn.images) + 1))
    return "".join(part if isinstance(part, str) else f"<image {next(numbers)}>" for part in within)


def _storable(text: str) -> str:
    """Replace lone surrogates, which no table can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")

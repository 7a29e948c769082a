"""Evaluate a function that answers questions: in this process, without the workflow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.config import FolderData, Params, ScenesData, merged
from known_unknowns.data.questions import normalise, vary
from known_unknowns.data.sample import sample
from known_unknowns.edition_files import asked
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.evaluation import trial
from known_unknowns.evaluation.result import Evaluation
from known_unknowns.images import open_image
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.model_run import cells_of
from known_unknowns.inference.runner import run
from known_unknowns.inference.unchanged_turns import check_turns
from known_unknowns.metrics import measure
from known_unknowns.progress import progress
from known_unknowns.records import Reply, Turn
from known_unknowns.scoring.reply_rows import reply_rows
from known_unknowns.scoring.table import parse
from known_unknowns.tables import Part
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
        The largest number of questions: a sample of as many images as possible, the same in every run. None for all.
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
    params = configuration.load(project.template()[Path("params.yaml")], edition="pocket")
    benchmark = params.benchmarks[0] if benchmark is None else benchmark
    if benchmark not in params.file.benchmarks:
        raise ConfigError(unknown_name(benchmark, params.file.benchmarks), path="benchmark")
    with TemporaryDirectory(prefix="known-unknowns-") as scratch:
        folder, described, rendered = _questions(params, benchmark, data, Path(scratch))
        questions = tables.read_questions(folder / "questions.parquet")
        variants = _varied(params, benchmark, folder, Path(scratch, "variants"), limit)
        chosen = _trial(params, benchmark, variants)
        replies, scores = Path(scratch, "replies.parquet"), Path(scratch, "scores.parquet")
        cells = cells_of(chosen, _NAME, benchmark, Path(scratch, "variants"))
        check_turns(chosen, benchmark, cells, folder / "questions.parquet")
        with Journal(Path(scratch, "journal.jsonl")) as journal:
            outcome = run(cells, _FunctionEngine(answer), journal, folder=folder)
        tables.write_replies(replies, outcome.replies)
        parse(Path(scratch, "variants"), replies, scores, cells=list(cells), parsers=_PARSERS)
        metrics = Path(scratch, "metrics.parquet")
        measure(
            chosen, _NAME, benchmark, variants=Path(scratch, "variants"), scores=scores, replies=replies, out=metrics
        )
        columns: list[str] = []
        rows: list[tuple[Any, ...]] = []
        for variant, seed in cells:
            names, found = reply_rows(
                asked(Path(scratch, "variants"), variant, seed),
                Part(replies, seed, variant),
                Part(scores, seed, variant),
                _PARSERS,
            )
            columns = ["variant", *names]
            rows += [(variant, *row) for row in found]
        return Evaluation(
            title=registry.get(benchmark).title,
            data=described,
            rendered=rendered,
            asked=len(questions) if limit is None else len(sample(questions, limit)),
            total=len(questions),
            variants=tuple(variants),
            confidence=chosen.statistics.confidence,
            metrics=tuple(tables.read_metrics(metrics)),
            columns=tuple(columns),
            rows=tuple(rows),
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


def _questions(params: Params, benchmark: str, data: str | Path | None, scratch: Path) -> tuple[Path, str, bool]:
    """Return the folder of questions, what they are, and whether they are rendered."""
    if data is None:
        return _rendered(params, benchmark, scratch), "pocket edition", True
    named = params.file.editions.get(str(data))
    edition = named.data if named and named.data else str(data)
    in_project = Path("data", edition, "questions", benchmark)
    for folder in (Path(data), in_project):
        if (folder / "questions.parquet").is_file():
            source = params.benchmark(benchmark).data.get(edition)
            return folder, str(data), folder == in_project and isinstance(source, ScenesData)
    if Path(data).is_dir() and registry.get(benchmark).has("contents"):
        normalise(benchmark, Path(data), scratch / "questions", settings=FolderData(source="folder", path=str(data)))
        return scratch / "questions", str(data), False
    raise ConfigError(
        f"{data} is no folder of questions, and there is no {in_project}/questions.parquet here; in a project, "
        f"`snakemake --config edition={data} -- {in_project}/questions.parquet` makes it",
        path="data",
    )


def _rendered(params: Params, benchmark: str, scratch: Path) -> Path:
    pocket = registry.pocket_of(benchmark)
    entry = params.benchmark(benchmark).data.get("pocket")
    if pocket is None or not isinstance(entry, ScenesData):
        raise ConfigError(f"{benchmark} has no rendered questions; name a folder of questions", path="data")
    with progress(f"rendering {benchmark}", entry.images) as advance:
        pocket.render(
            scratch / "raw",
            seed=entry.seed,
            images=entry.images,
            questions_per_image=entry.questions_per_image,
            advance=advance,
        )
    normalise(benchmark, scratch / "raw", scratch / "questions", settings=entry)
    return scratch / "questions"


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

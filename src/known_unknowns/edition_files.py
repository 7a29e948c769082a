"""Where the files of an edition are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from known_unknowns.tables.parquet import Part

if TYPE_CHECKING:
    from known_unknowns.config import Params


@dataclass(frozen=True, slots=True)
class EditionFiles:
    """The files of an edition.

    Attributes
    ----------
    data, results : Path
        Its folders: data/<edition> and results/<edition>.

    Examples
    --------
    >>> files = EditionFiles(Path("data/pocket"), Path("results/pocket"))
    >>> files.replies("MODEL", "BENCHMARK").as_posix()
    'results/pocket/replies/MODEL/BENCHMARK/replies.parquet'
    """

    data: Path
    results: Path

    @classmethod
    def of(cls, params: Params, root: Path = Path()) -> EditionFiles:
        """Return the files of an edition below the project's folder ``root``."""
        return cls(root / "data" / params.data_name, root / "results" / params.edition)

    def raw(self, benchmark: str) -> Path:
        """Return the folder of a benchmark's published files."""
        return self.data / "raw" / benchmark

    def questions(self, benchmark: str) -> Path:
        """Return the folder of a benchmark's original questions and of all its images."""
        return self.data / "questions" / benchmark

    def question_table(self, benchmark: str) -> Path:
        """Return the table of a benchmark's original questions."""
        return self.questions(benchmark) / "questions.parquet"

    def variants(self, benchmark: str) -> Path:
        """Return the folder of a benchmark's variants, with a table for each."""
        return self.results / "variants" / benchmark

    def asked(self, benchmark: str, variant: str, seed: int) -> Part:
        """Return the questions of a variant with a seed."""
        return asked(self.variants(benchmark), variant, seed)

    def replies(self, model: str, benchmark: str) -> Path:
        """Return the table of a model's replies to a benchmark."""
        return replies_table(self.results / "replies", model, benchmark)

    def engine(self, model: str, benchmark: str) -> Path:
        """Return the record of the engine that gave these replies."""
        return self.replies(model, benchmark).with_name("engine.json")

    def shards(self, model: str, benchmark: str) -> Path:
        """Return the folder of the records of a model's shards of a benchmark."""
        return self.results / "shards" / model / benchmark

    def answers(self, model: str, benchmark: str) -> Path:
        """Return the table of a model's answers to a benchmark, of which its metrics are computed."""
        return answers_table(self.results / "answers", model, benchmark)

    def metrics(self, model: str, benchmark: str) -> Path:
        """Return the table of a model's metrics on a benchmark."""
        return self.results / "metrics" / model / benchmark / "metrics.parquet"


def asked(variants: Path, variant: str, seed: int) -> Part:
    """Return the questions of a variant with a seed, in a benchmark's folder of variants. All samples share them."""
    return Part(variants / f"{variant}.parquet", seed)


def replies_table(replies: Path, model: str, benchmark: str) -> Path:
    """Return the table of a model's replies to a benchmark, in the edition's folder of replies."""
    return replies / model / benchmark / "replies.parquet"


def answers_table(answers: Path, model: str, benchmark: str) -> Path:
    """Return the table of a model's answers to a benchmark, in the edition's folder of answers."""
    return answers / model / benchmark / "answers.parquet"


def model_of(metrics: Path) -> str:
    """Return the model of a table of metrics, from its path."""
    return metrics.parts[-3] if len(metrics.parts) > 2 else ""


def benchmark_of(metrics: Path) -> str:
    """Return the benchmark of a table of metrics, from its path."""
    return metrics.parent.name

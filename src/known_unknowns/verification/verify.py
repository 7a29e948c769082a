"""Verify recorded replies: ask a random sample of the turns again, batched in other ways, and report changed answers.

Each *way* differs from the recorded run in named settings only: the other turns in the batch, their order, the batch
size, or the sharing of prefixes. A model in this process is asked in all of them, at batch size 1 without sharing among
them; an endpoint again, and one request at a time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from known_unknowns import engines, json_files, tables
from known_unknowns.config import ModelEntry, OpenAIModel, Params, TransformersModel, typed_model
from known_unknowns.edition_files import EditionFiles
from known_unknowns.engines import stopping
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.inference import bound_protocols, lazy_engine, shards
from known_unknowns.inference.model_run import cells_of
from known_unknowns.inference.runner import RecordedTurn, recorded
from known_unknowns.metrics.intervals import wilson
from known_unknowns.progress import progress
from known_unknowns.records import Reply
from known_unknowns.verification.summaries import facts_digest, summary_path

ALONE = "alone"
"""The way that batches nothing: the reference."""
NEAR_TIE_FLOAT32, NEAR_TIE = 0.01, 0.5
"""Largest difference of the two most likely options, in nats, that rounding can reverse: in float32, where batching
changes log-probabilities by about 1e-5, and in half precision or behind an endpoint, where it does by about 0.1."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Comparison:
    """One turn asked again in one way.

    Attributes
    ----------
    way, cause : str
        The way, and the settings in which it differs from the recorded run.
    recorded, answer : str
        The most likely option, or the text of a reply without log-probabilities: as recorded, and now. A ``flip`` is a
        difference.
    failed : bool
        Whether there is no reply now. It is counted, and not compared.
    gap : float, optional
        Difference of the log-probabilities of the two most likely options, in the reference if there is one, else as
        recorded, in nats.
    difference : float, optional
        The largest change of an option's log-probability, in nats.
    near_tie : bool, optional
        Whether rounding explains a flip: `gap` is at most `NEAR_TIE_FLOAT32` in float32, else `NEAR_TIE`.
    """

    model: str
    benchmark: str
    variant: str
    seed: int
    question_id: str
    step: str
    key: str
    way: str
    cause: str
    recorded: str
    answer: str
    flip: bool
    text_changed: bool
    failed: bool
    gap: float | None
    difference: float | None
    near_tie: bool | None


@dataclass(frozen=True, slots=True)
class Way:
    """A way of asking. ``enter`` prepares an engine for it; ``shuffled`` changes the order of the turns."""

    name: str
    cause: str
    enter: Callable[[], AbstractContextManager[Any]] = nullcontext
    shuffled: bool = False


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The result of one benchmark: its comparisons, and the number of recorded turns that were sampled from."""

    model: str
    benchmark: str
    seed: int
    turns: int
    facts: Mapping[str, Any]
    rows: tuple[Comparison, ...]

    @property
    def compared(self) -> int:
        """Number of sampled turns with a reply in at least one way."""
        return len({row.key for row in self.rows if not row.failed})

    @property
    def changed(self) -> int:
        """Number of sampled turns with another answer in at least one way."""
        return len({row.key for row in self.rows if row.flip})

    @property
    def unexplained(self) -> int:
        """Number of sampled turns with another answer that is not a near tie."""
        return len({row.key for row in self.rows if row.flip and not row.near_tie})

    def summary(self) -> dict[str, Any]:
        """Return the numbers: over all ways, and of each way with its Wilson interval."""
        return {
            "model": self.model,
            "benchmark": self.benchmark,
            "seed": self.seed,
            "turns": self.turns,
            "facts": facts_digest(self.facts),
            **_share(self.changed, self.compared),
            "unexplained": self.unexplained,
            "ways": {name: self._way(name) for name in dict.fromkeys(row.way for row in self.rows)},
            "flips": [asdict(row) for row in self.rows if row.flip],
        }

    def _way(self, name: str) -> dict[str, Any]:
        rows = [row for row in self.rows if row.way == name]
        asked = [row for row in rows if not row.failed]
        return {
            "cause": rows[0].cause,
            **_share(sum(row.flip for row in asked), len(asked)),
            "texts_changed": sum(row.text_changed for row in asked),
            "failed": len(rows) - len(asked),
            "largest_difference": max((row.difference for row in asked if row.difference is not None), default=None),
        }


def _share(changed: int, compared: int) -> dict[str, Any]:
    share = changed / compared if compared else None
    low, high = wilson(share, compared, CONFIDENCE) if share is not None else (None, None)
    method = f"Wilson, {CONFIDENCE:.0%}"
    return {"changed": changed, "compared": compared, "share": share, "low": low, "high": high, "method": method}


def verify(
    params: Params, model: str, benchmark: str, *, sample: int, seed: int, root: Path = Path()
) -> VerificationResult:
    """Ask a random sample of a benchmark's recorded turns again, in every way.

    ``sample`` is the number of turns, ``seed`` that of the sample and of the other order. Turns whose recorded reply
    is a failure are not sampled.

    Raises
    ------
    ConfigError
        The model has imported replies, or turns without a recorded reply.
    DataError
        The recorded replies are those of another model.
    """
    entry = params.model(model).asked_in(benchmark)
    if params.is_imported(model):
        raise ConfigError(f"the replies of {model} were imported: there is no model to ask", path=f"models.{model}")
    journal = root / "journal" / model / f"{benchmark}.jsonl"
    files = EditionFiles.of(params, root)
    questions = files.questions(benchmark)
    replies = shards.replies_of(journal)
    if not questions.is_dir():
        raise ConfigError(f"there is no {questions}: run the workflow first (make run EDITION={params.edition})")
    cells = cells_of(params, model, benchmark, files.variants(benchmark))
    engine = lazy_engine.engine(model, entry, journal)
    turns = recorded(cells, engine, replies)
    if missing := sum(turn is None for turn in turns.values()):
        raise ConfigError(f"{missing} of {len(turns)} turns of {model} on {benchmark} have no reply: run the workflow")
    usable = sorted((t for t in turns.values() if t is not None and t.reply.error is None), key=lambda t: t.key)
    drawn = random.Random(seed).sample(usable, min(sample, len(usable)))
    rows = tuple(_rows(model, benchmark, entry, engine.facts, drawn, questions, random.Random(seed)))
    return VerificationResult(model, benchmark, seed, len(turns), engine.facts, rows)


def _rows(
    model: str,
    benchmark: str,
    entry: ModelEntry,
    facts: Mapping[str, Any],
    drawn: Sequence[RecordedTurn],
    folder: Path,
    rng: random.Random,
) -> Iterator[Comparison]:
    engine = engines.create(model, entry)
    if facts_digest(engine.facts) != facts_digest(facts):
        raise DataError(f"the recorded replies are not those of {model} as it is now: run the workflow", file=folder)
    ways = list(_ways(model, entry, engine))
    answers: dict[str, Sequence[Reply]] = {}
    with progress("replies compared", len(ways) * len(drawn)) as advance:
        for way in ways:
            order = rng.sample(range(len(drawn)), len(drawn)) if way.shuffled else list(range(len(drawn)))
            with way.enter() as other:
                found = _answers(other or engine, [drawn[index] for index in order], folder, advance)
            answers[way.name] = [reply for _, reply in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]
    reference = answers.get(ALONE)
    limit = NEAR_TIE_FLOAT32 if entry.get("dtype") == "float32" else NEAR_TIE
    for way in ways:
        for index, turn in enumerate(drawn):
            gap = _gap(reference[index] if reference else turn.reply) or _gap(turn.reply)
            yield _comparison(model, benchmark, turn, way, answers[way.name][index], gap, limit)


def _ways(model: str, entry: ModelEntry, engine: Any) -> Iterator[Way]:
    yield Way("again", "other turns in the batch")
    yield Way("order", "other turns in the batch, in another order", shuffled=True)
    if isinstance(entry, TransformersModel):
        shared, plain = engine.ways_of_batching
        for size in sorted({1, max(1, shared // 4)} if shared else ()):
            cause = f"batch size {size} instead of {shared}"
            yield Way(f"batch {size}", cause, lambda size=size: engine.batching(batch_size=size))  # type: ignore[misc]
        off = "no shared prefixes" if shared else "other turns in the batch"
        for size in sorted({plain, max(2, plain // 2)} - {1}):
            cause = f"{off}, padded batches of {size}"
            yield Way(
                f"generate {size}",
                cause,
                lambda size=size: engine.batching(sharing=False, batch_size=size),  # type: ignore[misc]
            )
        yield Way(ALONE, f"{off}, batch size 1", lambda: engine.batching(sharing=False, batch_size=1))
    elif isinstance(entry, OpenAIModel):
        settings = {key: value for key, value in entry.as_dict().items() if key != "batch"}
        single = typed_model(model, settings | {"concurrency": 1})
        yield Way(ALONE, "one request at a time", lambda: nullcontext(engines.create(model, single)))


def _answers(engine: Any, turns: Sequence[RecordedTurn], folder: Path, advance: Callable[[int], None]) -> list[Reply]:
    asked = [turn.turn for turn in turns]
    if engine.scripted:
        keys = [bound_protocols.answer_key(turn.question, turn.turn) for turn in turns]
        answers = engine.answer_with_keys(asked, keys, folder=folder)
    else:
        answers = engine.answer(asked, folder=folder)
    found: dict[int, Reply] = {}
    for batch in answers:
        found |= dict(batch)
        advance(len(batch))
        stopping.raise_if_requested()
    return [found[index] for index in range(len(turns))]


def _comparison(
    model: str, benchmark: str, turn: RecordedTurn, way: Way, reply: Reply, gap: float | None, limit: float
) -> Comparison:
    failed = reply.error is not None
    before, after = _logprobs(turn.reply), _logprobs(reply)
    both = bool(before) and bool(after)
    first = _answer(turn.reply, by_text=not both)
    second = "" if failed else _answer(reply, by_text=not both)
    flip = not failed and first != second
    difference = None
    if before and after and before.keys() == after.keys():
        difference = max(abs(before[label] - after[label]) for label in before)
    return Comparison(
        model=model,
        benchmark=benchmark,
        variant=turn.cell[0],
        seed=turn.cell[1],
        question_id=turn.question.id,
        step=turn.turn.step,
        key=turn.key,
        way=way.name,
        cause=way.cause,
        recorded=first,
        answer=second,
        flip=flip,
        text_changed=not failed and turn.reply.text != reply.text,
        failed=failed,
        gap=gap,
        difference=difference,
        near_tie=(gap is not None and gap <= limit) if flip else None,
    )


def _answer(reply: Reply, *, by_text: bool) -> str:
    found = _logprobs(reply)
    return reply.text.strip() if by_text or not found else max(found, key=found.__getitem__)


def _logprobs(reply: Reply) -> Mapping[str, float] | None:
    """Return the log-probability of each option: of its label, or of its text if the turn asks for that."""
    if reply.continuations is None:
        return reply.logprobs
    return {label: each.logprob for label, each in reply.continuations.items()}


def _gap(reply: Reply) -> float | None:
    found = _logprobs(reply)
    if not found or len(found) < 2:
        return None
    first, second = sorted(found.values(), reverse=True)[:2]
    return round(first - second, 6)


def text(result: VerificationResult) -> str:
    """Return the result as lines of text: each way, and each changed answer with its cause."""
    found = result.summary()
    lines = [f"{result.model} {result.benchmark}: {_counted(found)} in any way, of {result.turns:,} recorded turns"]
    for name, way in found["ways"].items():
        largest = way["largest_difference"]
        difference = "" if largest is None else f", log-probabilities by at most {largest:.2g} nats"
        failed = f", {way['failed']} failed" if way["failed"] else ""
        lines.append(f"  {name:<12} {_counted(way)}{difference}{failed} ({way['cause']})")
    for row in found["flips"]:
        kind = "near tie" if row["near_tie"] else "not a near tie"
        gap = "" if row["gap"] is None else f", {row['gap']:.3g} nats between the two most likely options"
        where = f"{row['variant']} seed {row['seed']}, question {row['question_id']}, {row['step']}"
        lines.append(f"  {where}: {row['recorded']!r} became {row['answer']!r} with {row['cause']}; {kind}{gap}")
    return "\n".join(lines)


def _counted(found: Mapping[str, Any]) -> str:
    if not found["compared"]:
        return "nothing compared"
    low, high = (f"{100 * found[end]:.1f}" for end in ("low", "high"))
    return f"{found['changed']} of {found['compared']} answers changed ({low} to {high}%)"


def write(result: VerificationResult, folder: Path) -> Path:
    """Write <model>/<benchmark>.json, the summary, and <benchmark>.parquet, one row for each turn and way."""
    path = summary_path(folder, result.model, result.benchmark)
    tables.write_dataclasses(path.with_suffix(".parquet"), result.rows, Comparison)
    json_files.write(path, result.summary())
    return path

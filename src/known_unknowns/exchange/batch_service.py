"""Batch services with OpenAI's format: turns without a reply as requests, and the output as replies in the journal.

A request has the key of its turn in the journal as ``custom_id``, and the body that the engine would send. Its line in
the output is therefore the reply to this turn, however the lines are ordered or divided into files:

| line of the output                  | what becomes of it                                                      |
|-------------------------------------|-------------------------------------------------------------------------|
| status 200                          | parsed by the engine's parser, and recorded                             |
| status 400 and other errors for     | recorded as rejected, as the engine does, if the model has answered     |
| which the engine does not ask again | another turn                                                            |
| any other status, no response       | not recorded; its reason is counted, and the turn is exported again     |
| another model, an unknown key       | not recorded; a problem                                                 |
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.exchange import Row
from known_unknowns.config import OpenAIModel, Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.engines.endpoint import refused_defaults, replies
from known_unknowns.engines.endpoint.request import ImageEncoder, messages, parse_body, request_body
from known_unknowns.engines.endpoint.settings import EndpointSettings
from known_unknowns.engines.openai import OpenAIEngine
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.exchange.rows import parse_rows
from known_unknowns.files import atomic_path
from known_unknowns.inference import shards
from known_unknowns.inference.runner import known_turns
from known_unknowns.inference.unchanged_turns import check_turns
from known_unknowns.model_runs import lazy_engine, model_run
from known_unknowns.model_runs.model_run import Cells
from known_unknowns.progress import progress
from known_unknowns.records import Reply, Turn
from known_unknowns.unusable import REJECTED, class_of

MAX_REQUESTS, MAX_BYTES = 50_000, 200_000_000
"""Limits of one file of requests of OpenAI's service."""
_URL = "/v1/chat/completions"
_WITHOUT_ANSWER = (401, 402, 403, 404, 408, 409, 429)
"""Statuses below 500 that say nothing of the question (`known_unknowns.engines.endpoint.request`)."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One benchmark of a model: its cells, its engine, and where its images and its replies are."""

    cells: Cells
    engine: OpenAIEngine
    facts: Mapping[str, Any]
    entry: OpenAIModel
    images: Path
    journal: Path

    @property
    def settings(self) -> EndpointSettings:
        """The settings of a request. A batch is not streamed."""
        return replace(self.engine.settings, stream=False)

    def turns(self, recorded: Mapping[str, Reply]) -> dict[str, Turn]:
        """Return the turns that are known by now, with and without a reply."""
        return known_turns(self.cells, self.engine, recorded)


def _asked(params: Params, model: str, benchmark: str, root: Path) -> _Asked:
    entry = params.model(model).asked_in(benchmark)
    if not isinstance(entry, OpenAIModel) or entry.launch is not None:
        kind = "a server that the job starts" if isinstance(entry, OpenAIModel) else f"the engine {entry.engine}"
        raise ConfigError(f"{kind} has no batch service; the engine openai with a base_url can have one", path=model)
    files = EditionFiles.of(params, root)
    tables = {files.asked(benchmark, cell.variant, cell.seed).path for cell in params.cells(benchmark, model)}
    missing = sorted(table.relative_to(root).as_posix() for table in tables if not table.is_file())
    if missing:
        raise DataError(f"no questions yet; make them with  snakemake {' '.join(missing)}", file=missing[0])
    journal = root / "journal" / model / f"{benchmark}.jsonl"
    engine = OpenAIEngine(model, entry)
    engine.settings_folder = journal.parent
    facts = engine.facts  # leaves out the defaults that the endpoint was found to refuse
    cells = model_run.cells_of(params, model, benchmark, files.variants(benchmark))
    return _Asked(cells, engine, facts, entry, files.questions(benchmark), journal)


def _benchmarks(params: Params, model: str, benchmark: str | None) -> Sequence[str]:
    for path, name, known in (("MODEL", model, params.models), ("BENCHMARK", benchmark, params.benchmarks)):
        if name is not None and name not in known:
            raise ConfigError(f"edition {params.edition}: {unknown_name(name, known)}", path=path)
    return [benchmark] if benchmark is not None else list(params.benchmarks)


# Requests


@dataclass(frozen=True, slots=True)
class BatchExport:
    """The files of requests that were written, and what the user must know of them."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]


def export_requests(
    params: Params, model: str, benchmark: str | None, folder: Path, *, root: Path = Path()
) -> BatchExport:
    """Write the turns without a reply as requests, in files within the limits of the service.

    Raises ConfigError if the model has no batch service, or if the folder has requests of an earlier export. Raises
    DataError if there are no questions yet, or if a request is larger than a file can be.
    """
    pattern = f"{model}-batch-*.jsonl"
    if earlier := sorted(folder.glob(pattern)):
        raise ConfigError(f"{earlier[0]} is of an earlier export; remove it, or name another folder", path="--out")
    notes, lines = [], 0
    writer = _FileWriter(folder, pattern)
    for name in _benchmarks(params, model, benchmark):
        asked = _asked(params, model, name, root)
        check_turns(params, name, asked.cells, asked.images / "questions.parquet")
        recorded = shards.replies_of(asked.journal)
        turns = {key: turn for key, turn in asked.turns(recorded).items() if key not in recorded}
        likelihoods = {key for key, turn in turns.items() if turn.continuations is not None}
        if likelihoods:
            notes.append(
                f"{name}: {len(likelihoods)} turns ask for the likelihoods of options, which no batch service returns; "
                "`make run` asks them"
            )
        turns = {key: turn for key, turn in turns.items() if key not in likelihoods}
        if turns and refused_defaults.read(asked.journal.parent, asked.settings) is None:
            notes.append(
                "it is not known which default settings the endpoint refuses; `known-unknowns models probe "
                f"{model} --again` finds it with a few requests, and changes the requests if there are any"
            )
        asyncio.run(_write(asked, turns, writer, name))
        lines += len(turns)
    if not lines:
        notes.append(f"every turn of {model} that can be asked has a reply; `make run` scores them")
    return BatchExport(tuple(writer.close()), tuple(dict.fromkeys(notes)))


async def _write(asked: _Asked, turns: Mapping[str, Turn], writer: _FileWriter, benchmark: str) -> None:
    settings = asked.settings
    encoder = ImageEncoder(asked.images, settings.image)
    with progress(f"requests of {benchmark}", len(turns)) as advance:
        for key, turn in turns.items():
            sent, _ = await messages(turn, encoder, system=settings.system, detail=settings.image.detail)
            body = request_body(settings, settings.model, turn, sent)
            line = {"custom_id": key, "method": "POST", "url": _URL, "body": body}
            writer.add(json.dumps(line, ensure_ascii=False).encode() + b"\n", turn)
            advance()


class _FileWriter:
    """Writes lines to numbered files within the limits. Each appears when it is whole."""

    def __init__(self, folder: Path, pattern: str) -> None:
        self._folder, self._pattern = folder, pattern
        self._lines: list[bytes] = []
        self._bytes = 0
        self._files: list[Path] = []

    def add(self, line: bytes, turn: Turn) -> None:
        """Add a request. DataError if it is larger than a file can be."""
        if len(line) > MAX_BYTES:
            raise DataError(
                f"the request of question {turn.question_id!r} has {len(line):,} bytes, and a file of the service has "
                f"at most {MAX_BYTES:,}; send smaller images (image: {{format: jpeg}})",
                file=self._folder,
            )
        if self._bytes + len(line) > MAX_BYTES or len(self._lines) == MAX_REQUESTS:
            self._flush()
        self._lines.append(line)
        self._bytes += len(line)

    def close(self) -> list[Path]:
        """Write the last file, and return all."""
        self._flush()
        return self._files

    def _flush(self) -> None:
        if not self._lines:
            return
        path = self._folder / self._pattern.replace("*", str(len(self._files) + 1))
        with atomic_path(path) as partial:
            partial.write_bytes(b"".join(self._lines))
        self._files.append(path)
        self._lines, self._bytes = [], 0


# Output


@dataclass(slots=True)
class BatchImport:
    """What became of the lines of a batch service's output.

    Attributes
    ----------
    recorded, rejected, already : Counter
        By benchmark: replies with and without an answer that were recorded, and lines whose reply was in the journal.
    unanswered : Counter
        By reason: lines without a reply. Their turns are exported again.
    problems : list of DataError
        Lines that are not of this model.
    missing : dict
        By benchmark: the number of turns that are known and have no reply.
    """

    recorded: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    already: Counter[str] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    problems: list[DataError] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = []
        for name, missing in self.missing.items():
            counts = [f"{self.recorded[name]} replies recorded"]
            counts += [f"{self.rejected[name]} of them rejected"] if self.rejected[name] else []
            counts += [f"{self.already[name]} lines were in the journal already"] if self.already[name] else []
            lines.append(f"{name}: {', '.join(counts)}; {missing} turns have no reply yet")
        lines += [f"not answered, {count} lines: {reason}" for reason, count in self.unanswered.most_common()]
        return "\n".join(lines)


def import_replies(params: Params, model: str, files: Sequence[Path], *, root: Path = Path()) -> BatchImport:
    """Put the output and error files of a batch service into the journals of a model. A second import changes nothing.

    Raises ConfigError if the model has no batch service, DataError if a file cannot be read, and MachineError if a run
    holds a journal.
    """
    found = BatchImport()
    rows = [row for file in files for row in _rows(file, found.problems)]
    for benchmark in _benchmarks(params, model, None):
        asked = _asked(params, model, benchmark, root)
        rows = _record(benchmark, asked, rows, found)
    for row in rows:
        found.problems.append(
            row.error(
                f"the custom_id {str(row.fields['custom_id'])[:80]!r} is of no turn of {model} in the edition "
                f"{params.edition}; was it exported with other settings, questions or samples, or for another model?"
            )
        )
    return found


def _rows(file: Path, problems: list[DataError]) -> Iterator[Row]:
    for row in parse_rows(file, problems):
        if "custom_id" in row.fields and "response" in row.fields:
            yield row
        else:
            problems.append(row.error("not a line of a batch service's output: custom_id, response, error"))


def _record(benchmark: str, asked: _Asked, rows: Sequence[Row], found: BatchImport) -> list[Row]:
    """Record the replies to the turns of one benchmark, and return the rows that are of none of them.

    A reply can be needed to know the turn that another row answers, so that the rows are gone through until none fits.
    """
    recorded = shards.replies_of(asked.journal)
    turns = asked.turns(recorded)
    if not any(_key(row) in turns or _key(row) in recorded for row in rows):
        found.missing[benchmark] = len(turns.keys() - recorded.keys())
        return list(rows)
    left = list(rows)
    with shards.whole_journal(asked.journal) as journal:
        while True:
            recorded = dict(journal.items())
            turns = asked.turns(recorded)
            fitting = [row for row in left if _key(row) in turns or _key(row) in recorded]
            left = [row for row in left if _key(row) not in turns and _key(row) not in recorded]
            if not fitting:
                break
            missing = {key: turn for key, turn in turns.items() if key not in recorded}
            new = _replies(benchmark, fitting, missing, asked.settings, found)
            of_settings = [*(recorded[key] for key in turns if key in recorded), *new.values()]
            if all(class_of(reply) is not None for reply in of_settings):
                _leave_out_rejected(new, found)
            if new:
                journal.append(list(new.items()))
            found.recorded[benchmark] += len(new)
            found.rejected[benchmark] += sum(reply.finish == REJECTED for reply in new.values())
        is_accepted = any(class_of(recorded[key]) is None for key in turns if key in recorded)
        if is_accepted and refused_defaults.read(asked.journal.parent, asked.settings) is None:
            refused_defaults.write(asked.journal.parent, asked.settings, {})  # the endpoint refuses none of them
        found.missing[benchmark] = len(turns.keys() - recorded.keys())
        if not found.missing[benchmark]:
            lazy_engine.write_facts(asked.journal, asked.entry, asked.facts, asked.engine.about)
    return left


def _leave_out_rejected(new: dict[str, Reply], found: BatchImport) -> None:
    """Remove the rejected replies: without an answer to any turn, the settings may be at fault, not the questions."""
    for key, reply in list(new.items()):
        if reply.finish == REJECTED:
            found.unanswered[f"{reply.error} (recorded once the model has answered another turn)"] += 1
            del new[key]


def _key(row: Row) -> str:
    return str(row.fields["custom_id"])


def _replies(
    benchmark: str, rows: Sequence[Row], turns: Mapping[str, Turn], settings: EndpointSettings, found: BatchImport
) -> dict[str, Reply]:
    """Return the replies to ``turns`` in rows by their keys, and count what is none."""
    new: dict[str, Reply] = {}
    for row in rows:
        key = _key(row)
        if key in new or key not in turns:
            found.already[benchmark] += 1
            continue
        try:
            new[key] = _reply(row, turns[key], settings)
        except _NotAnsweredError as error:
            found.unanswered[str(error)] += 1
        except replies.UnreadableReplyError as error:
            found.problems.append(row.error(f"not recorded: {error}"))
    return new


class _NotAnsweredError(Exception):
    """The service has no reply to a request, which can be asked again."""


def _reply(row: Row, turn: Turn, settings: EndpointSettings) -> Reply:
    """Return the reply in a row, by the rules of the engine.

    Raises _NotAnsweredError, and UnreadableReplyError if the response is no reply of the model.
    """
    response = row.fields["response"]
    if not isinstance(response, Mapping):
        raise _NotAnsweredError(_words(replies.parse_error({"error": row.fields.get("error")})))
    status, body = response.get("status_code"), response.get("body")
    if status == 200:
        parsed = parse_body(settings, settings.model, turn, body)
        details = {**(parsed.reply.details or {}), "batch_request": row.fields.get("id")}
        return replace(parsed.reply, details=details)
    message = replies.parse_error(body)
    if isinstance(status, int) and 400 <= status < 500 and status not in _WITHOUT_ANSWER:
        return replies.rejected_reply(status, message)
    raise _NotAnsweredError(f"status {status}: {_words(message)}")


def _words(message: replies.ErrorMessage) -> str:
    return ": ".join(filter(None, (message.code, message.words))) or "no reason given"

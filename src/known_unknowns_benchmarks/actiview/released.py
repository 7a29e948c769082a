"""ActiView's released replies of Qwen2-VL: result files, and the action history of the mixed pipeline.

    results/<model>/<setting>.json                  {"preds": [...], "acc": ...}, in the order of data.json
    results/<model>/action_history_<setting>.json   for each question, its steps before the answer

A step of the history has the reply under "init" (zooming) or "inter" (operating), what the toolkit parsed of it under
"rst", and the last step has the "answer". The history is replayed through the protocol, which asks the same turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.checks import ERROR, NOTE, WARNING, CheckState, Finding, Quantity
from known_unknowns.benchmark.loading import read_json
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.benchmark.released import Released, ReleasedCell, ReleasedFile, ReleasedTurn
from known_unknowns.benchmark.released_images import with_published_images
from known_unknowns.config import ReleasedData
from known_unknowns.data.released import read_manifest
from known_unknowns.errors import DataError
from known_unknowns.exchange.formats import NO_PREDICTION
from known_unknowns.records import OVERALL, Image, Question, Reply
from known_unknowns_benchmarks.actiview.format import read_files
from known_unknowns_benchmarks.actiview.loader import NAME, load_without_images
from known_unknowns_benchmarks.actiview.parsing import official
from known_unknowns_benchmarks.actiview.protocols import mixed

_PLACE = re.compile(r"(?:.*/)?results/(?P<model>[^/]+)/(?P<history>action_history_)?(?P<setting>[^/]+)\.json")
_FIRST_VIEW = 2
"""View v is image 2 + v of a question (`known_unknowns_benchmarks.actiview.format.IMAGES`)."""
_HISTORIES: Mapping[str, Callable[..., Any]] = {"mixed": mixed}
"""Variants whose history can be replayed, and the protocol."""


def _files(files: Sequence[ReleasedFile], entry: ReleasedData, *, history: bool) -> dict[tuple[str, str], ReleasedFile]:
    """The files by model and variant: of the replies, or of the action history."""
    found: dict[tuple[str, str], ReleasedFile] = {}
    for file in files:
        match = _PLACE.fullmatch(file.path)
        if match is None or bool(match["history"]) is not history or not file.size:
            continue
        if match["setting"] in entry.settings:
            found.setdefault((match["model"], entry.settings[match["setting"]]), file)
    return found


def load(raw: Path, folder: Path, settings: ReleasedData) -> Iterator[Question]:
    """Load the questions of data.json, with their images where the benchmark's own questions are at hand."""
    return with_published_images(_with_paths(raw, settings), settings, folder)


def _with_paths(raw: Path, settings: ReleasedData) -> list[Question]:
    """The questions with their images by path alone."""
    paths = [values["images"] for values in read_files(raw / "asset", require_all=False).rows]
    found = load_without_images(raw / "asset", settings=settings)
    return [
        replace(question, images=tuple(Image(path, sha256(path.encode()).hexdigest(), 0, 0) for path in of_question))
        for question, of_question in zip(found, paths, strict=True)
    ]


def variants_in_files(files: Sequence[ReleasedFile], entry: ReleasedData) -> dict[str, list[str]]:
    """Return the models in the files, with the variants that they have replies to."""
    found: dict[str, list[str]] = {}
    for model, variant in _files(files, entry, history=False):
        found.setdefault(model, []).append(variant)
    return found


def replies(
    raw: Path,
    files: Sequence[ReleasedFile],
    entry: ReleasedData,
    model: str,
    variant: str,
    questions: Sequence[Question],
) -> ReleasedCell:
    """Return the replies of a model to a variant, with the turns before the answer where they were released."""
    file = _files(files, entry, history=False).get((model, variant))
    if file is None:
        return ReleasedCell({}, (), ("no file was released",))
    try:
        answers, _ = _read(raw / file.place)
    except DataError as error:
        return ReleasedCell({}, (file,), (str(error),))
    notes = [] if len(answers) == len(questions) else [f"{len(answers)} replies to {len(questions)} questions"]
    turns = {
        question.id: [ReleasedTurn(answer) if isinstance(answer, str) else ReleasedTurn("", NO_PREDICTION)]
        for question, answer in zip(questions, answers, strict=False)
    }
    history = _files(files, entry, history=True).get((model, variant))
    if history is None or variant not in _HISTORIES:
        return ReleasedCell(turns, (file,), tuple(notes))
    try:
        steps = read_json(raw / history.place)
    except DataError as error:
        return ReleasedCell(turns, (file,), (*notes, f"{error}; only the answers are used"))
    if not isinstance(steps, list) or len(steps) != len(answers):
        text = f"{history.path} is not a history of these replies; only the answers are used"
        return ReleasedCell(turns, (file,), (*notes, text))
    odd = []
    for question, answer, of_question in zip(questions, answers, steps, strict=False):
        replayed = _replay(_HISTORIES[variant], question, of_question, answer)
        if replayed is None:
            odd.append(question.id)
        else:
            turns[question.id] = replayed
    if odd:
        notes.append(f"{len(odd)} histories differ from the protocol, such as {odd[0]}; only their answers are used")
    return ReleasedCell(turns, (file, history), tuple(notes))


def _replay(protocol: Callable[..., Any], question: Question, steps: Any, answer: Any) -> list[ReleasedTurn] | None:
    """The turns that the protocol asks if it gets the replies of the history; None if it asks others.

    The answer must be given to the views that the toolkit parsed.
    """
    try:
        said = [step["init"] if "init" in step else step["inter"] for step in steps]
        if steps[-1]["answer"] != answer or not all(isinstance(text, str) for text in said):
            return None
        parsed = next((step["rst"] for step in reversed(steps) if step["rst"] is not None), [])
        views = tuple(question.images[_FIRST_VIEW + number].sha256 for number in parsed)
    except (KeyError, TypeError, IndexError):
        return None
    dialogue, found = protocol(question), []
    turn = next(dialogue)
    for text in [*said, answer]:
        shown = tuple(image.sha256 for image in turn.images)
        found.append(ReleasedTurn(text, None, turn.step, turn.text, turn.labels is not None, shown))
        try:
            turn = dialogue.send(Reply(text))
        except StopIteration:
            break
    is_same = len(found) == len(said) + 1 and found[-1].step == ANSWER and found[-1].images[1:] == views
    return found if is_same else None


def _read(path: Path) -> tuple[list[Any], float | None]:
    """The replies and the stated accuracy. DataError if the file is not a result file."""
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("preds"), list):
        raise DataError('is no object with a list of replies under "preds"', file=path)
    stated = content.get("acc")
    return content["preds"], stated if isinstance(stated, int | float) and not isinstance(stated, bool) else None


def published(
    raw: Path,
    files: Sequence[ReleasedFile],
    entry: ReleasedData,
    names: Mapping[str, str],
    questions: Callable[[str], Sequence[Question]],
) -> tuple[list[PublishedCell], list[dict[str, Any]]]:
    """Return the stated accuracies as cells, and whether the replies reproduce them by the released rule."""
    cells, rows = [], []
    for (model, variant), file in _files(files, entry, history=False).items():
        try:
            answers, stated = _read(raw / file.place)
        except DataError as error:
            rows.append(_row(model, variant, file) | {"outcome": "unreadable", "reason": str(error)})
            continue
        asked = questions(variant)
        if stated is None or not asked:
            continue
        accuracy = _accuracy(answers, asked)
        rows.append(
            _row(model, variant, file)
            | {
                "outcome": "exact" if accuracy == stated else "differs",
                "reason": "" if accuracy == stated else f"stated {stated!r}, recomputed {accuracy!r}",
                "numbers": 1,
                "logged_Overall_accuracy": 100 * stated,
                "recomputed_Overall_accuracy": 100 * accuracy,
            }
        )
        cells.append(
            PublishedCell(
                benchmark=NAME,
                table="Released results",
                row=model,
                column=variant,
                variant=variant,
                category=OVERALL,
                metric="accuracy",
                value=100 * stated,
                decimals=12,
                source=f"{file.path} at {file.commit[:12]} of {entry['repository']}",
                model=names.get(model, model),
                parser="official",
                revision="released results",
                questions=len(answers),
            )
        )
    return cells, rows


def _row(model: str, variant: str, file: ReleasedFile) -> dict[str, Any]:
    replies = f"{file.path} at {file.commit[:12]}"
    return {"model": model, "setting": variant, "log": file.path, "commit": file.commit, "replies": replies}


def _accuracy(answers: Sequence[Any], questions: Sequence[Question]) -> float:
    pairs = zip(answers, questions, strict=False)
    right = [official(text, q).choice == q.answer for text, q in pairs if isinstance(text, str)]
    return sum(right) / max(len(questions), 1)


def check(raw: Path, settings: ReleasedData) -> tuple[list[Quantity], list[Finding]]:
    """Check the released replies under ``raw`` (`known_unknowns.benchmark.interface.Check`)."""
    files, state = read_manifest(raw) or [], CheckState()
    questions = _with_paths(raw, settings)
    found = _files(files, settings, history=False)
    histories = _files(files, settings, history=True)
    for variant in settings.settings.values():
        if not any(of == variant for _, of in found):
            state.add(WARNING, "missing-predictions", variant, "no replies were released; not run")
    for (model, variant), file in found.items():
        cell = replies(raw, files, settings, model, variant, questions)
        for note in cell.notes:
            severity = ERROR if not cell.turns or "replies to" in note else WARNING
            state.add(severity, "replies" if cell.turns else "unreadable-file", file.path, note)
        if (model, variant) not in histories:
            state.add(NOTE, "no-history", file.path, "the turns before the answer were not released")
    quantities = [Quantity("questions", len(questions), 325, "data.json"), Quantity("files of replies", len(found))]
    return quantities, state.findings


RELEASED = Released(load=load, variants=variants_in_files, replies=replies, published=published)

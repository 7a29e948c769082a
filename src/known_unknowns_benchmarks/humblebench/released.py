"""HumbleBench's released predictions (`known_unknowns.exchange.released.Released`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.benchmark.released import Released, ReleasedCell, ReleasedFile, ReleasedTurn
from known_unknowns.config import ReleasedData
from known_unknowns.exchange.formats import NO_PREDICTION
from known_unknowns.records import OVERALL, Question
from known_unknowns_benchmarks.humblebench.official import released_label
from known_unknowns_benchmarks.humblebench.released_files import (
    ANSWERS_ONLY,
    PROPRIETARY,
    SETTINGS,
    ReleasedReplies,
    ReleasedRow,
    Slot,
    normal,
    read_replies,
    slots,
)
from known_unknowns_benchmarks.humblebench.released_logs import (
    EXACT,
    LogComparison,
    compare_logs,
)
from known_unknowns_benchmarks.humblebench.released_questions import NAME, OLD_TYPES, REFUSAL, load

Questions = Callable[[str], Sequence[Question]]


def variants_in_files(files: Sequence[ReleasedFile], entry: ReleasedData) -> dict[str, list[str]]:
    """Return the models in the files, with the variants that they have predictions for."""
    found: dict[str, list[str]] = {}
    for (model, setting), slot in slots(files).items():
        variant = entry.settings.get(setting)
        if slot.has_replies and variant is not None and variant not in found.setdefault(model, []):
            found[model].append(variant)
    return found


def replies(
    raw: Path,
    files: Sequence[ReleasedFile],
    entry: ReleasedData,
    model: str,
    variant: str,
    questions: Sequence[Question],
) -> ReleasedCell:
    """Return the predictions of a model for a variant."""
    slot = _slot(files, entry, model, variant)
    if slot is None:
        return ReleasedCell({}, (), ("no file was released",))
    parsed = read_replies(raw / slot.replies[0].place)
    prefix, has_noise = SETTINGS[slot.setting].prefix, SETTINGS[slot.setting].has_noise
    turns, problems = {}, Counter[str]()
    for question in questions:
        row = parsed.rows.get(question.id)
        if row is None:
            continue
        problem = difference(row, question, prefix, has_noise)
        if problem is not None:
            problems[problem] += 1
        turns[question.id] = (_turn(row, problem),)
    unknown = parsed.rows.keys() - {question.id for question in questions}
    notes = [f"{count} rows: {problem}" for problem, count in problems.items()]
    notes += list(file_problems(parsed))
    missing = len(questions) - len(turns)
    notes += [f"{missing} of {len(questions)} questions have no prediction"] if missing else []
    notes += [f"{len(unknown)} predictions have no question, such as {min(unknown)}"] if unknown else []
    return ReleasedCell(turns, (slot.replies[0],), tuple(notes))


def _slot(files: Sequence[ReleasedFile], entry: ReleasedData, model: str, variant: str) -> Slot | None:
    """The model's files of the first setting that stands for the variant and has predictions."""
    found = slots(files)
    named = [setting for setting, of_setting in entry.settings.items() if of_setting == variant]
    return next((s for name in named if (s := found.get((model, name))) is not None and s.has_replies), None)


OTHER_OPTIONS = "asks other options, or the same in another order"
OTHER_LABEL = "has another label"
OTHER_TEXT = "asks the same options with another text"
_UNUSABLE = (OTHER_OPTIONS, OTHER_LABEL)


def difference(row: ReleasedRow, question: Question, prefix: str, has_noise: bool) -> str | None:
    """Return how the question of a row differs from the variant's question; None if it does not.

    White space is not compared. Noise keeps the label of the question as published.
    """
    if row.text is None:
        return None
    if row.label != (question.extra["label"] if has_noise else released_label(question)):
        return OTHER_LABEL
    text = normal(row.text)
    if text == normal(prefix + question.rendered):
        return None
    options = normal("\n".join(option.line for option in question.options))
    return OTHER_TEXT if text.endswith(options) else OTHER_OPTIONS


def _turn(row: ReleasedRow, problem: str | None) -> ReleasedTurn:
    if problem in _UNUSABLE:
        return ReleasedTurn(row.prediction or "", f"the released row {problem}")
    if row.prediction is None:
        return ReleasedTurn("", NO_PREDICTION)
    return ReleasedTurn(row.prediction, prompt=row.text or "")


def file_problems(parsed: ReleasedReplies) -> Iterator[str]:
    """Yield what is wrong with a file, whatever the questions are."""
    if parsed.other_form:
        yield f"the file is {parsed.other_form}, not lines of JSON"
    if parsed.unreadable:
        end = ", and the file ends within a line" if parsed.is_cut else ""
        count, first = len(parsed.unreadable), f"the first is {parsed.unreadable[0]} ({parsed.reason})"
        yield f"{count} unreadable line{'s' * (count > 1)}, {first}{end}"
    if parsed.repeated:
        differing = sum(count > 1 for count in parsed.repeated.values())
        yield (
            f"{len(parsed.repeated)} questions are answered more than once ({differing} of them differently); the last "
            "line counts, as in the released code"
        )


def published(
    raw: Path, files: Sequence[ReleasedFile], entry: ReleasedData, names: Mapping[str, str], questions: Questions
) -> tuple[list[PublishedCell], list[dict[str, Any]]]:
    """Return the numbers of the logs as cells, and whether the raw files reproduce each log."""
    cells: list[PublishedCell] = []
    rows: list[dict[str, Any]] = []
    counts: dict[str, dict[str, int]] = {}
    for (model, setting), slot in slots(files).items():
        variant = entry.settings.get(setting)
        compared = compare_logs(raw, slot)
        rows += [_row(each) for each in compared]
        if setting == PROPRIETARY and slot.replies:
            rows.append({"model": model, "setting": setting, "outcome": ANSWERS_ONLY})
        if model not in names or variant is None or not compared:
            continue
        if variant not in counts:
            counts[variant] = _counts(questions(variant), SETTINGS[setting].has_noise)
        best = next((each for each in compared if each.outcome == EXACT), compared[0])
        cells += _cells(best, variant, names[model], counts[variant], entry.repository)
    return cells, rows


def _row(compared: LogComparison) -> dict[str, Any]:
    return {
        "model": compared.model,
        "setting": compared.setting,
        "log": compared.log.path,
        "commit": compared.log.commit,
        "replies": compared.replies,
        "outcome": compared.outcome,
        "reason": compared.reason,
        "numbers": len(compared.logged),
        **{f"logged_{name}": compared.logged.get(name) for name in ("Overall_accuracy", "E_accuracy")},
        **{f"recomputed_{name}": compared.recomputed.get(name) for name in ("Overall_accuracy", "E_accuracy")},
    }


def _counts(questions: Sequence[Question], has_noise: bool) -> dict[str, int]:
    """The number of questions of each type, of all, and (under E) of those with the label E."""
    of_type = Counter(question.category for question in questions)
    labels = Counter(question.extra["label"] if has_noise else released_label(question) for question in questions)
    return {**of_type, OVERALL: of_type.total(), REFUSAL: labels[REFUSAL]}


def _cells(
    compared: LogComparison, variant: str, row: str, counts: Mapping[str, int], repository: str
) -> Iterator[PublishedCell]:
    """The numbers of a log that correspond to a metric.

    A log does not state its number of questions. It is ours if the percentage is a whole count of it, else unknown.
    """
    has_noise = SETTINGS[compared.setting].has_noise
    for name, value in compared.logged.items():
        found = _metric(name, has_noise, moves_refusal=compared.setting == "shuffle_nota_position")
        if found is None:
            continue
        metric, category, counted = found
        n = counts.get(counted, 0)
        is_whole = n and abs(value * n / 100 - round(value * n / 100)) < 1e-6
        yield PublishedCell(
            benchmark=NAME,
            table=f"Released logs, {compared.setting}",
            row=compared.model,
            column=name,
            variant=variant,
            category=category,
            metric=metric,
            value=value,
            decimals=min(len(f"{value!r}".partition(".")[2]), 12),
            source=f"{compared.log.path} at {compared.log.commit[:12]} of {repository}",
            note="" if compared.outcome == EXACT else f"The raw file does not reproduce the log: {compared.reason}.",
            model=row,
            parser="official",
            revision="released logs",
            questions=n if is_whole else None,
        )


def _metric(name: str, has_noise: bool, *, moves_refusal: bool) -> tuple[str, str, str] | None:
    """Our metric for a number of a log, its category, and what it is a count of; None if there is none.

    E accuracy is exact E among the questions labelled E. After all options were shuffled, E is any option.
    """
    what, _, kind = name.partition("_")
    if kind == "proportion":
        return ("share_no_letter" if what == "NA" else f"share_{what}", OVERALL, OVERALL)
    if name == "E_accuracy":
        return None if moves_refusal else ("exact_refusal_recall", OVERALL, REFUSAL)
    if what in OLD_TYPES and OLD_TYPES[what] != "Object":
        return None
    category = OLD_TYPES.get(what, what)
    return ("accuracy_published_labels" if has_noise else "accuracy", category, category)


RELEASED = Released(load=load, variants=variants_in_files, replies=replies, published=published)
"""The order of settings in params.yaml decides which one counts if two stand for a variant."""

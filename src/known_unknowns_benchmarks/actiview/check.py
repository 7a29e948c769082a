"""Check of ActiView's files against its paper and against each other; see `known_unknowns.data.check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from known_unknowns.benchmark.checks import (
    ERROR,
    NOTE,
    WARNING,
    CheckState,
    Finding,
    ImageChecks,
    Quantity,
    option_findings,
    with_expected,
)
from known_unknowns.config import DataEntry, ReleasedData, ScenesData
from known_unknowns.errors import DataError
from known_unknowns.exchange import released_check
from known_unknowns.records import Option
from known_unknowns_benchmarks.actiview.format import (
    CATEGORIES,
    DATA,
    GROUNDTRUTH,
    LETTERS,
    LEVELS,
    STARTS,
    Annotation,
    Files,
    read_files,
)
from known_unknowns_benchmarks.actiview.released import RELEASED

_SUFFIXES = ("", "_resized", "_resized_lines", "_0_0", "_1_0", "_0_1", "_1_1")


@dataclass
class _State(CheckState):
    """Findings and questions so far."""

    files: Files = field(kw_only=True)
    questions: list[Annotation] = field(default_factory=list)


def check(raw: Path, *, settings: DataEntry | None = None) -> tuple[list[Quantity], list[Finding]]:
    """Check the files under ``raw`` (`known_unknowns.benchmark.interface.Check`).

    The paper's numbers are expected. For rendered data (``source: scenes``), the numbers of ``settings`` are.
    """
    if isinstance(settings, ReleasedData):
        return released_check.check(RELEASED, raw, settings)
    rendered = settings if isinstance(settings, ScenesData) else None
    try:
        state = _State(files=read_files(raw))
    except DataError as error:
        return [], [Finding(ERROR, "unreadable-file", "", f"{error}; nothing was checked")]
    for row in range(len(state.files.rows)):
        _row(row, state)
    _lengths(state)
    _images(state)
    quantities = with_expected(_quantities(state, rendered), Path(__file__).parent, published=rendered is None)
    return quantities, state.findings


def _row(row: int, state: _State) -> None:
    try:
        found = state.files.annotation(row)
    except ValueError as error:
        state.add(ERROR, "unreadable-question", f"{DATA}, row {row}", str(error))
        return
    state.add_id(found.id, f"{DATA}, row {row}", where=found.id)
    state.questions.append(found)
    options = [Option(label, text, f"{label}. ") for label, text in zip(LETTERS, found.options, strict=False)]
    state.findings += option_findings(options, expected=None, refusal=None, where=found.id)
    state.findings += _paths(found)


def _paths(found: Annotation) -> Iterator[Finding]:
    """Find images that are not named after their question ("images/x.jpg", "images_split/x_resized.jpg", ...)."""
    paths = [PurePosixPath(path) for path in found.images]
    stem = paths[0].stem
    odd = [str(p) for p, suffix in zip(paths, _SUFFIXES, strict=True) if p.stem != stem + suffix]
    if odd:
        text = f"images of another question, or in another order: {', '.join(odd)}"
        yield Finding(WARNING, "image-order", found.id, text)
    elif stem != found.id:
        yield Finding(NOTE, "shared-image", found.id, f"asks about the image of {stem}")


def _lengths(state: _State) -> None:
    """Compare the lengths of the files. Only their order links the two other files to data.json."""
    count = len(state.files.rows)
    lengths = {GROUNDTRUTH: len(state.files.groundtruth or [])}
    for level in STARTS.values():
        if level not in state.files.levels:
            state.add(WARNING, "level-missing", LEVELS, f"no level {level!r}, so Shifting has no start view")
        else:
            lengths[f"{LEVELS}, {level}"] = len(state.files.levels[level])
    for where, found in lengths.items():
        if found != count:
            state.add(WARNING, "length", where, f"{found} entries for the {count} questions of {DATA}")


def _images(state: _State) -> None:
    folder = state.files.file.parent
    if not any((folder / path).is_file() for found in state.questions for path in found.images):
        state.add(ERROR, "no-images", "", f"none of the images is below {folder}: only the annotations were checked")
        return
    images = ImageChecks(plain=True)
    for found in state.questions:
        for path in found.images:
            images.add(path, folder, file=state.files.file, row=found.row, where=found.id)
    state.findings += [*images.findings, *images.closing()]


def _quantities(state: _State, rendered: ScenesData | None) -> Iterator[Quantity]:
    found, count = state.questions, len(state.questions)
    categories = Counter(question.category for question in found)
    images = (rendered.images, "the paper (Appendix A.3)") if rendered else ()
    yield Quantity("questions", len(state.files.rows))
    yield Quantity("images, by path", len({q.images[0] for q in found}), *images)
    yield from (Quantity(f"questions of {name}", categories[name]) for name in CATEGORIES.values())
    yield Quantity("questions with distraction", sum(question.distraction for question in found))
    if not found:
        return
    counts = [len(question.options) for question in found]
    annotated = sum(clue != "no" for question in found for clue in question.clues) / count
    yield Quantity("fewest options", min(counts))
    yield Quantity("most options", max(counts))
    yield Quantity("options a question", round(sum(counts) / count, 2))
    yield Quantity("right by guessing (%)", round(100 * sum(1 / options for options in counts) / count, 2))
    yield Quantity("views with clues a question, by contains_bbox", round(annotated, 2))
    if listed := [len(question.groundtruth) for question in found if question.groundtruth is not None]:
        what = "views with clues a question, by groundtruth_views.json"
        yield Quantity(what, round(sum(listed) / len(listed), 2))

"""Check of ActiView's files against its paper and against each other; see `known_unknowns.data.check`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
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
from known_unknowns.records import Option
from known_unknowns.yaml_reader import parse_yaml
from known_unknowns_benchmarks.actiview.format import (
    CATEGORIES,
    DATA,
    GROUNDTRUTH,
    IMAGES,
    LETTERS,
    LEVELS,
    STARTS,
    Annotation,
    Files,
    read_files,
)
from known_unknowns_benchmarks.actiview.loader import RELEASED_SEED, random_starts
from known_unknowns_benchmarks.actiview.released import RELEASED

_SUFFIXES = ("", "_resized", "_resized_lines", "_0_0", "_1_0", "_0_1", "_1_1")
_MISSPELLINGS = parse_yaml(Path(__file__).with_name("misspellings.yaml").read_text(encoding="utf-8"))
_LEVEL_VIEWS = {"E": "a view with an entire clue", "M": "a view with only partial clues", "H": "a view without clues"}


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
        return RELEASED.check(raw, settings)
    rendered = settings if isinstance(settings, ScenesData) else None
    try:
        state = _State(files=read_files(raw))
    except DataError as error:
        return [], [Finding(ERROR, "unreadable-file", "", f"{error}; nothing was checked")]
    for row in range(len(state.files.rows)):
        _row(row, state)
    _category_names(state)
    _lengths(state)
    _levels(state)
    _order_of_numbers(state)
    _full_stops(state)
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
    state.findings += [*_spelling(found), *_views(found), *_paths(found)]


def _spelling(found: Annotation) -> Iterator[Finding]:
    """Find unusual spellings, which the loader keeps."""
    if found.text != found.text.strip():
        yield Finding(NOTE, "question-space", found.id, f"the question begins or ends with a space: {found.text!r}")
    if found.text.count('"') % 2:
        yield Finding(NOTE, "question-quote", found.id, f"an unpaired quotation mark: {found.text!r}")
    stops = {text.rstrip().endswith(".") for text in found.options}
    if len(stops) > 1:
        yield Finding(NOTE, "option-stop", found.id, f"some options end with a full stop: {' / '.join(found.options)}")
    if found.text.lower().startswith("how many") and found.category != "Count-Dis":
        yield Finding(
            NOTE, "category", found.id, f"asks how many, but its category is {found.category}: {found.text!r}"
        )
    for what, text in (("the question", found.text), *(("an option", text) for text in found.options)):
        for wrong, right in _MISSPELLINGS.items():
            if re.search(rf"\b{wrong}\b", text):
                what = "the right option" if text == found.options[found.answer] else what
                yield Finding(NOTE, "misspelt", found.id, f"{what} has {wrong!r} for {right!r}: {text!r}")


def _views(found: Annotation) -> Iterator[Finding]:
    """Compare the views with clues in two files."""
    clues = [clue for clue in found.clues if clue != "no"]
    by_clues = tuple(view for view, clue in enumerate(found.clues, start=1) if clue != "no")
    if not clues:
        text = f"no view contains a clue, but {GROUNDTRUTH} has {_view_list(found.groundtruth)}"
        yield Finding(WARNING, "no-clue", found.id, text)
    elif found.groundtruth != by_clues:
        text = f"{GROUNDTRUTH} has {_view_list(found.groundtruth)}, contains_bbox {_view_list(by_clues)}"
        yield Finding(WARNING, "groundtruth-views", found.id, text)
    if clues == ["partial"]:
        text = f"view {by_clues[0]} contains a part of a clue, and no view contains the rest"
        yield Finding(NOTE, "lone-part", found.id, text)


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


def _category_names(state: _State) -> None:
    names = Counter(state.files.rows[found.row]["category"] for found in state.questions)
    for name, count in names.items():
        if "counrty" in name:
            state.add(NOTE, "category-spelling", DATA, f"the category of {count} questions reads {name!r}")


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


def _levels(state: _State) -> None:
    """Compare start views with Section 4.1: an entire clue in Shifting-E, parts only in -M, none in -H."""
    for level in STARTS:
        off: dict[str, list[str]] = defaultdict(list)
        for found in state.questions:
            start = found.starts[level]
            kind = None if start is None else _kind(found.clues[start])
            if kind != level:
                off["no view at all" if kind is None else _LEVEL_VIEWS[kind]].append(found.id)
        for what, ids in off.items():
            text = f"{len(ids)} questions start in {what}, but should start in {_LEVEL_VIEWS[level]}: {_some(ids)}"
            state.add(WARNING, "level", f"{LEVELS}, {STARTS[level]}", text)
    same = [found for found in state.questions if len(set(found.starts.values())) == 1]
    if same:
        ids = [found.id for found in same]
        text = f"{len(same)} questions start in the same view at all levels: {_some(ids)}"
        state.add(NOTE, "level-same", LEVELS, text)
    alike = [found for found in state.questions if len(set(map(str, found.clues))) == 1]
    drawn = random_starts()
    if alike and all(set(found.starts.values()) == {next(drawn)} for found in alike):
        text = (
            f"the four views of {len(alike)} questions are annotated alike; each starts, at all levels, in a view "
            f"drawn by random.seed({RELEASED_SEED}), randint(0, 3) over these questions alone"
        )
        state.add(NOTE, "level-drawn", LEVELS, text)


def _kind(clue: str | int) -> str:
    return {"no": "H", "partial": "M"}.get(str(clue), "E")


def _order_of_numbers(state: _State) -> None:
    """Find sorted numbers. Appendix A.2: "should be arrange randomly, neither descending nor ascending order"."""
    numbers = []
    for found in state.questions:
        texts = [text.strip().rstrip(".") for text in found.options]
        if all(re.fullmatch(r"\d+", text) for text in texts):
            numbers.append((found.id, [int(text) for text in texts]))
    rising = [name for name, values in numbers if values in (sorted(values), sorted(values, reverse=True))]
    if rising:
        text = (
            f"{len(rising)} of {len(numbers)} questions whose options are numbers have them in order, but the paper "
            f"(Appendix A.2) requires random order: {_some(rising)}"
        )
        state.add(NOTE, "numbers-in-order", DATA, text)


def _full_stops(state: _State) -> None:
    """Find final full stops. The released rule compares a reply with the complete text of the right option."""
    ending = [found.id for found in state.questions if found.options[found.answer].rstrip().endswith(".")]
    if ending:
        text = (
            f"the right option of {len(ending)} questions ends with a full stop: a reply of the same words without it "
            f"is wrong by the released rule: {_some(ending)}"
        )
        state.add(NOTE, "answer-stop", DATA, text)


def _images(state: _State) -> None:
    folder = state.files.file.parent
    if not any((folder / path).is_file() for found in state.questions for path in found.images):
        state.add(ERROR, "no-images", "", f"none of the images is below {folder}: only the annotations were checked")
        return
    images = ImageChecks(plain=True)
    for found in state.questions:
        digests = [
            images.add(path, folder, file=state.files.file, row=found.row, where=found.id) for path in found.images
        ]
        if None not in digests:
            state.findings += _sizes(found.id, [images.sizes[digest] for digest in digests])
    state.findings += [*images.findings, *images.closing()]


def _sizes(where: str, sizes: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """Compare sizes. By Section 4.1, each view is resized to the size of the initial view."""
    first = sizes[1]
    for name, size in zip(IMAGES[2:], sizes[2:], strict=True):
        if size != first:
            text = f"the {name} image has {size[0]} x {size[1]} pixels, the resized image {first[0]} x {first[1]}"
            yield Finding(WARNING, "view-size", where, text)
    if first[0] >= sizes[0][0] or first[1] >= sizes[0][1]:
        text = f"the resized image has {first[0]} x {first[1]} pixels, the original {sizes[0][0]} x {sizes[0][1]}"
        yield Finding(WARNING, "not-reduced", where, text)


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


def _view_list(views: Sequence[int] | None) -> str:
    return "nothing" if views is None else f"[{', '.join(map(str, views))}]"


def _some(ids: Sequence[str], most: int = 6) -> str:
    return ", ".join(ids[:most]) + (f" and {len(ids) - most} more" if len(ids) > most else "")

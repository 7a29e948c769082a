"""ActiView's files: read as published, and what is wrong in them told rather than hidden."""

import json
from collections import Counter
from hashlib import sha256

import pytest

from known_unknowns import images
from known_unknowns.data import check
from known_unknowns.errors import DataError
from known_unknowns_benchmarks.actiview import check as actiview_check
from known_unknowns_benchmarks.actiview import loader as actiview
from known_unknowns_benchmarks.actiview.format import TYPES
from tests.factories import data_entry, png
from tests.paths import SHARED

REAL = SHARED / "data" / "actiview"
SIZES = [(80, 60), *[(40, 30)] * 6]


def row(number, **changes):
    name = changes.pop("image", f"actiview{number:04d}")
    endings = ("_resized", "_resized_lines", "_0_0", "_1_0", "_0_1", "_1_1")
    return {
        "question": "What color is the roof?",
        "options": ["Red", "Blue", "Black"],
        "answer": 1,
        "images": [f"./images/{name}.jpg", *(f"./images_split/{name}{ending}.jpg" for ending in endings)],
        "category": "object-attr",
        "distraction": 0,
        "id": f"actiview{number:04d}",
        "contains_bbox": ["no", 2, "partial", "no"],
    } | changes


def write(folder, rows, *, groundtruth=None, levels=None, images=True):
    """A folder as published: every image of another colour, the extensions .jpg whatever the format."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.json").write_text(json.dumps({"meta": {"version": "release_1.0"}, "data": rows}))
    if groundtruth is None:
        groundtruth = [[view for view, clue in enumerate(r["contains_bbox"], 1) if clue != "no"] for r in rows]
    (folder / "groundtruth_views.json").write_text(json.dumps(groundtruth))
    if levels is None:
        levels = {"hard": [0] * len(rows), "medium": [2] * len(rows), "easy": [1] * len(rows)}
    (folder / "shifting_level.json").write_text(json.dumps(levels))
    named = sorted({(path, size) for r in rows for path, size in zip(r["images"], SIZES, strict=False)})
    for number, (path, size) in enumerate(named if images else []):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(png((number, 7, 200), size))
    return folder


@pytest.fixture
def raw(tmp_path):
    return write(tmp_path / "raw", [row(1), row(2, category="counting", answer=0, id=17)])


def found(folder, code):
    _, findings = actiview_check.check(folder)
    return [finding for finding in findings if finding.code == code]


def test_a_question_has_all_fields_of_its_files(raw, tmp_path):
    steps = []
    first, second = actiview.load(raw, tmp_path / "out", advance=lambda: steps.append(1))
    assert (first.id, first.benchmark, first.text) == ("actiview0001", "actiview", "What color is the roof?")
    assert [option.line for option in first.options] == ["A. Red", "B. Blue", "C. Black"]
    assert (first.answer, first.refusal, first.category) == (1, None, "Obj-Attr")
    assert first.extra == {
        "question_id": "actiview0001",
        "type": "Type II",
        "distraction": 0,
        "clues": ["no", 2, "partial", "no"],
        "groundtruth_views": [2, 3],
        "start": {"E": 1, "M": 2, "H": 0},
        "random_start": 3,
        "image_path": "./images/actiview0001.jpg",
    }
    assert (second.id, second.category, second.answer) == ("17", "Count-Dis", 0)
    assert len(steps) == 2


def test_the_seven_images_are_in_order_and_the_original_is_the_group(raw, tmp_path):
    (question, _) = actiview.load(raw, tmp_path / "out")
    assert [(image.width, image.height) for image in question.images] == SIZES
    for image, path in zip(question.images, row(1)["images"], strict=True):
        published = (raw / path).read_bytes()
        assert image.sha256 == sha256(published).hexdigest()
        assert (tmp_path / "out" / image.source).read_bytes() == published
        assert image.source == f"images/{image.sha256}.png"  # by its own format, not by its name
    assert question.group == question.images[0].sha256
    lower_left = images.open_image(question.images[2 + 2], tmp_path / "out")
    assert lower_left.size == (40, 30)


# Python's random.seed(1234) and randint(0, 3), called once a question, as the released evaluator does.
RELEASED = [3, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 2, 3, 3, 1]


def test_random_starts_are_those_of_the_released_code_unless_another_seed_is_set(raw, tmp_path):
    import random

    random.seed(1234)
    assert [random.randint(0, 3) for _ in RELEASED] == RELEASED
    drawn = actiview.random_starts()
    assert [next(drawn) for _ in RELEASED] == RELEASED
    random.seed(5)
    expected = [random.randint(0, 3) for _ in range(2)]
    loaded = list(actiview.load(raw, tmp_path / "out", settings=data_entry("git", start_seed=5)))
    assert [question.extra["random_start"] for question in loaded] == expected


def test_a_level_that_the_file_lacks_has_no_start(tmp_path):
    raw = write(tmp_path / "raw", [row(1), row(2)], levels={"hard": [3, None], "medium": [2]})
    one, other = actiview.load(raw, tmp_path / "out")
    assert one.extra["start"] == {"E": None, "M": 2, "H": 3}
    assert other.extra["start"] == {"E": None, "M": None, "H": None}
    assert {(f.severity, f.code) for f in actiview_check.check(raw)[1]} >= {
        ("warning", "level-missing"),
        ("warning", "length"),
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": 3}, "the answer is 3, where the options are 0 to 2"),
        ({"category": "weather"}, "category: Input should be 'geo-loc.*, not 'weather'"),
        ({"contains_bbox": ["no", "no", "some", 1]}, "contains_bbox.2: Input should be .*, not 'some'"),
        ({"images": ["./images/a.jpg"]}, "images: List should have at least 7 items"),
        ({"id": "actiview0001"}, "the question id actiview0001 is already that of .*row 0"),
    ],
)
def test_a_broken_row_is_named(tmp_path, changes, message):
    raw = write(tmp_path / "raw", [row(1), row(2) | changes], groundtruth=[[2, 3], [2, 3]], images="id" in changes)
    for name in row(1)["images"]:
        (raw / name).parent.mkdir(exist_ok=True)
        (raw / name).write_bytes(png())
    with pytest.raises(DataError, match=rf"data\.json, row 1: {message}"):
        list(actiview.load(raw, tmp_path / "out"))
    _, findings = actiview_check.check(raw)
    assert [f for f in findings if f.severity == "error" and f.code in ("unreadable-question", "id-twice")]


@pytest.mark.parametrize(
    ("groundtruth", "levels", "message"),
    [
        ([[2, 3], [0]], None, r"groundtruth_views\.json has \[0\] here, not views from 1 to 4"),
        ([[2, 3]], None, r"groundtruth_views\.json has only 1 entries"),
    ],
)
def test_views_that_do_not_exist_are_named(tmp_path, groundtruth, levels, message):
    raw = write(tmp_path / "raw", [row(1), row(2)], groundtruth=groundtruth, levels=levels)
    with pytest.raises(DataError, match=rf"data\.json, row 1: {message}"):
        list(actiview.load(raw, tmp_path / "out"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.json", "{", r"data\.json: not a readable JSON file"),
        ("data.json", None, "no data.json .there is none"),
        ("groundtruth_views.json", None, r"groundtruth_views\.json: cannot be read"),
    ],
)
def test_a_broken_file_is_named(raw, tmp_path, name, content, message):
    (raw / name).unlink()
    if content is not None:
        (raw / name).write_text(content)
    with pytest.raises(DataError, match=message):
        list(actiview.load(raw, tmp_path / "out"))
    assert [finding.code for finding in actiview_check.check(raw)[1]] == ["unreadable-file"]


def test_a_missing_broken_or_foreign_image_is_named(raw, tmp_path):
    (raw / "images_split" / "actiview0002_1_0.jpg").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"data\.json, row 1: .*does not decode"):
        list(actiview.load(raw, tmp_path / "out"))
    (raw / "images_split" / "actiview0002_1_0.jpg").unlink()
    with pytest.raises(DataError, match=r"row 1: question 17: the image '.*0002_1_0\.jpg' is not beside the file"):
        list(actiview.load(raw, tmp_path / "out"))
    (found_,) = found(raw, "unreadable-image")
    assert (found_.severity, found_.where) == ("error", "17") and "actiview0002_1_0.jpg" in found_.text
    outside = [row(1, images=["../secret.jpg", *row(1)["images"][1:]])]
    (tmp_path / "secret.jpg").write_bytes(png())
    with pytest.raises(DataError, match="leads out of"):
        list(actiview.load(write(tmp_path / "raw", outside, images=False), tmp_path / "out"))


def test_annotations_alone_give_questions_without_images(raw):
    (raw / "groundtruth_views.json").unlink()
    (raw / "shifting_level.json").unlink()
    alone = (raw / "data.json").rename(raw / "annotations.json")
    one, other = actiview.load_without_images(alone)
    assert (one.images, one.group, one.answer) == ((), "./images/actiview0001.jpg", 1)
    assert one.extra["groundtruth_views"] is None and one.extra["start"] == {"E": None, "M": None, "H": None}
    assert [one.extra["random_start"], other.extra["random_start"]] == [3, 0]


def test_a_valid_folder_has_only_findings_on_the_papers_numbers(raw):
    held, findings = actiview_check.check(raw)
    assert [finding.code for finding in findings] == ["shared-image"]  # question 17, of actiview0002's image
    numbers = {number.name: number.observed for number in held}
    assert numbers["questions"] == numbers["images, by path"] == 2
    assert numbers["questions of Obj-Attr"] == numbers["questions of Count-Dis"] == 1
    assert (numbers["fewest options"], numbers["most options"], numbers["options a question"]) == (3, 3, 3.0)
    assert numbers["right by guessing (%)"] == 33.33
    assert all(number.expected for number in held if number.name == "questions")
    pocket = {n.name: n.expected for n in actiview_check.check(raw, settings=data_entry("scenes", images=2))[0]}
    assert pocket["questions"] is None and pocket["images, by path"] == 2


@pytest.mark.parametrize(
    ("changes", "code", "severity"),
    [
        ({"images": row(3)["images"]}, "shared-image", "note"),
        ({"id": "actiview0002"}, "id-twice", "error"),
        ({"options": ["Red", "Blue", "red"]}, "option-twice", "warning"),
    ],
)
def test_an_inconsistency_is_found_where_it_is(tmp_path, changes, code, severity):
    raw = write(tmp_path / "raw", [row(2), row(1) | changes], groundtruth=[[2, 3], [2, 3]])
    (finding,) = found(raw, code)
    assert (finding.severity, finding.where) == (severity, changes.get("id", "actiview0001"))
    assert not found(write(tmp_path / "sound", [row(2), row(1)]), code)


def test_a_file_that_is_the_original_of_one_and_the_view_of_another_is_found(raw):
    (raw / "images_split" / "actiview0002_0_0.jpg").write_bytes((raw / "images/actiview0002.jpg").read_bytes())
    assert len(found(raw, "duplicate-file")) == 1


needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the published annotations are not beside the project")


@needs_real
def test_the_real_annotations_are_parsed_completely():
    questions = actiview.load_without_images(REAL)
    assert len(questions) == len({question.id for question in questions}) == 325
    assert len({question.group for question in questions}) == 315
    counts = Counter(len(question.options) for question in questions)
    assert (min(counts), max(counts)) == (2, 7)
    assert {question.category for question in questions} == {c for s in TYPES.values() for c in s}
    # The denominators of Table 8: 34 of 37 are 91.89%, 18 of 30 are 60.00%, ...
    assert Counter(question.category for question in questions) == {
        **{"Geo-Loc": 37, "Orient": 30, "Daily-Loc": 41, "Obj-Attr": 50, "Obj-Rel": 46, "Count-Dis": 47},
        **{"Event-M": 34, "Event-S": 40},
    }
    assert Counter(question.extra["type"] for question in questions) == {"Type I": 108, "Type II": 143, "Type III": 74}
    assert sum(len(question.extra["groundtruth_views"]) for question in questions) / 325 == pytest.approx(
        2.64, abs=0.005
    )
    assert [question.extra["random_start"] for question in questions][: len(RELEASED)] == RELEASED


@needs_real
def test_the_check_counts_what_the_paper_counts_otherwise():
    checked = check.check("actiview", REAL)
    codes = Counter((finding.severity, finding.code) for finding in checked.findings)
    assert codes["error", "no-images"] == 1 and codes["note", "shared-image"] == 10
    wrong = {number.name: (number.observed, number.expected) for number in checked.quantities if number.agrees is False}
    assert wrong == {
        "right by guessing (%)": (34.24, 33.95),
        "views with clues a question, by contains_bbox": (2.13, 2.64),
    }


@needs_real
def test_the_inconsistencies_in_the_readme_are_those_of_the_released_files():
    """By the readme, from data.json, groundtruth_views.json and shifting_level.json alone."""
    questions = actiview.load_without_images(REAL)
    clues = [question.extra["clues"] for question in questions]
    listed = [question.extra["groundtruth_views"] for question in questions]
    by_clues = [[view for view, clue in enumerate(each, 1) if clue != "no"] for each in clues]
    assert sum(views == [] for views in by_clues) == 42
    assert {tuple(one) for one, other in zip(listed, by_clues, strict=True) if not other} == {(1, 2, 3, 4)}
    assert all(one == other for one, other in zip(listed, by_clues, strict=True) if other)
    assert sum([clue for clue in each if clue != "no"] == ["partial"] for each in clues) == 9

    starts: Counter = Counter()
    for question in questions:
        for level, start in question.extra["start"].items():
            clue = question.extra["clues"][start]
            starts[level, clue if clue in ("no", "partial") else "entire"] += 1
    assert (starts["E", "partial"], starts["E", "no"]) == (160, 42)
    assert (starts["M", "no"], starts["M", "entire"]) == (126, 4)
    assert (starts["H", "partial"], starts["H", "entire"]) == (62, 1)
    drawn = actiview.random_starts()
    alike = [question.extra["start"] for question in questions if len(set(map(str, question.extra["clues"]))) == 1]
    assert len(alike) == 97 and all(set(start.values()) == {next(drawn)} for start in alike)

    numbers = []
    for question in questions:
        texts = [option.text.strip().rstrip(".") for option in question.options]
        if all(text.isdecimal() for text in texts):
            numbers.append([int(text) for text in texts])
    assert len(numbers) == 49
    assert sum(values in (sorted(values), sorted(values, reverse=True)) for values in numbers) == 44
    assert sum(question.options[question.answer].text.rstrip().endswith(".") for question in questions) == 47

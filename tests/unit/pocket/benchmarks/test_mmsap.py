"""The pocket MM-SAP: its files, its balance, its emblems and wordings. Its answers: see test_mmsap_answers."""

import io
import json
import re
from collections import Counter

import pytest
from PIL import Image

from known_unknowns import images
from known_unknowns_benchmarks.mmsap import loader as benchmark
from known_unknowns_pocket.benchmarks import mmsap, mmsap_beyond, mmsap_emblems, mmsap_images
from known_unknowns_pocket.scenes import COLOURS

SEED, IMAGES = 1, 330
REFUSAL = "Sorry, I can't help with it"


@pytest.fixture(scope="module")
def made():
    """Every image of the default edition with its questions, nothing rendered."""
    return list(mmsap.questions(SEED, IMAGES))


@pytest.fixture(scope="module")
def asked(made):
    return [(scene_image, question) for scene_image, questions in made for question in questions]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return mmsap.build(tmp_path_factory.mktemp("pocket") / "raw", seed=SEED, images=18)


@pytest.fixture(scope="module")
def loaded(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    return folder, list(benchmark.load(small, folder))


def of(asked, *sub_tasks):
    return [(scene_image, question) for scene_image, question in asked if question.sub_task in sub_tasks]


def test_all_subsets_and_sub_tasks_are_there_in_the_papers_proportions(made, asked):
    assert Counter(q.subset for _, q in asked) == {"BasicVisQA": 125, "KnowVisQA": 110, "BeyondVisQA": 125}
    assert len(made) == IMAGES
    # 400 questions on 397 images, 350, and 400 on 308.
    for subset, share in (("BasicVisQA", 400 / 397), ("KnowVisQA", 1), ("BeyondVisQA", 400 / 308)):
        scene_images = [questions for scene_image, questions in made if questions[0].subset == subset]
        assert sum(map(len, scene_images)) / len(scene_images) == pytest.approx(share, abs=0.01)
    for subset, names in benchmark.SUB_TASKS.items():
        found = Counter(q.sub_task for _, q in asked if q.subset == subset)
        assert set(found) == set(names) == set(mmsap.SHARES[subset])
        total = sum(mmsap.SHARES[subset].values())
        for name in names:
            assert abs(found[name] - mmsap.SHARES[subset][name] / total * found.total()) < 1.5
    assert sum(mmsap.SHARES["BasicVisQA"].values()) == pytest.approx(100)


def test_letters_are_even_and_every_question_has_one_refusal_among_five_options(asked):
    for subset in benchmark.SUBSETS:
        questions = [q for _, q in asked if q.subset == subset]
        for q in questions:
            assert len(q.options) == len({text.casefold() for text in q.options}) == 5
            assert q.options.count(REFUSAL) == 1
            assert (q.answer is None) == (subset == "BeyondVisQA")
        fifth = len(questions) / 5
        refusals = Counter(q.options.index(REFUSAL) for q in questions)
        assert all(abs(refusals[k] - fifth) <= 4 for k in range(5))
        if subset != "BeyondVisQA":
            rights = Counter(q.options.index(q.answer) for q in questions)
            assert all(abs(rights[k] - fifth) <= 4 for k in range(5))


def test_emblems_are_many_distinct_and_half_of_them_taught():
    emblems = mmsap_emblems.EMBLEMS
    assert len({e.name for e in emblems}) == len({e.parts for e in emblems}) == len(emblems) == 72
    assert Counter((e.sub_task, e.taught) for e in emblems) == {
        (sub_task, taught): 6 for sub_task in benchmark.SUB_TASKS["KnowVisQA"] for taught in (True, False)
    }
    for emblem in emblems:
        assert not set(emblem.name.casefold().split()) & {*COLOURS, "disc", "square", "star", "cross", "ring"}


def test_names_do_not_reveal_taught_emblems(asked):
    emblems = {e.name: e for e in mmsap_emblems.EMBLEMS}
    questions = [q for _, q in asked if q.subset == "KnowVisQA"]
    taught = Counter(q.note["taught"] for q in questions)
    assert abs(taught[True] - taught[False]) <= 6
    for q in questions:
        named = [emblems[text] for text in q.options if text != REFUSAL]
        assert {e.sub_task for e in named} == {q.sub_task}
        assert sum(e.taught for e in named) == 2
        assert q.answer == q.note["emblem"] and emblems[q.answer].taught == q.note["taught"]


def test_some_wordings_are_kept_from_training(asked):
    texts = [w.text for w in mmsap_beyond.WORDINGS]
    assert len(set(texts)) == len(texts)
    for sub_task in benchmark.SUB_TASKS["BeyondVisQA"]:
        assert Counter(w.held_out for w in mmsap_beyond.WORDINGS if w.sub_task == sub_task) == {False: 5, True: 3}
        held = Counter(q.note["held_out"] for _, q in of(asked, sub_task))
        assert abs(held[True] - held[False]) <= 2
    # Nothing that can be answered is asked in these words.
    answerable = {re.sub(r"the .+?(?= \w+ing\?|\?| in )", "the {thing}", q.stem) for _, q in asked if q.answer}
    assert not answerable & {w.text for w in mmsap_beyond.WORDINGS if w.held_out} - {"What is the {thing} doing?"}


def test_no_two_questions_on_an_image_are_equal(made):
    for _, questions in mmsap.questions(2, 60, 3):
        assert len({q.stem for q in questions}) == len(questions) in (1, 3)
    assert all(len(questions) <= 2 for _, questions in made)


@pytest.mark.parametrize("count", [3, 100, 1055])
def test_all_images_are_distributed_over_the_subsets(count):
    found = mmsap.counts(count)
    assert sum(found.values()) == count and min(found.values()) >= 1
    if count == 1055:
        assert found == {"BasicVisQA": 397, "KnowVisQA": 350, "BeyondVisQA": 308}


def test_files_are_as_documented(small):
    names = {path.name for path in small.iterdir()}
    assert names == {"BasicVisQA.json", "KnowVisQA.json", "BeyondVisQA.json", "images"}
    known = {"id", "image", "question", "options", "sub_task"}
    more = {
        "BasicVisQA": {"answer", "kind"},
        "KnowVisQA": {"answer", "emblem", "taught"},
        "BeyondVisQA": {"wording", "held_out"},
    }
    for subset, fields in more.items():
        rows = json.loads((small / f"{subset}.json").read_text())
        assert [r["id"] for r in rows] == list(range(1, len(rows) + 1))
        assert all(set(r) == known | fields for r in rows)
        for r in rows:
            with Image.open(small / r["image"]) as image:
                assert (image.format, image.mode) == ("PNG", "RGB")


def test_the_loader_reads_it_with_its_defaults(loaded):
    folder, questions = loaded
    expected = [q for _, found in mmsap.questions(SEED, 18) for q in found]
    assert len(questions) == len(expected) == len({q.id for q in questions})
    for question, made in zip(questions, expected, strict=True):
        assert (question.text, question.category, question.extra["subset"]) == (made.stem, made.sub_task, made.subset)
        assert [option.text for option in question.options] == list(made.options)
        assert question.options[question.answer].text == (made.answer or REFUSAL)
        assert question.options[question.refusal].text == REFUSAL
        assert {k: v for k, v in question.extra.items() if k in made.note} == dict(made.note)
        assert images.open_image(question.images[0], folder).size == (
            *(question.images[0].width, question.images[0].height),
        )


def test_digest_follows_content_and_not_encoding(tmp_path):
    folder = mmsap.build(tmp_path, seed=2, images=3)
    digest, file = mmsap.content_digest(folder), folder / "KnowVisQA.json"
    rows, text = json.loads(file.read_text()), file.read_text()
    file.write_text(json.dumps(rows, indent=4, sort_keys=True))
    scene_image = folder / rows[0]["image"]
    encoded = scene_image.read_bytes()
    with Image.open(io.BytesIO(encoded)) as image:
        image.load()
        image.save(scene_image, compress_level=0)
        assert mmsap.content_digest(folder) == digest and scene_image.read_bytes() != encoded
        image.putpixel((0, 0), (1, 2, 3))
        image.save(scene_image)
    digests = {digest, mmsap.content_digest(folder)}
    scene_image.write_bytes(encoded)
    changes = [{"id": 9}, {"question": "?"}, {"answer": "x"}, {"sub_task": "Food"}, {"taught": None}]
    for change in [*changes, {"options": rows[0]["options"][::-1]}]:
        file.write_text(json.dumps([rows[0] | change]))
        digests.add(mmsap.content_digest(folder))
    assert len(digests) == 8
    file.write_text(text)
    assert mmsap.content_digest(folder) == digest


def test_an_error_leaves_no_complete_benchmark(tmp_path, monkeypatch):
    mmsap.build(tmp_path, seed=2, images=3)
    steps = []

    def fail(scene_image):
        if len(steps) == 2:
            raise OSError("disk full")
        return mmsap_images.draw(scene_image)

    monkeypatch.setattr(mmsap, "draw", fail)
    with pytest.raises(OSError, match="disk full"):
        mmsap.build(tmp_path, seed=3, images=5, advance=lambda: steps.append(1))
    assert not list(tmp_path.glob("*.json")) and not list(tmp_path.rglob("*.part"))

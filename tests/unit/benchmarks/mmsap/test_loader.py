import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from known_unknowns import tables
from known_unknowns.data.questions import normalise
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, AnsweredTurn, Option, Question, Reply
from known_unknowns.scoring.official import official as official_parser
from known_unknowns.variants import without_refusal
from known_unknowns_benchmarks.mmsap import loader as mmsap
from tests.factories import data_entry, png
from tests.unit.test_images import bomb

REFUSAL = "Sorry, I can't help with it"
# The papers' own examples (Figures 7 to 9).
EXAMPLES = {
    "BasicVisQA": {
        "question": "What color are the skater's pants?",
        "options": ["Black", REFUSAL, "White", "Red", "Blue"],
        "answer": "White",
        "sub_task": "Color",
    },
    "KnowVisQA": {
        "question": "Can you tell me the name of the dish?",
        "options": [REFUSAL, "Ma La Xiang Guo", "Chili Con Carne", "Vegetarian Chili", "Mapo Tofu"],
        "answer": "Mapo Tofu",
        "sub_task": "Food",
    },
    "BeyondVisQA": {
        "question": "What is the name of the cat in the image?",
        "options": ["Oliver", "Whiskers", REFUSAL, "Mittens", "Leo"],
        "sub_task": "Background Information",
    },
}


def row(subset, number=0, **changes):
    return {"id": number + 1, "image": f"images/{subset}{number}.png"} | EXAMPLES[subset] | changes


def write(folder: Path, change=None, subset="KnowVisQA", only=None, answers=None):
    """Two questions a subset; ``change`` makes the second one of ``subset`` out of what it would be; ``answers``
    are the answers of the others by subset, where they are not to be texts."""
    (folder / "images").mkdir(parents=True)
    for number, name in enumerate(EXAMPLES):
        said = {"answer": answers[name]} if answers and name in answers else {}
        rows = [row(name, 0, **said), row(name, 1, **said)]
        for k, published in enumerate(rows):
            (folder / published["image"]).write_bytes(png((40 * number + k, 9, 9)))
        if change and name == subset:
            rows[1] = change(rows[1])
        if only is None or name in only:
            (folder / f"{name}.json").write_text(json.dumps(rows))
    return folder


def load(tmp_path, settings=None):
    return list(mmsap.load(tmp_path / "raw", tmp_path / "out", settings=settings and data_entry("hub", **settings)))


def test_the_papers_examples_become_questions(tmp_path):
    write(tmp_path / "raw", lambda r: r | {"taught": True, "image": "images/KnowVisQA0.png"})
    normalise("mmsap", tmp_path / "raw", tmp_path / "out")
    questions = tables.read_questions(tmp_path / "out/questions.parquet")
    assert [q.id for q in questions] == [
        *("BasicVisQA-1", "BasicVisQA-2", "KnowVisQA-1", "KnowVisQA-2", "BeyondVisQA-1", "BeyondVisQA-2")
    ]
    basic, _, know, other, beyond, _ = questions
    # White is C and the refusal B; Mapo Tofu is E, A refuses; only C, the refusal, is right of the cat's name.
    assert [(q.answer, q.refusal) for q in (basic, know, beyond)] == [(2, 1), (4, 0), (2, 2)]
    assert [q.category for q in (basic, know, beyond)] == ["Color", "Food", "Background Information"]
    assert [q.extra["subset"] for q in (basic, know, beyond)] == ["BasicVisQA", "KnowVisQA", "BeyondVisQA"]
    assert basic.options[0] == Option("A", "Black", "A. ")
    assert basic.labels == ("A", "B", "C", "D", "E")
    assert know.group == other.group == know.images[0].sha256 != basic.group
    assert (know.images[0].width, know.images[0].height) == (40, 30)
    assert dict(other.extra) == {
        "subset": "KnowVisQA",
        "question_id": "2",
        "image_path": "images/KnowVisQA0.png",
        "taught": True,
    }
    stored = {p.name for p in (tmp_path / "out/images").iterdir()}
    assert stored == {f"{q.group}.png" for q in questions} and len(stored) == 5


def test_the_prompts_are_section_4_5s():
    question = Question(
        id="1",
        benchmark="mmsap",
        text="What is it?",
        options=(Option("A", "A pen", "A. "), Option("B", REFUSAL, "B. ")),
        answer=0,
        refusal=1,
        images=(),
        category="Color",
        group="g",
    )
    listed = "What is it?\nA. A pen\nB. Sorry, I can't help with it\n"
    sentence = "Answer with the option's letter from the given choices directly."
    assert mmsap.prompt(question) == listed + sentence
    assert mmsap.refusal_prompt(question) == (
        f"{listed}{sentence} If you don't know the answer, please reply with 'Sorry, I can't help with it'."
    )


RENAMED = {
    "fields": {
        **{"id": "qid", "image": "img", "question": "query", "options": "choices", "answer": "gt", "sub_task": "type"}
    },
    "files": {"BasicVisQA": "basic.jsonl", "KnowVisQA": "data/know-*.parquet", "BeyondVisQA": "beyond.json"},
    "refusal": "I pass",
    "images": "pictures",
}


def test_every_name_can_be_set_in_params_yaml(tmp_path):
    write(tmp_path / "default")
    raw = tmp_path / "raw"
    (raw / "data").mkdir(parents=True)
    (raw / "pictures").mkdir()
    (tmp_path / "default/images").rename(raw / "pictures/images")
    renamed = {}
    for subset in EXAMPLES:
        published = json.loads((tmp_path / f"default/{subset}.json").read_text())
        renamed[subset] = [
            {RENAMED["fields"].get(key, key): value for key, value in r.items()}
            | {"choices": ["I pass" if text == REFUSAL else text for text in r["options"]]}
            for r in published
        ]
    (raw / "basic.jsonl").write_text("".join(json.dumps(r) + "\n" for r in renamed["BasicVisQA"]))
    (raw / "beyond.json").write_text(json.dumps(renamed["BeyondVisQA"]))
    for k, published in enumerate(renamed["KnowVisQA"]):
        data = (raw / "pictures" / published["img"]).read_bytes()
        published["img"] = {"bytes": data, "path": f"{k}.png"}
        pq.write_table(pa.Table.from_pylist([published]), raw / f"data/know-{k}.parquet")
    questions = load(tmp_path, RENAMED)
    assert [(q.answer, q.refusal, q.category) for q in questions[::2]] == [
        *((2, 1, "Color"), (4, 0, "Food"), (2, 2, "Background Information"))
    ]
    assert questions[3].extra["image_path"] == "1.png" and questions[3].id == "KnowVisQA-2"


@pytest.mark.parametrize("role", ["id", "image", "question", "options", "answer", "sub_task"])
def test_a_missing_field_is_named_with_those_that_are_there_and_where_to_set_it(tmp_path, role):
    write(tmp_path / "raw", lambda r: {("else" if key == role else key): value for key, value in r.items()})
    with pytest.raises(DataError) as raised:
        load(tmp_path)
    message = str(raised.value)
    assert message.startswith(f"{tmp_path}/raw/KnowVisQA.json, row 1: no field '{role}'")
    there = [("else" if key == role else key) for key in row("KnowVisQA")]
    assert f"there are {', '.join(there)}." in message
    assert f"Set benchmarks.mmsap.data.<edition>.fields.{role} in params.yaml" in message
    assert message.endswith("or to null") == (role in ("id", "sub_task"))


def changed(**changes):
    return lambda r: r | changes


FIVE = EXAMPLES["KnowVisQA"]["options"]
CORRUPT = {
    "two refusals": (changed(options=[*FIVE[:4], "sorry, I can’t  help with it."]), "2 of the options"),
    "answer not there": (changed(answer="Pizza"), "the answer 'Pizza' is none of the options"),
    "refusal as answer": (changed(answer=REFUSAL), "is the refusal, which it cannot be in KnowVisQA"),
    "foreign letters": (changed(options={"A": REFUSAL, "X": "Mapo Tofu"}), "letters are A, X, not from A to H"),
    "duplicate id": (changed(id=1), "the question id KnowVisQA-1 is already that of"),
}


@pytest.mark.parametrize(("change", "message"), CORRUPT.values(), ids=CORRUPT)
def test_a_corrupt_row_gives_one_error_naming_file_and_row_and_no_table(tmp_path, change, message):
    write(tmp_path / "raw", change)
    (tmp_path / "secret.png").write_bytes(png())
    with pytest.raises(DataError) as raised:
        normalise("mmsap", tmp_path / "raw", tmp_path / "out")
    assert str(raised.value).startswith(f"{tmp_path}/raw/KnowVisQA.json, row 1: ")
    assert message in str(raised.value)
    assert not (tmp_path / "out/questions.parquet").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"GIF89a?", "does not decode"), (png()[:60], "does not decode"), (bomb(), "decompression bomb")],
)
def test_an_image_that_does_not_decode_names_its_row(tmp_path, data, message):
    write(tmp_path / "raw")
    (tmp_path / "raw/images/BeyondVisQA1.png").write_bytes(data)
    with pytest.raises(DataError, match=r"BeyondVisQA\.json, row 1: .*" + message):
        load(tmp_path)


@pytest.mark.parametrize("answer", [REFUSAL, "C", 2, "", None])
def test_in_beyondvisqa_the_refusal_may_be_the_answer(tmp_path, answer):
    write(tmp_path / "raw", changed(answer=answer), subset="BeyondVisQA")
    assert load(tmp_path)[-1].answer == 2


LETTERED = {"A": REFUSAL, "B": "x", "C": "y", "D": "z", "E": "Mapo Tofu"}


@pytest.mark.parametrize(
    ("change", "settings"),
    [
        (changed(answer="E"), {}),
        (changed(answer=4), {}),
        (changed(answer=" mapo tofu."), {}),
        (changed(options=LETTERED, answer="E"), {}),
        (changed(options=[f"{letter}) {text}" for letter, text in LETTERED.items()]), {}),
        (changed(options=["SORRY, I can’t help with  it.", "x", "y", "z", "Mapo Tofu"]), {}),
    ],
)
def test_options_and_answers_are_parsed_in_every_usual_form(tmp_path, change, settings):
    write(tmp_path / "raw", change)
    question = load(tmp_path, settings)[3]
    assert (question.answer, question.refusal) == (4, 0)
    assert question.labels == ("A", "B", "C", "D", "E")
    assert not any(option.text.startswith(("A", "B)", "C)")) for option in question.options)


def test_an_answer_that_can_mean_two_options_must_be_explained(tmp_path):
    # 4 is the text of B and the index of E.
    change = changed(options=[REFUSAL, 4, 3, 2, 1], answer=4)
    write(tmp_path / "raw", change)
    with pytest.raises(DataError, match=r"several of the options .* set benchmarks.mmsap.data.<edition>.answer_is"):
        load(tmp_path)
    assert load(tmp_path, {"answer_is": "text"})[3].answer == 1
    shutil.rmtree(tmp_path / "raw")
    write(tmp_path / "raw", change, answers={"BasicVisQA": "2", "KnowVisQA": 4})
    assert [q.answer for q in load(tmp_path, {"answer_is": "index"})] == [2, 2, 4, 4, 2, 2]


def test_options_may_have_a_field_each_and_ids_and_sub_tasks_may_be_absent(tmp_path):
    raw = write(tmp_path / "raw")
    for subset in EXAMPLES:
        rows = json.loads((raw / f"{subset}.json").read_text())
        for r in rows:
            r |= dict(zip("ABCDE", r.pop("options"), strict=True))
            del r["id"], r["sub_task"]
        (raw / f"{subset}.json").write_text(json.dumps(rows))
    questions = load(tmp_path, {"fields": {"options": list("ABCDE"), "id": None, "sub_task": None}})
    assert [q.id for q in questions][:3] == ["BasicVisQA-0", "BasicVisQA-1", "KnowVisQA-0"]
    assert [q.category for q in questions[::2]] == ["BasicVisQA", "KnowVisQA", "BeyondVisQA"]
    assert questions[0].options[2].text == "White" and not set("ABCDE") & set(questions[0].extra)


SETTINGS = {
    "unknown field": (
        {"fields": {"qustion": "q"}},
        r"fields\.qustion: .*; did you mean 'question'",
    ),
    "unknown subset": ({"files": {"BasicVQA": "x"}}, r"files\.BasicVQA: .* did you mean 'BasicVisQA'"),
    "absolute": ({"files": {"BasicVisQA": "/etc/*.json"}}, r"files\.BasicVisQA: '/etc/\*\.json' is no pattern"),
}


@pytest.mark.parametrize(("settings", "message"), SETTINGS.values(), ids=SETTINGS)
def test_a_bad_setting_is_named_with_its_path(tmp_path, settings, message):
    write(tmp_path / "raw")
    with pytest.raises(ConfigError, match=r"benchmarks\.mmsap\.data\.<edition>\." + message):
        load(tmp_path, settings)


QUESTION = Question(
    id="1",
    benchmark="mmsap",
    text="What is the object on the red sofa?",
    options=tuple(
        Option(letter, text, f"{letter}. ")
        for letter, text in zip("ABCDE", ["A red book", "A black book", REFUSAL, "A red pillow", "C"], strict=True)
    ),
    answer=1,
    refusal=2,
    images=(),
    category="Objects Recognition",
    group="g",
    extra={"subset": "KnowVisQA"},
)


@pytest.mark.parametrize(
    ("text", "outcome", "letter"),
    [
        ("B", ANSWERED, "B"),
        (" B.\n", ANSWERED, "B"),
        ("(B)", ANSWERED, "B"),
        ("**B**", ANSWERED, "B"),
        ("B. A black book", ANSWERED, "B"),
        ("B because it is black", ANSWERED, "B"),
        ("A black book", ANSWERED, "B"),  # an option's text, not the article
        ("a black book.", ANSWERED, "B"),
        ("A", ANSWERED, "A"),
        ("A cat", ANSWERED, "A"),  # the article is taken for the letter
        ("C", REFUSED, "C"),  # the letter, not the text of option E
        ("Sorry, I can't help with it", REFUSED, "C"),
        ("sorry, I can’t help with it.", REFUSED, "C"),
        ("F", UNPARSED, "F"),
        ("b", UNPARSED, None),
        ("Answer: B", UNPARSED, None),
        ("The answer is B", UNPARSED, None),
        ("Book", UNPARSED, None),
        ("A's", UNPARSED, None),
        ("Sorry, I can't help with it. B", UNPARSED, None),
        ("", UNPARSED, None),
    ],
)
def test_direct_matching(text, outcome, letter):
    reading = mmsap.official(text, QUESTION)
    assert (reading.outcome, reading.label) == (outcome, letter)
    assert reading.choice == (None if outcome == UNPARSED else "ABCDE".index(letter))


@pytest.mark.parametrize(
    ("text", "outcome", "choice"),
    [("B", ANSWERED, 1), ("D. A red pillow", ANSWERED, 3), ("C", UNPARSED, None), (REFUSAL, UNPARSED, None)],
)
def test_direct_matching_of_a_forced_choice_refers_to_the_original_options(text, outcome, choice):
    forced = without_refusal(QUESTION)
    asked = AnsweredTurn("1", 1, "forced", "", (), forced.labels, "", Reply(text))
    reading = official_parser(asked, QUESTION)
    assert (reading.outcome, reading.choice) == (outcome, choice)

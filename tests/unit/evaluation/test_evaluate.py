"""``known_unknowns.evaluate``: numbers, failures, dialogues, data and the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image

import known_unknowns
from known_unknowns import tables
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.evaluation import Evaluation
from known_unknowns.records import Image as ImageRecord
from known_unknowns.records import Option, Question
from tests.factories import png
from tests.unit.benchmarks.multiple_choice.own_files import COLOURS, write_images

LIMIT = 4
DUAL = "dual accuracy of answerable questions"


def image(folder: Path, place: int) -> ImageRecord:
    content = png((80 * place, 0, 0))
    digest = sha256(content).hexdigest()
    (folder / "images").mkdir(exist_ok=True)
    (folder / f"images/{digest}.png").write_bytes(content)
    return ImageRecord(f"images/{digest}.png", digest, 40, 30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with six questions on three images. The answer to the second of an image is the refusal."""
    images = [image(tmp_path, place) for place in range(3)]
    options = tuple(
        Option(label, text, f"{label}. ")
        for label, text in zip("ABCDE", ("Red", "Blue", "Green", "Black", "None of the above"), strict=True)
    )
    questions = [
        Question(
            id=f"q{number}",
            benchmark="humblebench",
            text="What colour is it?",
            options=options,
            answer=0 if number % 2 == 0 else 4,
            refusal=4,
            images=(images[number // 2],),
            category="Attribute",
            group=f"image{number // 2}",
            extra={"label": "AE"[number % 2]},
        )
        for number in range(6)
    ]
    tables.write_questions(tmp_path / "questions.parquet", questions)
    return tmp_path


def number(result: Evaluation, name: str, variant: str = "original") -> tuple[float, int]:
    frame = result.to_pandas()
    row = frame[(frame["name"] == name) & (frame["variant"] == variant)].iloc[0]
    assert row["low"] <= row["value"] <= row["high"] and row["method"]
    return row["value"], row["n"]


def evaluate(folder: Path, answer: Callable[..., str], limit: int | None = None) -> Evaluation:
    return known_unknowns.evaluate(answer, limit=limit, data=folder)


def test_a_function_gets_the_prompt_and_the_images_and_its_replies_are_counted(folder):
    calls = []

    def answer(prompt: str, images: list[Image.Image]) -> str:
        calls.append((prompt, images))
        return "A" if "A. Red" in prompt else "E"

    result = evaluate(folder, answer)
    prompt, (image,) = calls[0]
    assert prompt.startswith("What colour is it?\nA. Red\n") and image.mode == "RGB"
    assert (result.asked, result.total, result.variants) == (6, 6, ("original", "nota_only"))
    assert number(result, "accuracy") == (0.5, 6)
    assert number(result, DUAL, "original+nota_only") == (1.0, 6)  # of the three that A answers
    assert [each.metric.name for each in result.numbers if each.name == DUAL] == ["dual_accuracy_answerable"]
    assert number(result, "refused", "nota_only") == (0.5, 6)
    assert number(result, "unparsed") == (0, 6)
    text = result.summary()
    assert text.startswith("answer on HumbleBench, 6 of 6 questions") and re.search(
        r"accuracy +50\.0% +[\d.]+ to [\d.]+ +6 ", text
    )
    assert re.search(rf"^{DUAL} +100\.0% .* 6, denominator 3  original\+nota_only$", text, re.MULTILINE)
    assert "Not comparable" not in text and "Unusable" not in text


def test_a_sample_has_whole_images_and_is_called_one(folder):
    result = evaluate(folder, lambda prompt, images: "A", limit=LIMIT)
    assert (result.asked, result.total) == (4, 6)
    assert "Not comparable with published numbers: a sample of 4 of 6 questions." in result.summary()
    rows = result.to_pandas("questions")
    assert len(rows) == 2 * LIMIT and set(rows["robust"]) <= {"A", None}
    assert set(result.to_pandas("metrics")["parser"]) >= {"official", "robust"}
    with pytest.raises(ValueError, match="numbers, metrics, questions"):
        result.to_pandas("rows")


def test_an_exception_is_a_failed_reply_with_its_class(folder):
    calls = iter(range(100))

    def answer(prompt: str, images: list[Image.Image]) -> str:
        if next(calls) in (0, 2, 3):
            raise KeyError("no\udc80thing")
        return "A"

    result = evaluate(folder, answer)
    rows = result.to_pandas("questions")
    failed = rows[rows["robust.outcome"] == "failed"]
    assert len(failed) and set(failed["error"]) == {"KeyError: 'no\\udc80thing'"}
    assert number(result, "failed")[0] > 0
    assert "Unusable: " in result.summary() and "failed) is \"KeyError: 'no" in result.summary()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda prompt, images: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda prompt, images: 3, "it returned int"),
    ],
)
def test_the_first_failures_stop_it(folder, answer, reason):
    calls = []

    def counted(*arguments: object) -> object:
        calls.append(arguments)
        return answer(*arguments)

    with pytest.raises(ConfigError, match=f"answer: the first 3 calls failed, the last with .*{reason}"):
        evaluate(folder, counted)
    assert len(calls) == 3


def test_the_page_has_the_numbers_and_escapes_replies(folder, tmp_path):
    hostile = "<script>alert(1)</script>\ud800 & 'A'"
    result = evaluate(folder, lambda prompt, images: hostile)
    page = result.report(tmp_path / "pages/page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;? &amp; &#39;A&#39;" in page
    assert "default-src &#39;none&#39;" in page and DUAL in page
    links = set(re.findall(r'href="([^"#]+)', page.partition("<script")[0]))
    assert not links, "a page that stands alone links to no other"
    assert list((tmp_path / "pages/questions").rglob("*.js"))


def test_a_folder_of_other_files_beside_the_page_is_not_replaced(folder, tmp_path):
    result = evaluate(folder, lambda prompt, images: "A")
    for place, name in (("table", "questions.csv"), ("pictures", "images/a.png")):
        own = tmp_path / place / "questions" / name
        own.parent.mkdir(parents=True)
        own.write_text("mine")
        with pytest.raises(DataError, match=r"questions.*other files.*another folder"):
            result.report(tmp_path / place / "page.html")
        assert own.read_text() == "mine"
    first = result.report(tmp_path / "page.html").read_bytes()
    assert result.report(tmp_path / "page.html").read_bytes() == first  # its own folder is replaced


def test_a_letter_of_a_removed_option_is_wrong_and_not_unusable(folder):
    """nota_only removes A of the three questions whose answer is A."""
    result = evaluate(folder, lambda prompt, images: "A")
    assert number(result, "unparsed", "nota_only") == (0.5, 6)
    assert "Unusable" not in result.summary()
    summary = evaluate(folder, lambda prompt, images: "hm" if "A. Red" in prompt else "E").summary()
    assert "Unusable: 9 of 12 replies" in summary  # all of original, and the three that nota_only does not change


def test_rendered_questions_are_called_so():
    result = known_unknowns.evaluate(lambda prompt, images: "E", limit=20)
    assert (result.asked, result.total, result.rendered) == (20, 300, True)
    assert result.summary().startswith("the function on HumbleBench (rendered), 20 of 300 questions")
    assert "rendered questions, not the published ones" in result.summary()
    assert number(result, "refused", "nota_only") == (1, 20)


def test_own_questions_without_a_refusal_are_asked_in_one_variant(tmp_path):
    (tmp_path / "red.png").write_bytes(png((200, 30, 30)))
    lines = ["image,question,A,B,answer", "red.png,What colour?,Red,Blue,A", "red.png,What else?,Blue,Red,B"]
    (tmp_path / "questions.csv").write_text("\n".join(lines), encoding="utf-8")
    result = known_unknowns.evaluate(lambda prompt, images: "A", "multiple_choice", data=tmp_path)
    assert (result.variants, result.asked) == (("original",), 2)
    assert number(result, "accuracy") == (0.5, 2)


def test_an_image_within_the_text_is_named_where_it_stands(tmp_path):
    write_images(tmp_path / "own")
    values = {"images": ["0.png", "1.png", "2.png"], "question": "Is <image 3> like <image 2>?", "answer": "A"}
    (tmp_path / "own/q.jsonl").write_text(json.dumps(values | {"options": ["Yes", "No"]}))
    asked = []

    def answer(prompt, images):
        asked.append((prompt, [image.getpixel((0, 0)) for image in images]))
        return "A"

    known_unknowns.evaluate(answer, "multiple_choice", data=tmp_path / "own")
    prompt, colours = asked[0]
    assert prompt.startswith("Is <image 2> like <image 3>?\nA. Yes") and colours == [COLOURS[0], COLOURS[2], COLOURS[1]]


def test_questions_of_the_project_are_found_by_the_name_of_the_edition(folder, tmp_path, monkeypatch):
    place = tmp_path / "project/data/full/questions/humblebench"
    place.parent.mkdir(parents=True)
    place.symlink_to(folder, target_is_directory=True)
    monkeypatch.chdir(tmp_path / "project")
    result = known_unknowns.evaluate(lambda prompt, images: "A", data="papers")  # its data are those of full
    assert (result.asked, result.rendered) == (6, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"benchmark": "humblebnch"}, "benchmark: .*did you mean 'humblebench'"),
        ({"benchmark": "multiple_choice"}, "data: multiple_choice has no rendered questions"),
        (
            {"data": "full"},
            "data: .*`snakemake data/full/questions/humblebench/questions.parquet --config edition=full`",
        ),
    ],
)
def test_mistakes_are_named(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        known_unknowns.evaluate(lambda prompt, images: "A", **arguments)


def test_it_needs_no_workflow():
    program = (
        "import sys\nsys.modules.update(dict.fromkeys(('snakemake', 'mlflow', 'dvc', 'altair')))\n"
        "import known_unknowns.evaluation"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_limit_of_0_is_all_and_a_negative_one_an_error(folder):
    assert evaluate(folder, lambda prompt, images: "A", limit=0).asked == 6
    with pytest.raises(ConfigError, match="limit: is negative"):
        evaluate(folder, lambda prompt, images: "A", limit=-1)


def test_what_is_no_function_is_named_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="answer: is str; give a function"):
        known_unknowns.evaluate("openai:gpt", data="no such folder")


def test_questions_are_rendered_once_in_a_process_and_a_number_needs_no_report():
    program = """
        import sys, known_unknowns
        first, second = [known_unknowns.evaluate(lambda prompt, images: "E", limit=2) for _ in range(2)]
        assert [n.metric.value for n in first.numbers] == [n.metric.value for n in second.numbers]
        loaded = {name for name in sys.modules if name.startswith("known_unknowns.")}
        assert not {name for name in loaded if name.split(".")[1] in ("report", "comparison")}, loaded
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("60 of 60") == 1

"""Released predictions: questions, replies, logs and the check, with cut, doubled and changed files."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from functools import cache
from hashlib import sha1

import pytest

from bench.scale.files import NOISE, SETTINGS, as_lines, log, questions, rows
from known_unknowns import tables
from known_unknowns.benchmark.released import ReleasedFile
from known_unknowns.config import ReleasedData, catalogue
from known_unknowns.data.git import read_manifest
from known_unknowns.data.store import MANIFEST
from known_unknowns.errors import DataError
from known_unknowns.exchange import released_check
from known_unknowns.variants import VARIANTS
from known_unknowns_benchmarks.humblebench.released import RELEASED
from tests.paths import SHARED

PUBLISHED = questions(14)
COMMITS = "a" * 40, "b" * 40
EXCERPTS = SHARED / "data/humblebench/released"


@cache
def _params() -> dict:
    return catalogue.entries("benchmarks")["humblebench"]["data"]["released"]


def entry() -> ReleasedData:
    """The data's entry in params.yaml."""
    return ReleasedData(**_params())


class Folder:
    """A folder as it is after fetching. Files are added with their text; the last commit comes last."""

    def __init__(self, raw):
        self.raw, self.files = raw, []

    def add(self, path: str, text: str, commit: str = COMMITS[0]) -> None:
        place = path if all(file.path != path for file in self.files) else f"other_versions/{commit[:12]}/{path}"
        (self.raw / place).parent.mkdir(parents=True, exist_ok=True)
        (self.raw / place).write_text(text, encoding="utf-8")
        blob = sha1(text.encode()).hexdigest()
        self.files.append(ReleasedFile(path, commit, blob, place, len(text.encode())))
        content = {"entry": entry().plain(), "files": [asdict(file) for file in self.files]}
        (self.raw / MANIFEST).write_text(json.dumps(content), encoding="utf-8")

    def add_model(self, model: str, setting: str, change=lambda lines: lines, *, logged=None) -> None:
        lines = rows(PUBLISHED, model, setting)
        self.add(f"results/{setting}/{model}/{model}.jsonl", as_lines(change(lines)))
        self.add(f"rebuttal_results/{setting}/{model}/{model}.log", logged or log(lines, model, setting))

    def replies(self, model: str, variant: str):
        original = list(RELEASED.load(self.raw, self.raw / "out", entry()))
        function = {"noise_forced_grounding": "noise", "cautious_prompt": "original"}.get(variant, variant)
        varied = [VARIANTS[function](question) for question in original]
        return RELEASED.replies(self.raw, read_manifest(self.raw), entry(), model, variant, varied)

    def findings(self) -> list[str]:
        _, found = released_check.check(RELEASED, self.raw, entry())
        return [f"{f.severity} {f.code} {f.where}: {f.text}" for f in found]


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def whole(folder):
    for model in ("Cambrian", "Phi-4"):
        for setting in SETTINGS:
            folder.add_model(model, setting)
    return folder


def test_whole_files_give_their_questions_no_finding_and_exact_logs(whole):
    found = list(RELEASED.load(whole.raw, whole.raw / "out", entry()))
    assert [q.id for q in found] == [str(p.id) for p in PUBLISHED]
    assert [q.rendered for q in found] == [p.text for p in PUBLISHED]
    assert [q.labels[q.answer] for q in found] == [p.label for p in PUBLISHED]
    assert {q.refusal for q in found} == {4}
    assert [q.group for q in found] == [p.path for p in PUBLISHED]
    assert all(image.width == 0 for q in found for image in q.images)
    assert (whole.raw / "out/images").is_dir()
    quantities, _ = released_check.check(RELEASED, whole.raw, entry())
    assert {q.name: q.observed for q in quantities}["logs reproduced exactly"] == 12
    assert whole.findings() == []


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_prediction_is_imported_word_for_word(whole, setting):
    variant = entry().settings[setting]
    cell = whole.replies("Phi-4", variant)
    expected = {str(line["question_id"]): line["prediction"] for line in rows(PUBLISHED, "Phi-4", setting)}
    assert {name: turns[0].text for name, turns in cell.turns.items()} == expected
    assert {turns[0].error for turns in cell.turns.values()} == {None}
    assert cell.notes == ()


def test_the_numbers_of_a_log_become_cells_with_their_source(whole):
    by_variant = {}
    for setting, variant in entry().settings.items():
        if setting in SETTINGS:
            function = "noise" if "noise" in setting else {"cautious_prompt": "original"}.get(variant, variant)
            original = list(RELEASED.load(whole.raw, whole.raw / "out", entry()))
            by_variant[variant] = [VARIANTS[function](question) for question in original]
    names = {"Phi-4": "Phi-4 of the paper"}
    cells, compared = RELEASED.published(whole.raw, read_manifest(whole.raw), entry(), names, by_variant.get)
    assert len(compared) == 12
    assert {cell.model for cell in cells} == {"Phi-4 of the paper"}
    assert len(cells) == 6 * 11 - 1  # E accuracy has no metric after all options were shuffled
    cell = next(c for c in cells if c.column == "Overall_accuracy" and c.variant == "noise_forced_grounding")
    assert cell.metric == "accuracy_published_labels"
    assert cell.questions == 14
    assert cell.source.startswith(f"rebuttal_results/{NOISE}/Phi-4/Phi-4.log at aaaaaaaaaaaa of https://")
    exact = next(c for c in cells if c.column == "E_accuracy" and c.variant == "original")
    assert (exact.metric, exact.questions) == ("exact_refusal_recall", sum(p.label == "E" for p in PUBLISHED))


def test_cut_doubled_and_missing_files_are_reported_and_counted(folder):
    folder.add_model("Cambrian", "common")
    folder.add_model("Phi-4", "common", lambda lines: [*lines[:-3], lines[0] | {"prediction": "C"}])
    path = "results/nota_only/Phi-4/Phi-4.jsonl"
    folder.add(path, as_lines(rows(PUBLISHED, "Phi-4", "nota_only"))[:-40])
    folder.add("results/noise_image/Phi-4/Phi-4.jsonl", "")
    folder.add("results/other/Phi-4/Phi-4.jsonl", "{}")
    found = "\n".join(folder.findings())
    doubled = "results/common/Phi-4/Phi-4.jsonl"
    assert f"error missing-rows {doubled}: 3 of 14 questions have no prediction, such as 12, 13, 14" in found
    assert (
        f"warning unreadable-file {doubled}: 1 questions are answered more than once (1 of them differently)" in found
    )
    assert (
        f"error unreadable-file {path}: 1 unreadable line, the first is 14 (not JSON; the file ends within the line)"
    ) in found
    assert "error empty-file results/noise_image/Phi-4/Phi-4.jsonl" in found
    assert "note other-file results/other/Phi-4/Phi-4.jsonl" in found
    lacking = ", ".join(s for s in ("noise_image", "shuffle_nota_position", "cautious_prompt", NOISE))
    assert f"warning missing-predictions Phi-4: no predictions in {lacking}" in found
    assert "warning log rebuttal_results/common/Phi-4/Phi-4.log: not reproduced: " in found
    cell = folder.replies("Phi-4", "original")
    assert cell.turns["1"][0].text == "C"  # the last line counts
    assert "3 of 14 questions have no prediction" in cell.notes
    assert RELEASED.variants(read_manifest(folder.raw), entry())["Phi-4"] == ["original", "nota_only"]


def test_rows_that_ask_something_else_are_not_scored(folder):
    def changed(lines):
        options = lines[0]["question"].split("\n")
        swapped = "\n".join([options[0], f"A.{options[2][2:]}", f"B.{options[1][2:]}", *options[3:]])
        return [
            lines[0] | {"question": swapped},
            lines[1] | {"label": "D" if lines[1]["label"] != "D" else "C"},
            lines[2] | {"question": "Well, " + lines[2]["question"]},
            lines[3] | {"prediction": None},
            *lines[4:],
            lines[4] | {"question_id": 999, "question": "Red"},
        ]

    for model in ("Cambrian", "Gemma-3"):
        folder.add_model(model, "common")
    folder.add_model("Phi-4", "common", changed)
    found = "\n".join(folder.findings())
    path = "results/common/Phi-4/Phi-4.jsonl"
    assert f"error other-question {path}: 1 rows: the row asks other options, or the same in another order" in found
    assert f"error other-question {path}: 1 rows: the row has another label" in found
    assert f"warning other-question {path}: 1 rows: the row asks the same options with another text" in found
    assert f"warning no-prediction {path}: 1 rows" in found
    assert f"error unknown-question {path}: 1 predictions are of no question of the other files, such as 999" in found
    turns = folder.replies("Phi-4", "original").turns
    assert [turns[str(n)][0].error is None for n in range(1, 5)] == [False, False, True, False]
    assert "999" not in turns


def test_another_version_of_a_file_explains_its_log(folder):
    lines = rows(PUBLISHED, "Phi-4", "common")
    path = "results/common/Phi-4/Phi-4.jsonl"
    folder.add(path, as_lines([line | {"prediction": "A"} for line in lines]))
    folder.add(path, as_lines(lines), COMMITS[1])
    folder.add("results/common/Phi-4/Phi-4.log", log(lines, "Phi-4", "common"))
    text = "\n".join(folder.findings())
    assert f"several versions of the predictions; {path} at aaaaaaaaaaaa counts" in text
    assert f"note log results/common/Phi-4/Phi-4.log: reproduced with another version, {path} at bbbbbbbbbbbb" in text


def test_old_logs_are_text_with_other_types(folder, tmp_path):
    lines = rows(PUBLISHED, "Phi-4", "common")
    numbers = json.loads(log(lines, "Phi-4", "common"))
    accuracy = numbers["Accuracy"]
    accuracy["Category_accuracy"] = accuracy.pop("Object_accuracy")
    accuracy |= {"Location_accuracy": 50.0, "Weather_accuracy": 25.0, "Attribute_accuracy": 1.0}
    folder.add("results/common/Phi-4/Phi-4.jsonl", as_lines(lines))
    folder.add("results/common/Phi-4/Phi-4.log", f"Evaluating {{'Phi-4': 1}}\n{numbers}\n")
    assert [f for f in folder.findings() if " log " in f] == [
        "note log results/common/Phi-4/Phi-4.log: reproduced the log and the raw file divide the attributes "
        "differently; all other numbers are equal (results/common/Phi-4/Phi-4.jsonl at aaaaaaaaaaaa)"
    ]
    accuracy["Category_accuracy"] += 1
    folder.add("results/common/Phi-4/Phi-4.log", str(numbers), COMMITS[1])
    assert any("not reproduced: 1 numbers differ, such as Object_accuracy" in f for f in folder.findings())


@pytest.mark.parametrize(
    ("start", "form"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
            "the file is a pointer to Git LFS; get the file itself with git lfs pull",
        ),
        (gzip.compress(as_lines(rows(PUBLISHED, "Phi-4", "common")).encode()), "unknown suffix '.gz'; known are"),
        (as_lines(rows(PUBLISHED, "Phi-4", "common")).encode("utf-16"), "the file is text in UTF-16; save it as UTF-8"),
    ],
)
def test_files_of_another_form_are_named(folder, start, form):
    path = "results/common/Phi-4/Phi-4.jsonl" + (".gz" if ".gz" in form else "")
    folder.add(path, "x")
    (folder.raw / path).write_bytes(start)
    with pytest.raises(DataError, match=f"no file .* has a question; {path}: {form}"):
        list(RELEASED.load(folder.raw, folder.raw / "out", entry()))
    folder.add_model("Cambrian", "common")
    assert f"error unreadable-file {path}: {form}" in "\n".join(folder.findings())
    cell = folder.replies("Phi-4", "original")
    assert cell.turns == {} and cell.notes[0].startswith(form)


def test_a_file_that_is_cut_within_a_character_keeps_its_other_lines(folder):
    lines = as_lines([*rows(PUBLISHED, "Phi-4", "common")[:3], {"question": "\u00e9"}]).replace("\\u00e9", "\u00e9")
    path = "results/common/Phi-4/Phi-4.jsonl"
    folder.add(path, lines)
    content = (folder.raw / path).read_bytes()
    (folder.raw / path).write_bytes(content[: content.index("\u00e9".encode()) + 1])
    parsed = RELEASED.read(folder.raw / path)
    assert len(parsed.rows) == 3
    assert parsed.is_broken and "the first is 4 (not UTF-8 text" in parsed.problems[0]


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(folder):
    folder.add_model("Cambrian", "common")
    path = "results/common/Phi-4/Phi-4.jsonl"
    lines, logged = rows(PUBLISHED, "Phi-4", "common"), "results/common/Phi-4/Phi-4.log"
    folder.add(path, as_lines(lines))
    folder.add(logged, log(lines, "Phi-4", "common"))
    for changed in (path, logged):
        text = (folder.raw / changed).read_text(encoding="utf-8")
        (folder.raw / changed).write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    cell = folder.replies("Phi-4", "original")
    assert [turns[0].text for turns in cell.turns.values()] == [line["prediction"] for line in lines]
    assert cell.notes == ()
    assert not [text for text in folder.findings() if "Phi-4.jsonl" in text or "Phi-4.log" in text]


def test_a_question_that_one_of_many_files_has_does_not_exist(folder):
    for model in ("Cambrian", "Gemma-3", "Mulberry"):
        folder.add_model(model, "common")
    folder.add_model("Phi-4", "common", lambda lines: [*lines, lines[0] | {"question_id": 999}])
    assert len(list(RELEASED.load(folder.raw, folder.raw / "out", entry()))) == 14
    path = "results/common/Phi-4/Phi-4.jsonl"
    errors = [text for text in folder.findings() if text.startswith("error")]
    assert errors == [
        f"error unknown-question {path}: 1 predictions are of no question of the other files, such as 999; not used"
    ]
    assert "1 predictions have no question, such as 999" in folder.replies("Phi-4", "original").notes


def test_the_first_unreadable_line_is_explained(tmp_path):
    rest = as_lines(rows(PUBLISHED, "Phi-4", "common")[:1])
    for line, reason in {
        '{"question_id": 7, "question": "x", "label": "A", "type": "Object"}': "prediction missing, which a row has",
        '{"question_id": 7, "question": 1, "label": "A", "type": "Object", "prediction": "A"}': "a field is not a text",
        "[": "not JSON",
        "[]": "'[]' is not an object",
    }.items():
        (tmp_path / "x.jsonl").write_text(f"{line}\n{rest}", encoding="utf-8")
        parsed = RELEASED.read(tmp_path / "x.jsonl")
        (problem,) = parsed.problems
        assert problem.replace(" of the format humblebench", "").startswith(
            f"1 unreadable line, the first is 1 ({reason}"
        )


@pytest.mark.parametrize(
    "changes",
    [{"image": {"path": 5}}, {"image": ["x"]}, {"type": "\ud800"}, {"label": "\ud800"}, {"question_id": "\ud800"}],
)
def test_no_line_ends_the_import(folder, changes):
    folder.add_model("Cambrian", "common")
    folder.add_model("Phi-4", "common")
    path = folder.raw / "results/common/Cambrian/Cambrian.jsonl"  # the first file
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[3] = json.dumps(json.loads(lines[3]) | changes)
    path.write_text("\n".join(lines), encoding="utf-8")
    found = list(RELEASED.load(folder.raw, folder.raw / "out", entry()))
    assert len(found) == 14
    tables.write_questions(folder.raw / "questions.parquet", found)
    cell = folder.replies("Cambrian", "original")
    assert len(cell.turns) == 14 or cell.notes
    folder.findings()


@pytest.mark.skipif(not EXCERPTS.is_dir(), reason="no excerpts of the released files")
def test_excerpts_are_read_and_the_released_log_has_whole_counts():
    for file in EXCERPTS.glob("*.jsonl"):
        parsed = RELEASED.read(file)
        assert parsed.rows
        assert not parsed.problems
    logged = RELEASED.read_numbers(EXCERPTS / "cautious_prompt_Qwen2.5-VL.log")
    of_type = {"Object": 7224, "Relation": 7528, "Attribute": 8079, "E": 3326}
    for name, value in logged.items():
        n = of_type.get(name.removesuffix("_accuracy"), 22_831)
        assert round(value * n / 100) / n * 100 == value, name


@pytest.mark.skipif(not SHARED.is_dir(), reason="no excerpts of the released files")
def test_the_numbers_of_an_excerpt_counted_by_hand():
    """Of the 80 rows, 30 predictions are E and all labels are E; every prediction is a letter."""
    parsed = RELEASED.read(SHARED / "data/humblebench/nota_only_Qwen2.5-VL_80.jsonl")
    found = RELEASED.recompute(list(parsed.rows.values()))
    assert found["Overall_accuracy"] == found["E_accuracy"] == found["E_proportion"] == 30 / 80 * 100
    assert found["NA_proportion"] == 0

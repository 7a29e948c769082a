"""Released replies of Qwen2-VL: result files in the order of data.json, and the action history of mixed."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from known_unknowns.benchmark.released import ReleasedFile
from known_unknowns.config import ReleasedData
from known_unknowns.data.git import read_manifest
from known_unknowns.data.store import MANIFEST
from known_unknowns.exchange import released_check
from known_unknowns_benchmarks.actiview.released import RELEASED

ENTRY = ReleasedData(
    source="released",
    repository="https://github.com/THUNLP-MT/ActiView",
    revision="0" * 40,
    files=["*.json"],
    settings={"shifting": "shifting_r", "mix": "mixed"},
)
IMAGES = ["a.jpg", "a_resized.jpg", "a_lines.jpg", "a_0_0.jpg", "a_1_0.jpg", "a_0_1.jpg", "a_1_1.jpg"]
PREDS = ["A. No;", "B", "", "A. No;"]
HISTORY = [
    [
        {"init": '{"part": "1,2"}', "rst": [1, 2]},
        {"inter": '{"keep": "1", "shift": "3"}', "rst": [1, 3], "answer": "A. No;"},
    ],
    [{"init": '{"part": "none"}', "rst": None, "answer": "B"}],
    [{"init": "no JSON", "rst": None, "answer": "another answer"}],
    [{"init": '{"part": "none"}', "rst": None}, {"inter": "{}", "rst": [], "answer": "A. No;"}],
]


@pytest.fixture
def raw(tmp_path):
    (tmp_path / "asset").mkdir()
    questions = [
        {
            "question": f"Is it {n}?",
            "options": ["No", "Yes"],
            "answer": n % 2,
            "images": IMAGES,
            "category": "counting",
            "distraction": 0,
            "id": f"q{n}",
            "contains_bbox": ["no", "no", 1, "no"],
        }
        for n in range(len(PREDS))
    ]
    (tmp_path / "asset/data.json").write_text(json.dumps({"data": questions}), encoding="utf-8")
    return tmp_path


def write(raw, **contents):
    files = []
    for name, content in contents.items():
        path = f"results/qwen2vl/{name}.json"
        (raw / path).parent.mkdir(parents=True, exist_ok=True)
        (raw / path).write_text(json.dumps(content), encoding="utf-8")
        files.append(asdict(ReleasedFile(path, "c" * 40, name, path, 1)))
    (raw / MANIFEST).write_text(json.dumps({"entry": ENTRY.plain(), "files": files}), encoding="utf-8")
    return read_manifest(raw)


def test_the_history_is_replayed_through_the_protocol(raw):
    files = write(raw, mix={"preds": PREDS, "acc": 0.5}, action_history_mix=HISTORY)
    questions = list(RELEASED.load(raw, raw / "out", ENTRY))
    cell = RELEASED.replies(raw, files, ENTRY, "qwen2vl", "mixed", questions)
    steps = {name: [turn.step for turn in turns] for name, turns in cell.turns.items()}
    assert steps == {"q0": ["zoom", "operate", "answer"], "q1": ["zoom", "answer"], "q2": ["answer"], "q3": ["answer"]}
    first = cell.turns["q0"]
    assert [turn.has_labels for turn in first] == [False, False, True]
    assert first[-1].text == "A. No;"
    assert len(first[1].images) == 3  # the gridded image and views 1 and 2
    assert cell.notes == ("2 histories differ from the protocol, such as q2; only their answers are used",)
    assert [file.path for file in cell.files] == [
        "results/qwen2vl/mix.json",
        "results/qwen2vl/action_history_mix.json",
    ]


def test_an_answer_to_other_views_than_the_released_ones_is_not_replayed(raw):
    shifted = [{"init": '{"part": "1,2"}', "rst": [1, 2]}]
    shifted.append({"inter": '{"keep": "1", "shift": "3"}', "rst": [1, 2, 3], "answer": "A. No;"})
    files = write(raw, mix={"preds": PREDS[:1], "acc": 1.0}, action_history_mix=[shifted])
    questions = list(RELEASED.load(raw, raw / "out", ENTRY))[:1]
    cell = RELEASED.replies(raw, files, ENTRY, "qwen2vl", "mixed", questions)
    assert cell.notes == ("1 histories differ from the protocol, such as q0; only their answers are used",)
    assert [turn.text for turn in cell.turns["q0"]] == ["A. No;"]


@pytest.mark.parametrize("broken", ["mix", "action_history_mix"])
def test_a_cut_file_ends_nothing(raw, broken):
    files = write(raw, mix={"preds": PREDS, "acc": 0.5}, action_history_mix=HISTORY)
    path = raw / f"results/qwen2vl/{broken}.json"
    path.write_text(path.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    questions = list(RELEASED.load(raw, raw / "out", ENTRY))
    cell = RELEASED.replies(raw, files, ENTRY, "qwen2vl", "mixed", questions)
    assert "not JSON" in cell.notes[0] if broken == "mix" else f"{broken}.json" in cell.notes[0]
    assert {name: len(turns) for name, turns in cell.turns.items()} == (
        {} if broken == "mix" else dict.fromkeys(("q0", "q1", "q2", "q3"), 1)
    )
    _, (row,) = RELEASED.published(raw, files, ENTRY, {}, lambda _: questions)
    assert row["outcome"] == ("unreadable" if broken == "mix" else "exact")
    _, found = released_check.check(RELEASED, raw, ENTRY)
    expected = ("error", "unreadable-file") if broken == "mix" else ("warning", "replies")
    assert expected in [(f.severity, f.code) for f in found]


def test_stated_accuracies_are_cells_and_are_recomputed(raw):
    files = write(raw, shifting={"preds": PREDS, "acc": 0.5})
    assert RELEASED.variants(files, ENTRY) == {"qwen2vl": ["shifting_r"]}
    questions = list(RELEASED.load(raw, raw / "out", ENTRY))
    names = {"qwen2vl": "Qwen2-VL"}
    (cell,), (row,) = RELEASED.published(raw, files, ENTRY, names, lambda _: questions)
    # right: "A. No;" to q0 (answer 0), "B" to q1 (1); wrong: "" to q2, "A. No;" to q3 (1)
    assert (cell.value, cell.questions, cell.model, cell.variant) == (50.0, 4, "Qwen2-VL", "shifting_r")
    assert (row["outcome"], row["reason"]) == ("exact", "")


def test_problems_are_findings(raw):
    write(raw, shifting={"preds": PREDS[:3], "acc": 0.5}, mix=["no object"])
    _, found = released_check.check(RELEASED, raw, ENTRY)
    errors = [(f.code, f.where.rpartition("/")[2]) for f in found if f.severity == "error"]
    assert errors == [("unreadable-file", "mix.json"), ("missing-rows", "mix.json"), ("missing-rows", "shifting.json")]
    write(raw, shifting={"preds": PREDS})
    _, found = released_check.check(RELEASED, raw, ENTRY)
    assert [(f.code, f.where) for f in found] == [
        ("missing-predictions", "qwen2vl"),
        ("no-history", "results/qwen2vl/shifting.json"),
    ]

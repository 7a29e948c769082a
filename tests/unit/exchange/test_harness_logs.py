"""Logs that lm-evaluation-harness and inspect_ai wrote (logs/README.md), and own questions."""

from __future__ import annotations

import csv
import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from known_unknowns import tables
from known_unknowns.cli import app
from known_unknowns.errors import DataError
from known_unknowns.exchange.harness_logs import RECORD
from known_unknowns.exchange.output import format_json, format_tables
from known_unknowns.exchange.reader import parse_file
from known_unknowns.exchange.rescore import rescore
from known_unknowns.variants import nota_only
from tests.factories import question
from tests.unit.benchmarks.multiple_choice.own_files import load, own_folder, row, write_csv
from tests.unit.exchange.rescored import value

LOGS = Path(__file__).parent / "logs"


def mean(found: Any, parser: str, name: str) -> float | None:
    (metric,) = [m for m in found.shown if (m.parser, m.name, m.category) == (parser, name, "Overall")]
    return metric.value


def test_two_filters_count_once_and_repeats_are_samples():
    """Right by hand: sample 0 officially q1, q3, q5, q6, robustly all; sample 1 all but q2 and q6."""
    found = rescore("multiple_choice", [LOGS / "lm_eval_repeats.jsonl"])
    assert (found.n, found.samples) == (6, 2)
    assert mean(found, "official", "accuracy") == pytest.approx((4 + 4) / 12)
    assert mean(found, "robust", "accuracy") == pytest.approx((6 + 4) / 12)
    assert json.loads(format_json(found))["samples"] == 2
    assert "6 questions, 2 samples of each" in format_tables(found)
    # a filter such as majority_vote judges all repeats, and the log does not say which it judged
    assert not [note for note in found.notes if "in the file" in note]


def test_each_filter_is_compared_with_the_one_reply(tmp_path):
    lines = [json.loads(line) for line in (LOGS / "lm_eval_repeats.jsonl").read_text(encoding="utf-8").splitlines()]
    single = [line | {"resps": [line["resps"][0][:1]]} for line in lines]
    found = rescore("multiple_choice", [written(tmp_path / "single.jsonl", *single)])
    # the filter strict reads only "ANSWER: A" to q1 and "ANSWER: D" to q3, of the first repeats
    strict = next(note for note in found.notes if note.startswith("exact_match, filter strict"))
    assert "0.3333 of 6 replies are right; the official parser: 0.6667; the parser alone counts 2 as right" in strict
    assert "'A star' to q5" in strict
    # the filter flexible takes A of "A star" and none of "None of the above", but C of "I think it is C"
    flexible = next(note for note in found.notes if note.startswith("exact_match, filter flexible"))
    assert "the file alone counts 2 as right, such as 'The answer is B.' to q2" in flexible


def test_a_majority_of_repeats_is_not_compared_with_the_first(tmp_path):
    """The vote is right; the first reply, which alone would be compared with it, is wrong."""
    doc = {"question_id": "q", "question": "Which?", "A": "Red", "B": "Blue", "answer": "A"}
    votes = {"filter": "vote", "filtered_resps": ["A"], "metrics": ["exact_match"], "exact_match": 1.0}
    line = {"doc_id": 0, "doc": doc, "target": "A", "resps": [["B", "A", "A"]], **votes}
    found = rescore("multiple_choice", [written(tmp_path / "maj.jsonl", line)])
    assert (found.samples, mean(found, "official", "accuracy")) == (3, pytest.approx(2 / 3))
    assert not [note for note in found.notes if "in the file" in note]


def test_lines_of_one_filter_twice_are_not_dropped(tmp_path):
    lines = (LOGS / "lm_eval_repeats.jsonl").read_text(encoding="utf-8").splitlines()
    doubled = tmp_path / "doubled.jsonl"
    doubled.write_text("\n".join([*lines, lines[0]]), encoding="utf-8")
    with pytest.raises(DataError, match=r"doubled.jsonl, line 13: question 'q1' is already answered in .*, line 1"):
        rescore("multiple_choice", [doubled])


def test_likelihoods_of_the_options():
    """lm-evaluation-harness says acc 2 of 6, by the most likely option; so does the parser of likelihoods."""
    found = rescore("multiple_choice", [LOGS / "lm_eval_likelihoods.jsonl"])
    assert value(found, "likelihood", "accuracy") == pytest.approx(2 / 6)
    assert not [note for note in found.notes if note.startswith("acc ")]


def test_epochs_of_inspect_are_samples():
    """choice() reads only "ANSWER: X": 3 right of epoch 1, 4 of epoch 2; "None of the above" to q6 is right too."""
    found = rescore("multiple_choice", [LOGS / "inspect_epochs.eval"])
    assert (found.n, found.samples) == (6, 2)
    assert mean(found, "official", "accuracy") == pytest.approx((4 + 4) / 12)
    assert mean(found, "robust", "accuracy") == pytest.approx((5 + 4) / 12)
    notes = "\n".join(found.notes)
    assert "states model mockllm/model" in notes
    assert all(fact in notes for fact in ("temperature 0.7", "max_tokens 64", "epochs 2", "inspect_ai 0.3.285"))
    assert "choice in the file: 0.5833 of 12 replies are right; the official parser: 0.6667" in notes
    assert "the parser alone counts 1 as right, such as 'None of the above' to q6" in notes


def test_json_of_inspect_is_the_same_log():
    log, archive = parse_file(LOGS / "inspect.json"), parse_file(LOGS / "inspect_epochs.eval")
    first = {p.name: (p.text, p.fields, p.stated) for p in archive.predictions if p.sample == 0}
    assert {p.name: (p.text, p.fields, p.stated) for p in log.predictions} == {
        name: first[name] for name in ("q1", "q2")
    }
    assert log.facts["packages"] == {"inspect_ai": "0.3.285"}


def test_unfinished_and_broken_logs_of_inspect(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    with pytest.raises(DataError, match=r"a\.eval: a log without header\.json: the evaluation did not finish"):
        parse_file(tmp_path / "a.eval")
    (tmp_path / "b.eval").write_bytes((LOGS / "inspect_epochs.eval").read_bytes()[:-700])
    with pytest.raises(DataError, match=r"b\.eval: not a readable log of inspect_ai"):
        parse_file(tmp_path / "b.eval")
    log = json.loads((LOGS / "inspect.json").read_text(encoding="utf-8"))
    log["samples"][1].pop("output")
    (tmp_path / "c.json").write_text(json.dumps(log), encoding="utf-8")
    with pytest.raises(DataError, match=r"c\.json, line 2: not a sample of inspect_ai \(KeyError: 'output'\)"):
        parse_file(tmp_path / "c.json")


def of_twelve(status: str = "success", samples: int = 12, limit: int | None = None) -> dict[str, Any]:
    """A log of inspect_ai with so many samples of a data set of 12; A is right, and the reply to each."""
    log = json.loads((LOGS / "inspect.json").read_text(encoding="utf-8"))
    first = log["samples"][0]
    asked = {"metadata": {}, "input": "Which?", "choices": ["Red", "Blue"], "target": "A"}
    log["samples"] = [{**first, **asked, "id": n} for n in range(samples)]
    for sample in log["samples"]:
        sample["output"]["choices"][0]["message"]["content"] = "A"
    log["eval"]["dataset"] = {"samples": 12}
    log["eval"]["config"] = {"epochs": 1, "limit": limit}
    return log | {"status": status}


@pytest.mark.parametrize(
    ("log", "text"),
    [
        (of_twelve("error", 5), "5 of 12 samples; the log ended with error"),
        (of_twelve("cancelled", 11), "11 of 12 samples; the log ended with cancelled"),
        (of_twelve("started", 12), "12 of 12 samples; the log ended with started"),
        (of_twelve("success", 5, limit=5), "5 of 12 samples; inspect had --limit 5"),
        (of_twelve("success", 9), "9 of 12 samples"),
        (of_twelve(), None),
    ],
)
def test_a_log_that_did_not_finish_says_so(log, text, tmp_path):
    file = written(tmp_path / "log.json", log)
    found = rescore("multiple_choice", [file])
    assert value(found, "official", "accuracy") == 1
    assert found.unfinished == (() if text is None else (f"{file}: {text}",))
    assert (text is None) or f"log.json: {text}" in format_tables(found)
    done = CliRunner().invoke(app, ["rescore", "--benchmark", "multiple_choice", str(file)])
    assert done.exit_code == (0 if text is None else 1)
    done = CliRunner().invoke(app, ["rescore", "--benchmark", "multiple_choice", "--partial", str(file)])
    assert done.exit_code == 0


def test_an_eval_log_without_a_header_has_the_samples_that_were_written(tmp_path):
    log = of_twelve(samples=2)
    samples = log.pop("samples")
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        start = {name: log[name] for name in ("version", "eval", "plan")}
        archive.writestr("_journal/start.json", json.dumps(start))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    found = rescore("multiple_choice", [tmp_path / "a.eval"])
    assert (found.n, value(found, "official", "accuracy")) == (2, 1)
    assert found.unfinished == (f"{tmp_path / 'a.eval'}: 2 of 12 samples; the log ended with started",)


def test_a_reply_that_a_content_filter_stopped_is_failed(tmp_path):
    log = of_twelve(samples=12)
    log["samples"][0]["output"] = {"choices": [{"message": {"content": "A"}, "stop_reason": "content_filter"}]}
    found = rescore("multiple_choice", [written(tmp_path / "log.json", log)])
    assert value(found, "official", "share_failed") == 1 / 12
    assert value(found, "official", "accuracy") == 11 / 12


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_log_with_our_questions_needs_no_annotations(tmp_path):
    """Of a benchmark whose questions no other file contains, in the variant without the right option."""
    log = json.loads((LOGS / "inspect.json").read_text(encoding="utf-8"))
    of_mmsap = {"benchmark": "mmsap", "category": "a", "extra": {"subset": "KnowVisQA"}}
    asked = [nota_only(question(name, answer=0, **of_mmsap)) for name in ("q1", "q2")]
    for sample, each, text in zip(log["samples"], asked, ("E", "B"), strict=True):
        sample["metadata"] = {"variant": "nota_only", RECORD: asdict(each)}
        sample["output"]["choices"][0]["message"]["content"] = text
        sample["scores"] = {"robust": {"value": "C", "answer": text}}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log), encoding="utf-8")
    found = rescore("mmsap", [file])
    assert (found.variant, found.n, value(found, "robust", "accuracy")) == ("nota_only", 2, 1 / 2)
    # a scorer with the name of a parser is compared with this parser only
    (note,) = [each for each in found.notes if "in the file" in each]
    assert note.startswith("robust in the file: 1.0000 of 2 replies are right; the robust parser: 0.5000")
    with pytest.raises(DataError, match=r"log\.json, line 1: a question of mmsap, not of humblebench"):
        rescore("humblebench", [file])
    log["samples"][1]["metadata"][RECORD]["answer"] = 7
    file.write_text(json.dumps(log), encoding="utf-8")
    with pytest.raises(DataError, match=r"log\.json, line 2: not a sample of inspect_ai .*answer 7 is not one of"):
        rescore("mmsap", [file])


def test_samples_must_be_complete(tmp_path):
    table = tmp_path / "questions.parquet"
    tables.write_questions(table, [question(name, answer=0) for name in "12"])
    path = tmp_path / "said.csv"
    path.write_text("question_id,sample,prediction\n1,0,A\n1,1,A\n2,0,A\n")
    with pytest.raises(DataError, match="1 of the 2 questions"):
        rescore("humblebench", [path], annotations=table)
    with pytest.raises(DataError, match="the samples answer different questions"):
        rescore("humblebench", [path], annotations=table, partial=True)
    path.write_text("question_id,sample,prediction\n1,1,A\n2,1,A\n")
    with pytest.raises(DataError, match="the samples are 1; count them from 0"):
        rescore("humblebench", [path], annotations=table)
    path.write_text("question_id;sample;prediction\n1;0;A\n2;0;A\n1;1;B\n2;1;A\n")
    found = rescore("humblebench", [path], annotations=table)
    assert (found.samples, mean(found, "official", "accuracy")) == (2, 3 / 4)


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_file_that_contains_own_questions(tmp_path, delimiter):
    said = ["B", "ANSWER: A", "None of the above", "Let me see; the box is green.\n\nANSWER: B"]
    rows = [row(n, prediction=text, answer="BBDB"[n]) for n, text in enumerate(said)]
    rows = [{name: value for name, value in each.items() if name != "image"} for each in rows]
    write_csv(tmp_path / "said.csv", [{"question_id": each.pop("id"), **each} for each in rows], delimiter)
    found = rescore("multiple_choice", [tmp_path / "said.csv"])
    assert (found.n, found.variant) == (4, "original")
    for parser in ("official", "robust"):
        assert value(found, parser, "accuracy") == 3 / 4
        assert value(found, parser, "refusal_recall") == 1
    assert found.notes[0].startswith("4 of 4 questions name no image and are taken as questions without one")


def test_annotations_are_one_file_of_a_folder(tmp_path):
    folder = own_folder(tmp_path / "own", [row(n) for n in range(4)], name="one [1].csv")
    write_csv(folder / "two.csv", [row(n) for n in range(4)])
    with (tmp_path / "said.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["question_id", "prediction"], *([f"q{n}", "BBAB"[n]] for n in range(4))])
    found = rescore("multiple_choice", [tmp_path / "said.csv"], annotations=folder / "one [1].csv")
    assert (found.n, value(found, "official", "accuracy")) == (4, 3 / 4)
    assert found.notes == ()


def test_the_editions_table_has_the_images_of_its_questions(tmp_path):
    """It is used for a file without questions, and for one with its ids; a file with other questions has its own."""
    own = load(own_folder(tmp_path / "own", [row(n) for n in range(4)]), tmp_path / "out")
    table = tmp_path / "questions.parquet"
    tables.write_questions(table, own)
    alone = written(tmp_path / "a.jsonl", *({"question_id": q.id, "prediction": "B"} for q in own))
    fields = {"question": own[0].text, **{option.label: option.text for option in own[0].options}, "answer": "A"}
    same = written(tmp_path / "b.jsonl", {"question_id": own[0].id, "prediction": "B"} | fields | {"answer": "B"})
    other = written(tmp_path / "c.jsonl", {"question_id": "other", "prediction": "B"} | fields)
    assert rescore("multiple_choice", [alone], table=table).notes == ()
    with pytest.raises(DataError, match="3 of the 4 questions"):
        rescore("multiple_choice", [same], table=table)
    found = rescore("multiple_choice", [other], table=table)
    assert (found.n, value(found, "official", "accuracy")) == (1, 0)
    with pytest.raises(DataError, match="name the questions with --annotations"):
        rescore("multiple_choice", [alone])


def test_an_answer_that_is_a_number_needs_annotations(tmp_path):
    path = written(
        tmp_path / "a.jsonl",
        {"question_id": 1, "question": "Which?", "A": "x", "B": "y", "answer": 1, "prediction": "A"},
    )
    with pytest.raises(DataError, match="line 1: column answer: the answer '1' is neither the letter nor the text"):
        rescore("multiple_choice", [path])


def test_the_hits_of_vlmevalkit_are_compared(tmp_path):
    """Exact matching counts "The answer is A." as wrong, which the robust parser counts as right."""
    fields = {"question": "Which?", "A": "Red", "B": "Blue", "answer": "A", "category": "x"}
    lines = [{"index": n, **fields, "prediction": text, "hit": n} for n, text in enumerate(["The answer is A.", "A"])]
    found = rescore("multiple_choice", [written(tmp_path / "a.jsonl", *lines)])
    (note,) = [note for note in found.notes if note.startswith("VLMEvalKit")]
    assert "0.5000 of 2 replies are right; the robust parser: 1.0000; the parser alone counts 1" in note


def test_the_accuracy_that_vlmevalkit_wrote_beside_the_file(tmp_path):
    table = tmp_path / "questions.parquet"
    tables.write_questions(table, [question(name, answer=0) for name in "1234"])
    said = tmp_path / "M_D.tsv"
    said.write_text("index\tprediction\n1\tA\n2\tA\n3\tA\n4\tB\n")
    accuracy = tmp_path / "M_D_acc.csv"
    accuracy.write_text('"split","Overall","Object"\n"none","0.5","0.5"\n')
    (note,) = [each for each in rescore("humblebench", [said], annotations=table).notes if "accuracy" in each]
    assert note == f"{said} states an accuracy of 0.5; the official parser gives 0.75"
    accuracy.write_text('"split","Overall"\n"none","0.75"\n')
    assert not [each for each in rescore("humblebench", [said], annotations=table).notes if "accuracy" in each]
    accuracy.write_text('"split","Overall"\n"dev","0.5"\n"test","0.5"\n')  # of parts of the file
    assert not [each for each in rescore("humblebench", [said], annotations=table).notes if "accuracy" in each]

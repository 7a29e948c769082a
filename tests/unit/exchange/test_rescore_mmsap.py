"""Rescoring predictions of MM-SAP, with and without its forced choice."""

from __future__ import annotations

from pathlib import Path

from known_unknowns import tables
from known_unknowns.exchange.rescore import rescore
from known_unknowns.records import Option
from tests.factories import question
from tests.unit.exchange.rescored import plain, value

SAPIENT = tuple(
    Option(letter, text, f"{letter}. ")
    for letter, text in zip("ABC", ("Rose", "Lily", "Sorry, I can't help with it"), strict=True)
)


def sapient(tmp_path: Path) -> Path:
    """Two KnowVisQA questions and one of BeyondVisQA; A is right where one can know, C refuses."""
    found = [
        question(
            name,
            answer=answer,
            benchmark="mmsap",
            options=SAPIENT,
            refusal=2,
            group=name,
            category="Food",
            extra={"subset": name.split("-", maxsplit=1)[0], "question_id": name},
        )
        for name, answer in (("KnowVisQA-1", 0), ("KnowVisQA-2", 0), ("BeyondVisQA-1", 2))
    ]
    tables.write_questions(tmp_path / "mmsap.parquet", found)
    return tmp_path / "mmsap.parquet"


def test_metrics_are_undefined_without_the_forced_choice(tmp_path):
    file = plain(tmp_path, ("KnowVisQA-1", "A"), ("KnowVisQA-2", "C"), ("BeyondVisQA-1", "C"))
    found = rescore("mmsap", [file], annotations=sapient(tmp_path))
    assert value(found, "official", "score_kk") == 1 / 3
    assert value(found, "official", "score_ku") is None
    assert value(found, "official", "score_sa") is None
    assert value(found, "official", "refusal_share") == 1 / 2
    assert value(found, "official", "score_AR") == 1


def test_mmsap_with_a_forced_choice(tmp_path):
    path = tmp_path / "forced.csv"
    path.write_text(
        "question_id,step,prediction\nKnowVisQA-1,answer,A\nKnowVisQA-2,answer,C\n"
        "KnowVisQA-2,forced,B\nBeyondVisQA-1,answer,C\n"
    )
    found = rescore("mmsap", [path], annotations=sapient(tmp_path))
    assert value(found, "official", "score_ku") == 2 / 3
    assert value(found, "official", "score_sa") == 1
    path.write_text(path.read_text().replace("forced,B", "forced,A"))
    assert value(rescore("mmsap", [path], annotations=sapient(tmp_path)), "official", "score_ku") == 1 / 3
    file = plain(tmp_path, ("KnowVisQA-1", "A"), ("KnowVisQA-2", "B"), ("BeyondVisQA-1", "C"))  # nothing was refused
    assert value(rescore("mmsap", [file], annotations=sapient(tmp_path)), "official", "score_ku") == 1 / 3

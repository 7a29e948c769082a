from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.errors import DataError
from known_unknowns.images import recipe_image
from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, Image, Score
from known_unknowns.report.samples import PER_OUTCOME, _Candidate, pick, printable, thumbnail
from known_unknowns.report.scorer_agreement import final_scores
from known_unknowns.tables import write_scores

from .conftest import write
from .fake_run import make, params
from .pages import Page

VARIANTS = ("original", "nota_only", "noise")
candidates = st.lists(
    st.builds(
        _Candidate,
        variant=st.sampled_from(VARIANTS),
        question_id=st.text(min_size=1, max_size=3),
        category=st.sampled_from(("Object", "Relation", "Attribute")),
        rank=st.text("0123456789abcdef", min_size=4, max_size=4),
    ),
    unique_by=lambda c: c.rank,
)


@given(candidates, st.integers(0, 8))
def test_the_choice_is_spread_over_categories(pool: list[_Candidate], count: int) -> None:
    chosen = pick(pool, count, VARIANTS)
    assert len(chosen) == len({c.rank for c in chosen}) == min(count, len(pool))
    assert chosen == pick(reversed(pool), count, VARIANTS)  # whatever order they come in
    have = {c.category: sum(o.category == c.category for o in pool) for c in pool}
    took = {category: sum(c.category == category for c in chosen) for category in have}
    for one in have:
        for other in have:
            assert took[one] <= took[other] + 1 or took[other] == have[other]


def test_one_of_each_category_starts_with_another_variant() -> None:
    pool = [_Candidate(v, "1", c, f"{v}{c}") for v in VARIANTS for c in ("Attribute", "Object", "Relation")]
    assert [(c.category, c.variant) for c in pick(pool, 3, VARIANTS)] == [
        ("Attribute", "original"),
        ("Object", "nota_only"),
        ("Relation", "noise"),
    ]


def test_five_of_each_outcome_and_only_of_models(page: Page) -> None:
    samples = page["humblebench-samples"]
    assert "pocket" in samples.text and "always_refuse" not in samples.text
    outcomes = ["right", "wrong", "refused rightly", "refused wrongly", "unparsed", "failed"]
    named = [e.text for e in page.all("span") if e.attributes.get("class") == "outcome"]
    assert named[: len(outcomes)] == outcomes
    models = ("pocket", "pocket-never-refuses", "pocket-refuses-often")
    assert all(model in samples.text for model in models)
    assert len(page.all("article")) <= PER_OUTCOME * len(outcomes) * len(models)
    assert len([e for e in page.all("article") if "out of memory" in e.text]) >= 1


def test_control_characters_are_shown() -> None:
    assert printable("a\x00b\tc\nd\x7f é") == "a␀b\tc\nd␡ é"


def test_a_thumbnail_is_a_small_data_url(tmp_path: Path) -> None:
    from PIL import Image as Pillow

    Pillow.new("RGB", (1200, 600), "red").save(tmp_path / "a.png")
    shown = thumbnail(Image("a.png", "0" * 64, 1200, 600), tmp_path)
    assert (shown.width, shown.height) == (320, 160)
    assert shown.url.startswith("data:image/jpeg;base64,") and len(shown.url) < 8000
    noise = thumbnail(recipe_image("uniform-noise", 256, 256, 3720), tmp_path)
    assert (noise.width, noise.height) == (128, 128)
    assert "uniform-noise" in noise.alt


def test_an_invalid_image_is_named(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["original"])
    for path in (run.data / "questions" / "humblebench" / "images").iterdir():
        path.write_bytes(b"no image")
    with pytest.raises(DataError, match=r"images/[0-9a-f]{64}\.png"):
        write(run)


def score(scorer: str, turn: int, outcome: str, choice: int | None, *, question: str = "1") -> Score:
    letter = None if choice is None else "ABCDE"[choice]
    return Score(question, turn, "answer", scorer, outcome, letter, choice, False)


def test_the_last_turn_has_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    rows = [score("official", 1, REFUSED, 4), score("official", 0, ANSWERED, 1), score("robust", 0, UNPARSED, None)]
    write_scores(path, rows)
    frame = final_scores(path).set_index("scorer")
    assert frame["parsed"].to_dict() == {"official": "4", "robust": UNPARSED}


def test_disagreement_of_parsers_counted_by_hand(tmp_path: Path) -> None:
    from known_unknowns.comparison import MetricIndex
    from known_unknowns.records import OVERALL, Metric
    from known_unknowns.report.scorer_agreement import disagreement, score_path
    from known_unknowns.report.section import section
    from known_unknowns.report.tables import Run

    rows = [
        *(score("official", 0, ANSWERED, 0, question=q) for q in "1234"),
        *(score("robust", 0, ANSWERED, 0, question=q) for q in "12"),
        score("robust", 0, ANSWERED, 1, question="3"),
        score("robust", 0, UNPARSED, None, question="4"),
    ]
    write_scores(score_path(tmp_path, "m", "humblebench", "original", 0), rows)
    write_scores(score_path(tmp_path, "same", "humblebench", "original", 0), rows[:6])
    metric = Metric("m", "humblebench", "original", 0, "robust", OVERALL, "accuracy", 0.5, 0.4, 0.6, 4, "wilson")
    run = Run(
        "humblebench", section("humblebench"), MetricIndex([metric]), ("m", "same"), ("original",),
        ("official", "robust"), {"original": (0,)}, params(),
    )  # fmt: skip
    found = disagreement(run, tmp_path)
    (row,) = found.table.rows
    assert (row.cells[0].text, row.cells[0].interval) == ("50.0", "(2)")
    assert found.table.columns[0].note == "n = 4"
    assert found.agreed == ("same",)

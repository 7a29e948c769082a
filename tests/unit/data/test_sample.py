"""Samples of questions: many images, in proportion, and the smaller one is part of the larger."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns import tables
from known_unknowns.data.sample import sample
from known_unknowns.data.variant_tables import vary
from known_unknowns.errors import DataError
from known_unknowns.records import Question
from tests.factories import question, variant_entry

GROUPS = st.lists(st.lists(st.sampled_from(["object", "relation", "attribute"]), min_size=1, max_size=4), max_size=30)


def questions(groups: list[list[str]]) -> list[Question]:
    return [
        question(f"{group}-{place}", group=f"image {group}", category=category)
        for group, categories in enumerate(groups)
        for place, category in enumerate(categories)
    ]


def images(chosen: list[Question]) -> set[str]:
    return {each.group for each in chosen}


@given(GROUPS, st.integers(1, 100), st.integers(0, 3))
def test_a_sample_has_as_many_images_as_possible(groups, limit, seed):
    every = questions(groups)
    chosen = sample(every, limit, seed=seed)
    assert len(chosen) == min(limit, len(every))
    assert len(images(chosen)) == min(limit, len(images(every)))
    per_image = Counter(each.group for each in chosen)
    for name in images(every):  # no image has two more than another one, unless that is whole
        whole = sum(each.group == name for each in every)
        assert per_image[name] >= min(whole, max(per_image.values(), default=0) - 1)


def test_questions_that_are_scored_together_are_sampled_together():
    """Two problems of MM-UPD on each of four images, each with three passes and their unsolvable counterparts."""
    every = [
        question(
            f"{image}-{problem}-{kind}-{number}",
            benchmark="mm_upd",
            group=f"image {image}",
            extra={"subset": "AAD", "problem": 2 * image + problem, "pass": number, "type": kind},
        )
        for image in range(4)
        for problem in range(2)
        for kind in ("standard", "upd")
        for number in range(3)
    ]
    chosen = sample(every, 20)
    counts = Counter(each.extra["problem"] for each in chosen)
    assert list(counts.values()) == [6, 6, 6] and len(images(chosen)) == 3


@given(GROUPS, st.integers(1, 60), st.integers(1, 60))
def test_the_larger_sample_contains_the_smaller(groups, limit, more):
    every = questions(groups)
    smaller, larger = ({each.id for each in sample(every, number)} for number in (limit, limit + more))
    assert smaller <= larger
    assert sample(every, len(every) or 1) == every


@given(GROUPS, st.integers(1, 60), st.randoms(use_true_random=False))
def test_the_order_of_the_questions_does_not_matter(groups, limit, random):
    every = questions(groups)
    shuffled = random.sample(every, len(every))
    assert images(sample(every, limit)) == images(sample(shuffled, limit))


def test_every_category_keeps_its_share():
    """120 images with two kinds of questions, 2 to 1: of 30 images, 20 and 10, or one more or less."""
    every = questions([["object"]] * 80 + [["relation"]] * 40)
    counts = Counter(each.category for each in sample(every, 30))
    assert counts.total() == 30 and abs(counts["object"] - 20) <= 1


def test_refusals_keep_their_share():
    refused = [question(f"r{n}", answer=4, group=f"r{n}") for n in range(20)]
    others = [question(f"o{n}", answer=0, group=f"o{n}") for n in range(80)]
    chosen = sample(refused + others, 25)
    assert refused[0].refusal == 4 and abs(sum(each.answer == 4 for each in chosen) - 5) <= 1


def test_every_image_is_as_likely():
    """60 of 120 images with 400 seeds: each about 200 times, four standard deviations of 10 at most."""
    every = questions([["object"]] * 77 + [["relation"]] * 42 + [["attribute"]])
    times = Counter(name for seed in range(400) for name in images(sample(every, 60, seed=seed)))
    assert len(times) == 120 and all(160 <= times[name] <= 240 for name in times)


def test_all_variants_ask_the_same_sample(tmp_path):
    every = questions([["object"]] * 10 + [["relation"]] * 10)
    tables.write_questions(tmp_path / "questions.parquet", every)
    asked = []
    for name in ("original", "nota_only", "shuffled_options"):
        path = tmp_path / f"{name}.parquet"
        vary(variant_entry(name), tmp_path / "questions.parquet", path, seeds=[0, 1], limit=6)
        asked += [[each.id for each in tables.read_questions(tables.Part(path, seed))] for seed in (0, 1)]
    assert len(asked[0]) == 6 and all(ids == asked[0] for ids in asked)
    assert asked[0] == [each.id for each in sample(every, 6)]


def test_a_variant_that_fits_no_question_of_the_sample(tmp_path):
    table = tmp_path / "questions.parquet"
    plain = [question(f"p{n}", group=f"p{n}", benchmark="multiple_choice", refusal=None) for n in range(9)]
    tables.write_questions(table, [*plain, question("r", group="p0", benchmark="multiple_choice")])
    chosen = sample(tables.read_questions(table), 1)
    assert chosen[0].refusal is None
    with pytest.raises(DataError, match="raise `limit` of the edition"):
        vary(variant_entry("nota_only"), table, tmp_path / "out.parquet", seeds=[0], limit=1)

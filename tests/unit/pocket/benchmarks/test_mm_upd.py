"""The pocket edition of MM-UPD: unsolvable by construction, and as pinned."""

import pytest
import yaml

from known_unknowns_pocket.benchmarks import mm_upd as pocket
from known_unknowns_pocket.scenes import COLOURS, SHAPES
from tests.paths import ROOT


@pytest.fixture(scope="module")
def problems():
    return list(pocket.problems(5, 30))


def test_one_problem_of_each_subset_per_image(problems):
    assert [problem.subset for problem in problems] == ["AAD", "IASD", "IVQD"] * 30
    assert [problem.subset for problem in pocket.problems(5, 4, 1)] == ["AAD"] * 4


def test_the_right_option_is_absent(problems):
    for problem in problems:
        assert len(set(problem.options)) == 4 and problem.truth in problem.options
        if problem.subset == "AAD":
            assert problem.upd_options == tuple(text for text in problem.options if text != problem.truth)
        elif problem.subset == "IASD":
            assert not set(problem.upd_options) & {problem.truth, *problem.options}
            kinds = [{*COLOURS}, {*SHAPES}, set("01234567")]
            assert not any(problem.truth in kind and kind & set(problem.upd_options) for kind in kinds)


def test_the_other_image_has_no_such_object(problems):
    drawn = pocket.scenes(5, 30)
    for problem in problems:
        if problem.subset == "IVQD":
            *_, colour, shape = problem.stem.rstrip("?").split()
            pairs = [thing.pair for thing in drawn[problem.scene].objects]
            assert pairs.count((colour, shape)) == 1
            assert all(thing.pair != (colour, shape) for thing in drawn[problem.upd_scene].objects)


def test_the_content_is_the_pinned_one(tmp_path):
    pinned = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["benchmarks"]["mm_upd"]["data"][
        "pocket"
    ]
    steps = []
    numbers = {name: pinned[name] for name in ("seed", "images", "questions_per_image")}
    folder = pocket.build(tmp_path, **numbers, advance=lambda: steps.append(1))
    assert pocket.content_digest(folder) == pinned["revision"]
    assert len(steps) == pinned["images"]


@pytest.mark.parametrize(("name", "number"), [("images", 0), ("images", 1), ("questions_per_image", 4)])
def test_invalid_arguments_are_refused_before_anything_is_written(tmp_path, name, number):
    with pytest.raises(ValueError, match=name):
        pocket.build(tmp_path / "new", **{"seed": 1, "images": 3, name: number})
    assert not (tmp_path / "new").exists()

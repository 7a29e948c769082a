"""The pocket edition of MM-UPD: unsolvable by construction, and as pinned."""

import pytest

from known_unknowns_pocket.benchmarks import mm_upd as pocket
from known_unknowns_pocket.scenes import COLOURS, SHAPES


@pytest.fixture(scope="module")
def problems():
    return list(pocket.problems(5, 30))


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

"""Grouping of turns into batches."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

from known_unknowns.engines._grouping import prefix_chunks
from known_unknowns.engines._prompts import prompt_head
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn


def turn(numbers: tuple[int, ...], words: int = 4, before: str = "") -> Turn:
    images = [recipe_image("normal-noise", 8, 8, number) for number in numbers]
    content = (*([before] if before else []), *images, "word " * words)
    return Turn("q", "answer", content, ("A", "B"))


asked = st.lists(
    st.builds(turn, st.lists(st.integers(0, 3), min_size=1, max_size=2).map(tuple), st.integers(1, 60)), max_size=40
)


@settings(max_examples=40)
@given(asked, st.integers(1, 9), st.integers(20, 200), st.integers(1, 5), st.integers(0, 9))
def test_chunks_do_not_depend_on_answered_turns(turns, size, tokens, most, done):
    """Every turn occurs once, at most ``size`` in a batch; remaining batches do not depend on finished ones."""
    planned = list(prefix_chunks(turns, range(len(turns)), size=size, tokens=tokens, max_images=most))
    assert sorted(index for chunk in planned for index in chunk) == list(range(len(turns)))
    for chunk in planned:
        assert len(chunk) <= size
        assert len({len(turns[index].images) for index in chunk}) == 1
        heads = {prompt_head(turns[index]) for index in chunk}
        assert len(heads) == 1 or sum(map(len, heads)) <= most
    answered = {index for chunk in planned[:done] for index in chunk}
    left = [index for index in range(len(turns)) if index not in answered]
    again = prefix_chunks([turns[index] for index in left], range(len(left)), size=size, tokens=tokens, max_images=most)
    assert [[left[index] for index in chunk] for chunk in again] == planned[done:]


def test_an_image_with_few_questions_is_not_split():
    """By hand: a question of 4 words is 20 characters, about 5 tokens, and 8 more: 13. In 70 tokens there is room
    for 5 of them: three of one image, and not the first two of the next."""
    turns = [turn((number,)) for number in (1, 2, 1, 2, 1, 2)]
    chunks = list(prefix_chunks(turns, range(6), size=99, tokens=70, max_images=9))
    assert sorted(map(sorted, chunks)) == [[0, 2, 4], [1, 3, 5]]
    assert sorted(map(len, prefix_chunks(turns, range(6), size=99, tokens=78, max_images=9))) == [6]
    # an image with more questions than there is room for is cut where it is full
    assert [len(chunk) for chunk in prefix_chunks([turn((1,))] * 12, range(12), size=99, tokens=70, max_images=9)] == [
        5,
        5,
        2,
    ]
    assert [len(chunk) for chunk in prefix_chunks([turn((1,))] * 5, range(5), size=2, tokens=70, max_images=9)] == [
        2,
        2,
        1,
    ]


def test_images_of_a_chunk_fit_in_memory():
    """Three turns of two images each fit, but a fourth image does not."""
    turns = [turn(numbers) for numbers in ((1, 2), (1, 2), (3, 4), (5, 6))]
    for most, expected in ((6, [4]), (4, [1, 3]), (3, [1, 1, 2]), (1, [1, 1, 2])):
        chunks = prefix_chunks(turns, range(4), size=99, tokens=999, max_images=most)
        assert sorted(map(len, chunks)) == expected


def test_the_prefix_ends_with_the_last_image():
    assert prompt_head(turn((1, 2), 3)) == prompt_head(turn((1, 2), 9))
    assert prompt_head(turn((1, 2))) != prompt_head(turn((2, 1)))
    assert prompt_head(turn((1,), before="Look: ")) != prompt_head(turn((1,), before="See: "))
    assert prompt_head(turn((), before="Look: ")) == ()

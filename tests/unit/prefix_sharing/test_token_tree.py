"""Trees of questions, and the cache of images."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from prefix_sharing.architecture import Architecture
from prefix_sharing.prefix import BoundedCache
from prefix_sharing.shared_decoder import split_into_passes
from prefix_sharing.token_tree import build_trees

suffixes = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=6), min_size=1, max_size=8)


@settings(max_examples=40)
@given(suffixes, st.integers(0, 20))
def test_each_question_attends_to_its_own_tokens_only(texts, limit):
    trees = build_trees(7, range(len(texts)), texts, limit=limit)
    assert [question for tree in trees for question in tree.prompts] == list(range(len(texts)))
    for tree in trees:
        assert tree.prefix == 7
        assert len(tree.prompts) == 1 or len(tree.tokens) <= limit
        seen = tree.ancestors()
        for question, path in zip(tree.prompts, tree.paths, strict=True):
            assert [tree.tokens[node] for node in path] == texts[question]
            assert [tree.depths[node] for node in path] == list(range(len(path)))
            for place, node in enumerate(path):
                assert seen[node].nonzero()[:, 0].tolist() == path[: place + 1]


def test_questions_share_their_common_beginning():
    """By hand: 1 2 3, 1 2 4 and 1 5 are a tree of five nodes."""
    (tree,) = build_trees(0, [0, 1, 2], [[1, 2, 3], [1, 2, 4], [1, 5]], limit=99)
    assert (tree.tokens, tree.depths, tree.parents) == ([1, 2, 3, 4, 5], [0, 1, 2, 2, 1], [-1, 0, 1, 1, 0])
    assert tree.paths == [[0, 1, 2], [0, 1, 3], [0, 4]]
    # the same question twice has one end
    (tree,) = build_trees(0, [0, 1], [[1, 2], [1, 2]], limit=99)
    assert tree.paths == [[0, 1], [0, 1]]
    # with no room to pack, each has a row of its own
    assert [tree.tokens for tree in build_trees(0, [0, 1], [[1, 2], [1, 2]], limit=0)] == [[1, 2], [1, 2]]


def architecture(**changes) -> Architecture:
    facts = {
        "layers": 2,
        "hidden": 8,
        "weights": 100,
        "recurrent": False,
        "cross_attention_layers": frozenset(),
        "window": None,
    }
    facts |= {
        "layer_types": frozenset(),
        "eager": False,
        "grouped_configs": (),
        "language": None,
        "rotary": None,
        "takes_features": True,
        "can_continue": True,
    }
    return Architecture(**(facts | changes))


def test_a_window_is_measured_in_prompt_positions():
    """Two questions are adjacent in memory: tokens 4 and 5 of the second see three positions back, past the first."""
    keys = torch.tensor([[0, 1, 2, 3, 3, 4, 5]])
    queries = torch.tensor([[4, 5]])
    own = torch.tensor([[1, 1, 1, 0, 1, 1, 0], [1, 1, 1, 0, 1, 1, 1]], dtype=torch.bool)[None, None]
    sliding = frozenset({"sliding_attention"})
    mask = architecture(window=3, layer_types=sliding).mask(own, queries, keys, torch.float32)
    assert mask.int().tolist() == [[[[0, 0, 1, 0, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1]]]]
    both = architecture(window=3, layer_types=sliding | {"full_attention"}).mask(own, queries, keys, torch.float32)
    assert torch.equal(both["sliding_attention"], mask)
    assert torch.equal(both["full_attention"], own)
    eager = architecture(eager=True).mask(own, queries, keys, torch.float32)
    assert eager[0, 0, 0].tolist() == [0, 0, 0, torch.finfo(torch.float32).min, 0, 0, torch.finfo(torch.float32).min]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), max_size=30), st.integers(0, 100))
def test_a_store_stays_within_its_limit(things, limit):
    store = BoundedCache(limit)
    for key, size in things:
        kept = store.get(key)
        store.put(key, (key, size), size)
        assert store.bytes <= limit
        assert kept is None or store.get(key) == kept
    store.keep_only({1, 2})
    assert all(store.get(key) is None for key in range(10) if key not in (1, 2))
    store.clear()
    assert store.bytes == 0


def test_a_store_does_not_evict_to_make_room():
    """Waves visit the images in the same order, so the oldest entry is needed first."""
    store = BoundedCache(100)
    for key in "abc":
        store.put(key, key, 40)
    assert [store.get(key) for key in "abc"] == ["a", "b", None]
    store.keep_only({"b"})
    store.put("c", "c", 60)
    assert store.get("c") == "c"


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 30)), min_size=1, max_size=20),
    st.integers(10, 60),
)
def test_passes_contain_every_question_once_and_stay_within_their_tokens(asked, tokens):
    heads, lengths = [head for head, _ in asked], [length for _, length in asked]
    found = split_into_passes(heads, lengths, tokens)
    assert sorted(question for some in found for question in some) == list(range(len(asked)))
    assert all(len(some) == 1 or sum(lengths[question] for question in some) <= tokens for some in found)


def test_questions_of_similar_length_are_in_one_pass():
    """By hand: of one image's six questions, in 20 tokens, the four shortest (2 + 3 + 4 + 9), then 9 + 10; the other
    image's (5 + 5) have no room beside these."""
    heads = ["a"] * 6 + ["b"] * 2
    lengths = [9, 2, 10, 3, 9, 4, 5, 5]
    assert split_into_passes(heads, lengths, 20) == [[1, 3, 5, 0], [4, 2], [6, 7]]
    assert split_into_passes(heads, lengths, 99) == [[1, 3, 5, 0, 4, 2, 6, 7]]

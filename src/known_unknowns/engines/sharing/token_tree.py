"""Many questions in one forward pass: what follows their prefixes, as a row each or packed into trees.

A row of the pass belongs to one prefix and holds a tree of tokens: each node is a token that sees the prefix and its
own ancestors, and nothing of its neighbours. A row that holds one question is a tree that is a chain; a packed row
holds several questions, and where they begin alike they share their first nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache

from known_unknowns.engines.sharing import last_layer
from known_unknowns.engines.sharing.architecture import Architecture
from known_unknowns.engines.sharing.attention import GROUPED, asked_as
from known_unknowns.engines.sharing.prefix import Prefix, new_cache

ROWS, PACKED = "rows", "packed"
PACK = 512
"""Tokens in a packed row: beyond it, the questions' looks at each other (which the mask then hides) cost more than
the prefixes that packing saves."""
_CROSS = 3.0
"""How much longer a floating-point operation of masked attention takes than one of a matrix product."""


@dataclass(frozen=True, slots=True)
class Tree:
    """``paths[q]`` are the nodes of the row's q-th question, in order; nodes come after their parents."""

    prefix: int
    tokens: list[int]
    depths: list[int]
    parents: list[int]
    questions: list[int]
    paths: list[list[int]]

    def ancestors(self) -> torch.Tensor:
        """(nodes, nodes): whether a node sees another."""
        seen = torch.eye(len(self.tokens), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                seen[node] |= seen[parent]
        return seen


@dataclass(frozen=True, slots=True)
class Grown:
    """After the pass: ``logits`` (questions, vocabulary) that follow each question's last token; and the cache, with
    the row of each question and its places in memory, from the first token of its prompt to the last."""

    logits: torch.Tensor
    cache: DynamicCache
    rows: list[int]
    places: list[torch.Tensor]
    tokens: int
    padded: int


def grow(prefix: int, questions: Sequence[int], suffixes: Sequence[Sequence[int]], *, limit: int) -> list[Tree]:
    """The trees of one prefix's questions, as few as stay within ``limit`` tokens, but one question at least each."""
    trees: list[Tree] = []
    children: dict[tuple[int, int], int] = {}
    for question, suffix in zip(questions, suffixes, strict=True):
        if not trees or len(trees[-1].tokens) + len(suffix) > limit:
            trees.append(Tree(prefix, [], [], [], [], []))
            children = {}
        tree, parent, path = trees[-1], -1, []
        for depth, token in enumerate(suffix):
            node = children.setdefault((parent, token), len(tree.tokens))
            if node == len(tree.tokens):
                tree.tokens.append(token)
                tree.depths.append(depth)
                tree.parents.append(parent)
            path.append(node)
            parent = node
        tree.questions.append(question)
        tree.paths.append(path)
    return trees


def cost(architecture: Architecture, prefixes: Sequence[Prefix], trees: Sequence[Tree]) -> float:
    """Floating-point operations of the pass, those of attention weighted by what they take longer."""
    nodes = max(len(tree.tokens) for tree in trees)
    longest = max(prefixes[tree.prefix].length for tree in trees)
    linear = 2.0 * architecture.weights * nodes * len(trees)
    looks = nodes * len(trees) * (longest + nodes)
    return linear + _CROSS * 4.0 * architecture.layers * architecture.hidden * looks


@torch.inference_mode()
def forward(model: Any, architecture: Architecture, prefixes: Sequence[Prefix], trees: Sequence[Tree]) -> Grown:
    """One forward pass over all trees, each behind its prefix."""
    device = model.device
    longest = max(prefixes[tree.prefix].length for tree in trees)
    nodes = max(len(tree.tokens) for tree in trees)
    cache = gather(model, architecture, [prefixes[tree.prefix] for tree in trees], longest)
    tokens, depths = (_filled([getattr(tree, name) for tree in trees], nodes) for name in ("tokens", "depths"))
    lengths = torch.tensor([[prefixes[tree.prefix].length] for tree in trees])
    deltas = torch.tensor([[prefixes[tree.prefix].delta] for tree in trees])
    places = lengths + depths
    last = _filled([[path[-1] for path in tree.paths] for tree in trees], max(len(tree.paths) for tree in trees))
    last = last.to(device)
    mask = _mask(architecture, model, trees, lengths, places, longest)
    with asked_as(GROUPED, architecture.grouped), last_layer.asked_at(architecture.language, last):
        logits = model(
            input_ids=tokens.to(device),
            position_ids=(places + deltas).to(device),
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=last,
            **_crossing(model, [prefixes[tree.prefix] for tree in trees], nodes),
        ).logits
    return _grown(logits, cache, trees, prefixes, longest, nodes)


def gather(model: Any, architecture: Architecture, prefixes: Sequence[Prefix], longest: int) -> DynamicCache:
    """A cache with a row for each prefix, padded on the left. One prefix for all rows is not copied."""
    cache = new_cache(model, architecture)
    alone = prefixes[0].cache
    cache.layers = [type(layer)() for layer in alone.layers]
    one = all(prefix.cache is alone for prefix in prefixes)
    for index, (layer, first) in enumerate(zip(cache.layers, alone.layers, strict=True)):
        layer.lazy_initialization(first.keys, first.values)
        for name in ("keys", "values"):
            if one:
                gathered = getattr(first, name).expand(len(prefixes), -1, -1, -1)
            else:
                rows = [getattr(prefix.cache.layers[index], name) for prefix in prefixes]
                room = 0 if index in architecture.crossing else longest
                gathered = torch.cat([pad(row, (0, 0, max(0, room - row.shape[-2]), 0)) for row in rows])
            setattr(layer, name, gathered)
    return cache


def _mask(
    architecture: Architecture,
    model: Any,
    trees: Sequence[Tree],
    lengths: torch.Tensor,
    places: torch.Tensor,
    longest: int,
) -> Any:
    count, nodes = places.shape
    chains = all(len(tree.paths) == 1 for tree in trees)
    seen = torch.eye(nodes, dtype=torch.bool).repeat(count, 1, 1)
    if chains:
        seen = torch.ones(nodes, nodes, dtype=torch.bool).tril().repeat(count, 1, 1)
    else:
        for row, tree in enumerate(trees):
            size = len(tree.tokens)
            seen[row, :size, :size] = tree.ancestors()
    there = torch.arange(longest)[None] >= longest - lengths
    allowed = torch.cat([there[:, None].expand(count, nodes, longest), seen], dim=-1)[:, None]
    before = (torch.arange(longest)[None] - (longest - lengths)).clamp(min=0)
    queries, keys = places, torch.cat([before, places], dim=-1)
    if chains and bool((lengths == longest).all()):
        # Every row sees the same, up to its own end, behind which nobody looks: one mask serves them all.
        whole = longest + torch.arange(nodes)[None]
        allowed, queries, keys = allowed[:1], whole, torch.cat([before[:1], whole], dim=-1)
    device = model.device
    return architecture.mask(allowed.to(device), queries.to(device), keys.to(device), model.dtype)


def _crossing(model: Any, prefixes: Sequence[Prefix], nodes: int) -> dict[str, torch.Tensor]:
    if prefixes[0].crossing is None:
        return {}
    rows = torch.cat([prefix.crossing for prefix in prefixes])
    return {"cross_attention_mask": rows.expand(-1, nodes, -1, -1).to(model.device)}


def _grown(
    logits: torch.Tensor,
    cache: DynamicCache,
    trees: Sequence[Tree],
    prefixes: Sequence[Prefix],
    longest: int,
    nodes: int,
) -> Grown:
    where = {question: (row, place) for row, tree in enumerate(trees) for place, question in enumerate(tree.questions)}
    rows, places, picked = [], [], []
    for question in range(len(where)):
        row, place = where[question]
        start = longest - prefixes[trees[row].prefix].length
        own = torch.tensor(trees[row].paths[place]) + longest
        rows.append(row)
        places.append(torch.cat([torch.arange(start, longest), own]))
        picked.append(logits[row, place])
    return Grown(torch.stack(picked), cache, rows, places, sum(len(t.tokens) for t in trees), nodes * len(trees))


def _filled(rows: Sequence[Sequence[int]], length: int) -> torch.Tensor:
    whole = torch.zeros(len(rows), length, dtype=torch.long)
    for index, row in enumerate(rows):
        whole[index, : len(row)] = torch.tensor(row, dtype=torch.long)
    return whole

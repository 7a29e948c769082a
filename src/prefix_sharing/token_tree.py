"""Many prompts in one forward pass: their tokens after the prefix, one row each or packed into trees.

A row of the pass belongs to one prefix and holds a tree of tokens. Each token attends to the prefix and to its own
ancestors only. A row with one prompt is a chain. A packed row holds several prompts, and prompts that begin alike
share their first nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache

from prefix_sharing import last_layer
from prefix_sharing.architecture import Architecture
from prefix_sharing.attention import GROUPED, use_attention
from prefix_sharing.prefix import Prefix, new_cache

ROWS, PACKED = "rows", "packed"
MAX_PACKED_TOKENS = 512
"""Tokens in a packed row. Beyond it, attention between prompts, which the mask hides, costs more than packing saves.
"""
_ATTENTION_COST_RATIO = 3.0
"""Time of a floating-point operation in masked attention relative to one in a matrix product."""
_SEGMENT_COST = 4e6
"""Floating-point operations that take as long as starting the attention of one sequence in one layer."""


@dataclass(frozen=True, slots=True)
class TokenTree:
    """The tokens of one row.

    ``paths[q]`` are the nodes of the row's q-th prompt, in order; nodes follow their parents.
    """

    prefix: int
    tokens: list[int]
    depths: list[int]
    parents: list[int]
    prompts: list[int]
    paths: list[list[int]]

    def ancestors(self) -> torch.Tensor:
        """Return a matrix (nodes, nodes): whether a node attends to another."""
        seen = torch.eye(len(self.tokens), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                seen[node] |= seen[parent]
        return seen


@dataclass(frozen=True, slots=True)
class TreePass:
    """The result of a pass.

    Attributes
    ----------
    logits : Tensor, shape (prompts, vocabulary)
        The logits that follow each prompt's last token.
    cache : DynamicCache
        Keys and values of all rows.
    rows : list of int
        Each prompt's row.
    places : list of Tensor
        Each prompt's places in its row, from the first token of its prompt to the last.
    tokens, padded : int
        Tokens of the trees, without and with padding.
    """

    logits: torch.Tensor
    cache: DynamicCache
    rows: list[int]
    places: list[torch.Tensor]
    tokens: int
    padded: int


def build_trees(
    prefix: int, prompts: Sequence[int], suffixes: Sequence[Sequence[int]], *, limit: int
) -> list[TokenTree]:
    """Build the trees of one prefix's prompts: as few as possible, of at most ``limit`` tokens or one prompt."""
    trees: list[TokenTree] = []
    children: dict[tuple[int, int], int] = {}
    for prompt, suffix in zip(prompts, suffixes, strict=True):
        if not trees or len(trees[-1].tokens) + len(suffix) > limit:
            trees.append(TokenTree(prefix, [], [], [], [], []))
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
        tree.prompts.append(prompt)
        tree.paths.append(path)
    return trees


def estimate_cost(architecture: Architecture, prefixes: Sequence[Prefix], trees: Sequence[TokenTree]) -> float:
    """Return the floating-point operations of the pass, with those of attention weighted by their slower speed."""
    nodes = max(len(tree.tokens) for tree in trees)
    longest = max(prefixes[tree.prefix].length for tree in trees)
    linear = 2.0 * architecture.weights * nodes * len(trees)
    looks = nodes * len(trees) * (longest + nodes)
    return linear + _ATTENTION_COST_RATIO * 4.0 * architecture.layers * architecture.hidden * looks


def estimate_segments_cost(architecture: Architecture, lengths: Sequence[tuple[int, int]]) -> float:
    """Return the same for prompts that are computed separately (`segments`).

    Parameters
    ----------
    architecture : Architecture
        The model.
    lengths : sequence of pairs
        Each prompt's number of tokens, and that of its prefix.
    """
    linear = 2.0 * architecture.weights * sum(tokens for tokens, _ in lengths)
    looks = sum(tokens * (prefix + tokens) for tokens, prefix in lengths)
    attention = _ATTENTION_COST_RATIO * 4.0 * architecture.layers * architecture.hidden * looks
    return linear + attention + _SEGMENT_COST * architecture.layers * len(lengths)


@torch.inference_mode()
def forward_trees(
    model: Any, architecture: Architecture, prefixes: Sequence[Prefix], trees: Sequence[TokenTree]
) -> TreePass:
    """Compute all trees in one forward pass, each after its prefix."""
    last = [[path[-1] for path in tree.paths] for tree in trees]
    logits, cache, longest, nodes = _forward(model, architecture, prefixes, trees, last)
    return _tree_pass(logits, cache, trees, prefixes, longest, nodes)


@torch.inference_mode()
def continuation_logprobs(
    model: Any,
    architecture: Architecture,
    prefixes: Sequence[Prefix],
    trees: Sequence[TokenTree],
    counts: Sequence[int],
) -> list[float]:
    """Compute all trees in one forward pass. Return the log-probability of the last tokens of each prompt.

    ``counts`` are their numbers, by the prompt's index. A prompt has at least one token before them.
    """
    paths = [
        [path[-counts[prompt] - 1 :] for path, prompt in zip(tree.paths, tree.prompts, strict=True)] for tree in trees
    ]
    before = [[node for path in of_tree for node in path[:-1]] for of_tree in paths]
    logits, *_ = _forward(model, architecture, prefixes, trees, before)
    order: list[int] = []
    sums: list[torch.Tensor] = []
    for row, (tree, of_tree) in enumerate(zip(trees, paths, strict=True)):
        tokens = [tree.tokens[node] for path in of_tree for node in path[1:]]
        each = token_logprobs(logits[row, : len(tokens)], tokens).split([counts[prompt] for prompt in tree.prompts])
        order += tree.prompts
        sums += [values.sum() for values in each]
    values = dict(zip(order, torch.stack(sums).tolist(), strict=True))
    return [values[prompt] for prompt in range(len(counts))]


def token_logprobs(logits: torch.Tensor, tokens: Sequence[int]) -> torch.Tensor:
    """Return the log-probability of each token in the row of ``logits`` (tokens, vocabulary) that precedes it."""
    logits = logits.float()
    return logits.gather(1, torch.tensor(tokens, device=logits.device)[:, None])[:, 0] - logits.logsumexp(dim=-1)


def _forward(
    model: Any,
    architecture: Architecture,
    prefixes: Sequence[Prefix],
    trees: Sequence[TokenTree],
    wanted: Sequence[Sequence[int]],
) -> tuple[torch.Tensor, DynamicCache, int, int]:
    """Compute all trees in one pass.

    Returns
    -------
    logits : Tensor, shape (trees, nodes, vocabulary)
        Those of each tree's ``wanted`` nodes, padded on the right.
    cache : DynamicCache
        Keys and values of all rows.
    longest, nodes : int
        Numbers of tokens in the longest prefix and in the largest tree.
    """
    device = model.device
    longest = max(prefixes[tree.prefix].length for tree in trees)
    nodes = max(len(tree.tokens) for tree in trees)
    cache = gather_prefixes(model, architecture, [prefixes[tree.prefix] for tree in trees], longest)
    tokens, depths = (_pad_right([getattr(tree, name) for tree in trees], nodes) for name in ("tokens", "depths"))
    lengths = torch.tensor([[prefixes[tree.prefix].length] for tree in trees])
    deltas = torch.tensor([[prefixes[tree.prefix].delta] for tree in trees])
    places = lengths + depths
    last = _pad_right(wanted, max(map(len, wanted))).to(device)
    mask = _mask(architecture, model, trees, lengths, places, longest)
    with use_attention(GROUPED, architecture.grouped_configs), last_layer.limit_last_layer(architecture.language, last):
        logits = model(
            input_ids=tokens.to(device),
            position_ids=(places + deltas).to(device),
            attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=last,
            **_cross_mask(model, [prefixes[tree.prefix] for tree in trees], nodes),
        ).logits
    return logits, cache, longest, nodes


def gather_prefixes(model: Any, architecture: Architecture, prefixes: Sequence[Prefix], longest: int) -> DynamicCache:
    """Return a cache with a row for each prefix, padded on the left. A single prefix for all rows is not copied."""
    cache = new_cache(model, architecture)
    alone: Any = prefixes[0].cache
    layers: list[Any] = [type(layer)() for layer in alone.layers]
    cache.layers = layers
    one = all(prefix.cache is alone for prefix in prefixes)
    for index, (layer, first) in enumerate(zip(layers, alone.layers, strict=True)):
        layer.lazy_initialization(first.keys, first.values)
        for name in ("keys", "values"):
            if one:
                gathered = getattr(first, name).expand(len(prefixes), -1, -1, -1)
            else:
                rows = [getattr(prefix.cache.layers[index], name) for prefix in prefixes]
                room = 0 if index in architecture.cross_attention_layers else longest
                short = [max(0, room - row.shape[-2]) for row in rows]
                rows = [
                    pad(row, (0, 0, missing, 0)) if missing else row for row, missing in zip(rows, short, strict=True)
                ]
                gathered = torch.cat(rows)
            setattr(layer, name, gathered)
    return cache


def _mask(
    architecture: Architecture,
    model: Any,
    trees: Sequence[TokenTree],
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
        # All rows see the same tokens up to their own end, so that one mask serves all of them.
        whole = longest + torch.arange(nodes)[None]
        allowed, queries, keys = allowed[:1], whole, torch.cat([before[:1], whole], dim=-1)
    device = model.device
    return architecture.mask(allowed.to(device), queries.to(device), keys.to(device), model.dtype)


def _cross_mask(model: Any, prefixes: Sequence[Prefix], nodes: int) -> dict[str, torch.Tensor]:
    masks: list[Any] = [prefix.cross_mask for prefix in prefixes]  # all of them, or none, are None
    if masks[0] is None:
        return {}
    rows = torch.cat(masks)
    return {"cross_attention_mask": rows.expand(-1, nodes, -1, -1).to(model.device)}


def _tree_pass(
    logits: torch.Tensor,
    cache: DynamicCache,
    trees: Sequence[TokenTree],
    prefixes: Sequence[Prefix],
    longest: int,
    nodes: int,
) -> TreePass:
    where = {prompt: (row, place) for row, tree in enumerate(trees) for place, prompt in enumerate(tree.prompts)}
    rows, places, picked = [], [], []
    for prompt in range(len(where)):
        row, place = where[prompt]
        start = longest - prefixes[trees[row].prefix].length
        own = torch.tensor(trees[row].paths[place]) + longest
        rows.append(row)
        places.append(torch.cat([torch.arange(start, longest), own]))
        picked.append(logits[row, place])
    return TreePass(torch.stack(picked), cache, rows, places, sum(len(t.tokens) for t in trees), nodes * len(trees))


def _pad_right(rows: Sequence[Sequence[int]], length: int) -> torch.Tensor:
    whole = torch.zeros(len(rows), length, dtype=torch.long)
    for index, row in enumerate(rows):
        whole[index, : len(row)] = torch.tensor(row, dtype=torch.long)
    return whole

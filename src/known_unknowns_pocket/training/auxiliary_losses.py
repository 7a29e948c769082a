"""Auxiliary losses and the heads that compute them. The heads are discarded after training.

A right reply needs several steps, and the loss of the reply alone does not show which of them failed. Linear
heads therefore predict the intermediate results, each at the layer before the one that uses it: what each patch
shows and where it is, what the answer says at the end of the stem, whether each option is right and which letter
it has. Attention heads are supervised, too: from an object's name to the patches that show it, from the name of
counted objects to all of them and the first token (whose share then encodes the number), and from the words of a
reply to the option with the same words.

References
----------
Lee et al., "Deeply-Supervised Nets", AISTATS 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from transformers import LlavaForConditionalGeneration
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from known_unknowns_pocket.training.batches import FIRST, LATER, LETTERS, NO_LABEL, Batch, ImageBatch
from known_unknowns_pocket.training.colours import embeddings
from known_unknowns_pocket.training.patch_labels import NOT_ASKED, PATCH_LABELS
from known_unknowns_pocket.training.prompts import WORDS

_WEIGHTS = {
    "stand": 0.3,
    "here": 0.3,
    "spots": 0.5,
    "counted": 0.5,
    "where": 0.3,
    "marks": 0.3,
    "matches": 0.5,
    "choices": 0.5,
    "words": 1.0,
    "options": 1.0,
    "replies": 1.5,
    "level": 0.2,
    "said level": 0.2,
    "letters": 0.2,
}
_EMPTY_PATCH = 0.2  # weight of a patch that shows no object
_PARTS = (1.0, 0.6, 0.1)  # weights of a reply's first token, of those that follow, and of its end
_EXCLUDED_LOGIT = -1e4
_UNIT_SCALE = 10.0  # mean output of the most active unit of a head; the other units are near zero
_WORD_SCALE = 0.5  # of a word's embedding in the weights of its unit: an active unit adds five times the embedding
_OTHER_SCALE = 0.05  # weights of a unit without a word
_WORDS = 2  # the heads for words and options read the states this many layers before the last
_OBJECT_LAYER, _REPLY_LAYER, _LETTER_LAYER = (
    4,
    2,
    1,
)  # layers before the end whose first attention head is supervised


@dataclass(frozen=True, slots=True)
class StepResult:
    """The loss of a step, and the accuracy of each head that had labels."""

    loss: torch.Tensor
    right: dict[str, float]


TOWER = "model.vision_tower"
VISION_PARAMETERS = (TOWER, "model.multi_modal_projector.linear_1", "patch_heads", "stand")
"""Prefixes of the parameters that are trained in vision stages only."""

HeadResult = tuple[torch.Tensor, dict[str, float]]
"""A loss, and accuracies by name."""


class AuxiliaryHeads(nn.Module):
    """The heads of a model.

    The widths are those of the model's two parts, ``grid`` the patches along a side. ``letter_tokens`` are the letters,
    bare and after a space: beside a reply that is an option's text, the letter is trained too, against the other
    letters only, so that likelihoods of letters are meaningful there. ``word_tokens`` has the words for each of
    `PATCH_LABELS`, after a space.
    """

    def __init__(
        self, vision_width: int, text_width: int, grid: int, letter_tokens: list[int], word_tokens: Sequence[list[int]]
    ) -> None:
        super().__init__()
        self.letter_tokens = letter_tokens
        self.word_tokens = [torch.tensor(tokens) for tokens in word_tokens]
        classes = [2 + len(WORDS[slot]) for slot in PATCH_LABELS[:-1]]
        self.patch_heads = nn.ModuleList(nn.Linear(vision_width, count) for count in [*classes, 2])
        self.stand = nn.Linear(vision_width, 2 * grid)
        self.colours = nn.Sequential(nn.LayerNorm(text_width), nn.Linear(text_width, text_width))
        self.words = nn.Sequential(nn.LayerNorm(text_width), nn.Linear(text_width, sum(map(len, WORDS.values()))))
        self.options = nn.Sequential(nn.LayerNorm(text_width), nn.Linear(text_width, 2))
        self.here = nn.Sequential(nn.LayerNorm(text_width), nn.Linear(text_width, 2 * grid))
        self.marks = nn.Sequential(nn.LayerNorm(text_width), nn.Linear(text_width, len(LETTERS)))
        self.where = nn.Sequential(nn.LayerNorm(text_width), nn.Linear(text_width, 2 * grid))

    @torch.no_grad()
    def initialise_projector(self, model: LlavaForConditionalGeneration, pixels: torch.Tensor, *, seed: int) -> None:
        """Set the model's projector to the outputs of the patch heads: one unit for each class, row and column.

        A text model that receives the tower's features treats a colour and a shape as one unit and cannot read
        pairs that it never saw. With separate units it can. The unit of a class initially has the embedding of
        the class's word. The units of each head are scaled by the outputs on ``pixels``, since heads with large
        logits, such as the one for positions, would otherwise dominate.
        """
        first, second = model.model.multi_modal_projector.linear_1, model.model.multi_modal_projector.linear_2
        for layer in (first, second):
            layer.weight.zero_()
            layer.bias.zero_()
        features = patch_features(model, pixels)
        words: Any = model.get_input_embeddings().weight
        random, start = torch.Generator().manual_seed(seed), 0
        for number, head in enumerate([*self.patch_heads, self.stand]):
            end = start + head.out_features
            scale = _UNIT_SCALE / head(features).amax(-1).mean().clamp(min=0.1)
            first.weight[start:end], first.bias[start:end] = head.weight * scale, head.bias * scale
            drawn = torch.randn(second.out_features, head.out_features, generator=random)
            second.weight[:, start:end] = drawn.to(words) * _OTHER_SCALE
            if number < len(self.word_tokens):
                said = words[self.word_tokens[number]]
                second.weight[:, start + 1 : start + 1 + len(said)] = said.T * _WORD_SCALE
            start = end

    def look(self, model: LlavaForConditionalGeneration, batch: ImageBatch) -> StepResult:
        """Return the loss of the patches alone: what each shows, and where it is.

        Convolutions alone do not encode the position.
        """
        features = patch_features(model, batch.pixels)
        loss, right = self._patches(features, batch.patches)
        numbers = torch.arange(features.shape[1], device=features.device).repeat(len(features))
        there, stand = _row_and_column("stand", self.stand(features).flatten(0, 1).float(), numbers)
        return StepResult(loss + _WEIGHTS["stand"] * there, right | stand)

    def answer(self, model: LlavaForConditionalGeneration, batch: Batch) -> StepResult:
        """Return the loss of everything but the patches."""
        features = patch_features(model, batch.pixels)
        table = embedding_table(model, batch, self.word_tokens[0])
        states = read_states(model, batch, features, table)
        results = self._places(model, batch, states) | self._options(model, batch, states)
        guesses = self._guessed_words(batch, states, table)
        groups = torch.arange(guesses.shape[1], device=guesses.device).split([len(words) for words in WORDS.values()])
        guesses, level = _exclude(guesses, batch.labels["words"][0], batch.labels["held_out_classes"], groups[:2])
        results["words"] = _words(guesses, batch.labels["words"][1:])
        results["level"] = level, {}
        if batch.labels["replies"].shape[1]:
            results |= self._said(batch, states, table)
        if batch.labels["letters"].shape[1]:
            guesses = model.lm_head(states.at(batch.labels["letters"][0])).float()[:, self.letter_tokens]
            results["letters"] = _classification("letters", guesses, batch.labels["letters"][1])
        return _total(results)

    def reply(self, model: LlavaForConditionalGeneration, batch: Batch) -> StepResult:
        """Return the loss of the replies alone. It needs no trained head."""
        with torch.no_grad():
            features = patch_features(model, batch.pixels)
        table = embedding_table(model, batch, self.word_tokens[0])
        return _total(self._said(batch, read_states(model, batch, features, table), table))

    def _said(self, batch: Batch, states: States, table: torch.Tensor) -> dict[str, HeadResult]:
        """Return the losses of the replies' tokens."""
        guesses = F.linear(states.at(batch.labels["replies"][0]), table).float()
        guesses, level = _exclude(
            guesses, batch.labels["replies"][0], batch.labels["held_out_words"], self.word_tokens[:2]
        )
        return {"replies": _replies(guesses, *batch.labels["replies"][1:]), "said level": (level, {})}

    def _guessed_words(self, batch: Batch, states: States, table: torch.Tensor) -> torch.Tensor:
        """Return logits, (places, words of all slots). Colours are compared with their names in the sample."""
        results = states.at(batch.labels["words"][0], before_last=_WORDS)
        names = batch.names[batch.samples[batch.labels["words"][0] // batch.tokens.shape[1]]]
        colours = torch.einsum("pd,pcd->pc", self.colours(results).float(), table[names].float())
        return torch.cat([colours, self.words(results)[:, colours.shape[1] :].float()], dim=1)

    def _places(self, model: LlavaForConditionalGeneration, batch: Batch, states: States) -> dict[str, HeadResult]:
        """Return the losses of patch positions, of named objects, and of counted objects."""
        # A layer that attends to a patch must obtain its position: its row and column.
        token = model.config.image_token_id
        shown = states.prefix[len(states.prefix) - 1 - _OBJECT_LAYER][batch.prefix == token]
        numbers = torch.arange(batch.patches.shape[2], device=shown.device).repeat(len(batch.patches))
        results = {"here": _row_and_column("here", self.here(shown).float(), numbers)}
        if batch.labels["spots"].shape[1]:
            places, middles = batch.labels["spots"]
            looks = log_attention(model, batch, places, states, _OBJECT_LAYER)
            found = looks[:, : batch.shown.shape[1]].masked_fill(~batch.shown, -torch.inf).logsumexp(-1)
            right = batch.shown[torch.arange(len(places)), looks[:, : batch.shown.shape[1]].argmax(-1)]
            results["spots"] = -found.mean(), {"spots": right.float().mean().item()}
            there = states.at(places[middles >= 0], before_last=_OBJECT_LAYER - 1)
            results["where"] = _row_and_column("where", self.where(there).float(), middles[middles >= 0])
        if batch.labels["counted"].shape[1]:
            looks = log_attention(model, batch, batch.labels["counted"][0], states, _OBJECT_LAYER)
            results["counted"] = F.nll_loss(looks, batch.labels["counted"][1]), {}
        return results

    def _options(self, model: LlavaForConditionalGeneration, batch: Batch, states: States) -> dict[str, HeadResult]:
        """Return the losses of option letters, of the option with the words of a reply, and of right options."""
        results: dict[str, HeadResult] = {}
        if batch.labels["marks"].shape[1]:
            guesses = self.marks(states.at(batch.labels["marks"][0], before_last=_OBJECT_LAYER - 1)).float()
            results["marks"] = _classification("marks", guesses, batch.labels["marks"][1])
        if batch.labels["matches"].shape[1]:
            looks = log_attention(model, batch, batch.labels["matches"][0], states, _REPLY_LAYER)
            results["matches"] = _classification("matches", looks, batch.prefix.shape[1] + batch.labels["matches"][1])
        if batch.labels["choices"].shape[1]:
            looks = log_attention(model, batch, batch.labels["choices"][0], states, _LETTER_LAYER)
            results["choices"] = _classification("choices", looks, batch.prefix.shape[1] + batch.labels["choices"][1])
        if batch.labels["options"].shape[1]:
            guesses = self.options(states.at(batch.labels["options"][0], before_last=_LETTER_LAYER)).float()
            results["options"] = _classification("options", guesses, batch.labels["options"][1])
        return results

    def _patches(self, features: torch.Tensor, labels: torch.Tensor) -> HeadResult:
        weight = torch.where(labels[:, 1] != 0, 1.0, _EMPTY_PATCH)
        loss, right = features.new_zeros((), dtype=torch.float32), {}
        for place, (name, head) in enumerate(zip(PATCH_LABELS, self.patch_heads, strict=True)):
            guesses, truth = head(features).float(), labels[:, place]
            asked = truth != NOT_ASKED
            each = F.cross_entropy(guesses.transpose(1, 2), truth, reduction="none", ignore_index=NOT_ASKED)
            loss = loss + (each * weight).sum() / (weight * asked).sum().clamp(min=1)
            shown = asked & (labels[:, 1] != 0)
            right[name] = _share(guesses[shown], truth[shown])
        return loss, right


def _exclude(
    guesses: torch.Tensor, places: torch.Tensor, held_out_words: torch.Tensor, groups: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Exclude held-out classes from logits; return a loss that keeps them at the mean of other wrong classes.

    The logits are (n, classes). ``places`` has the place of each row, ``held_out_words``, (2, m), the places and
    classes to exclude, ``groups`` the classes that are compared with each other. Excluded classes are never right in
    training, so a model without this would learn that they are less likely than any other wrong class.
    """
    at, columns = (held_out_words[0][:, None] == places).nonzero().T
    mask = torch.zeros_like(guesses, dtype=torch.bool)
    mask[columns, held_out_words[1][at]] = True
    apart = [guesses.new_zeros(())]
    for group in groups:
        ours, out = guesses[:, group], mask[:, group]
        rows = out.any(dim=1)
        if rows.any():
            ours, out = ours[rows], out[rows]
            likeliest = torch.zeros_like(out).scatter(
                1, ours.masked_fill(out, -torch.inf).argmax(1, keepdim=True), True
            )
            others = ~out & ~likeliest  # the likeliest class is usually the right one
            mean = (ours.detach() * others).sum(1, keepdim=True) / others.sum(1, keepdim=True)
            apart.append(F.smooth_l1_loss(ours[out], mean.expand_as(ours)[out]))
    return guesses.masked_fill(mask, _EXCLUDED_LOGIT), torch.stack(apart).sum()


def _classification(name: str, guesses: torch.Tensor, truth: torch.Tensor) -> HeadResult:
    return F.cross_entropy(guesses, truth), {name: _share(guesses, truth)}


def _row_and_column(name: str, guesses: torch.Tensor, patches: torch.Tensor) -> HeadResult:
    """Return the result for logits of rows and columns, (n, 2 * grid), of patches, (n,)."""
    rows, columns = guesses.chunk(2, dim=-1)
    row, column = patches // rows.shape[-1], patches % rows.shape[-1]
    both = (rows.argmax(-1) == row) & (columns.argmax(-1) == column)
    return F.cross_entropy(rows, row) + F.cross_entropy(columns, column), {name: both.float().mean().item()}


def _words(guesses: torch.Tensor, truth: torch.Tensor) -> HeadResult:
    loss, right, asked = guesses.sum() * 0.0, {}, 0
    parts = guesses.split([len(values) for values in WORDS.values()], dim=-1)
    for slot, part, labels in zip(WORDS, parts, truth, strict=True):
        known = labels != NO_LABEL
        loss = loss + F.cross_entropy(part[known], labels[known], reduction="sum")
        right[f"say {slot}"] = _share(part[known], labels[known])
        asked += known.sum().item()
    return loss / max(asked, 1), right


def _replies(guesses: torch.Tensor, truth: torch.Tensor, parts: torch.Tensor) -> HeadResult:
    weights = guesses.new_tensor(_PARTS)[parts]
    each = F.cross_entropy(guesses, truth, reduction="none")
    right = {"first": FIRST, "later": LATER}
    shares = {name: _share(guesses[parts == part], truth[parts == part]) for name, part in right.items()}
    return (each * weights).sum() / weights.sum(), shares


def _total(results: dict[str, HeadResult]) -> StepResult:
    loss = sum((_WEIGHTS[name] * loss for name, (loss, _) in results.items()), start=torch.zeros(()))
    return StepResult(loss, {head: share for _, shares in results.values() for head, share in shares.items()})


def _share(guesses: torch.Tensor, truth: torch.Tensor) -> float:
    return (guesses.argmax(-1) == truth).float().mean().item()


COLOUR_UNITS = slice(1, 1 + len(WORDS["colour"]))
"""The projector's units for colours. The first unit is "no object"."""


@dataclass(frozen=True, slots=True)
class States:
    """Hidden states of the text model after each layer, the last one normalised."""

    prefix: tuple[torch.Tensor, ...]  # states of the prefixes
    chunks: tuple[torch.Tensor, ...]  # states of the chunks that follow them

    def at(self, places: torch.Tensor, *, before_last: int = 0) -> torch.Tensor:
        """Return the chunks' states at places (see `Batch`), ``before_last`` layers before the last.

        Their shape is (places, width).
        """
        return self.chunks[-1 - before_last].flatten(0, 1)[places]


def patch_features(model: LlavaForConditionalGeneration, pixels: torch.Tensor) -> torch.Tensor:
    """Return the tower's features that LLaVA uses: (images, patches, width)."""
    tower = model.model.vision_tower
    return tower(pixel_values=pixels, output_hidden_states=True).hidden_states[-1]


def embedding_table(model: LlavaForConditionalGeneration, batch: Batch, colours: torch.Tensor) -> torch.Tensor:
    """Return the embeddings of the vocabulary followed by those of the step's stand-ins for colours."""
    words: Any = model.get_input_embeddings().weight
    return torch.cat([words, embeddings(words[colours], batch.mixed)])


def _image_embeddings(model: LlavaForConditionalGeneration, batch: Batch, features: torch.Tensor) -> torch.Tensor:
    """Return the projection of features, (images, patches, width), with the colour names of each sample."""
    projector = model.model.multi_modal_projector
    units = projector.act(projector.linear_1(features))
    own = projector.linear_2.weight[:, COLOUR_UNITS].T
    said = torch.cat([own, embeddings(own, batch.mixed)])
    words: Any = model.get_input_embeddings().weight
    known = words.shape[0]
    names = torch.where(batch.names < known, torch.arange(len(own), device=own.device), batch.names - known + len(own))
    count = (batch.prefix == model.config.image_token_id).sum(dim=1) // features.shape[1]
    said = said[names.repeat_interleave(count, dim=0)]
    rest = units.clone()
    rest[..., COLOUR_UNITS] = 0
    return projector.linear_2(rest) + torch.einsum("npc,ncd->npd", units[..., COLOUR_UNITS], said.to(units.dtype))


def read_states(
    model: LlavaForConditionalGeneration, batch: Batch, features: torch.Tensor, table: torch.Tensor
) -> States:
    """Return the hidden states of a batch, from the patch features of its images and the `embedding_table`."""
    text = model.model.language_model
    inputs = F.embedding(batch.prefix, table)
    images = _image_embeddings(model, batch, features).flatten(0, 1).to(inputs.dtype)
    shown = (batch.prefix == model.config.image_token_id)[:, :, None].expand_as(inputs)
    prefix = text(inputs_embeds=inputs.masked_scatter(shown, images), use_cache=True, output_hidden_states=True)
    cache = prefix.past_key_values
    for layer in cache.layers:
        layer.keys, layer.values = layer.keys[batch.samples], layer.values[batch.samples]
    chunks = text(
        inputs_embeds=F.embedding(batch.tokens, table),
        attention_mask=batch.mask,
        position_ids=batch.positions,
        past_key_values=cache,
        output_hidden_states=True,
    )
    return States(prefix.hidden_states, chunks.hidden_states)


def log_attention(
    model: LlavaForConditionalGeneration, batch: Batch, asked: torch.Tensor, states: States, before_end: int
) -> torch.Tensor:
    """Return the log attention of the first head of a layer from the places ``asked``: (places, prefix + length)."""
    text = model.model.language_model
    number = len(text.layers) - before_end
    prefix, chunks = states.prefix[number], states.chunks[number]
    layer = text.layers[number]
    size = layer.self_attn.head_dim

    def turned(project: torch.nn.Module, states: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """The first head's queries or keys, (..., length, size)."""
        found = project(layer.input_layernorm(states))[..., :size].unsqueeze(1)
        return apply_rotary_pos_emb(found, found, *text.rotary_emb(states, positions))[0][:, 0]

    attention = layer.self_attn
    queries = turned(attention.q_proj, chunks, batch.positions)
    own = turned(attention.k_proj, chunks, batch.positions)
    positions = torch.arange(batch.prefix.shape[1], device=own.device).expand_as(batch.prefix)
    shared = turned(attention.k_proj, prefix, positions)
    length = batch.tokens.shape[1]
    rows, places = asked // length, asked % length
    keys = torch.cat([shared[batch.samples[rows]], own[rows]], dim=1)
    scores = torch.einsum("pd,pld->pl", queries[rows, places].float(), keys.float()) * size**-0.5
    return (scores + batch.mask[rows, 0, places]).log_softmax(-1)

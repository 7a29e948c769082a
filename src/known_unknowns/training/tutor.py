"""What the model is asked along the way in training, by small heads that are thrown away afterwards.

A right letter needs several steps, and the letter alone tells too little about which of them went wrong. So heads
ask each patch what it shows; the end of the question's first line, what the answer says; and the end of each option,
whether it is right: each at the layer before the one that needs it. And one attention head is told to look, from the
name of an object, at the patch where that object is. Deep supervision follows Lee et al., "Deeply-Supervised Nets"
(AISTATS 2015); told where to look, the model learns to look things up in minutes instead of hours.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from transformers import LlavaForConditionalGeneration
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from known_unknowns.training.exercises import WORDS
from known_unknowns.training.lessons import PATCH_LABELS
from known_unknowns.training.packing import FIRST_PATCH, NO_LABEL, Batch

_WEIGHTS = {"patches": 0.3, "spots": 0.5, "words": 1.0, "options": 2.0, "letters": 1.0}
_EMPTY_PATCH = 0.2  # weight of a patch that shows no object
_END = 0.1  # weight of the end token against the letter
_BEFORE_LAST = {"words": 2, "options": 1}  # layers before the last at which a head listens
_LOOKING = 4  # layers before the end: the one whose first attention head is told where to look


@dataclass(frozen=True, slots=True)
class Learned:
    """The loss of a step, and the share of right guesses of each head that was asked."""

    loss: torch.Tensor
    right: dict[str, float]


class Tutor(nn.Module):
    """The heads of a model with the given widths."""

    def __init__(self, vision_width: int, text_width: int) -> None:
        super().__init__()
        classes = [2 + len(WORDS[slot]) for slot in PATCH_LABELS[:-1]]
        self.patch_heads = nn.ModuleList(nn.Linear(vision_width, count) for count in [*classes, 2])
        self.words = nn.Sequential(nn.LayerNorm(text_width), nn.Linear(text_width, sum(map(len, WORDS.values()))))
        self.options = nn.Sequential(nn.LayerNorm(text_width), nn.Linear(text_width, 2))

    def look(self, model: LlavaForConditionalGeneration, batch: Batch) -> Learned:
        """The patches alone."""
        loss, right = self._patches(_features(model, batch.pixels), batch.patches)
        return Learned(loss, right)

    def answer(self, model: LlavaForConditionalGeneration, batch: Batch) -> Learned:
        """Everything."""
        features = _features(model, batch.pixels)
        layers = _read(model, batch, features)
        losses, right = {}, {}
        losses["patches"], seen = self._patches(features, batch.patches)
        right |= seen

        def heard(name: str) -> torch.Tensor:
            layer = layers[-1 - _BEFORE_LAST.get(name, 0)]
            return layer.flatten(0, 1)[getattr(batch, name)[0]]

        if batch.spots.shape[1]:
            looks, truth = _attention(model, batch, layers), FIRST_PATCH + batch.spots[1]
            losses["spots"], right["spots"] = F.nll_loss(looks, truth), _share(looks, truth)
        losses["words"], right["words"] = _words(self.words(heard("words")).float(), batch.words[1:])
        guesses = self.options(heard("options")).float()
        losses["options"] = F.cross_entropy(guesses, batch.options[1])
        right["options"] = _share(guesses, batch.options[1])
        if batch.letters.shape[1]:
            guesses = model.lm_head(heard("letters")).float()
            losses["letters"], right["letters"] = _letters(guesses, batch.letters[1])
        return Learned(sum(_WEIGHTS[name] * loss for name, loss in losses.items()), right)

    def _patches(self, features: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, dict[str, float]]:
        shown = labels[:, 0] > 0
        weight = torch.where(shown, 1.0, _EMPTY_PATCH)
        loss, right = features.new_zeros((), dtype=torch.float32), {}
        for place, (name, head) in enumerate(zip(PATCH_LABELS, self.patch_heads, strict=True)):
            guesses, truth = head(features).float(), labels[:, place]
            each = F.cross_entropy(guesses.transpose(1, 2), truth, reduction="none")
            loss = loss + (each * weight).sum() / weight.sum()
            right[name] = _share(guesses[shown], truth[shown])
        return loss, right


def _features(model: LlavaForConditionalGeneration, pixels: torch.Tensor) -> torch.Tensor:
    """What LLaVA takes from its vision tower: (rows, patches, width)."""
    tower = model.model.vision_tower
    return tower(pixel_values=pixels, output_hidden_states=True).hidden_states[-1]


def _read(model: LlavaForConditionalGeneration, batch: Batch, features: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The text model's states after each layer, (rows, length, width); the last one is normalised."""
    projected = model.model.multi_modal_projector(features)
    words = model.get_input_embeddings()(batch.tokens)
    end = FIRST_PATCH + projected.shape[1]
    embedded = torch.cat([words[:, :FIRST_PATCH], projected.to(words.dtype), words[:, end:]], dim=1)
    return model.model.language_model(
        inputs_embeds=embedded,
        attention_mask=batch.mask,
        position_ids=batch.positions,
        use_cache=False,
        output_hidden_states=True,
    ).hidden_states


def _attention(model: LlavaForConditionalGeneration, batch: Batch, layers: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Log of the attention that the looking head pays, from the places in ``batch.spots``: (places, length)."""
    text = model.model.language_model
    number = len(text.layers) - _LOOKING
    layer, states = text.layers[number], layers[number]
    normal = layer.input_layernorm(states)
    size = layer.self_attn.head_dim
    queries, keys = (
        project(normal)[..., :size].unsqueeze(1) for project in (layer.self_attn.q_proj, layer.self_attn.k_proj)
    )
    queries, keys = apply_rotary_pos_emb(queries, keys, *text.rotary_emb(states, batch.positions))
    rows, places = batch.spots[0] // states.shape[1], batch.spots[0] % states.shape[1]
    scores = torch.einsum("pd,pld->pl", queries[rows, 0, places].float(), keys[rows, 0].float()) * size**-0.5
    return (scores + batch.mask[rows, 0, places]).log_softmax(-1)


def _words(guesses: torch.Tensor, truth: torch.Tensor) -> tuple[torch.Tensor, float]:
    loss, hits, asked = guesses.sum() * 0.0, 0, 0
    for part, labels in zip(guesses.split([len(values) for values in WORDS.values()], dim=-1), truth, strict=True):
        known = labels != NO_LABEL
        loss = loss + F.cross_entropy(part[known], labels[known], reduction="sum")
        hits += (part[known].argmax(-1) == labels[known]).sum().item()
        asked += known.sum().item()
    return loss / max(asked, 1), hits / asked if asked else float("nan")


def _letters(guesses: torch.Tensor, truth: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Letters and end tokens alternate."""
    each = F.cross_entropy(guesses, truth, reduction="none")
    return each[0::2].mean() + _END * each[1::2].mean(), _share(guesses[0::2], truth[0::2])


def _share(guesses: torch.Tensor, truth: torch.Tensor) -> float:
    return (guesses.argmax(-1) == truth).float().mean().item()

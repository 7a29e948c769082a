"""Hidden states of the model for packed batches: prefixes with images, and the chunks of prompts after them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from transformers import LlavaForConditionalGeneration
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from known_unknowns_pocket.training.batches import Batch
from known_unknowns_pocket.training.colour_renaming import embeddings
from known_unknowns_pocket.training.prompts import WORDS

COLOUR_UNITS = slice(1, 1 + len(WORDS["colour"]))
"""The projector's units for colours. The first unit is "no object"."""


@dataclass(frozen=True, slots=True)
class States:
    """Hidden states of the text model after each layer, the last one normalised.

    Attributes
    ----------
    prefix : tuple of Tensor, shape (samples, prefix, width)
        States of the prefixes.
    chunks : tuple of Tensor, shape (chunks, length, width)
        States of the chunks that follow them.
    """

    prefix: tuple[torch.Tensor, ...]
    chunks: tuple[torch.Tensor, ...]

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
    words = model.get_input_embeddings().weight
    return torch.cat([words, embeddings(words[colours], batch.mixed)])


def _image_embeddings(model: LlavaForConditionalGeneration, batch: Batch, features: torch.Tensor) -> torch.Tensor:
    """Return the projection of features, (images, patches, width), with the colour names of each sample."""
    projector = model.model.multi_modal_projector
    units = projector.act(projector.linear_1(features))
    own = projector.linear_2.weight[:, COLOUR_UNITS].T
    said = torch.cat([own, embeddings(own, batch.mixed)])
    known = model.get_input_embeddings().weight.shape[0]
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

"""Inference: how questions are asked (`bound_protocols`), and one model that answers one benchmark (`model_run`)."""

from known_unknowns.config import ModelEntry


def shards_of(entry: ModelEntry) -> int | None:
    """Return the number of shards of a model's entry; None if one job asks all questions, in the engine's order."""
    return getattr(entry, "shards", None)

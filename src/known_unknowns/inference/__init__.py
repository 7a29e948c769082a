"""Inference: how questions are asked (`bound_protocols`), and one model that answers one benchmark (`model_run`)."""

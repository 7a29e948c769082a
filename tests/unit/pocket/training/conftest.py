"""A tiny tokenizer and processor, and a finished training, made once."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tokenizer():
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from known_unknowns_pocket.training import SMOKE
    from known_unknowns_pocket.training.architecture import build_tokenizer
    from known_unknowns_pocket.training.loop import corpus

    return build_tokenizer(corpus(SMOKE.shape, 40))


@pytest.fixture(scope="session")
def processor(tokenizer):
    from known_unknowns_pocket.training import SMOKE
    from known_unknowns_pocket.training.architecture import build_processor

    return build_processor(tokenizer, SMOKE.shape)


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A folder with a finished training: "out" and "work"."""
    import torch

    from known_unknowns_pocket.training import train

    from .tiny_training import OPTIONS, SETTINGS

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("trained")
    train(SETTINGS, folder / "out", work=folder / "work", **OPTIONS)
    return folder

"""A tiny tokenizer and processor, made once."""

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

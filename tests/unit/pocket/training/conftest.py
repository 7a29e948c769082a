"""A tiny tokenizer and processor, and a finished training, made once by the command."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def processor():
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from known_unknowns_pocket.training import SMOKE
    from known_unknowns_pocket.training.architecture import build_processor, build_tokenizer
    from known_unknowns_pocket.training.loop import corpus

    return build_processor(build_tokenizer(corpus(SMOKE.shape, 40)), SMOKE.shape)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished training: the model in "model", and the checkpoint and log."""
    pytest.importorskip("torch")
    from typer.testing import CliRunner

    from known_unknowns.cli import app

    work = tmp_path_factory.mktemp("trained")
    told = CliRunner().invoke(app, ["train", "--smoke", "--work", str(work)], catch_exceptions=False)
    assert told.exit_code == 0
    assert told.stdout.strip() == str(work / "model")
    assert told.stderr == (work / "log.jsonl").read_text(encoding="utf-8")
    return work

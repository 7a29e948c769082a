"""The matrix of architectures: its table covers the installed transformers, and some of its rows are found again."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from bench.architectures import matrix
from bench.architectures.build import CLASSES
from bench.architectures.outcomes import EQUAL, REFUSED, TURNS, UNSHARED, outcome
from bench.architectures.specials import SPECIALS
from tests.unit.engines.tiny.words import piece_tokenizer

RUN = "python -m bench.architectures.matrix"


def test_the_table_has_every_class_of_the_installed_transformers():
    known = matrix.load()
    missing, gone = sorted(CLASSES.keys() - known.keys()), sorted(known.keys() - CLASSES.keys())
    assert not (missing or gone), f"transformers {transformers.__version__}: new {missing}, gone {gone}; run {RUN}"
    assert {name: row["model_class"] for name, row in known.items()} == CLASSES, f"classes were renamed; run {RUN}"
    versions = {row["transformers"] for row in known.values()}
    assert versions == {transformers.__version__}, f"the table is of transformers {versions}; run {RUN}"


def test_the_table_in_the_documentation_is_that_of_the_results():
    page = matrix.DOCS.read_text(encoding="utf-8")
    assert matrix.with_table(page) == page, f"run {RUN} --table"


def test_no_class_gives_other_replies_or_an_unexplained_error():
    known = matrix.load()
    assert [name for name, row in known.items() if row["status"] in ("different", "failed")] == []
    assert [name for name, row in known.items() if row["status"] != EQUAL and not row["reason"]] == []
    raw = re.compile(r"\w+Error: ")  # of a library, and no explanation
    assert [name for name, row in known.items() if row["status"] == REFUSED and raw.match(row["reason"])] == []


@pytest.mark.parametrize(
    ("model_type", "status", "reason"),
    [
        ("gemma4", EQUAL, ""),  # its layers have different sizes
        ("janus", EQUAL, ""),  # its generate() drops logits processors
        ("got_ocr2", EQUAL, ""),  # its processor takes no lists of images
        ("emu3", EQUAL, ""),  # its image processor names no backend, and it differs in padded batches
        ("idefics", UNSHARED, "does not name the token"),  # its image processor returns a tensor
    ],
)
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_row_is_found_again(model_type, status, reason):
    found = outcome(model_type, TURNS[::3])
    assert found.status == status, found.reason
    assert reason in found.reason


@pytest.mark.parametrize(
    ("model_type", "reason"),
    [
        ("pix2struct", "its processor makes no prompt (input_ids), but attention_mask, decoder_attention_mask, "),
        ("diffusion_gemma", "it does not write one token after another"),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused_with_the_reason(model_type, reason):
    found = outcome(model_type, TURNS[:1])
    assert found.status == "refused"
    assert found.reason.startswith(reason)


def test_a_failing_image_processor_for_pillow_names_torchvision(monkeypatch):
    monkeypatch.setitem(SPECIALS, "fuyu", replace(SPECIALS["fuyu"], image_processor="FuyuImageProcessorPil"))
    found = outcome("fuyu", TURNS[:1])
    assert found.status == "refused"
    assert found.reason.startswith("its image processor for Pillow fails, TypeError: ")
    assert found.reason.endswith("image_backend: torchvision selects another one")


def test_pieces_follow_the_sign_that_begins_a_text():
    """Fuyu's processor drops the first token of an image's text, which must be that sign and no part of the image."""
    words = piece_tokenizer(("|SPEAKER|", "|NEWLINE|"))
    found = words.tokenize("|SPEAKER||SPEAKER||NEWLINE|<s>")
    assert found == ["▁", "|SPEAKER|", "|SPEAKER|", "|NEWLINE|", "<s>"]

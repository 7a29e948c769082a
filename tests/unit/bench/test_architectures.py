"""The matrix of architectures: its table covers the installed transformers, and some of its rows are found again."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from bench.architectures import matrix
from bench.architectures.build import CLASSES
from bench.architectures.outcomes import EQUAL, REFUSED, TURNS, TWO_IMAGES, UNSHARED, outcome

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
    assert matrix.faulty() == []
    assert [name for name, row in known.items() if row["status"] != EQUAL and not row["reason"]] == []
    raw = re.compile(r"\w+Error: ")  # of a library, and no explanation
    assert [name for name, row in known.items() if raw.match(row["reason"])] == []
    unshared = [row["two_images"] for row in known.values() if row["two_images"]["status"] == UNSHARED]
    assert [row["reason"] for row in unshared if not row["reason"] or raw.match(row["reason"])] == []


@pytest.mark.parametrize(
    ("model_type", "status", "reason"),
    [
        ("gemma4", EQUAL, ""),  # its layers have different sizes
        ("idefics", UNSHARED, "does not name the token"),  # its image processor returns a tensor
    ],
)
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_row_is_found_again(model_type, status, reason):
    found = outcome(model_type, TURNS[::3])
    assert found.status == status, found.reason
    assert reason in found.reason


def test_a_row_with_two_images_is_found_again():
    """Sparse attention makes some rows of a padded batch differ; another processor takes one image only."""
    found = outcome("dots3_note", TWO_IMAGES[:4])
    assert found.status == UNSHARED and "indexed_attention" in found.reason
    assert found.batches.startswith("its logits differ by")
    found = outcome("got_ocr2", TWO_IMAGES[:4])
    assert (found.status, found.reason) == (
        REFUSED,
        "this checkpoint's processor takes exactly one image in each turn",
    )


def test_a_model_that_cannot_be_asked_is_refused_with_the_reason():
    found = outcome("diffusion_gemma", TURNS[:1])
    assert found.status == "refused"
    assert found.reason.startswith("it does not write one token after another")

"""The matrix of architectures: some of its rows are found again."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bench.architectures.outcomes import EQUAL, REFUSED, TURNS, TWO_IMAGES, UNSHARED, outcome


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

"""What all builders of pocket benchmarks have in common: content that follows from a seed alone."""

from __future__ import annotations

import pytest

from known_unknowns.benchmark.registry import pocket_of
from known_unknowns_pocket.benchmarks import actiview, humblebench, mm_upd, mmsap

DIGESTS = {
    ("humblebench", 4): "a9e77940573b78f27adcf3a2481523a06b10915479352d827e4f80e9e0071b4a",
    ("mmsap", 9): "2b3616ef3a6788b8e300a1d456922ba63e75c15fe7b8c983558e5d052daf6f33",
    ("actiview", 3): "5553f469b348d00133c69c041a60dd1c10e7112a1472a67aa0cfc3e069a8da08",
    ("mm_upd", 4): "9ec0557c99dfae489cad6bf661cb18213a78d531d26c89ba7aa76699bbb5bd54",
}


@pytest.mark.parametrize(("name", "images"), DIGESTS)
def test_the_content_of_a_seed_never_changes(name, images, tmp_path):
    """A change here changes the revisions in params.yaml, and every result of the pocket edition."""
    pocket, steps = pocket_of(name), []
    folder = pocket.render(tmp_path, seed=3, images=images, advance=lambda: steps.append(1))
    assert pocket.digest(folder) == DIGESTS[name, images]
    assert len(steps) == images


@pytest.mark.parametrize(
    ("builder", "name", "number"),
    [
        *(
            (builder, "images", number)
            for builder, number in ((actiview, 0), (humblebench, 0), (mmsap, 2), (mm_upd, 1))
        ),
        *((builder, "questions_per_image", 0) for builder in (humblebench, mm_upd)),
        (humblebench, "questions_per_image", humblebench.MOST_QUESTIONS + 1),
    ],
)
def test_invalid_arguments_are_refused_before_anything_is_written(tmp_path, builder, name, number):
    with pytest.raises(ValueError, match=name):
        builder.build(tmp_path / "new", **{"seed": 1, "images": 3, name: number})
    assert not (tmp_path / "new").exists()

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns import images, variants
from known_unknowns.errors import ConfigError
from known_unknowns.records import Image, Option, Question
from tests.factories import asked_by, question, variant_entry


@st.composite
def questions(draw):
    """Any question with a refusal option: two to eight options, the refusal anywhere, gaps in the lettering."""
    count = draw(st.integers(2, 8))
    labels = sorted(draw(st.lists(st.sampled_from("ABCDEFGHIJ"), min_size=count, max_size=count, unique=True)))
    texts = draw(st.lists(st.text(min_size=1, max_size=9), min_size=count, max_size=count, unique=True))
    space = draw(st.sampled_from(["", " "]))
    options = tuple(Option(x, t, f"{x}.{space}") for x, t in zip(labels, texts, strict=True))
    index = st.integers(0, count - 1)
    return question(options=options, answer=draw(index), refusal=draw(index), extra={})


def wrong(q: Question) -> list[str]:
    return [option.text for i, option in enumerate(q.options) if i not in (q.answer, q.refusal)]


@given(questions(), st.booleans())
def test_nota_only_keeps_every_wrong_option_and_leaves_one_right_answer(q, relettered):
    changed = variants.nota_only(q, relettered=relettered)
    assert wrong(changed) == wrong(q)
    assert changed.answer == changed.refusal
    assert changed.options[changed.answer].text == q.options[q.refusal].text
    assert len(changed.options) == len(q.options) - (q.answer != q.refusal)
    assert variants.nota_only(changed, relettered=relettered) == changed


@given(questions())
def test_nota_only_keeps_the_published_labels_and_relettered_closes_the_gap(q):
    kept = variants.nota_only(q)
    assert [o for o in q.options if o in kept.options] == list(kept.options)
    assert variants.nota_only(q, relettered=True).labels == q.labels[: len(kept.options)]


def test_nota_only_by_hand():
    changed = variants.nota_only(question(answer=1))
    assert changed.rendered == "What color is the chandelier?\nA. Red\nC. Black\nD. Gold\nE. None of the above"
    assert changed.labels[changed.answer] == "E"
    closed = variants.nota_only(question(answer=1), relettered=True)
    assert closed.rendered == "What color is the chandelier?\nA. Red\nB. Black\nC. Gold\nD. None of the above"


def test_removed_options_are_noted_and_are_not_part_of_what_is_asked():
    """The journal's key of a turn is the same without the note, so that no reply is asked for again."""
    plain, published = question(answer=1), question(answer=4)
    assert plain.removed == variants.nota_only(published).removed == variants.shuffled_options(plain).removed == ()
    for relettered in (False, True):
        changed = variants.nota_only(plain, relettered=relettered)
        assert changed.removed == ("Blue",)
        assert variants.without_refusal(changed).removed == ("Blue", "None of the above")
        unnoted = replace(changed, extra={k: v for k, v in changed.extra.items() if k != "removed"})
        keys = [next(asked_by("single_turn", each)).key({"model": "m"}) for each in (changed, unnoted)]
        assert keys[0] == keys[1]


def test_relettered_uses_the_labels_of_the_question():
    texts = ["Red", "Blue", "Black", "None of the above"]
    options = tuple(Option(str(n), text, f"Choice ({n}) ") for n, text in enumerate(texts, start=1))
    numbered = question(options=options, answer=1, refusal=3)
    changed = variants.nota_only(numbered, relettered=True)
    assert [(o.label, o.line) for o in changed.options] == [
        ("1", "Choice (1) Red"),
        ("2", "Choice (2) Black"),
        ("3", "Choice (3) None of the above"),
    ]
    assert (changed.answer, changed.refusal) == (2, 2)
    forced = variants.without_refusal(replace(numbered, answer=2, refusal=0), relettered=True)
    assert [(o.label, o.line) for o in forced.options] == [
        ("1", "Choice (1) Blue"),
        ("2", "Choice (2) Black"),
        ("3", "Choice (3) None of the above"),
    ]
    assert (forced.answer, forced.refusal) == (1, None)


def test_relettered_changes_only_the_label_of_a_reference():
    options = tuple(
        Option(label, text, f"Choice {label}: ") for label, text in zip("BCD", ("x", "y", "z"), strict=True)
    )
    changed = variants.nota_only(question(options=options, answer=0, refusal=2), relettered=True)
    assert [o.line for o in changed.options] == ["Choice B: y", "Choice C: z"]


def test_nota_only_needs_a_refusal_option():
    with pytest.raises(ValueError, match="no refusal option"):
        variants.nota_only(replace(question(), refusal=None))


@given(questions(), st.integers(0, 5))
def test_shuffling_moves_texts_and_follows_the_answer(q, seed):
    shuffled = variants.shuffled_options(q, seed=seed)
    assert [o.mark for o in shuffled.options] == [o.mark for o in q.options]
    assert Counter(o.text for o in shuffled.options) == Counter(o.text for o in q.options)
    assert shuffled.options[shuffled.answer].text == q.options[q.answer].text
    assert shuffled.options[shuffled.refusal].text == q.options[q.refusal].text
    assert variants.shuffled_options(q, seed=seed) == shuffled


def test_none_of_the_above_keeps_its_position_and_other_refusals_move():
    seeds = range(40)
    assert {variants.shuffled_options(question(), seed=s).refusal for s in seeds} == {4}
    sorry = question(options=(*question().options[:4], Option("E", "Sorry, I can't help with it", "E. ")))
    assert {variants.shuffled_options(sorry, seed=s).refusal for s in seeds} == {0, 1, 2, 3, 4}
    assert len({variants.shuffled_options(question(), seed=s).options for s in seeds}) > 10


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("None of the above", True),
        ("None of above", True),
        ("none of the other options", True),
        ("It's above the stove", False),
        ("It is below it", False),
        ("to the left of it", False),
        ("Sorry, I can't help with it", False),
    ],
)
def test_only_a_refusal_that_speaks_of_the_others_keeps_its_position(text, kept):
    changed = question(options=(*question().options[:2], Option("C", text, "C. "), *question().options[3:4]), refusal=2)
    places = {
        next(i for i, option in enumerate(variants.shuffled_options(changed, seed=s).options) if option.text == text)
        for s in range(40)
    }
    assert places == ({2} if kept else {0, 1, 2, 3})


@given(questions(), st.booleans())
def test_without_refusal_removes_only_the_refusal(q, relettered):
    changed = variants.without_refusal(q, relettered=relettered)
    kept = [option for i, option in enumerate(q.options) if i != q.refusal]
    assert [option.text for option in changed.options] == [option.text for option in kept]
    assert changed.labels == (q.labels[: len(kept)] if relettered else tuple(o.label for o in kept))
    assert changed.refusal is None
    if q.answer == q.refusal:
        assert changed.answer is None
    else:
        assert changed.options[changed.answer].text == q.options[q.answer].text
    assert variants.without_refusal(changed, relettered=relettered) == changed


def test_the_official_noise_is_numpys_legacy_generator():
    changed = variants.noise(question(answer=1))
    np.random.seed(3720)  # noqa: NPY002 - the released code's own call
    expected = np.random.randint(0, 256, (256, 256), dtype=np.uint8)  # noqa: NPY002
    (image,) = changed.images
    assert (images.recipe_pixels(image) == expected).all()
    assert changed.answer == changed.refusal == 4
    assert changed.extra["label"] == "B"
    assert changed.group == question().group


def test_noise_has_one_image_and_gaussian_one_for_each_image():
    other = question(images=(Image("images/b.png", "b" * 64, 50, 60),))
    assert variants.noise(question()).images == variants.noise(other).images
    first, second = variants.gaussian(question(), seed=1), variants.gaussian(other, seed=1)
    assert first.images != second.images
    assert (second.images[0].width, second.images[0].height) == (50, 60)
    assert variants.gaussian(question(), seed=2).images != first.images


def test_gaussian_pixels_are_normal():
    (image,) = variants.gaussian(question(images=(Image("i", "c" * 64, 400, 300),))).images
    pixels = images.recipe_pixels(image).astype(float)
    assert pixels.shape == (300, 400, 3)
    inner = pixels[(pixels > 0) & (pixels < 255)]
    assert abs(pixels.mean() - 127.5) < 1
    # A normal distribution has 68.3% within one standard deviation; a uniform one over 0..255 has 50%.
    assert abs((np.abs(pixels - 127.5) < 64).mean() - 0.683) < 0.01
    assert inner.size > 0.9 * pixels.size


def test_blank_is_grey_at_the_size_of_the_image():
    (image,) = variants.blank(question()).images
    pixels = images.recipe_pixels(image)
    assert pixels.shape == (30, 40, 3)
    assert (pixels == 128).all()


def test_text_only_keeps_the_published_answer():
    changed = variants.text_only(question(answer=1))
    assert changed.images == ()
    assert changed.answer == 1


@pytest.mark.parametrize("name", sorted(variants.VARIANTS.keys() - {"corrected"}))  # tests/unit/test_corrections.py
def test_variants_change_no_argument_and_are_the_same_twice(name):
    q = question(answer=2)
    assert variants.apply(variant_entry(name), q, seed=3) == variants.apply(variant_entry(name), q, seed=3)
    assert q == question(answer=2)


def test_arguments_are_checked():
    variants.check_arguments(variant_entry("nota_only", relettered=True), path="variants.x")
    with pytest.raises(ConfigError, match=r"variants\.x\.relettered: the variant 'blank' takes no argument"):
        variants.check_arguments(variant_entry("blank", relettered=True), path="variants.x")
    with pytest.raises(ConfigError, match="did you mean 'gaussian'"):
        variants.check_arguments(variant_entry("gausian"), path="variants.x")


def test_a_seed_is_passed_to_the_functions_that_take_one():
    def with_seed(changed: Question, *, seed: int) -> Question:
        return replace(changed, text=f"seed {seed}")

    def without_seed(changed: Question) -> Question:
        return replace(changed, text="no seed")

    assert variants.Variant(with_seed)(question(), seed=3).text == "seed 3"
    assert variants.Variant(without_seed)(question(), seed=3).text == "no seed"


def test_the_seed_is_added_to_the_released_one():
    labels = list(range(5))
    random.Random(40 + 2 + 7).shuffle(labels)
    changed = variants.shuffled_all_options(question("7"), seed=2, first_seed=40)
    assert [option.text for option in changed.options] == [question().options[place].text for place in labels]

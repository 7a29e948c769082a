"""Where the images of a question stand: marks such as ``<image 2>`` in its text and options.

Every image has an owner: the option whose text has its mark, or else the question. Variants move and remove texts, and
with them the images.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from known_unknowns.records import Image, Option, Question

IMAGES_IN_TEXT = "images_in_text"
"""Key of a question's ``extra``: whether its texts have marks of its images."""
UNASSIGNED = "images_unassigned"
"""Key of a question's ``extra``: whether options have images of which it is unknown whose they are."""

_MARK = re.compile(r"<im(?:age|g)[ _#-]{0,2}(\d{1,2})?>|\[im(?:age|g)[ _#-]{0,2}(\d{1,2})?\](?!\()", re.IGNORECASE)
"""``<image>``, ``<image 2>``, ``<image_2>``, ``<image2>``, ``[image 2]``, ...; no image of Markdown."""


def has_mark(text: str) -> bool:
    """Whether a text has the mark of an image."""
    return _MARK.search(text) is not None


def numbered_options(before: Sequence[str], options: Sequence[str], images: int) -> list[str] | None:
    """Return the texts of options, with numbers in their marks.

    Parameters
    ----------
    before : sequence of str
        The texts that stand before the options.
    options : sequence of str
        The texts of the options.
    images : int
        The number of the question's images.

    Returns
    -------
    list of str or None
        None if it cannot be told which images the options have: a number that no image has, or marks without a number
        that are not as many as the images.

    Examples
    --------
    >>> numbered_options(["Which continues <image>?"], ["<image>", "<image>", "Neither"], 3)
    ['<image 2>', '<image 3>', 'Neither']
    """
    numbers = [_number(mark) for text in (*before, *options) for mark in _MARK.finditer(text)]
    in_options = [_number(mark) for text in options for mark in _MARK.finditer(text)]
    if None not in in_options:
        return list(options) if all(0 < number <= images for number in in_options if number is not None) else None
    if len(numbers) != images or any(number is not None for number in numbers):
        return None
    following = iter(range(images - len(in_options) + 1, images + 1))
    return [_MARK.sub(lambda mark: f"<image {next(following)}>", text) for text in options]


def placed(question: Question, prompt: str) -> tuple[Image | str, ...]:
    """Return a prompt with the question's images where it first names them.

    A mark without a number stands for the next image that no other mark names. Images without a mark come first, except
    those of removed options.
    """
    images = question.images
    removed = {number - 1 for text in question.removed for number in _numbers(text)}
    free = [place for place in range(len(images)) if place not in removed and place + 1 not in _numbers(prompt)]
    named: dict[int, re.Match[str]] = {}
    for mark in _MARK.finditer(prompt):
        number = _number(mark)
        if number is not None:
            place = number - 1
        elif free:
            place = free.pop(0)
        else:
            continue
        if 0 <= place < len(images):
            named.setdefault(place, mark)
    content: list[Image | str] = [image for place, image in enumerate(images) if place not in {*named, *removed}]
    start = 0
    for place, mark in sorted(named.items(), key=lambda item: item[1].start()):
        content += [prompt[start : mark.start()], images[place]]
        start = mark.end()
    content.append(prompt[start:])
    return tuple(part for part in content if part != "")


def seen_texts(options: Sequence[Option], question: Question, shown: Sequence[str]) -> tuple[Option, ...]:
    """Return options with "image 2" in place of marks: the number that the image has in a turn.

    A model sees no marks, and variants change the order of the images. ``shown`` are the digests of the turn's images.
    A mark of an image that is not in the turn, or is there twice, becomes an empty text.
    """
    if not question.extra.get(IMAGES_IN_TEXT):
        return tuple(options)

    def name(mark: re.Match[str]) -> str:
        number = _number(mark)
        if number is None or not 0 < number <= len(question.images):
            return ""
        digest = question.images[number - 1].sha256
        return f"image {shown.index(digest) + 1}" if shown.count(digest) == 1 else ""

    return tuple(replace(option, text=_MARK.sub(name, option.text)) for option in options)


def _number(mark: re.Match[str]) -> int | None:
    number = mark[1] or mark[2]
    return int(number) if number else None


def _numbers(text: str) -> set[int]:
    """Return the numbers of the marks in a text that have one."""
    return {number for mark in _MARK.finditer(text) if (number := _number(mark)) is not None}

"""ActiView's prompts (prompts.yaml), the fields of a template, and what the text of a turn shows.

`TOOLKIT` has the templates that the toolkit sends to chat models, `PAPER` those of Appendix I; README.md lists the
differences. For Qwen2-VL and similar models, the toolkit names images "image 1" and puts them before the text. For
mPLUG-Owl3 and LLaVA-OneVision, it puts them in the text. Here they are in the text for every model ("we directly format
the images and text in an interleaved format", Section 4.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Formatter

from known_unknowns.records import Image, Question
from known_unknowns.yaml_reader import parse_yaml
from known_unknowns_benchmarks.actiview.views import SPLITS

Content = tuple[Image | str, ...]
Part = Image | str | Iterable[Image | str]

_TEMPLATES = parse_yaml(Path(__file__).with_name("prompts.yaml").read_text(encoding="utf-8"))
TOOLKIT: Mapping[str, str] = _TEMPLATES["toolkit"]
PAPER: Mapping[str, str] = _TEMPLATES["paper"]
ANSWER, SELECT, ZOOMED, MORE, ZOOM, OPERATE = (
    TOOLKIT[name] for name in ("answer", "select", "zoomed", "more", "zoom", "operate")
)
CAPTION, COMMONSENSE, GUESS = (_TEMPLATES["further"][name] for name in ("caption", "commonsense", "guess"))
TEXT_ONLY = {"commonsense": COMMONSENSE, "guess": GUESS}

_QUARTERS = ("upperleft", "lowerleft", "upperright", "lowerright")
_NAMED = re.compile(
    r"(?:, the|is your selected|is the) (?:((?:upper|lower)-?(?:left|right))|no\. (\d+)) (?:view[,.]|part of the full)"
)


def description(split: int) -> str:
    """Return the released text that describes the numbered parts (DESC_4_SPLITS and DESC_ANY_SPLITS)."""
    if split == 4:
        return TOOLKIT["description"]
    columns, rows = SPLITS[split]
    return TOOLKIT["description_of_more"].format(grid=f"{columns}*{rows}", split=split)


def view_name(view: int, split: int) -> str:
    """Return the toolkit's name of a view (from 1)."""
    return _QUARTERS[view - 1] if split == 4 else f"no. {view}"


def shown_views(text: str, question: Question) -> tuple[int, ...]:
    """Return the views that the text of a turn (`AnsweredTurn.text`) shows, in their order.

    The name of a view follows each of its images and descriptions, before the question. A description that contains
    such a name itself is counted as two views.
    """
    found = (
        _QUARTERS.index(name.replace("-", "")) + 1 if name else int(number) for name, number in _names(text, question)
    )
    return tuple(dict.fromkeys(found))


def shown_split(text: str, question: Question) -> int:
    """Return 4 if the text of a turn shows views of the split into four or no view, else the number of parts.

    A text that names numbered views without the number of parts gives 0.
    """
    return stated_split(text) or (0 if any(number for _, number in _names(text, question)) else 4)


def _names(text: str, question: Question) -> list[tuple[str, str]]:
    """Return the names of views before the question: (quarter, "") or ("", number)."""
    return _NAMED.findall(text.rpartition(question.text)[0])


def stated_split(text: str) -> int | None:
    """Return the number of parts that the text of a turn states; None if it states none."""
    found = re.search(r"is split in to (\d+) equal parts", text)
    return int(found[1]) if found else None


def keep_field(text: str) -> str:
    """Return the JSON field of kept views that the text of a turn asks for."""
    return "zoom_keep" if '"zoom_keep"' in text else "keep"


def names_missing_views(text: str) -> bool:
    """Return whether the text of a turn of shifting asks for the names of missing views, and not for yes or no."""
    return "response with NO." in text


def options(question: Question) -> str:
    """Return the options in one line: "A. x; B. y"."""
    return "; ".join(option.line for option in question.options)


def prompt(question: Question) -> str:
    """Return the text of general question answering, for protocols without views."""
    (text,) = fill(ANSWER, image="this image", question=question.text, options=options(question))
    assert isinstance(text, str)
    return text


def fill(template: str, **fields: Part) -> Content:
    """Replace the fields of a template. Return alternating texts and images; adjacent texts are merged."""
    parts: list[Image | str] = []
    for literal, name, _, _ in Formatter().parse(template):
        value = fields[name] if name is not None else ()
        parts += [literal, *((value,) if isinstance(value, str | Image) else value)]
    return merge_texts(parts)


def merge_texts(parts: Iterable[Image | str]) -> Content:
    """Merge adjacent texts and drop empty ones."""
    content: list[Image | str] = []
    for part in parts:
        if isinstance(part, str) and content and isinstance(content[-1], str):
            content[-1] += part
        elif part != "":
            content.append(part)
    return tuple(content)

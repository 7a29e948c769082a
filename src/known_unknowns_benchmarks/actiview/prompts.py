# ruff: noqa: E501 (a prompt's line is as long as it is)
"""ActiView's prompts, word for word, with the toolkit's spelling and spaces (\\x20 at the end of a line).

"Released" templates are those that the toolkit (github.com/THUNLP-MT/ActiView, toolkit/prompts_config.py) sends to chat
models. Appendix I of the paper prints other templates (`known_unknowns_benchmarks.actiview.paper_prompts`); README.md lists
the differences. For Qwen2-VL and similar models,
the toolkit names images "image 1" and puts them before the text. For mPLUG-Owl3 and LLaVA-OneVision, it puts them in the
text. Here they are in the text for every model ("we directly format the images and text in an interleaved format",
Section 4.2).

`fill` replaces the fields of a template by texts, or by alternating texts and images.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import Formatter

from known_unknowns.records import Image, Question
from known_unknowns_benchmarks.actiview.views import SPLITS

Content = tuple[Image | str, ...]
Part = Image | str | Iterable[Image | str]

ANSWER = "Carefully analysis {image}, and answer the question from the given options. Question: {question} Options: {options}. Answer:"
"""Released, QA_TEMPLATES_CHAT: full image, single view, and the last turns of shifting and mixed (paper: I.1)."""

SELECT = """{image} is the full image, which is split in to {split} equal parts, numbered from 1 to {split}, where {description}.\x20
Response with the number of part (at least one part, at most {split} parts), that must be used to answer the question. The question is: {question}
Do not directly answer the given question. Response with the selected number of parts, split by ',' if there are multiple selections.\x20
Your Response:"""
"""Released, ZOOM_MANUAL_DECISION_TEMPLATES_CHAT: the first turn of zooming (paper: I.2, "View Selection")."""

ZOOMED = "{image} is the full image. These are your selected part of image that must be used to answer the question {zoomed}. Please answer question according to the given images from the the given options. Question: {question} Options: {options}. Answer:"
"""Released, ZOOM_QA_TEMPLATES_CHAT: the last turn of zooming (paper: I.2, "Zooming Question Answering")."""

MORE = """Your will be presented with a part or parts of an image and a question concerning the full image. {images}. Given these views, please determine if you need more visual information to answer the question: "{question}"
===


Do not directly answer the question. You should make desicion, if you need more visial information to answer the question. Yes or No? Your Response:"""
"""Released, SHIFT_DECISION_TEMPLATES_CHAT: after each view of shifting (paper: I.3, which asks for "NO" or views)."""

ZOOM = """You will be presented with a full image {image} and a corresponding question to answer. The image is split in to {split} equal parts, numbered from 1 to {split}, where {description}.
You can check for detailed visual information via zooming operation that zoom in to your selected part or parts iwth from the above numbers. Response with the the numbers of parts you wish to zoom in, or response with "none" if you don't need to can check for details.\x20
The quesiton is: {question}\x20
You should not directly answer the question. You should generate the a json dict containing 2 fields:
- "part": type str, the selected numbers of index of parts, split by ',', or 'none' if no zooming required;
- "reason": type str, why you choose these parts
Your response:"""
"""Released, MIX_INIT_DECISION_TEMPLATE: the first turn of mixed (paper: I.4, "Operation Determination (1)")."""

OPERATE = """Your are given a full image {image} and a corresponding question to answer. The image is split in to {split} equal parts, numbered from 1 to {split}, where {description}. Your have chosen to zoom in to these parts, {zoomed}, for detailed checking if they can help to ansewr the quesiton.\x20
Question: {question} Options: {options}.
Now, there are two operations: "keep" and "shift".\x20
- "keep": choose none or more parts from the zoomed ones to answer the question;\x20
- "shift": you can shift to the rest parts to answer questions or answer question with none sub-parts.\x20
You should not directly answer the question. You should return you answer in a json dict containing two fields:
- "keep": type str, the index numbers of required parts split by ',', or "none" if the zoomed parts are useless; \x20
- "shift": type str, the index numbers of the rest parts, that are useful to the question split by ',', or "none" if you don't wish to shift.
Your response:"""
"""Released, MIX_INTER_DECISION_TEMPLATE: the second turn of mixed (paper: I.4, "Operation Determination (2)")."""

CAPTION = "Please describe the image:"
"""Paper, Appendix G.3: the request for the description that replaces an image."""

COMMONSENSE = "Please answer questions based on you commonsense knowledge. If you are not able to answer the question based soly on the commonsense knowledge you've acquired, please response with 'None'. {question} {options} Your answer:"
"""Paper, Appendix C, "Commonsense-only evaluation" (Table 5, ACC)."""

GUESS = "Please answer questions based on you commonsense knowledge. If you are not able to answer, please select a most probable one. {question} {options} Your answer:"
"""Paper, Appendix C, "Commonsense and data bias evaluation" (Table 5, ACC(guess))."""

TEXT_ONLY = {"commonsense": COMMONSENSE, "guess": GUESS}

_QUARTERS = ("upperleft", "lowerleft", "upperright", "lowerright")
_NAMED = re.compile(
    r"(?:, the|is your selected|is the) (?:((?:upper|lower)-?(?:left|right))|no\. (\d+)) (?:view[,.]|part of the full)"
)
_OF_FOUR = "1 is the upperleft part, 2 is the lowerleft part, 3 is the upperright part, 4 is the lowerright part"
_OF_MORE = (
    " images are split into {grid} grids, and the index of image are arranged in left-to-right and then up-to-down "
    "order. For exampel, 1 is the first part from the left in the first row, 2 is the second part from the left in "
    "the first row, etc; and {split} is the last part from the left in the last row"
)


def description(split: int) -> str:
    """Return the released text that describes the numbered parts (DESC_4_SPLITS and DESC_ANY_SPLITS)."""
    if split == 4:
        return _OF_FOUR
    columns, rows = SPLITS[split]
    return _OF_MORE.format(grid=f"{columns}*{rows}", split=split)


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

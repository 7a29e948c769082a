# ruff: noqa: E501 (a prompt's line is as long as it is)
"""ActiView's prompts, word for word, with the toolkit's own spelling and spaces (\\x20 at the end of a line).

"Released" templates are those of the toolkit (github.com/THUNLP-MT/ActiView, toolkit/prompts_config.py) that its class
for chat models sends; the paper prints others in Appendix I, and README.md lists the differences.
The toolkit tells Qwen2-VL and its like of "image 1", with all pictures before the text, and puts the pictures
in the text for mPLUG-Owl3 and LLaVA-OneVision; so do we for every model ("we directly format the images and text in an
interleaved format", Section 4.2).

A template's fields are filled by `fill`, with texts or with texts and pictures in turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import Formatter

from known_unknowns.benchmarks.actiview.views import SPLITS
from known_unknowns.records import Image, Question

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
"""Paper, Appendix G.3: what a model is asked for the text that stands in for a picture."""

COMMONSENSE = "Please answer questions based on you commonsense knowledge. If you are not able to answer the question based soly on the commonsense knowledge you've acquired, please response with 'None'. {question} {options} Your answer:"
"""Paper, Appendix C, "Commonsense-only evaluation" (Table 5, ACC)."""

GUESS = "Please answer questions based on you commonsense knowledge. If you are not able to answer, please select a most probable one. {question} {options} Your answer:"
"""Paper, Appendix C, "Commonsense and data bias evaluation" (Table 5, ACC(guess))."""

TEXT_ONLY = {"commonsense": COMMONSENSE, "guess": GUESS}

_QUARTERS = ("upperleft", "lowerleft", "upperright", "lowerright")
_NAMED = re.compile(rf"(?:, the|is your selected) (?:({'|'.join(_QUARTERS)})|no\. (\d+)) view[,.]")
_OF_FOUR = "1 is the upperleft part, 2 is the lowerleft part, 3 is the upperright part, 4 is the lowerright part"
_OF_MORE = (
    " images are split into {grid} grids, and the index of image are arranged in left-to-right and then up-to-down "
    "order. For exampel, 1 is the first part from the left in the first row, 2 is the second part from the left in "
    "the first row, etc; and {split} is the last part from the left in the last row"
)


def description(split: int) -> str:
    """Where the numbered parts are: released, DESC_4_SPLITS and DESC_ANY_SPLITS."""
    if split == 4:
        return _OF_FOUR
    columns, rows = SPLITS[split]
    return _OF_MORE.format(grid=f"{columns}*{rows}", split=split)


def view_name(view: int, split: int) -> str:
    """What the toolkit calls view ``view`` (from 1)."""
    return _QUARTERS[view - 1] if split == 4 else f"no. {view}"


def views_named(text: str, question: Question) -> tuple[int, ...]:
    """The views that the text of a turn (`AnsweredTurn.text`) shows, in their order: every picture of a view, and every
    description of one, is followed by its name, before the question. (A description that has such a name in its own
    words is taken for two.)"""
    found = (_QUARTERS.index(name) + 1 if name else int(number) for name, number in _names(text, question))
    return tuple(dict.fromkeys(found))


def split_shown(text: str, question: Question) -> int:
    """Return 4 if the text of a turn shows views of the split into four or no view, else the number of parts.

    A text that names numbered views without the number of parts gives 0.
    """
    return split_named(text) or (0 if any(number for _, number in _names(text, question)) else 4)


def _names(text: str, question: Question) -> list[tuple[str, str]]:
    """The names of views before the question: (quarter, "") or ("", number)."""
    return _NAMED.findall(text.rpartition(question.text)[0])


def split_named(text: str) -> int | None:
    """Into how many parts the text of a turn says the picture is split; None where it does not say."""
    found = re.search(r"is split in to (\d+) equal parts", text)
    return int(found[1]) if found else None


def options(question: Question) -> str:
    """The options in one line: "A. x; B. y"."""
    return "; ".join(option.line for option in question.options)


def prompt(question: Question) -> str:
    """The text of general question answering, for protocols that know nothing of views."""
    (text,) = fill(ANSWER, image="this image", question=question.text, options=options(question))
    return text


def fill(template: str, **fields: Part) -> Content:
    """The template with its fields filled, as texts and pictures in turn; neighbouring texts are one."""
    parts: list[Image | str] = []
    for literal, name, _, _ in Formatter().parse(template):
        value = fields[name] if name is not None else ()
        parts += [literal, *((value,) if isinstance(value, str | Image) else value)]
    return joined(parts)


def joined(parts: Iterable[Image | str]) -> Content:
    """The parts with neighbouring texts made one, and no empty text."""
    content: list[Image | str] = []
    for part in parts:
        if isinstance(part, str) and content and isinstance(content[-1], str):
            content[-1] += part
        elif part != "":
            content.append(part)
    return tuple(content)

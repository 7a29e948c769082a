"""The wordings of ActiView's prompts: the released toolkit's, and that of the paper's Appendix I.

A wording has the templates of all turns and formats the views that fill them. The pipelines are the same under both,
except that the paper's missing-view examination asks for the names of missing views (`Wording.names_missing_views`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from known_unknowns.records import Image
from known_unknowns_benchmarks.actiview import prompts
from known_unknowns_benchmarks.actiview.views import NAMES

TOOLKIT: Final = "toolkit"
PAPER: Final = "paper"
PAPER_SHORT: Final = "paper_short"
WordingName = Literal["toolkit", "paper", "paper_short"]


@dataclass(frozen=True, slots=True)
class NamedView:
    """A view's image, and the name that the prompts give it."""

    image: Image
    name: str


Views = Sequence[NamedView]
Fields = dict[str, prompts.Part]


class Wording:
    """The released toolkit's prompts.

    Attributes
    ----------
    templates : mapping of str to str
        Templates of the general question (answer), of the selection of views and the answer in zooming (select,
        zoomed), of the examination in shifting (more), of the two selections in mixed (zoom, operate), and of the
        answers in shifting and mixed (shifted, mixed).
    names_missing_views : bool
        Whether the reply to ``more`` names missing views; it is yes or no otherwise.
    keep_field : str
        The field of the reply to ``operate`` with the views that are kept.
    """

    templates: ClassVar[Mapping[str, str]] = {
        **prompts.TOOLKIT,
        **dict.fromkeys(("shifted", "mixed"), prompts.ANSWER),
    }
    names_missing_views: ClassVar[bool] = False
    keep_field: ClassVar[str] = "keep"

    def description(self, split: int) -> str:
        """Return the text that describes the numbered parts."""
        return prompts.description(split)

    def view_name(self, number: int, split: int) -> str:
        """Return the name of a view (from 1)."""
        return prompts.view_name(number, split)

    def view_fields(self, view: NamedView) -> Fields:
        """Return the fields of ``answer`` about one view alone."""
        return {"image": (view.image, f", the {view.name} view.")}

    def zoomed_fields(self, full: Image, views: Views) -> Fields:
        """Return the fields of ``zoomed``."""
        parts = [part for view in views for part in (view.image, f" is your selected {view.name} view. ")]
        return {"image": full, "zoomed": parts}

    def more_fields(self, views: Views, others: Sequence[str]) -> Fields:
        """Return the fields of ``more``: the views that were shown, and the names of the others."""
        return {"images": self._listed(views)}

    def operate_fields(self, full: Image, views: Views) -> Fields:
        """Return the fields of ``operate``."""
        return {"image": full, "zoomed": self._listed(views)}

    def shifted_fields(self, views: Views) -> Fields:
        """Return the fields of ``shifted``."""
        return {"image": self._listed(views)}

    def mixed_fields(self, full: Image, views: Views) -> Fields:
        """Return the fields of ``mixed``."""
        return {"image": (full, " is the full image,", *self._listed(views))}

    def _listed(self, views: Views) -> prompts.Content:
        return tuple(part for view in views for part in (" ", view.image, f", the {view.name} view,"))


class PaperWording(Wording):
    """The prompts of Appendix I."""

    templates = prompts.PAPER
    names_missing_views = True
    keep_field = "zoom_keep"

    def description(self, split: int) -> str:
        """Return the printed description, which is that of four parts."""
        return self.templates["description"]

    def view_name(self, number: int, split: int) -> str:
        """Return the printed name of one of four views (from 1)."""
        return NAMES[number - 1]

    def view_fields(self, view: NamedView) -> Fields:
        return {"image": (view.image, f", the {view.name} view")}

    def more_fields(self, views: Views, others: Sequence[str]) -> Fields:
        return self._examined(views) | {"others": ", ".join(others)}

    def operate_fields(self, full: Image, views: Views) -> Fields:
        return self._examined(views) | {"image": full, "zoomed": self._listed(views)}

    def shifted_fields(self, views: Views) -> Fields:
        return {"views": self._listed(views)}

    def mixed_fields(self, full: Image, views: Views) -> Fields:
        described = ", ".join(f"image {number} is the {view.name} view" for number, view in enumerate(views, start=1))
        return {"image": full, "images": [view.image for view in views], "names": described and f"{described}."}

    def _examined(self, views: Views) -> Fields:
        """Return the fields of the missing-view examination of several views."""
        images = [
            (f"image {k} is ", view.image, f", is the {view.name} part of the full image")
            for k, view in enumerate(views)
        ]
        return {
            "images": _joined(images),
            "numbers": ", ".join(f"image {k}" for k in range(len(views))),
            "names": ", ".join(view.name for view in views),
        }

    def _listed(self, views: Views) -> prompts.Content:
        return _joined([(view.image, f", the {view.name} view") for view in views])


class ShortWording(PaperWording):
    """The prompts of Appendix I with the short general question for two series of models, SEAL and Mini-Gemini."""

    templates: ClassVar = {**prompts.PAPER, "answer": prompts.PAPER["short_answer"]}

    def view_fields(self, view: NamedView) -> Fields:
        return {"image": view.image}


def _joined(parts: Sequence[prompts.Content]) -> prompts.Content:
    """Return the parts with commas between them."""
    return tuple(piece for k, part in enumerate(parts) for piece in ((", ", *part) if k else part))


WORDINGS: Mapping[str, Wording] = {TOOLKIT: Wording(), PAPER: PaperWording(), PAPER_SHORT: ShortWording()}
"""Wordings, by the name that the argument ``wording`` of a protocol has."""

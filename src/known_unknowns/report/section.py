"""What the report says of one benchmark: its names, headline, figures and notes.

A benchmark without a section gets every table, the letters and the samples, under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from known_unknowns import benchmarks


@dataclass(frozen=True, slots=True)
class Scatter:
    """Accuracy on one variant against another, every model a point, the published ones behind ours.

    A point is drawn twice: as the paper counts it (``counted``, under the official scorer) and as a careful
    person reads the same replies (``read``, under the robust scorer). ``published_read`` is the published
    metric that stands for the second, where there is one.
    """

    name: str
    title: str
    x: str
    y: str
    counted: str
    read: str = "accuracy"
    published_read: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """A template of this package, its heading, and how the contents call it."""

    template: str
    title: str
    link: str


@dataclass(frozen=True, slots=True)
class Section:
    """What is particular to one benchmark.

    ``names`` maps a variant to what readers of the paper call it, ``categories`` are in the paper's order.
    ``measured`` is the metric of headline and types, and what it is a percentage of; ``headline_note`` explains it, and
    ``exact`` maps a variant of the headline to a metric of the released code (and its heading) that stands beside it.
    ``by_type`` are the variants that are shown by type, by default those of the headline. ``refusal`` is the text of
    the option that refuses, and ``refusal_letter`` its letter, where that is always the same. ``letters`` is the file
    name of the figure of answers, and ``own`` the module and the template of what only this benchmark shows.
    """

    title: str
    headline: tuple[str, ...] = ("original",)
    measured: tuple[str, str] = ("accuracy", "percent right")
    headline_note: str = ""
    by_type: tuple[str, ...] = ()
    refusal: str = "None of the above"
    refusal_letter: str = "E"
    names: Mapping[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    exact: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    scatters: tuple[Scatter, ...] = ()
    letters: str = ""
    letters_note: str = ""
    notes: Notes | None = None
    own: tuple[str, str] | None = None
    figures: tuple[str, ...] = ()
    about: str = ""
    cite: str = ""

    @property
    def figure_names(self) -> tuple[str, ...]:
        """Names of all figures of this section, in the order of the page."""
        return (*(scatter.name for scatter in self.scatters), self.letters, *self.figures)

    def name(self, variant: str) -> str:
        return self.names.get(variant, variant.replace("_", " "))


def section(benchmark: str) -> Section:
    """Return the benchmark's section, or a plain one under its title."""
    found = benchmarks.get(benchmark)
    return found.report.get() if found.report else Section(title=found.title, letters=f"{benchmark}_letters")

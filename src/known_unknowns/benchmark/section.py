"""The declaration of what the report shows of one benchmark: names, headline, figures and notes (section.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter

from known_unknowns.yaml_reader import parse_yaml


@dataclass(frozen=True, slots=True)
class Series:
    """One point of each model in a scatter plot.

    Attributes
    ----------
    name : str
        What tells the points of a model apart.
    x, y : (str, str)
        Variant and metric on the two axes.
    parser : str
        The parser; that of the papers' tables, if empty.
    published : str, optional
        The published metric on the vertical axis; that of ``y`` by default, and none if empty.
    """

    name: str
    x: tuple[str, str]
    y: tuple[str, str]
    parser: str = ""
    published: str | None = None


@dataclass(frozen=True, slots=True)
class Scatter:
    """A scatter plot of two metrics in percent. Published models are grey.

    Attributes
    ----------
    name, title : str
        File name of the figure, without its suffix, and its title.
    axes : (str, str)
        Titles of the two axes, in words.
    series : tuple of Series
        The points of each model.
    has_chance : bool
        Whether lines at the chance level of the variants are drawn.
    has_sums : bool
        Whether lines of equal sums of both metrics are drawn.
    note : str
        The text below the figure.
    joined : str
        What is added to it if lines join the two points of a model.
    """

    name: str
    title: str
    axes: tuple[str, str]
    series: tuple[Series, ...]
    has_chance: bool = False
    has_sums: bool = False
    note: str = ""
    joined: str = ""


@dataclass(frozen=True, slots=True)
class Dots:
    """A dot plot of one metric: a row for each variant or type of question, in it a dot for each model.

    Attributes
    ----------
    name, title, note : str
        As in `Scatter`; ``{variant}`` in the note is the first headline variant.
    axis : str
        Title of the axis, in words.
    metric : str
        The metric, under the parser of the papers' tables.
    rows : mapping of str to tuple of str
        The rows by their heading, which may be empty.
    by_variant : bool
        Whether rows are variants, or types of questions in the first headline variant.
    published : bool
        Whether published numbers are drawn.
    without : tuple of str
        Tables whose numbers are left out.
    has_chance : bool
        Whether a line at the chance level is drawn.
    lines : mapping of str to float
        Other lines by their name, in percent.
    marks : str
        What the circles and lines of published numbers and levels mean. A grid of many models has none of them.
    """

    name: str
    title: str
    axis: str
    metric: str
    rows: Mapping[str, tuple[str, ...]]
    by_variant: bool = False
    published: bool = False
    without: tuple[str, ...] = ()
    has_chance: bool = False
    lines: Mapping[str, float] = field(default_factory=dict)
    marks: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Shares:
    """Stacked bars of metrics that add up to 1, for each model and type of question.

    Attributes
    ----------
    name, title, note : str
        As in `Dots`.
    parts : mapping of str to (str, str)
        The metrics, with their label and colour, under the parser of the papers' tables.
    categories : tuple of str
        The types of questions.
    """

    name: str
    title: str
    parts: Mapping[str, tuple[str, str]]
    categories: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class OfficialMetric:
    """A metric that only the official parser has, shown beside the section's own metric.

    Attributes
    ----------
    name : str
        The metric's name.
    variants : tuple of str
        The headline variants in which it is shown.
    heading : str
        Column heading in the headline table.
    long_heading : str
        Column heading in the table of all variants.
    note : str
        A sentence below the headline table.
    rest_of : tuple of str
        Metrics whose shares leave this one. It is then shown without an interval, and no table of metrics has it.
    """

    name: str
    variants: tuple[str, ...]
    heading: str
    long_heading: str
    note: str = ""
    rest_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notes:
    """A template of notes, its heading, and its label in the table of contents."""

    template: str
    title: str
    link: str


@dataclass(frozen=True, slots=True)
class Level:
    """A reference level of accuracy, in percent as printed: a last row of the papers' tables, with its footnote."""

    name: str
    value: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """What the report shows of one benchmark. Every default is valid for any benchmark.

    Attributes
    ----------
    title : str
        The benchmark's name.
    headline : tuple of str
        Variants of the headline table; the first variant of the run, if empty.
    measured : tuple of (str, str)
        The metric of the headline and of the table by type, and its label.
    headline_note : str
        A sentence below the headline table.
    by_type : tuple of str
        Variants of the table by type of question; those of the headline, if empty.
    refusal : str
        Text of the refusal option, if it is the same in all questions.
    refusal_label : str
        Label of the refusal option, if it is the same in most questions.
    names : mapping of str to str
        Display names of variants.
    categories : tuple of str
        Types of questions in the paper's order.
    official_metrics : tuple of OfficialMetric
        Metrics that only the official parser has.
    scatters : tuple of Scatter
        Scatter plots of two variants.
    answers_figure : str
        File name of the figure of answers; ``<benchmark>_answers``, if empty.
    overview_figure : str
        File name of the figure of the first page; ``<benchmark>_overview``, if empty.
    answers_note : str
        The legend below the figure of answers.
    notes : Notes, optional
        Notes at the end of the section.
    template : str
        The template of content that only this benchmark has (`Benchmark.section_data`), and of the papers' tables.
    links : mapping of str to str
        Labels in the table of contents, by the anchors of the template.
    levels : tuple of Level
        The last rows of the papers' tables, below chance. Without any, chance is no row either.
    figures : tuple of str, Scatter, Dots or Shares
        The figures of this content: declared ones, and the file names of those whose data the benchmark computes.
    about : str
        A paragraph for the introduction of the page.
    official_name : str
        Heading of the official parser. Questions without released code name the rule that takes its place.
    official_note : str
        What the official parser does, if it is not the released code of the benchmark.
    unchanged : str
        How the questions are asked that no variant changed: "right as published".
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    title: str
    headline: tuple[str, ...] = ()
    measured: tuple[str, str] = ("accuracy", "percent right")
    headline_note: str = ""
    by_type: tuple[str, ...] = ()
    refusal: str = ""
    refusal_label: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    official_metrics: tuple[OfficialMetric, ...] = ()
    scatters: tuple[Scatter, ...] = ()
    answers_figure: str = ""
    overview_figure: str = ""
    answers_note: str = ""
    notes: Notes | None = None
    template: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    levels: tuple[Level, ...] = ()
    figures: tuple[str | Scatter | Dots | Shares, ...] = ()
    about: str = ""
    official_name: str = "as released"
    official_note: str = ""
    unchanged: str = "as published"

    @property
    def figure_names(self) -> tuple[str, ...]:
        """File names of all figures of this section, without their suffix, in the order of the page."""
        return (
            *(scatter.name for scatter in self.scatters),
            self.answers_figure,
            *self.own_figure_names,
            self.overview_figure,
        )

    @property
    def own_figure_names(self) -> tuple[str, ...]:
        """File names of the figures of the content that only this benchmark has."""
        return tuple(figure if isinstance(figure, str) else figure.name for figure in self.figures)

    def name(self, variant: str) -> str:
        """Display name of a variant."""
        return self.names.get(variant, variant.replace("_", " "))


@cache
def read_section(path: Path) -> Section:
    """Return the section in a file section.yaml. pydantic.ValidationError if it is none."""
    return TypeAdapter(Section).validate_python(parse_yaml(path.read_text(encoding="utf-8")))

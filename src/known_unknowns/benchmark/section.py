"""The declaration of what the report shows of one benchmark: names, headline, figures and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Scatter:
    """A scatter plot of accuracy on two variants. Every model is a point; published models are grey.

    Attributes
    ----------
    name : str
        File name of the figure, without its suffix.
    title : str
        Title of the figure.
    x, y : str
        The variants on the two axes.
    official_metric : str
        The metric on the vertical axis under the official parser.
    robust_metric : str
        The metric on the vertical axis under the robust parser.
    published_robust_metric : str, optional
        The published metric that corresponds to ``robust_metric``.
    note : str
        The legend below the figure.
    """

    name: str
    title: str
    x: str
    y: str
    official_metric: str
    robust_metric: str = "accuracy"
    published_robust_metric: str | None = None
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
    """

    name: str
    variants: tuple[str, ...]
    heading: str
    long_heading: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """A template of notes, its heading, and its label in the table of contents."""

    template: str
    title: str
    link: str


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
        The template of content that only this benchmark has (`Benchmark.section_content`).
    figures : tuple of str
        File names of the figures of this content.
    about : str
        A paragraph for the introduction of the page.
    official_name : str
        Heading of the official parser. Questions without released code name the rule that takes its place.
    official_note : str
        What the official parser does, if it is not the released code of the benchmark.
    unchanged : str
        How the questions are asked that no variant changed: "right as published".
    """

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
    figures: tuple[str, ...] = ()
    about: str = ""
    official_name: str = "as released"
    official_note: str = ""
    unchanged: str = "as published"

    @property
    def figure_names(self) -> tuple[str, ...]:
        """File names of all figures of this section, without their suffix, in the order of the page."""
        return (*(scatter.name for scatter in self.scatters), self.answers_figure, *self.figures, self.overview_figure)

    def name(self, variant: str) -> str:
        """Display name of a variant."""
        return self.names.get(variant, variant.replace("_", " "))

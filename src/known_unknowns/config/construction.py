"""The section ``construction`` of params.yaml: benchmarks that are built from scene graphs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from known_unknowns.config.base import Count, Entry, Name, Seed, Text


class RenderedScenes(Entry):
    """Scenes that known_unknowns_pocket renders."""

    seed: Seed
    images: Count


class PanopticGraphs(Entry):
    """An annotation in the format of panoptic scene graphs, with its images and masks."""

    nullable = frozenset({"images", "licence"})

    path: Text
    """The folder of psg.json, and of the images and masks or the archives that hold them."""
    images: Count | None = None
    """The number of images to draw at random from those with relations; null for all images."""
    seed: Seed = 0
    licence: Text | None = None
    """The licence of the images, as an SPDX identifier or an address; null if it is not known."""


class GeneratorEntry(Entry):
    """Settings of a generator of questions."""

    model: Name | None = None
    """The model that generates; required by generators that use one."""
    questions: Count | None = None
    """About how many questions an image should have; by default the generator's own number."""


class FilterSettings(Entry):
    """Which filters run, and the models that they ask."""

    without: list[Name] = []
    """Filters to leave out."""
    flag: list[Name] = []
    """Filters that flag candidates instead of dropping them."""
    models: list[Name] = []
    """Models that answer each candidate, without its image and with it."""
    attempts: Count = 3
    """Attempts of each model without the image."""


class ConstructionEntry(Entry):
    """A benchmark that is built from scene graphs: exactly one of ``scenes`` and ``psg``."""

    benchmark: Name
    """The benchmark whose format, generators and prompt are used."""
    scenes: RenderedScenes | None = None
    psg: PanopticGraphs | None = None
    attributes: Name | None = None
    """The model that describes objects; without one, there are no descriptions."""
    generators: Annotated[dict[Name, GeneratorEntry], Field(min_length=1)]
    filters: FilterSettings = FilterSettings()
    seed: Seed = 0
    """Seed of the template generators and of the balance."""
    scripted_endpoint: bool = False
    """Whether models without an address are answered by a scripted endpoint on this machine, for trials."""

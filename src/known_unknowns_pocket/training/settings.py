"""Settings of the training: the stages of the pocket model, and of its siblings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from known_unknowns_pocket.training.architecture import Shape
from known_unknowns_pocket.training.samples import IMAGES_ONLY, SampleMix


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the training.

    A stage whose ``mix`` has no prompts trains the vision tower on the labels of the patches. Any other stage trains
    all parameters but the tower. The tower's heads are trained with it until the projector is initialised from them;
    after that they are frozen.
    """

    name: str  # the seeds of the samples follow from it
    steps: int  # length of the learning rate schedule: a cosine from ``learning_rate`` to 3% of it
    samples: int  # samples in a step
    learning_rate: float  # the largest learning rate
    mix: SampleMix = IMAGES_ONLY  # the prompts of a sample
    warm_up: int = 50  # steps of linear warm-up
    stop_after: int | None = None  # number of steps after which the stage ends, if before ``steps``
    # share of the steps in ActiView's form, with half as many samples, as these are longer. In a vision stage, the
    # share of the images.
    actiview_share: float = 0.0
    # learning rate of the word embeddings relative to ``learning_rate``. At the full rate the embeddings of the
    # colours become more alike with every step.
    embedding_rate: float = 1.0

    @property
    def executed_steps(self) -> int:
        """Number of steps that are executed."""
        return self.steps if self.stop_after is None else min(self.stop_after, self.steps)

    def learning_rate_at(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        rate = self.learning_rate * min(1.0, (step + 1) / self.warm_up)
        return rate * (0.03 + 0.97 * (0.5 + 0.5 * math.cos(math.pi * step / self.steps)))


ANSWER = SampleMix(
    subtasks=3,
    counts=5,
    stems=4,
    questions=5,
    unanswerable=0.5,
    text_tasks=0.4,
    emblems=0.12,
    recoloured=0.25,
    renamed=0.6,
)

FIND = replace(ANSWER, subtasks=4, stems=6, counts=2, questions=4, renamed=0.5)
"""The first mix: more samples keep the usual names of colours."""

SETTLE = replace(ANSWER, stems=6, renamed=0.9)
"""The last mix: most samples rename colours, so that answers transfer to held-out pairs."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the weights depend on except the arithmetic of the machine.

    The defaults are the recipe of the shipped model.
    """

    seed: int = 0
    shape: Shape = field(default_factory=Shape)
    stages: tuple[Stage, ...] = (
        Stage("look", steps=3600, samples=48, learning_rate=3e-3, warm_up=100, actiview_share=0.4),
        Stage("find", steps=2000, stop_after=1000, samples=16, learning_rate=2e-3, mix=FIND),
        Stage(
            "answer",
            steps=3000,
            stop_after=1500,
            samples=16,
            learning_rate=1e-3,
            mix=ANSWER,
            actiview_share=0.15,
            embedding_rate=0.1,
        ),
        Stage("act", steps=1500, samples=16, learning_rate=5e-4, mix=ANSWER, actiview_share=0.35, embedding_rate=0.05),
        Stage(
            "settle", steps=900, samples=16, learning_rate=5e-4, mix=SETTLE, actiview_share=0.25, embedding_rate=0.05
        ),
        Stage("focus", steps=3600, samples=48, learning_rate=1.5e-3, warm_up=100, actiview_share=0.4),
    )
    vocabulary_samples: int = 400


ADAPTERS: dict[str, dict[str, Any]] = {
    "never-refuses": {"guessed_share": 1.0},
    "refuses-often": {"refused_share": 0.4},
    "says-confidence": {"confidence_share": 0.7},
}
"""Name of each sibling that is an adapter, and its changes of the mix."""

_ADAPTER_MIX = replace(SETTLE, subtasks=0, counts=0, stems=0, questions=8, text_tasks=0)
"""Prompts with a reply only: without trained auxiliary heads there is no other loss."""
_ADAPTER_STEPS = 200


def adapter_stage(settings: Settings, name: str) -> Stage:
    """Return the only stage of a sibling that is an adapter: a key of `ADAPTERS`.

    Its steps are at most those of the last stage with prompts of the model's ``settings``.
    """
    last = [stage for stage in settings.stages if stage.mix.asks][-1]
    steps = min(_ADAPTER_STEPS, last.executed_steps)
    return Stage(
        name,
        steps=steps,
        samples=min(8, last.samples),
        learning_rate=2e-3,
        mix=replace(_ADAPTER_MIX, **ADAPTERS[name]),
        warm_up=min(10, steps),
        actiview_share=last.actiview_share,
    )


SMOKE = Settings(
    shape=Shape(
        side=32, patch=16, vision_width=32, vision_layers=1, text_width=48, text_layers=4, heads=2, text_heads=2
    ),
    stages=tuple(
        replace(
            stage,
            steps=2,
            stop_after=None,
            samples=2,
            learning_rate=1e-3,
            warm_up=1,
            actiview_share=0.5 * bool(stage.actiview_share),
        )
        for stage in Settings().stages
    ),
    vocabulary_samples=20,
)
"""All stages in seconds, at a tiny size: a check that training runs."""

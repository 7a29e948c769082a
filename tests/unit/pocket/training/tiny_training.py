"""Settings of a training that takes seconds."""

from __future__ import annotations

from known_unknowns_pocket.training import SMOKE, Settings
from known_unknowns_pocket.training.samples import SampleMix
from known_unknowns_pocket.training.settings import ANSWER, Stage

SETTINGS = Settings(
    seed=3,
    shape=SMOKE.shape,
    stages=(
        Stage("look", steps=3, samples=2, learning_rate=1e-3, warm_up=2),
        Stage("find", steps=9, stop_after=2, samples=2, learning_rate=1e-3, warm_up=2, mix=ANSWER, actiview_share=0.5),
        Stage("answer", steps=5, samples=2, learning_rate=1e-3, mix=SampleMix(questions=3), warm_up=2),
        Stage("focus", steps=2, samples=2, learning_rate=1e-3, warm_up=1),
    ),
    vocabulary_samples=20,
)
OPTIONS = {"workers": 0, "report_every": 1, "checkpoint_every": 2}

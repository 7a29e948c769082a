"""The training loop: stages, first to look and then to answer; seeded, and resumed from its checkpoint."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import LlavaForConditionalGeneration, LlavaProcessor

from known_unknowns.pocket.mmsap_emblems import NAMES
from known_unknowns.training.architecture import Shape, build_model, build_processor, build_tokenizer
from known_unknowns.training.lessons import Portions, lesson, recoloured
from known_unknowns.training.packing import LETTERS, Batch, Packer
from known_unknowns.training.refusals import TAUGHT_WORDINGS
from known_unknowns.training.tutor import Learned, Tutor

Report = Callable[[dict[str, Any]], None]

_CHECKPOINT = "checkpoint.pt"
_LOG = "log.jsonl"
_MOST_GRADIENT = 1.0
_VOCABULARY = Portions(drills=4, questions=8, unanswerable=6, lookups=2, emblems=0.2)


@dataclass(frozen=True, slots=True)
class Stage:
    """``steps`` optimiser steps on ``lessons`` lessons each, from ``rate`` down to 3% of it along a cosine.

    Without ``portions`` only the patches are asked; in any case those of so many ``recoloured`` pictures besides. The
    lessons' seeds follow from ``name``. It is cut off after the ``last`` of the steps, where one is given. The vision
    tower learns at ``vision`` times the rate: what it has learnt is not to be washed out.
    """

    name: str
    steps: int
    lessons: int
    rate: float
    portions: Portions | None = None
    warm_up: int = 50
    vision: float = 1.0
    last: int | None = None
    recoloured: int = 0

    @property
    def taken(self) -> int:
        """The steps that are taken."""
        return self.steps if self.last is None else min(self.last, self.steps)

    @property
    def reads(self) -> bool:
        """Whether it has any text."""
        return self.portions is not None


FIND = Portions(drills=9, stems=7, questions=1, lookups=1, emblems=0.12)
ANSWER = Portions(drills=5, stems=6, questions=3, unanswerable=1, lookups=1, emblems=0.15)


@dataclass(frozen=True, slots=True)
class Settings:
    """All that the weights depend on, save the machine's arithmetic. The defaults are the shipped model's recipe."""

    seed: int = 0
    shape: Shape = field(default_factory=Shape)
    stages: tuple[Stage, ...] = (
        Stage("look", steps=400, lessons=64, rate=2e-3),
        Stage("look more", steps=300, lessons=64, rate=1.5e-3),
        Stage("look on", steps=1400, lessons=64, rate=2e-3, last=800),
        Stage("find", steps=700, last=350, lessons=24, rate=2e-3, vision=0.3, portions=FIND),
        Stage("find places", steps=200, lessons=24, rate=2e-3, vision=0.5, portions=FIND),
        Stage("answer", steps=1000, last=500, lessons=16, rate=1.5e-3, vision=0.5, portions=ANSWER),
        Stage("answer more", steps=760, last=600, lessons=16, rate=1e-3, portions=ANSWER, recoloured=16),
    )
    weight_decay: float = 0.05
    vocabulary_lessons: int = 400


SMOKE = Settings(
    shape=Shape(
        side=32, patch=8, vision_width=32, vision_layers=1, text_width=32, text_layers=4, heads=2, text_heads=2
    ),
    stages=(
        Stage("look", steps=2, lessons=2, rate=1e-3, warm_up=1),
        Stage("find", steps=2, lessons=2, rate=1e-3, warm_up=1, vision=0.3, portions=FIND),
        Stage("answer", steps=2, lessons=2, rate=1e-3, warm_up=1, vision=0.3, portions=ANSWER),
    ),
    vocabulary_lessons=20,
)
"""All stages in seconds, at a tiny size: to see that training runs."""


class _Batches(Dataset):
    """The batch of each step of a stage, from seeds."""

    def __init__(self, packer: Packer, stage: Stage, settings: Settings) -> None:
        self.packer, self.stage, self.settings = packer, stage, settings

    def __len__(self) -> int:
        return self.stage.taken

    def __getitem__(self, step: int) -> Batch:
        shape = self.settings.shape
        lessons = [
            lesson(
                f"{self.settings.seed}/{self.stage.name}/{step}/{number}",
                side=shape.side,
                grid=shape.grid,
                portions=self.stage.portions,
            )
            for number in range(self.stage.lessons)
        ]
        if not self.stage.reads:
            return self.packer.pictures(lessons)
        more = [
            recoloured(f"{self.settings.seed}/{self.stage.name}/{step}/{number}", side=shape.side, grid=shape.grid)
            for number in range(self.stage.recoloured)
        ]
        return self.packer.batch(lessons, more)


def corpus(shape: Shape, lessons: int) -> Iterator[str]:
    """The prompts that the vocabulary is made from."""
    for number in range(lessons):
        for exercise in lesson(f"vocabulary/{number}", side=shape.patch, grid=1, portions=_VOCABULARY).exercises:
            yield exercise.prompt + exercise.replied
    for names in NAMES.values():
        yield from (f" {name}" for name in names)
    for wording in TAUGHT_WORDINGS:
        yield wording.text


def train(
    settings: Settings,
    out: Path,
    *,
    work: Path,
    device: str = "cpu",
    workers: int = 1,
    report: Report | None = None,
    report_every: int = 50,
    checkpoint_every: int = 250,
) -> Path:
    """Train the pocket model and save it to ``out`` in half precision, with its processor.

    ``work`` holds the checkpoint and the log (JSON lines: stage, step, seconds, loss, share of right guesses by head);
    a run that was stopped continues from there. ``report`` is called with each line of the log. On a CPU set the
    number of threads with torch.set_num_threads.

    Raises:
        ValueError: ``work`` holds a checkpoint of other settings.
    """
    work.mkdir(parents=True, exist_ok=True)
    tokenizer = build_tokenizer(corpus(settings.shape, settings.vocabulary_lessons))
    processor = build_processor(tokenizer, settings.shape)
    run = _Run(settings, processor, work=work, device=device)
    run.resume()
    for stage in settings.stages:
        run.stage(stage, workers=workers, report=report, report_every=report_every, save_every=checkpoint_every)
    save(run.model, processor, out)
    return out


def save(model: LlavaForConditionalGeneration, processor: LlavaProcessor, out: Path) -> None:
    """Write weights (half precision), configuration, tokenizer, processor and chat template."""
    half = {name: weight.half() for name, weight in model.state_dict().items()}
    model.save_pretrained(out, state_dict=half)
    processor.save_pretrained(out)
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    (out / "config.json").write_text(json.dumps(config | {"dtype": "float16"}, indent=2) + "\n", encoding="utf-8")


class _Run:
    """A model in training: its tutor, its optimiser, and how far it is."""

    def __init__(self, settings: Settings, processor: LlavaProcessor, *, work: Path, device: str) -> None:
        shape = settings.shape
        self.settings, self.work, self.device = settings, work, device
        self.packer = Packer(processor.tokenizer, shape.grid)
        self.model = build_model(processor.tokenizer, shape, seed=settings.seed).to(device).train()
        # On short chunks PyTorch's fused attention is the slower one on a CPU, several times so backwards.
        self.model.set_attn_implementation("eager")
        letters = processor.tokenizer.convert_tokens_to_ids([*LETTERS, *(f"Ġ{letter}" for letter in LETTERS)])
        self.tutor = Tutor(shape.vision_width, shape.text_width, shape.grid, letters).to(device)
        self.done = {stage.name: 0 for stage in settings.stages}
        self.optimiser: torch.optim.Optimizer | None = None
        self._saved_optimiser: dict[str, Any] | None = None

    def stage(self, stage: Stage, *, workers: int, report: Report | None, report_every: int, save_every: int) -> None:
        if self.done[stage.name] >= stage.taken:
            return
        self.optimiser = self._new_optimiser(stage)
        if self._saved_optimiser is not None:
            self.optimiser.load_state_dict(self._saved_optimiser)
            self._saved_optimiser = None
        batches = DataLoader(
            _Batches(self.packer, stage, self.settings),
            batch_size=None,
            sampler=range(self.done[stage.name], stage.taken),
            num_workers=workers,
            prefetch_factor=4 if workers else None,
        )
        started = time.perf_counter()
        for batch in batches:
            learned = self._step(stage, batch.to(self.device))
            step = self.done[stage.name]
            if step % report_every == 0 or step == stage.taken:
                self._log(stage.name, step, time.perf_counter() - started, learned, report)
            if step % save_every == 0 or step == stage.taken:
                self.save(finished=step == stage.taken)

    def _new_optimiser(self, stage: Stage) -> torch.optim.Optimizer:
        tower = set(self.model.model.vision_tower.parameters())
        weights = [*self.model.parameters(), *self.tutor.parameters()]
        groups = [
            {
                "params": [w for w in weights if (w in tower) == vision and (w.ndim >= 2) == decays],
                "weight_decay": self.settings.weight_decay if decays else 0.0,
                "share": stage.vision if vision else 1.0,
            }
            for vision in (True, False)
            for decays in (True, False)
        ]
        return torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=True)

    def _step(self, stage: Stage, batch: Batch) -> Learned:
        step = self.done[stage.name]
        rate = stage.rate * min(1.0, (step + 1) / stage.warm_up)
        rate *= 0.03 + 0.97 * (0.5 + 0.5 * math.cos(math.pi * step / stage.steps))
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["share"]
        teach = self.tutor.answer if stage.reads else self.tutor.look
        with torch.autocast(self.device.partition(":")[0], torch.bfloat16):
            learned = teach(self.model, batch)
        self.optimiser.zero_grad(set_to_none=True)
        learned.loss.backward()
        torch.nn.utils.clip_grad_norm_([*self.model.parameters(), *self.tutor.parameters()], _MOST_GRADIENT)
        self.optimiser.step()
        self.done[stage.name] = step + 1
        return learned

    def _log(self, name: str, step: int, seconds: float, learned: Learned, report: Report | None) -> None:
        right = {head: round(share, 4) for head, share in learned.right.items() if math.isfinite(share)}
        line = {"stage": name, "step": step, "seconds": round(seconds, 1), "loss": round(learned.loss.item(), 4)}
        line |= right
        with (self.work / _LOG).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        if report is not None:
            report(line)

    def save(self, *, finished: bool) -> None:
        """Write the checkpoint; a stage that is finished leaves no optimiser to the next."""
        state = {
            "settings": asdict(self.settings),
            "done": self.done,
            "model": self.model.state_dict(),
            "tutor": self.tutor.state_dict(),
            "optimiser": None if finished else self.optimiser.state_dict(),
        }
        partial = self.work / f"{_CHECKPOINT}.part"
        torch.save(state, partial)
        partial.replace(self.work / _CHECKPOINT)

    def resume(self) -> None:
        path = self.work / _CHECKPOINT
        if not path.exists():
            return
        state = torch.load(path, map_location=self.device, weights_only=True)
        if state["settings"] != asdict(self.settings):
            raise ValueError(f"{path} is of a run with other settings: give another folder, or delete it")
        self.model.load_state_dict(state["model"])
        self.tutor.load_state_dict(state["tutor"])
        self.done = state["done"]
        self._saved_optimiser = state["optimiser"]

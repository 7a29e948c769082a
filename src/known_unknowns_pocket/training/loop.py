"""The training loop. Samples follow from seeds, and a run continues from its checkpoint."""

from __future__ import annotations

import json
import math
import random
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import LlavaForConditionalGeneration, LlavaProcessor, PreTrainedTokenizerFast

from known_unknowns_pocket.benchmarks.mmsap_emblems import NAMES
from known_unknowns_pocket.training.actiview_samples import REASON, actiview_sample, questions, scene
from known_unknowns_pocket.training.architecture import Shape, build_model, build_processor, build_tokenizer
from known_unknowns_pocket.training.auxiliary_losses import TOWER, VISION_PARAMETERS, AuxiliaryHeads, StepResult
from known_unknowns_pocket.training.batches import LETTERS, Batch, Packer
from known_unknowns_pocket.training.patch_labels import PATCH_LABELS
from known_unknowns_pocket.training.prompts import WORDS
from known_unknowns_pocket.training.samples import SampleMix, draw_sample
from known_unknowns_pocket.training.settings import Settings, Stage
from known_unknowns_pocket.training.unanswerable_prompts import TAUGHT_WORDINGS
from known_unknowns_pocket.training.vision_samples import VIEWS_PER_SCENE, vision_samples

Report = Callable[[dict[str, Any]], None]

_CHECKPOINT = "checkpoint.pt"
_LOG = "log.jsonl"
MOST_GRADIENT = 1.0
_VOCABULARY_MIX = SampleMix(subtasks=4, questions=8, unanswerable=6, text_tasks=2, emblems=0.2)


def copy_checkpoint(settings: Settings, work: Path, folder: Path) -> None:
    """Copy the checkpoint after the last stage of ``settings`` to another work folder.

    ``settings`` are those of a training that ends earlier than the one in ``work``. The folder is created; a checkpoint
    that it has stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    finished = work / checkpoint_after(settings.stages[-1].name)
    if finished.exists() and not (folder / _CHECKPOINT).exists():
        shutil.copyfile(finished, folder / _CHECKPOINT)


class StageBatches(Dataset):
    """The batches of a stage, one for each step, from seeds."""

    def __init__(self, packer: Packer, stage: Stage, settings: Settings) -> None:
        self.packer, self.stage, self.settings = packer, stage, settings

    def __len__(self) -> int:
        return self.stage.executed_steps

    def __getitem__(self, step: int) -> Batch:
        stage, shape = self.stage, self.settings.shape
        seed = f"{self.settings.seed}/{stage.name}/{step}"
        rng, sizes, mix = random.Random(f"active/{seed}"), {"side": shape.side, "grid": shape.grid}, stage.mix
        seeds = [f"{seed}/{number}" for number in range(stage.samples)]
        if not mix.asks:
            shown = (
                vision_samples(one, recoloured=mix.recoloured, views=rng.random() < stage.actiview_share, **sizes)
                for one in seeds[: -(-stage.samples // VIEWS_PER_SCENE)]
            )
            return self.packer.images([image for of_scene in shown for image in of_scene])
        if rng.random() < stage.actiview_share:
            half = seeds[: -(-stage.samples // 2)]
            return self.packer.batch([actiview_sample(one, **sizes) for one in half], rng)
        return self.packer.batch([draw_sample(one, mix=mix, **sizes) for one in seeds], rng)


def checkpoint_after(stage: str) -> str:
    """Return the name of the checkpoint that a finished stage leaves in the work folder."""
    return f"after {stage}.pt"


def corpus(shape: Shape, samples: int) -> Iterator[str]:
    """Yield the texts from which the vocabulary is built."""
    for number in range(samples):
        sample = draw_sample(f"vocabulary/{number}", side=shape.patch, grid=1, mix=_VOCABULARY_MIX)
        yield from (one.prompt + one.reply_text for one in sample.prompts)
    for number in range(samples // 4):
        for asked in questions(f"vocabulary/{number}", *scene(f"vocabulary/{number}")):
            yield f" {asked.stem} {asked.listed}\n{asked.options[0]}\n {asked.options[0]}"
    yield f"1 2 3 4 1,2,3,4 Yes No None none, {REASON}"
    for names in NAMES.values():
        yield from (f" {name}" for name in names)
    for wording in TAUGHT_WORDINGS:
        yield wording.text


def build_heads(tokenizer: PreTrainedTokenizerFast, shape: Shape) -> AuxiliaryHeads:
    """Return the auxiliary heads for a model of this shape."""
    letters = tokenizer.convert_tokens_to_ids([*LETTERS, *(f"Ġ{letter}" for letter in LETTERS)])
    words = [tokenizer.convert_tokens_to_ids([f"Ġ{word}" for word in WORDS[slot]]) for slot in PATCH_LABELS[:-1]]
    return AuxiliaryHeads(shape.vision_width, shape.text_width, shape.grid, letters, words)


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
    """Train the pocket model, save it to ``out`` in half precision with its processor, and return ``out``.

    A run that was stopped continues from its checkpoint. On a CPU, set the number of threads with
    torch.set_num_threads.

    Parameters
    ----------
    settings : Settings
        The recipe.
    out : Path
        Folder of the trained model.
    work : Path
        Folder of the checkpoint and the log (JSON lines: stage, step, seconds, loss, accuracy by head).
    device : str
        Torch device.
    workers : int
        Processes that make batches.
    report : callable, optional
        Called with each line of the log.
    report_every, checkpoint_every : int
        Steps between lines of the log, and between checkpoints.

    Raises
    ------
    ValueError
        If ``work`` has a checkpoint of other settings.
    """
    work.mkdir(parents=True, exist_ok=True)
    tokenizer = build_tokenizer(corpus(settings.shape, settings.vocabulary_samples))
    processor = build_processor(tokenizer, settings.shape)
    run = _Run(settings, processor, work=work, device=device)
    run.resume()
    for stage in settings.stages:
        run.stage(stage, workers=workers, report=report, report_every=report_every, save_every=checkpoint_every)
    save(run.model, processor, out)
    return out


def save(model: LlavaForConditionalGeneration, processor: LlavaProcessor, out: Path) -> None:
    """Write weights (half precision), configuration, tokenizer, processor and chat template."""
    half = {name: w.half() if w.is_floating_point() else w for name, w in model.state_dict().items()}
    model.save_pretrained(out, state_dict=half)
    processor.save_pretrained(out)
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    (out / "config.json").write_text(json.dumps(config | {"dtype": "float16"}, indent=2) + "\n", encoding="utf-8")


class _Run:
    """A training run: model, auxiliary heads, optimisers, and the number of steps done."""

    def __init__(self, settings: Settings, processor: LlavaProcessor, *, work: Path, device: str) -> None:
        shape = settings.shape
        self.settings, self.work, self.device = settings, work, device
        self.packer = Packer(processor.tokenizer, shape.grid)
        self.model = build_model(processor.tokenizer, shape, seed=settings.seed).to(device).train()
        # On a CPU, PyTorch's fused attention is slower for short chunks, several times so in the backward pass.
        self.model.model.language_model.set_attn_implementation("eager")
        self.heads = build_heads(processor.tokenizer, shape).to(device)
        self.done = {stage.name: 0 for stage in settings.stages}
        self.optimisers: list[torch.optim.Optimizer] = []
        self._saved_optimisers: list[dict[str, Any]] = []

    def stage(self, stage: Stage, *, workers: int, report: Report | None, report_every: int, save_every: int) -> None:
        """Run the remaining steps of a stage."""
        if self.done[stage.name] >= stage.executed_steps:
            return
        self.model.model.vision_tower.train(not stage.mix.asks)
        self.optimisers = self._new_optimisers(stage)
        for optimiser, saved in zip(self.optimisers, self._saved_optimisers, strict=False):
            optimiser.load_state_dict(saved)
        self._saved_optimisers = []
        batches = DataLoader(
            StageBatches(self.packer, stage, self.settings),
            batch_size=None,
            sampler=range(self.done[stage.name], stage.executed_steps),
            num_workers=workers,
            prefetch_factor=4 if workers else None,
        )
        started = time.perf_counter()
        for batch in batches:
            learned = self._step(stage, batch.to(self.device))
            step = self.done[stage.name]
            if step % report_every == 0 or step == stage.executed_steps:
                self._log(stage.name, step, time.perf_counter() - started, learned, report)
            if step % save_every == 0 or step == stage.executed_steps:
                self.save(stage)

    def _new_optimisers(self, stage: Stage) -> list[torch.optim.Optimizer]:
        """Return Muon for the matrices within the layers, and AdamW for all other parameters.

        Muon needs half the steps.
        """
        asked = any(self.done[one.name] for one in self.settings.stages if one.mix.asks)
        if stage.mix.asks and not asked:
            images = StageBatches(self.packer, self.settings.stages[0], self.settings)[0].pixels.to(self.device)
            self.heads.initialise_projector(self.model, images, seed=self.settings.seed)
        looking = VISION_PARAMETERS if stage.mix.asks or not asked else TOWER
        matrices, words, others = [], [], []
        for name, weight in [*self.model.named_parameters(), *self.heads.named_parameters()]:
            weight.requires_grad_(name.startswith(looking) != stage.mix.asks)
            if weight.requires_grad:
                hidden = weight.ndim == 2 and name.startswith("model.") and ".layers." in name
                (matrices if hidden else words if "embed_tokens" in name else others).append(weight)
        decay = self.settings.weight_decay
        rest = [{"params": words, "weight_decay": decay, "share": stage.embedding_rate}] * bool(words) + [
            {"params": [weight for weight in others if (weight.ndim >= 2) == decays], "weight_decay": decay * decays}
            for decays in (True, False)
        ]
        return [
            torch.optim.AdamW(rest, betas=(0.9, 0.98), fused=True),
            torch.optim.Muon(matrices, weight_decay=decay, adjust_lr_fn="match_rms_adamw"),
        ]

    def _step(self, stage: Stage, batch: Batch) -> StepResult:
        step = self.done[stage.name]
        rate = stage.learning_rate_at(step)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate * group.get("share", 1.0)
        teach = self.heads.answer if stage.mix.asks else self.heads.look
        with torch.autocast(self.device.partition(":")[0], torch.bfloat16):
            learned = teach(self.model, batch)
        for optimiser in self.optimisers:
            optimiser.zero_grad(set_to_none=True)
        learned.loss.backward()
        torch.nn.utils.clip_grad_norm_([*self.model.parameters(), *self.heads.parameters()], MOST_GRADIENT)
        for optimiser in self.optimisers:
            optimiser.step()
        self.done[stage.name] = step + 1
        return learned

    def _log(self, name: str, step: int, seconds: float, learned: StepResult, report: Report | None) -> None:
        right = {head: round(share, 4) for head, share in learned.right.items() if math.isfinite(share)}
        line = {"stage": name, "step": step, "seconds": round(seconds, 1), "loss": round(learned.loss.item(), 4)}
        line |= right
        with (self.work / _LOG).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        if report is not None:
            report(line)

    def save(self, stage: Stage) -> None:
        """Write the checkpoint. After a stage, keep a copy without optimiser states for the next stage."""
        finished = self.done[stage.name] == stage.executed_steps
        state = {
            "settings": asdict(self.settings),
            "done": self.done,
            "model": self.model.state_dict(),
            "auxiliary_heads": self.heads.state_dict(),
            "optimisers": [] if finished else [optimiser.state_dict() for optimiser in self.optimisers],
        }
        partial = self.work / f"{_CHECKPOINT}.part"
        torch.save(state, partial)
        partial.replace(self.work / _CHECKPOINT)
        if finished:
            shutil.copyfile(self.work / _CHECKPOINT, self.work / checkpoint_after(stage.name))

    def resume(self) -> None:
        """Load the checkpoint, if there is one."""
        path = self.work / _CHECKPOINT
        if not path.exists():
            return
        state = torch.load(path, map_location=self.device, weights_only=True)
        if not _can_resume(state["settings"], asdict(self.settings), state["done"]):
            raise ValueError(f"{path} is of a run with other settings: give another folder, or delete it")
        self.model.load_state_dict(state["model"])
        self.heads.load_state_dict(state["auxiliary_heads"])
        self.done |= {name: steps for name, steps in state["done"].items() if name in self.done}
        self._saved_optimisers = state["optimisers"]


def _can_resume(saved: dict[str, Any], wanted: dict[str, Any], done: dict[str, int]) -> bool:
    """Whether a run with the ``wanted`` settings may continue one with the ``saved`` settings.

    Everything must be the same except stages that were not begun.
    """
    begun = [stage for stage in saved["stages"] if done[stage["name"]]]
    return saved | {"stages": begun} == wanted | {"stages": list(wanted["stages"][: len(begun)])}

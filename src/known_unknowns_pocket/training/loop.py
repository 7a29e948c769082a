"""The training loop. Samples follow from seeds, and a run continues after its last finished stage."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import LlavaForConditionalGeneration, LlavaProcessor, PreTrainedTokenizerFast

from known_unknowns_pocket.benchmarks.mmsap_emblems import NAMES
from known_unknowns_pocket.training.actiview import REASON, actiview_sample, questions, scene
from known_unknowns_pocket.training.architecture import Shape, build_model, build_processor, build_tokenizer
from known_unknowns_pocket.training.auxiliary_losses import TOWER, VISION_PARAMETERS, AuxiliaryHeads, StepResult
from known_unknowns_pocket.training.batches import LETTERS, Batch, ImageBatch, Packer
from known_unknowns_pocket.training.mmsap_prompts import TAUGHT_WORDINGS
from known_unknowns_pocket.training.patch_labels import PATCH_LABELS
from known_unknowns_pocket.training.prompts import WORDS
from known_unknowns_pocket.training.samples import SampleMix, draw_sample
from known_unknowns_pocket.training.settings import Settings, Stage
from known_unknowns_pocket.training.vision_samples import VIEWS_PER_SCENE, vision_samples

Report = Callable[[dict[str, Any]], None]

CHECKPOINT = "checkpoint.pt"
_LOG = "log.jsonl"
MOST_GRADIENT = 1.0
_WEIGHT_DECAY = 0.05
_VOCABULARY_MIX = SampleMix(subtasks=4, questions=8, unanswerable=6, text_tasks=2, emblems=0.2)


class StageBatches(Dataset[ImageBatch]):
    """The batches of a stage, one for each step, from seeds."""

    def __init__(self, packer: Packer, stage: Stage, settings: Settings) -> None:
        self.packer, self.stage, self.settings = packer, stage, settings

    def __len__(self) -> int:
        return self.stage.executed_steps

    def __getitem__(self, step: int) -> ImageBatch:
        stage, shape = self.stage, self.settings.shape
        seed = f"{self.settings.seed}/{stage.name}/{step}"
        rng, mix = random.Random(f"active/{seed}"), stage.mix
        sizes: dict[str, Any] = {"side": shape.side, "grid": shape.grid}
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
    to_ids: Any = tokenizer.convert_tokens_to_ids
    letters = to_ids([*LETTERS, *(f"Ġ{letter}" for letter in LETTERS)])
    words = [to_ids([f"Ġ{word}" for word in WORDS[slot]]) for slot in PATCH_LABELS[:-1]]
    return AuxiliaryHeads(shape.vision_width, shape.text_width, shape.grid, letters, words)


def log_line(stage: str, step: int, started: float, learned: StepResult) -> dict[str, Any]:
    """Return a line of the log: stage, step, seconds since ``started``, loss, and accuracy by head."""
    right = {head: round(share, 4) for head, share in learned.right.items() if math.isfinite(share)}
    seconds, loss = round(time.perf_counter() - started, 1), round(learned.loss.item(), 4)
    return {"stage": stage, "step": step, "seconds": seconds, "loss": loss} | right


def train(settings: Settings, out: Path, *, work: Path, report: Report | None = None, report_every: int = 50) -> Path:
    """Train the pocket model, save it to ``out`` in half precision with its processor, and return ``out``.

    A run that was stopped continues after its last finished stage.

    The folder ``work`` gets the checkpoint and the log (JSON lines: stage, step, seconds, loss, accuracy by head), of
    which ``report`` gets each line, after every ``report_every`` steps. Raises ValueError if ``work`` has a checkpoint
    of other settings.
    """
    work.mkdir(parents=True, exist_ok=True)
    tokenizer = build_tokenizer(corpus(settings.shape, settings.vocabulary_samples))
    processor = build_processor(tokenizer, settings.shape)
    model = build_model(tokenizer, settings.shape, seed=settings.seed).train()
    # On a CPU, PyTorch's fused attention is slower for short chunks, several times so in the backward pass.
    model.model.language_model.set_attn_implementation("eager")
    heads = build_heads(tokenizer, settings.shape)
    packer = Packer(tokenizer, settings.shape.grid)
    finished = _resume(settings, model, heads, work / CHECKPOINT)
    for number, stage in enumerate(settings.stages[finished:], start=finished):
        batches = StageBatches(packer, stage, settings)
        optimisers = _prepare(settings, number, model, heads, packer)
        loader = DataLoader(batches, batch_size=None, num_workers=1, prefetch_factor=4)
        started = time.perf_counter()
        for step, batch in enumerate(loader):
            learned = _step(stage, step, batch, model, heads, optimisers)
            if (step + 1) % report_every == 0 or step + 1 == len(batches):
                line = log_line(stage.name, step + 1, started, learned)
                with (work / _LOG).open("a", encoding="utf-8") as log:
                    log.write(json.dumps(line) + "\n")
                if report is not None:
                    report(line)
        state = {"settings": asdict(settings), "finished": number + 1}
        state |= {"model": model.state_dict(), "auxiliary_heads": heads.state_dict()}
        partial = work / f"{CHECKPOINT}.part"
        torch.save(state, partial)
        partial.replace(work / CHECKPOINT)
    save(model, processor, out)
    return out


def save(model: LlavaForConditionalGeneration, processor: LlavaProcessor, out: Path) -> None:
    """Write weights (half precision), configuration, tokenizer, processor and chat template."""
    half = {name: w.half() if w.is_floating_point() else w for name, w in model.state_dict().items()}
    model.save_pretrained(out, state_dict=half)
    processor.save_pretrained(out)
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    (out / "config.json").write_text(json.dumps(config | {"dtype": "float16"}, indent=2) + "\n", encoding="utf-8")


def _resume(settings: Settings, model: LlavaForConditionalGeneration, heads: AuxiliaryHeads, checkpoint: Path) -> int:
    """Load the checkpoint, if there is one, and return the number of finished stages.

    Its settings must be these but for stages that were not finished.
    """
    if not checkpoint.exists():
        return 0
    state, wanted = torch.load(checkpoint, weights_only=True), asdict(settings)
    finished = state["finished"]
    saved, given = (one | {"stages": one["stages"][:finished]} for one in (state["settings"], wanted))
    if saved != given:
        raise ValueError(f"{checkpoint} is of a run with other settings: give another folder, or delete it")
    model.load_state_dict(state["model"])
    heads.load_state_dict(state["auxiliary_heads"])
    return finished


def _prepare(
    settings: Settings, number: int, model: LlavaForConditionalGeneration, heads: AuxiliaryHeads, packer: Packer
) -> list[torch.optim.Optimizer]:
    """Select the parameters that a stage trains, and return Muon for the matrices within the layers and AdamW.

    Muon needs half the steps.
    """
    stage = settings.stages[number]
    asked = any(one.mix.asks for one in settings.stages[:number])
    model.model.vision_tower.train(not stage.mix.asks)
    if stage.mix.asks and not asked:
        images = StageBatches(packer, settings.stages[0], settings)[0].pixels
        heads.initialise_projector(model, images, seed=settings.seed)
    looking = VISION_PARAMETERS if stage.mix.asks or not asked else TOWER
    matrices: list[torch.nn.Parameter] = []
    words: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, weight in [*model.named_parameters(), *heads.named_parameters()]:
        weight.requires_grad_(name.startswith(looking) != stage.mix.asks)
        if weight.requires_grad:
            hidden = weight.ndim == 2 and name.startswith("model.") and ".layers." in name
            (matrices if hidden else words if "embed_tokens" in name else others).append(weight)
    rest = [{"params": words, "weight_decay": _WEIGHT_DECAY, "share": stage.embedding_rate}] * bool(words) + [
        {
            "params": [weight for weight in others if (weight.ndim >= 2) == decays],
            "weight_decay": _WEIGHT_DECAY * decays,
        }
        for decays in (True, False)
    ]
    return [
        torch.optim.AdamW(rest, betas=(0.9, 0.98), fused=True),
        torch.optim.Muon(matrices, weight_decay=_WEIGHT_DECAY, adjust_lr_fn="match_rms_adamw"),
    ]


def _step(
    stage: Stage,
    step: int,
    batch: ImageBatch,
    model: LlavaForConditionalGeneration,
    heads: AuxiliaryHeads,
    optimisers: list[torch.optim.Optimizer],
) -> StepResult:
    rate = stage.learning_rate_at(step)
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate * group.get("share", 1.0)
    with torch.autocast("cpu", torch.bfloat16):
        learned = heads.answer(model, batch) if isinstance(batch, Batch) else heads.look(model, batch)
    for optimiser in optimisers:
        optimiser.zero_grad(set_to_none=True)
    learned.loss.backward()
    torch.nn.utils.clip_grad_norm_([*model.parameters(), *heads.parameters()], MOST_GRADIENT)
    for optimiser in optimisers:
        optimiser.step()
    return learned

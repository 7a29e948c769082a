"""Memory requirements of models, compared with this machine.

The requirement is computed from an entry's number of parameters and its dtype (`memory_gib`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf, prod
from pathlib import Path
from typing import Any

from known_unknowns.config import ModelEntry, OpenAIModel, Params, TransformersModel, catalogue
from known_unknowns.data import provenance
from known_unknowns.engines._weights import WEIGHTS, tensors
from known_unknowns.errors import DataError, MachineError

GIB = 2**30
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes of one parameter. Entries of served models have no dtype; servers use bfloat16."""
MARGIN, WORKING_GIB = 1.2, 2.0
"""Additions to the weights: a fifth for activations and buffers, which grow with the model, and 2 GiB for the attention
of a batch of 8 questions of about 1,500 tokens (0.7 GiB for Qwen2.5-VL 7B, 1.5 for Idefics3). A batch that does not fit
is halved."""
LISTED = (TransformersModel, OpenAIModel)
"""Settings of the models that have weights or an endpoint."""
ON_GPU, IN_RAM, TOO_LARGE, ELSEWHERE = "GPU", "RAM", "no", "hosted"
"""Whether a model fits: on the largest GPU, in main memory only, or not at all; or it runs on another machine."""

DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""The devices of a GPU's driver that torch uses: CUDA, ROCm, and either of them in WSL."""


def memory_gib(entry: ModelEntry) -> float | None:
    """Return the requirement in GiB: parameters x bytes of the dtype x `MARGIN` + `WORKING_GIB`.

    It is None if the number of parameters is unknown.
    """
    size = weights_bytes(entry) if isinstance(entry, LISTED) else None
    return None if size is None else with_margin(size / GIB)


def weights_bytes(entry: TransformersModel | OpenAIModel) -> float | None:
    """Return the bytes of a model's weights in its dtype; None if the number of parameters is unknown."""
    count = parameters(entry)
    dtype = entry.dtype if isinstance(entry, TransformersModel) else "bfloat16"
    return None if count is None else count * BYTES[dtype]


def shortage(entry: ModelEntry, gpu_gib: float | None) -> str | None:
    """Return why the weights of a model cannot be loaded on GPUs of which each has so much memory.

    None if they may fit, and if nothing is known of them or of the memory.
    """
    if not isinstance(entry, LISTED) or not entry.gpus or gpu_gib is None:
        return None
    launch = entry.launch if isinstance(entry, OpenAIModel) else None
    size = weights_bytes(entry)
    if size is None or (launch is not None and launch.quantization):
        return None
    gpus = entry.gpus if launch is not None else 1  # the engine `transformers` never splits a model
    need = size / GIB / gpus
    if need <= gpu_gib:
        return None
    where = "on its GPU" if gpus == 1 else f"on each of its {gpus} GPUs"
    return f"needs {need:.1f} GiB for its weights {where}, and the GPU has {gpu_gib:.1f} GiB"


def with_margin(weights_gib: float) -> float:
    """Return the requirement in GiB of weights of a size."""
    return round(weights_gib * MARGIN + WORKING_GIB, 1)


@dataclass(frozen=True, slots=True)
class Machine:
    """Main memory, and the name and memory of each GPU, in GiB."""

    ram_gib: float
    gpus: tuple[tuple[str, float], ...] = ()

    @property
    def gpu_gib(self) -> float | None:
        """The memory of the largest GPU; None if there is none."""
        return max((memory for _, memory in self.gpus), default=None)

    def fits(self, entry: ModelEntry) -> str | None:
        """Return where the model fits (see `ON_GPU`); None if its requirement is unknown."""
        need = memory_gib(entry)
        if need is None:
            return ELSEWHERE if isinstance(entry, OpenAIModel) else None
        shared_by = entry.gpus if isinstance(entry, OpenAIModel) and entry.launch is not None else 1
        if need / shared_by <= (self.gpu_gib or 0.0) and shared_by <= len(self.gpus):
            return ON_GPU
        return IN_RAM if need <= self.ram_gib and isinstance(entry, TransformersModel) else TOO_LARGE


def this_machine(limit: Path = Path("/sys/fs/cgroup/memory.max")) -> Machine:
    """Return this machine: the main memory available to this process, within a container's limit, and torch's GPUs."""
    return Machine(round(min(provenance.memory_gib() or 0.0, _limit_gib(limit)), 1), tuple(_gpus()))


def _gpus() -> Iterable[tuple[str, float]]:
    # Importing torch takes seconds, so a machine without a driver is not asked.
    if find_spec("torch") is None or not any(Path(device).exists() for device in DRIVERS):
        return
    import torch

    for index in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(index)
        yield facts.name, round(facts.total_memory / GIB, 1)


def require_memory(name: str, entry: TransformersModel, device: str) -> None:
    """Check before a model is loaded that its weights fit into the free memory of its device.

    Nothing is checked if the number of parameters or the free memory is unknown. If the weights fit and the rest of
    `memory_gib` may not, a line on stderr says so: batches are then halved.

    Raises MachineError if the weights alone do not fit.
    """
    size, free = weights_bytes(entry), free_gib(device)
    if size is None or free is None:
        return
    weights, billions = size / GIB, size / BYTES[entry.dtype] / 1e9
    need = weights * MARGIN + WORKING_GIB
    numbers = (
        f"its {billions:.2f} billion parameters take {weights:.1f} GiB in {entry.dtype}, about {need:.1f} GiB "
        f"with activations, and {free:.1f} GiB are free on {device}"
    )
    if weights > free:
        raise MachineError(
            f"models.{name}: it does not fit into memory: {numbers}. Free memory, or use another device, dtype or "
            "model (known-unknowns models list --fits)"
        )
    if weights * MARGIN > free:
        print(f"{name}: it may not fit into memory: {numbers}", file=sys.stderr, flush=True)


def parameters(entry: TransformersModel | OpenAIModel) -> float | None:
    """Return the number of parameters: of a folder, those of its weights; else that of the entry's card."""
    folder = Path(entry.source).expanduser()
    if folder.is_dir():
        try:
            return sum(prod(each["shape"]) for file in folder.glob(WEIGHTS) for each in tensors(file).values()) or None
        except DataError:
            return None  # loading reports it
    return None if entry.card is None or entry.card.parameters is None else entry.card.parameters * 1e9


def free_gib(device: str, meminfo: Path = Path("/proc/meminfo")) -> float | None:
    """Return the free memory of a torch device in GiB; None if it is unknown."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.mem_get_info(device)[0] / GIB
    if not meminfo.is_file():
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text(), flags=re.MULTILINE)
    return None if found is None else min(int(found[1]) * 1024 / GIB, _limit_gib())


def _limit_gib(limit: Path = Path("/sys/fs/cgroup/memory.max")) -> float:
    """Return the memory limit of this process's container."""
    allowed = limit.read_text().strip() if limit.is_file() else "max"
    return int(allowed) / GIB if allowed.isdecimal() else inf


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model of the list: whether the edition names it (``on``), where it fits, and which packages are missing."""

    name: str
    entry: TransformersModel | OpenAIModel
    on: bool
    fits: str | None
    missing: tuple[str, ...]

    @property
    def published(self) -> dict[str, str]:
        """Benchmark to published row; "any" for an entry with one name for all benchmarks."""
        rows = self.entry.published
        return {"any": rows} if isinstance(rows, str) else dict(rows)

    def as_json(self) -> dict[str, Any]:
        entry = self.entry
        local = entry if isinstance(entry, TransformersModel) else None
        card = {} if entry.card is None else entry.card.plain()
        return {
            "name": self.name,
            "on": self.on,
            "engine": entry.engine,
            "source": entry.source,
            "revision": entry.revision,
            "dtype": local and local.dtype,
            "images": entry.images,
            "memory_gib": memory_gib(entry),
            "fits": self.fits,
            "missing_packages": list(self.missing),
            "published": self.published,
            "thinking": card.pop("thinking", False),
            "remote_code": card.pop("remote_code", False) or (local is not None and local.trust_remote_code),
            **card,
        }


def list_models(params: Params, here: Machine) -> list[ListedModel]:
    """Return every model with weights or an endpoint: those of the catalogue and of ``params``."""
    models = dict(catalogue.models()) | params.file.models
    on = set(params.models)
    return [
        ListedModel(
            name,
            entry,
            name in on,
            here.fits(entry),
            tuple(package for package in (entry.card.needs if entry.card else ()) if find_spec(package) is None),
        )
        for name, entry in models.items()
        if isinstance(entry, LISTED)
    ]

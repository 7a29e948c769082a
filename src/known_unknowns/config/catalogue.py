"""The catalogue: models.yaml, beside this file, one entry for every model of the papers that can be run today.

An entry becomes part of the configuration when an edition names it (`with_named`); all others are off. What an entry
needs is reckoned from its number of parameters and its dtype (`memory_gib`), and held against the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from known_unknowns.data import provenance

if TYPE_CHECKING:
    from known_unknowns.config import Params

FILE = Path(__file__).parents[1] / "models.yaml"
GIB = 2**30
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Of one parameter. A model behind a server of one's own has no dtype in its entry: servers take bfloat16."""
MARGIN, WORKING_GIB = 1.2, 2.0
"""Over the weights: a fifth for activations and buffers, which grow with the model; and 2 GiB for the attention's
memory of a batch of 8 questions of some 1,500 tokens (0.7 GiB for Qwen2.5-VL 7B, 1.5 for Idefics3). A batch for
which that is not enough is halved, not lost."""
ON_GPU, IN_RAM, TOO_LARGE, ELSEWHERE = "GPU", "RAM", "no", "hosted"
"""Whether a model fits: on the largest GPU; in main memory only; nowhere here; or it does not run here at all."""


@cache
def _file() -> Mapping[str, Any]:
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def entries() -> dict[str, dict[str, Any]]:
    """Every entry of models.yaml, by name."""
    return deepcopy(dict(_file()["models"]))


def absent() -> dict[str, dict[str, str]]:
    """By benchmark, the rows of the published tables that no entry stands for, and why."""
    return deepcopy(dict(_file()["absent"]))


def with_named(raw: Any) -> Any:
    """A configuration with the entries that its editions, or its own ``models``, name.

    Its own keys are laid over the catalogue's. What is not shaped like a configuration is handed back as it is: its
    mistakes are for the schema to tell.
    """
    if not isinstance(raw, Mapping) or not isinstance(own := raw.get("models"), Mapping):
        return raw
    known = entries()
    named = dict.fromkeys([*own, *_named_by_editions(raw.get("editions"))])
    models = {}
    for name in named:
        if name in known and isinstance(own.get(name, {}), Mapping):
            models[name] = known[name] | dict(own.get(name, {}))
        elif name in own:
            models[name] = own[name]
    return dict(raw) | {"models": models}


def _named_by_editions(editions: Any) -> Iterable[str]:
    for edition in editions.values() if isinstance(editions, Mapping) else ():
        models = edition.get("models") if isinstance(edition, Mapping) else None
        yield from (name for name in models or () if isinstance(name, str))


def stands_for(entry: Mapping[str, Any], benchmark: str) -> str | None:
    """The row of a benchmark's published tables that a model with this entry stands for."""
    published = entry.get("published")
    return published.get(benchmark) if isinstance(published, Mapping) else published


def memory_gib(entry: Mapping[str, Any]) -> float | None:
    """What the model needs, in GiB: parameters x bytes of the dtype x `MARGIN` + `WORKING_GIB`; None where the number
    of parameters is not known."""
    parameters = entry.get("card", {}).get("parameters")
    if parameters is None:
        return None
    weights = parameters * 1e9 * BYTES[entry.get("dtype", "bfloat16")] / GIB
    return round(weights * MARGIN + WORKING_GIB, 1)


@dataclass(frozen=True, slots=True)
class Machine:
    """Main memory, and each GPU's name and memory, in GiB."""

    ram_gib: float
    gpus: tuple[tuple[str, float], ...] = ()

    def holds(self, entry: Mapping[str, Any]) -> str | None:
        """Where the model fits (see `ON_GPU`); None where its need is not known."""
        need = memory_gib(entry)
        if need is None:
            return ELSEWHERE if entry["engine"] == "openai" else None
        if need <= max((memory for _, memory in self.gpus), default=0.0):
            return ON_GPU
        return IN_RAM if need <= self.ram_gib and entry["engine"] == "transformers" else TOO_LARGE


def machine(limit: Path = Path("/sys/fs/cgroup/memory.max")) -> Machine:
    """This machine: the main memory that this process may take (a container's limit counts), and torch's GPUs."""
    ram = provenance.memory_gib() or 0.0
    allowed = limit.read_text().strip() if limit.is_file() else "max"
    if allowed.isdecimal():
        ram = min(ram, round(int(allowed) / GIB, 1))
    return Machine(ram, tuple(_gpus()))


def _gpus() -> Iterable[tuple[str, float]]:
    if find_spec("torch") is None:
        return
    import torch

    for index in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(index)
        yield facts.name, round(facts.total_memory / GIB, 1)


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of the list: a model, whether an edition names it (``on``), where it fits, and the packages that it
    needs and that are not installed."""

    name: str
    entry: Mapping[str, Any]
    on: bool
    fits: str | None
    missing: tuple[str, ...]

    @property
    def published(self) -> dict[str, str]:
        """Benchmark to row; "any" for an entry that gives one name for all of them."""
        rows = self.entry.get("published", {})
        return dict(rows) if isinstance(rows, Mapping) else {"any": rows}

    def as_json(self) -> dict[str, Any]:
        card = dict(self.entry.get("card", {}))
        return {
            "name": self.name,
            "on": self.on,
            "engine": self.entry["engine"],
            "source": self.entry["source"],
            "revision": self.entry.get("revision"),
            "dtype": self.entry.get("dtype"),
            "images": self.entry.get("images", "many"),
            "memory_gib": memory_gib(self.entry),
            "fits": self.fits,
            "missing_packages": list(self.missing),
            "published": self.published,
            "thinking": card.pop("thinking", False),
            "remote_code": card.pop("remote_code", False) or self.entry.get("trust_remote_code", False),
            **card,
        }


def listing(params: Params, here: Machine) -> list[Listed]:
    """Every model with weights, or behind an endpoint: the catalogue's, and those of ``params``."""
    models = entries() | dict(params.raw["models"])
    on = set(params.models)
    return [
        Listed(
            name,
            entry,
            name in on,
            here.holds(entry),
            tuple(package for package in entry.get("card", {}).get("needs", ()) if find_spec(package) is None),
        )
        for name, entry in models.items()
        if entry["engine"] in ("transformers", "openai")
    ]

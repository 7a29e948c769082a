"""What a run needs besides a sound configuration: the user's data, and the folders of local models.

`checked` finds what is missing before a run starts, and `fitted` leaves out variants that no question of the user's own
data fits. Both look at the selected edition only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.interface import Contents
from known_unknowns.benchmark.protocol import REFUSAL_PROMPT
from known_unknowns.benchmark.variant import IMAGE, REFUSAL
from known_unknowns.config import FolderData, Params, TransformersModel, locked_commits
from known_unknowns.config.errors import raise_all
from known_unknowns.data import folder
from known_unknowns.engines._weights import weights_sha256, wrong_pin
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.files import write_text
from known_unknowns.inference import bound_protocols
from known_unknowns.model_runs.lazy_engine import has_finished
from known_unknowns.variants import corrections
from known_unknowns.variants.of_benchmark import variant_of
from known_unknowns.workflow import configuration
from known_unknowns.workflow.code_digest import code_of
from known_unknowns.workflow.run_settings import started_run

_SHA256 = re.compile(r"[0-9a-f]{64}")
_FOLDER_PIN = re.compile(r"[0-9a-f]{64}|unpinned")
_HUB = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")
_ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
_CACHE = Path(".snakemake")


def checked(raw: Any, *, weights: bool = False) -> tuple[Params, list[str]]:
    """Check a configuration and what its run needs; return it as it is run, and notes on the user's data.

    Parameters
    ----------
    raw : mapping
        What `known_unknowns.config.read` returns.
    weights : bool
        Whether the weights in local folders are compared with their pins, which reads them whole.

    Raises
    ------
    ConfigError
        For all mistakes at once, each with the dotted path of its key.
    """
    if problem := brace_problem(Path.cwd()):
        raise ConfigError(problem)
    params, mistakes = configuration.sound_part(raw)
    contents: dict[str, Contents] = {}
    if params is not None and params.edition in params.file.editions:
        for name, found in _contents(params):
            if isinstance(found, ConfigError):
                mistakes.add([found])
            else:
                contents[name] = found
        mistakes.add([*_of_models(params, weights=weights), *_of_corrections(params)])
    raise_all(mistakes.errors)
    assert params is not None  # else there was a mistake
    return fitted(params, contents)


def brace_problem(place: Path) -> str:
    """Return why a path cannot be used: Snakemake takes {x} for a wildcard. Empty if it can."""
    if not {"{", "}"} & set(str(place)):
        return ""
    return f"{place} has a brace in its name, which Snakemake takes for a wildcard; rename it"


def _of_corrections(params: Params) -> Iterator[ConfigError]:
    """Files of corrections that cannot be read, or that are of another benchmark."""
    for benchmark in _known(params.benchmarks, params.file.benchmarks):
        for variant in _known(params.variants(benchmark), params.file.variants):
            for file in corrections.files(params.variant(variant)):
                path = f"variants.{variant}.corrections"
                try:
                    found = corrections.read_corrections(file)
                except ValueError as error:
                    yield ConfigError(str(error), path=path)
                    continue
                if found.benchmark != benchmark:
                    message = f"{file} corrects {found.benchmark}, but {benchmark} lists the variant"
                    yield ConfigError(message, path=path)


def _known(names: Iterable[str], section: Container[str]) -> list[str]:
    """Return the names that a section defines. The others are mistakes, which are reported elsewhere."""
    return [name for name in names if name in section]


def as_run(params: Params) -> Params:
    """Return the configuration without the variants that the edition's last run left out of the user's own data."""
    own = [name for name in params.benchmarks if params.data(name).source == "folder"]
    last = started_run(params.edition) if own else None
    if last is None:
        return params
    for name in own:
        if name in last.file.benchmarks:
            params = _with_variants(params, name, _listed(last, name))
    return params


def _listed(params: Params, benchmark: str) -> list[str]:
    """Return the variants that a benchmark's entry and the edition's list."""
    own = params.selected.variants.get(benchmark, [])
    return list(dict.fromkeys([*params.benchmark(benchmark).variants, *own]))


def _with_variants(params: Params, benchmark: str, kept: Collection[str]) -> Params:
    """Leave out the other variants of a benchmark's entry and of the edition's."""
    entry = params.benchmark(benchmark)
    variants = [variant for variant in entry.variants if variant in kept]
    seeds = {variant: seeds for variant, seeds in entry.seeds.items() if variant in kept}
    entry = entry.model_copy(update={"variants": variants, "seeds": seeds})
    params = params.with_entries("benchmarks", {benchmark: entry})
    own = params.selected.variants
    if benchmark not in own:
        return params
    left = own | {benchmark: [variant for variant in own[benchmark] if variant in kept]}
    return params.with_entries("editions", {params.edition: params.selected.model_copy(update={"variants": left})})


def fitted(params: Params, contents: Mapping[str, Contents]) -> tuple[Params, list[str]]:
    """Leave out the variants that no question fits.

    Parameters
    ----------
    params : Params
    contents : mapping from str to Contents
        What the user's data of a benchmark contain.

    Returns
    -------
    params : Params
    notes : list of str
        What the data contain, and which variants were left out.

    Raises
    ------
    ConfigError
        If no variant of a benchmark is left.
    """
    fitting, notes = params, []
    for name, found in contents.items():
        notes += [f"{name}: {note}" for note in found.notes]
        has = {REFUSAL: found.with_refusal > 0, IMAGE: found.with_images > 0}
        listed = _listed(params, name)
        unfit = {v: lacking for v in listed if (lacking := _lacking(params, name, v, has))}
        fitting = _with_variants(fitting, name, set(listed).difference(unfit))
        for need in dict.fromkeys(unfit.values()):
            left_out = ", ".join(variant for variant, lacking in unfit.items() if lacking == need)
            notes.append(f"{name}: no question has {need}, so these variants are left out: {left_out}")
        if not fitting.variants(name):
            path = f"benchmarks.{name}.variants"
            raise ConfigError(f"no question has {' or '.join(dict.fromkeys(unfit.values()))}; add original", path=path)
    return fitting, notes


def _lacking(params: Params, benchmark: str, variant: str, has: Mapping[str, bool]) -> str | None:
    """Return what the variant needs and no question has."""
    need = variant_of(benchmark, params.variant(variant)).needs
    needs = [] if need is None else [need]
    protocol = bound_protocols.protocols_of(registry.get(benchmark))[params.protocol(benchmark, variant).name]
    if REFUSAL_PROMPT in protocol.requires:
        needs = [*needs, REFUSAL]
    return next((need for need in needs if not has[need]), None)


def _contents(params: Params) -> Iterator[tuple[str, Contents | ConfigError]]:
    """Yield what the user's data of each benchmark contain, or why they cannot be used."""
    for name in _known(_known(params.benchmarks, params.file.benchmarks), registry.names()):
        entry = params.benchmark(name).data.get(params.data_name)
        if not isinstance(entry, FolderData):
            continue
        path = f"benchmarks.{name}.data.{params.data_name}"
        problem = folder.problem_of(entry)
        if problem is not None:
            yield name, ConfigError(problem, path=f"{path}.path")
        elif registry.get(name).has("contents"):
            try:
                yield name, _cached(name, entry)
            except (DataError, ConfigError) as error:
                yield name, ConfigError(str(error), path=path)


def _cached(name: str, entry: FolderData) -> Contents:
    """Return the contents of a folder. Unchanged files are not read again by the next run."""
    key = json.dumps([folder.stamp(entry), entry.plain(), code_of("questions", [name])], sort_keys=True)
    file = _CACHE / f"known-unknowns-contents-{name}.json"
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        if stored["key"] == key:
            return Contents(**stored["contents"] | {"notes": tuple(stored["contents"]["notes"])})
    except (OSError, ValueError, KeyError, TypeError):
        pass  # no such file, or of another version
    found = registry.get(name).contents(folder.folder_of(entry), settings=entry)
    if _CACHE.is_dir():
        write_text(file, json.dumps({"key": key, "contents": asdict(found)}))
    return found


def _of_models(params: Params, *, weights: bool) -> Iterator[ConfigError]:
    """Yield what is missing of the edition's local models, and wrong pins of ``weights``.

    A model with a journal needs no files: all of its replies may be there, and then it is not loaded.
    """
    for name in _known(params.models, params.file.models):
        entry, journals = params.model(name), Path("journal", name)
        if not isinstance(entry, TransformersModel):
            continue
        if not any(journals.glob("*.jsonl")):
            yield from _of_local_model(f"models.{name}", entry)
        if weights and not has_finished(entry, journals):
            yield from _of_weights(f"models.{name}", entry)


def _of_weights(path: str, entry: TransformersModel) -> Iterator[ConfigError]:
    folder = Path(entry.source).expanduser()
    if not _SHA256.fullmatch(entry.revision) or not any(folder.glob("*.safetensors")):
        return
    if problem := wrong_pin(folder, weights_sha256(folder), entry.revision):
        yield ConfigError(problem, path=f"{path}.revision")


def _of_local_model(path: str, entry: TransformersModel) -> Iterator[ConfigError]:
    source, revision, adapter = entry.source, entry.revision, entry.adapter
    place = Path(source).expanduser()
    if not place.is_dir():
        if _FOLDER_PIN.fullmatch(revision) or not _HUB.fullmatch(source):
            message = (
                f"there is no folder {source!r} in {Path.cwd()}; correct the path, or name a repository of the hub"
            )
            yield ConfigError(message, path=f"{path}.source")
        return
    if problem := next((found for each in [place, *place.rglob("*")] if (found := brace_problem(each))), ""):
        yield ConfigError(problem, path=f"{path}.source")
    if not any(place.glob("*.safetensors")):
        message = f"{source} has no *.safetensors file; convert the weights with save_pretrained"
        yield ConfigError(message, path=f"{path}.source")
    elif not _FOLDER_PIN.fullmatch(revision):
        yield ConfigError(
            f"{source} is a folder, and {revision!r} is no sha256 of its weights; "
            f"`known-unknowns try {source} --dry-run` prints it",
            path=f"{path}.revision",
        )
    if locked_commits.adapter_source(adapter):
        return
    of_adapter = locked_commits.adapter_folder(source, adapter) or place / (adapter or "")
    missing = [file for file in _ADAPTER_FILES if adapter and not (of_adapter / file).is_file()]
    if missing:
        there = sorted({file.parent.name for file in place.glob(f"*/{_ADAPTER_FILES[0]}")})
        hint = f"; it has the adapters {', '.join(there)}" if there else ""
        yield ConfigError(f"{source} has no file {adapter}/{missing[0]}{hint}", path=f"{path}.adapter")

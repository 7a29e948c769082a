"""The part of the configuration that a step of the workflow may read.

A rule has `compared` among its parameters, so that Snakemake runs the step again if it changes. The command of the
rule's job uses the same selection (`load`), so that it cannot read anything else: a key that was left out raises
`NotSelected`. The only keys that a job may read and Snakemake does not compare are those of a model that change no
reply (``not_in_the_reply`` of its engine's settings), such as the number of concurrent requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from known_unknowns.benchmark import registry
from known_unknowns.config import Entry, NotSelected, Params
from known_unknowns.data import lock_file
from known_unknowns.data.lock_file import data_revision
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.inference import bound_protocols
from known_unknowns.scoring.judge import JUDGE
from known_unknowns.workflow import configuration

E = TypeVar("E", bound=Entry)
Sections = dict[str, Any]
"""The selected sections of the configuration, by name."""
_HOW_ASKED = ("protocol", "protocols", "variants", "seeds")
"""Keys of a benchmark's entry that say how its questions are asked."""


class Part(dict[str, Any]):
    """A section of the configuration without the names ``left_out``, which raise `NotSelected` if they are read."""

    def __init__(self, kept: Mapping[str, Any], left_out: Collection[str], section: str) -> None:
        super().__init__(kept)
        self._left_out, self._section = frozenset(left_out) - kept.keys(), section

    def _check(self, key: object) -> None:
        if key in self._left_out:
            raise NotSelected(f"{self._section}.{key}")

    def __getitem__(self, key: str) -> Any:
        self._check(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key."""
        self._check(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self._check(key)
        return super().__contains__(key)


@dataclass(frozen=True)
class _Scope:
    """What a step works on, by the names of wildcards; empty for the whole edition."""

    params: Params
    model: str = ""
    benchmark: str = ""
    variant: str = ""
    construction: str = ""


_SECTIONS = {"model": "models", "benchmark": "benchmarks", "construction": "construction"}
NAMES = frozenset({*_SECTIONS, "variant"})
"""Names of wildcards that say what a step works on."""


def load(path: str | Path, step: str, *, edition: str | None = None, **names: str) -> Params:
    """Read and check a params file (`configuration.load`), and select what a step reads."""
    return select(configuration.load(path, edition=edition), step, **names)


def select(params: Params, step: str, **names: str) -> Params:
    """Return the configuration that a step reads.

    Parameters
    ----------
    params : Params
        The whole configuration.
    step : str
        A key of `STEPS`.
    **names : str
        What the step works on, by `NAMES`; nothing for a step of the whole edition.

    Returns
    -------
    Params
        Its ``file`` has only what was selected.

    Raises
    ------
    ConfigError
        If a name is unknown.
    """
    for name, section in _SECTIONS.items():
        known = getattr(params.file, section)
        if name in names and names[name] not in known:
            raise ConfigError(unknown_name(names[name], known), path=section)
    selected = STEPS[step](_Scope(params, **names))
    for section, kept in selected.items():
        whole = getattr(params.file, section)
        if isinstance(whole, dict):
            selected[section] = Part(kept, whole.keys(), section)
    return Params(_only(params.file).model_copy(update=selected))


def _only(entry: E, *keys: str) -> E:
    """Return an entry with only these of the keys that were set. To read another one raises `NotSelected`."""
    kept = {key: getattr(entry, key) for key in keys if key in entry.model_fields_set}
    part = type(entry).model_construct(_fields_set=set(kept), **kept)
    for key in entry.model_fields_set - kept.keys():
        vars(part).pop(key, None)  # else it would have its default
    return part


def compared(params: Params, step: str, **names: str) -> dict[str, Any]:
    """Return what Snakemake compares to decide whether a step runs again, as plain values with sorted keys.

    It is the content of `select`, with the commits that params.lock.yaml gives, and with what the step before it reads:
    if that one failed after a change, its output is missing, and this step has to run again all the same. The keys of
    models that change no reply are left out, except for pages and tables, which show entries.
    """
    raw = select(params, step, **names).file.plain()
    if step in _ASKING:
        entries = {name: params.model(name).asked_in(names.get("benchmark", "")) for name in raw["models"]}
        raw["models"] = {name: entry.reply_keys() for name, entry in entries.items()}
        locked = {name: lock_file.model_entry(entry) for name, entry in entries.items()}
        locked |= {f"{name} adapter": lock_file.adapter_entry(entry) for name, entry in entries.items()}
        raw["commits"] = {name: entry.commit for name, entry in locked.items() if entry is not None}
    if step in _TABLES:
        raw["revisions"] = {name: data_revision(name, params.data(name)) for name in raw["benchmarks"]}
    if step in _BEFORE:
        before = "questions" if params.is_imported(names.get("model", "")) else _BEFORE[step]
        raw["before"] = compared(params, before, **names)
    found: dict[str, Any] = json.loads(json.dumps(raw, sort_keys=True))
    return found


def refusal_parsers(params: Params, benchmark: str) -> list[str]:
    """Return the parsers that decide whether a question is asked again; none if no protocol of the benchmark does."""
    known = bound_protocols.protocols_of(registry.get(benchmark))
    names = {params.protocol(benchmark, variant).name for variant in params.variants(benchmark)}
    parsers = sorted(name for name in params.parsers if name != JUDGE)  # the judge is asked after all replies
    return parsers if any(known[name].parses_refusals for name in names) else []


def _edition(scope: _Scope, *keys: str, **changed: Any) -> Sections:
    """Return the selected edition, with keys of its entry, some of them changed."""
    params = scope.params
    entry = _only(params.selected, *keys)
    return {"edition": params.edition, "editions": {params.edition: entry.model_copy(update=changed)}}


def _with_benchmarks(scope: _Scope, names: Iterable[str], *keys: str, **changed: Any) -> Sections:
    """Return how the questions of benchmarks are asked, in which variants and seeds, and ``keys`` of their entries.

    Keys of the edition's entry are ``changed``.
    """
    params, names = scope.params, list(names)
    own = params.selected.variants
    if own:
        changed["variants"] = {name: own[name] for name in names if name in own}
    selected = _edition(scope, "data", "seeds", "samples", "confidence", "variants", "limit", **changed)
    cells = [(name, variant) for name in names for variant in params.variants(name)]
    return selected | {
        "benchmarks": {name: _only(params.benchmark(name), *_HOW_ASKED, *keys) for name in names},
        "variants": _of_section(params.file.variants, (variant for _, variant in cells)),
        "protocols": _of_section(params.file.protocols, (params.protocol_name(*cell) for cell in cells)),
    }


def _of_section(section: Mapping[str, E], names: Iterable[str]) -> dict[str, E]:
    """Return the entries of a section that have these names."""
    return {name: section[name] for name in sorted(set(names)) if name in section}


def _cells(scope: _Scope) -> Sections:
    """Return the variants, seeds and samples that a model answers, and what its replies keep.

    Imported replies have cells of their own.
    """
    entry = scope.params.model(scope.model).asked_in(scope.benchmark)
    of_model = _only(entry, "engine", "cells", "samples", "kept")
    return _with_benchmarks(scope, [scope.benchmark]) | {"models": {scope.model: of_model}}


def _data(scope: _Scope) -> Sections:
    """Return the source of a benchmark's data. Editions with the same data share it, so that none is named."""
    params, name = scope.params, scope.params.data_name
    benchmark = _only(params.benchmark(scope.benchmark))
    data = {name: params.data(scope.benchmark)}
    return {
        "edition": name,
        "editions": {name: _only(params.selected).model_copy(update={"data": name})},
        "benchmarks": {scope.benchmark: benchmark.model_copy(update={"data": data})},
    }


def _variant(scope: _Scope) -> Sections:
    """Return one variant, its seeds, and how many questions are asked."""
    params = scope.params
    seeds = params.seeds_of(scope.benchmark, scope.variant)
    benchmark = _only(params.benchmark(scope.benchmark))
    return _edition(scope, "data", "limit", seeds=seeds) | {
        "benchmarks": {scope.benchmark: benchmark.model_copy(update={"seeds": {scope.variant: seeds}})},
        "variants": {scope.variant: params.variant(scope.variant)},
    }


def _model(scope: _Scope) -> Sections:
    """Return the entry of a model that is asked."""
    return _edition(scope) | {"models": {scope.model: scope.params.model(scope.model)}}


def _asked(scope: _Scope) -> Sections:
    """Return the entry of a model, how a benchmark's questions are asked, and the parsers that decide further turns."""
    return (
        _with_benchmarks(scope, [scope.benchmark])
        | {"models": {scope.model: scope.params.model(scope.model)}}
        | {"parsers": refusal_parsers(scope.params, scope.benchmark)}
    )


def _judged(scope: _Scope) -> Sections:
    """Return the judge, and the variants, seeds and entries of all models whose replies it gets."""
    params = scope.params
    if params.judge is None:
        raise ConfigError("there is no judge; add the section `judge` with its model", path="judge")
    selected = _with_benchmarks(scope, params.benchmarks, benchmarks=params.benchmarks, models=params.models)
    models = _of_section(params.file.models, [*params.models, params.judge.model])
    return selected | {"models": models, "judge": params.judge}


def _parsed(scope: _Scope) -> Sections:
    return _cells(scope) | {"parsers": scope.params.parsers}


def _measured(scope: _Scope) -> Sections:
    return _parsed(scope) | {"statistics": scope.params.statistics}


def _imported(scope: _Scope) -> Sections:
    """Return a model with released replies, and the benchmark's data and variants."""
    models = {scope.model: scope.params.model(scope.model)}
    return _with_benchmarks(scope, [scope.benchmark], "data") | {"models": models}


def _shown(scope: _Scope) -> Sections:
    """Return everything about the edition's models and benchmarks, or one of these, for tables and pages."""
    params = scope.params
    benchmarks = [scope.benchmark] if scope.benchmark else params.benchmarks
    edition = params.selected.model_copy(update={"benchmarks": benchmarks})
    names = [*params.models, *([params.judge.model] if params.judge else [])]
    return _with_benchmarks(scope, benchmarks, "data") | {
        "editions": {params.edition: edition},
        "models": _of_section(params.file.models, names),
        "parsers": params.parsers,
        "statistics": params.statistics,
        "judge": params.judge,
    }


def _browsed(scope: _Scope) -> Sections:
    """Return the same with the settings of the report."""
    return _shown(scope) | {"report": scope.params.report}


def _tracked(scope: _Scope) -> Sections:
    """Return the same with the settings of MLflow."""
    return _shown(scope) | {"tracking": scope.params.tracking}


def _construction(scope: _Scope, keys: Collection[str] = ()) -> Sections:
    """Return an entry of the section construction, or keys of it, and the entries of the models that they name."""
    entry = scope.params.construction(scope.construction)
    kept = _only(entry, *keys, "benchmark", "scripted_endpoint") if keys else entry
    used = set[str]()
    if "attributes" in kept.model_fields_set and entry.attributes:
        used.add(entry.attributes)
    if "filters" in kept.model_fields_set:
        used |= set(entry.filters.models)
    if "generators" in kept.model_fields_set:
        used |= {generator.model for generator in entry.generators.values() if generator.model}
    return {"models": _of_section(scope.params.file.models, used), "construction": {scope.construction: kept}}


def _released(scope: _Scope, keys: Collection[str] = ()) -> Sections:
    """Return the same with the statistics, which a release of constructed questions states."""
    return _construction(scope, keys) | {"statistics": scope.params.statistics}


STEPS: Mapping[str, Callable[[_Scope], Sections]] = {
    "fetch": _data,
    "questions": _data,
    "check": _data,
    "vary": _variant,
    "probe": _model,
    "infer": _asked,
    "parse": _parsed,
    "judge": _judged,
    "measure": _measured,
    "import_released": _imported,
    "released_numbers": _shown,
    "reply_tables": _shown,
    "summarise": _shown,
    "compare": _shown,
    "compare_models": _shown,
    "report": _browsed,
    "question_browser": _browsed,
    "track": _tracked,
    "construct": _released,
    "construct_graphs": partial(_construction, keys=("scenes", "psg")),
    "construct_attributes": partial(_construction, keys=("attributes",)),
    "construct_generate": partial(_construction, keys=("generators", "seed")),
    "construct_filter": partial(_construction, keys=("filters", "seed")),
    "construct_release": partial(_released, keys=("seed",)),
}
"""The steps, by the names of their rules, and what each selects. The commands of constructions read the whole entry."""
_ASKING = frozenset({"probe", "infer", "judge", *(step for step in STEPS if step.startswith("construct"))})
"""Steps that ask a model."""
_BEFORE = {"vary": "questions", "infer": "questions", "parse": "infer", "measure": "infer"}
"""The step whose settings also decide the content of a step's output."""
_TABLES = frozenset(step for step, selects in STEPS.items() if selects in (_shown, _browsed, _tracked))

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
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.config import Params
from known_unknowns.config.construction import ConstructionEntry
from known_unknowns.data import lock_file
from known_unknowns.data.lock_file import data_revision
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.inference import bound_protocols
from known_unknowns.scoring.judge import JUDGE
from known_unknowns.workflow import configuration

Raw = dict[str, Any]
_HOW_ASKED = ("protocol", "protocols", "variants", "seeds")
"""Keys of a benchmark's entry that say how its questions are asked."""
_SHOWN = ("parsers", "statistics")
"""Sections that the pages and tables of a whole edition read besides its models and benchmarks."""


class NotSelected(LookupError):
    """A job read a key of the configuration that its step does not select."""


class Part(dict[str, Any]):
    """A mapping of the configuration without the keys ``left_out``, which raise `NotSelected` if they are read."""

    def __init__(self, kept: Mapping[str, Any], left_out: Collection[str], where: str) -> None:
        super().__init__(kept)
        self._left_out, self._where = frozenset(left_out) - kept.keys(), where

    def _check(self, key: object) -> None:
        if key in self._left_out:
            message = f"{self._where}{key} is not among what this step reads; select it in workflow/selection.py"
            raise NotSelected(message)

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
        With the mapping ``raw`` that has only what was selected.

    Raises
    ------
    ConfigError
        If a name is unknown.
    """
    for name, section in _SECTIONS.items():
        if name in names and names[name] not in params.raw[section]:
            raise ConfigError(unknown_name(names[name], params.raw[section]), path=section)
    raw = STEPS[step](_Scope(params, **names))
    return Params(_part(raw, params.raw, ""))


def compared(params: Params, step: str, **names: str) -> Raw:
    """Return what Snakemake compares to decide whether a step runs again, as plain values with sorted keys.

    It is the content of `select`, with the commits that params.lock.yaml gives, and with what the step before it reads:
    if that one failed after a change, its output is missing, and this step has to run again all the same. The keys of
    models that change no reply are left out, except for pages and tables, which show entries.
    """
    raw = dict(select(params, step, **names).raw)
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
    found: Raw = json.loads(json.dumps(raw, sort_keys=True))
    return found


def refusal_parsers(params: Params, benchmark: str) -> list[str]:
    """Return the parsers that decide whether a question is asked again; none if no protocol of the benchmark does."""
    known = bound_protocols.protocols_of(registry.get(benchmark))
    names = {params.protocol(benchmark, variant).name for variant in params.variants(benchmark)}
    parsers = sorted(name for name in params.parsers if name != JUDGE)  # the judge is asked after all replies
    return parsers if any(known[name].parses_refusals for name in names) else []


def _part(kept: Any, whole: Any, where: str) -> Any:
    """Return a mapping and those in it as `Part`, which know what was left out of the whole configuration."""
    if not isinstance(kept, Mapping):
        return kept
    whole = whole if isinstance(whole, Mapping) else {}
    parts = {key: _part(value, whole.get(key), f"{where}{key}.") for key, value in kept.items()}
    return Part(parts, whole.keys(), where)


def _edition(scope: _Scope, *keys: str) -> Raw:
    """Return the selected edition, with keys of its entry."""
    params = scope.params
    entry = params.raw["editions"][params.edition]
    return {
        "edition": params.edition,
        "editions": {params.edition: {key: entry[key] for key in keys if key in entry}},
    }


def _with_benchmarks(scope: _Scope, names: Iterable[str], *keys: str) -> Raw:
    """Return how the questions of benchmarks are asked, in which variants and seeds, and ``keys`` of their entries."""
    params, names = scope.params, list(names)
    raw = _edition(scope, "data", "seeds", "samples", "confidence", "variants", "limit")
    own = raw["editions"][params.edition].get("variants", {})
    if own:
        raw["editions"][params.edition]["variants"] = {name: own[name] for name in names if name in own}
    cells = [(name, variant) for name in names for variant in params.variants(name)]
    entries = {name: params.raw["benchmarks"][name] for name in names}
    return raw | {
        "benchmarks": {
            name: {key: entry[key] for key in (*_HOW_ASKED, *keys) if key in entry} for name, entry in entries.items()
        },
        "variants": _of_section(params, "variants", (variant for _, variant in cells)),
        "protocols": _of_section(params, "protocols", (params.protocol_name(*cell) for cell in cells)),
    }


def _of_section(params: Params, section: str, names: Iterable[str]) -> Raw:
    """Return the entries of a section that have these names."""
    return {name: params.raw[section][name] for name in sorted(set(names)) if name in params.raw[section]}


def _cells(scope: _Scope) -> Raw:
    """Return the variants, seeds and samples that a model answers, and what its replies keep.

    Imported replies have cells of their own.
    """
    entry = scope.params.model(scope.model).asked_in(scope.benchmark)
    of_model = {key: entry[key] for key in ("engine", "cells", "samples", "kept") if key in entry}
    return _with_benchmarks(scope, [scope.benchmark]) | {"models": {scope.model: of_model}}


def _data(scope: _Scope) -> Raw:
    """Return the source of a benchmark's data. Editions with the same data share it, so that none is named."""
    name, entry = scope.params.data_name, scope.params.data(scope.benchmark).as_dict()
    return {
        "edition": name,
        "editions": {name: {"data": name}},
        "benchmarks": {scope.benchmark: {"data": {name: entry}}},
    }


def _variant(scope: _Scope) -> Raw:
    """Return one variant, its seeds, and how many questions are asked."""
    params = scope.params
    raw = _edition(scope, "data", "limit")
    seeds = params.seeds_of(scope.benchmark, scope.variant)
    raw["editions"][params.edition]["seeds"] = seeds
    return raw | {
        "benchmarks": {scope.benchmark: {"seeds": {scope.variant: seeds}}},
        "variants": {scope.variant: params.variant(scope.variant).as_dict()},
    }


def _model(scope: _Scope) -> Raw:
    """Return the entry of a model that is asked."""
    return _edition(scope) | {"models": _of_section(scope.params, "models", [scope.model])}


def _asked(scope: _Scope) -> Raw:
    """Return the entry of a model, how a benchmark's questions are asked, and the parsers that decide further turns."""
    return (
        _with_benchmarks(scope, [scope.benchmark])
        | {"models": _of_section(scope.params, "models", [scope.model])}
        | {"parsers": refusal_parsers(scope.params, scope.benchmark)}
    )


def _judged(scope: _Scope) -> Raw:
    """Return the judge, and the variants, seeds and entries of all models whose replies it gets."""
    params = scope.params
    judge = params.raw["judge"]
    raw = _with_benchmarks(scope, params.benchmarks)
    raw["editions"][params.edition] |= {"benchmarks": params.benchmarks, "models": params.models}
    models = _of_section(params, "models", [*params.models, judge["model"]])
    return raw | {"models": models, "judge": judge}


def _parsed(scope: _Scope) -> Raw:
    return _cells(scope) | {"parsers": scope.params.parsers}


def _measured(scope: _Scope) -> Raw:
    return _parsed(scope) | {"statistics": scope.params.raw["statistics"]}


def _imported(scope: _Scope) -> Raw:
    """Return a model with released replies, and the benchmark's data and variants."""
    models = _of_section(scope.params, "models", [scope.model])
    return _with_benchmarks(scope, [scope.benchmark], "data") | {"models": models}


def _shown(scope: _Scope) -> Raw:
    """Return everything about the edition's models and benchmarks, or one of these, for tables and pages."""
    params = scope.params
    benchmarks = [scope.benchmark] if scope.benchmark else params.benchmarks
    raw = _with_benchmarks(scope, benchmarks, "data")
    edition = {**params.raw["editions"][params.edition], "benchmarks": benchmarks}
    judge = params.raw.get("judge")
    names = [*params.models, *([judge["model"]] if judge else [])]
    return (
        raw
        | {"editions": {params.edition: edition}, "models": _of_section(params, "models", names)}
        | {section: params.raw[section] for section in _SHOWN}
        | {"judge": judge}
    )


def _browsed(scope: _Scope) -> Raw:
    """Return the same with the settings of the report."""
    return _shown(scope) | {"report": scope.params.raw.get("report", {})}


def _tracked(scope: _Scope) -> Raw:
    """Return the same with the settings of MLflow."""
    return _shown(scope) | {"tracking": scope.params.raw["tracking"]}


def _construction(scope: _Scope, keys: Collection[str] = ()) -> Raw:
    """Return an entry of the section construction, or keys of it, and the entries of the models that they name."""
    raw = scope.params.raw["construction"][scope.construction]
    kept = {key: value for key, value in raw.items() if not keys or key in (*keys, "benchmark", "scripted_endpoint")}
    entry = ConstructionEntry(**(kept | {"generators": raw["generators"]}))
    generators = entry.generators.values() if "generators" in kept else ()
    used = {entry.attributes, *entry.filters.models, *(each.model for each in generators)} - {None}
    return {
        "models": _of_section(scope.params, "models", (name for name in used if name is not None)),
        "construction": {scope.construction: kept},
    }


def _released(scope: _Scope, keys: Collection[str] = ()) -> Raw:
    """Return the same with the statistics, which a release of constructed questions states."""
    return _construction(scope, keys) | {"statistics": scope.params.raw["statistics"]}


STEPS: Mapping[str, Callable[[_Scope], Raw]] = {
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

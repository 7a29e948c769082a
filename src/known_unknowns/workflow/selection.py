"""What each step of the workflow gets of the configuration, as parameters of its rule.

Snakemake runs a step again if a parameter changes, and the script of its job has no other settings (`workflow.job`).
The only keys that a job reads and Snakemake does not compare are those of a model that change no reply
(``not_in_the_reply`` of its engine's settings), such as the number of concurrent requests.

A parameter is a mapping of plain values, because Snakemake does not compare objects of a class. It names what it holds,
because Snakemake compares the values of all parameters as one set, without the parameters' names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.config import Entry, Params, locked_commits
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.inference import bound_protocols
from known_unknowns.records import JUDGE


@dataclass(frozen=True)
class _Scope:
    """What a step works on, by the names of wildcards; empty for the whole edition."""

    params: Params
    model: str = ""
    benchmark: str = ""
    variant: str = ""
    construction: str = ""

    @property
    def benchmarks(self) -> list[str]:
        return [self.benchmark] if self.benchmark else self.params.benchmarks

    @property
    def models(self) -> list[str]:
        return [self.model] if self.model else self.params.models


Plain = dict[str, Any]
"""A mapping of plain values."""
Parameter = Callable[[_Scope], Plain]
"""The function of a parameter."""
_SECTIONS = {"model": "models", "benchmark": "benchmarks", "construction": "construction"}
NAMES = frozenset({*_SECTIONS, "variant"})
"""Names of wildcards that say what a step works on."""


def parameter(params: Params, step: str, name: str, **names: str) -> Plain:
    """Return one parameter of a step's rule, as plain values with sorted keys.

    Parameters
    ----------
    params : Params
        The whole configuration.
    step : str
        A key of `STEPS`.
    name : str
        The parameter.
    **names : str
        What the step works on, by `NAMES`; nothing for a step of the whole edition.

    Raises
    ------
    ConfigError
        If a name is unknown.
    """
    for kind, section in _SECTIONS.items():
        known = getattr(params.file, section)
        if kind in names and names[kind] not in known:
            raise ConfigError(unknown_name(names[kind], known), path=section)
    found = STEPS[step][name](_Scope(params, **names))
    plain: Plain = json.loads(json.dumps(found, sort_keys=True))
    return plain


def compared(params: Params, step: str, **names: str) -> Plain:
    """Return all parameters of a step together: its settings."""
    found: Plain = {}
    for name in STEPS[step]:
        found |= parameter(params, step, name, **names)
    return found


def refusal_parsers(params: Params, benchmark: str) -> list[str]:
    """Return the parsers that decide whether a question is asked again; none if no protocol of the benchmark does."""
    known = bound_protocols.protocols_of(registry.get(benchmark))
    names = {params.protocol(benchmark, variant).name for variant in params.variants(benchmark)}
    parsers = sorted(name for name in params.parsers if name != JUDGE)  # the judge is asked after all replies
    return parsers if any(known[name].parses_refusals for name in names) else []


def _plain(section: Mapping[str, Entry], names: Iterable[str]) -> Plain:
    """Return the entries of a section that have these names."""
    return {name: section[name].plain() for name in set(names) if name in section}


def _without(entry: Entry, *keys: str) -> Plain:
    """Return an entry without these keys."""
    return {key: value for key, value in entry.plain().items() if key not in keys}


# The data of one benchmark


def _source(scope: _Scope) -> Plain:
    """The source of the data, and the name that editions with the same data share.

    The form is that of all earlier versions, whose records a parameter of another form would not equal: the data would
    be fetched again.
    """
    name, entry = scope.params.data_name, scope.params.data(scope.benchmark)
    data = {"benchmarks": {scope.benchmark: {"data": {name: entry.plain()}}}}
    return data | {"edition": name, "editions": {name: {"data": name}}}


def _data(scope: _Scope) -> Plain:
    return {"data": scope.params.data(scope.benchmark).plain()}


def _variant(scope: _Scope) -> Plain:
    return {"variant": scope.params.variant(scope.variant).plain()}


def _seeds(scope: _Scope) -> Plain:
    return {"seeds": scope.params.seeds_of(scope.benchmark, scope.variant)}


def _limit(scope: _Scope) -> Plain:
    return {"limit": scope.params.limit}


# The sections of the configuration, as far as a step reads them


def _edition(scope: _Scope) -> Plain:
    """The selected edition, of the benchmark and the model alone if the step is of one."""
    edition = scope.params.selected.plain() | {"benchmarks": scope.benchmarks, "models": scope.models}
    if own := edition.pop("variants", None):
        edition["variants"] = {name: own[name] for name in scope.benchmarks if name in own}
    if scope.model:
        edition.pop("published_models", None)
    return {"edition": scope.params.edition, "editions": {scope.params.edition: edition}}


def _benchmarks(scope: _Scope) -> Plain:
    """How the questions of benchmarks are asked, in which variants and seeds, and all sources of their data."""
    entries = {name: scope.params.benchmark(name) for name in scope.benchmarks}
    return {"benchmarks": {name: _without(entry, "sources") for name, entry in entries.items()}}


def _asked_benchmarks(scope: _Scope) -> Plain:
    """The same with the edition's data alone."""
    params, found = scope.params, _benchmarks(scope)
    for name, entry in found["benchmarks"].items():
        entry["data"] = {params.data_name: params.data(name).plain()}
    return found


def _variants(scope: _Scope) -> Plain:
    names = [variant for benchmark in scope.benchmarks for variant in scope.params.variants(benchmark)]
    return {"variants": _plain(scope.params.file.variants, names)}


def _protocols(scope: _Scope) -> Plain:
    params = scope.params
    names = [
        params.protocol_name(benchmark, variant)
        for benchmark in scope.benchmarks
        for variant in params.variants(benchmark)
    ]
    return {"protocols": _plain(params.file.protocols, names)}


def _parsers(scope: _Scope) -> Plain:
    return {"parsers": scope.params.parsers}


def _refusal_parsers(scope: _Scope) -> Plain:
    return {"parsers": refusal_parsers(scope.params, scope.benchmark)}


def _statistics(scope: _Scope) -> Plain:
    return {"statistics": scope.params.statistics.plain()}


def _judge(scope: _Scope) -> Plain:
    return {"judge": None if scope.params.judge is None else scope.params.judge.plain()}


def _report(scope: _Scope) -> Plain:
    return {"report": scope.params.report.plain()}


def _tracking(scope: _Scope) -> Plain:
    return {"tracking": scope.params.tracking.plain()}


def _models(scope: _Scope) -> Plain:
    """The whole entries of models, for tables and pages, which show them."""
    judge = [] if scope.params.judge is None else [scope.params.judge.model]
    return {"models": _plain(scope.params.file.models, [*scope.models, *judge])}


def _imported_model(scope: _Scope) -> Plain:
    return {"models": {scope.model: scope.params.model(scope.model).plain()}}


def _revisions(scope: _Scope) -> Plain:
    """The revisions of the data."""
    return {
        "revisions": {name: locked_commits.data_revision(name, scope.params.data(name)) for name in scope.benchmarks}
    }


# Models that are asked: the keys of their entries that can change a reply, and the commits that params.lock.yaml gives


def _asked(scope: _Scope, names: Iterable[str]) -> Plain:
    models, commits = {}, {}
    for name in set(names):
        entry = scope.params.model(name).asked_in(scope.benchmark)
        models[name] = entry.reply_keys()
        of_model, of_adapter = locked_commits.model_entry(entry), locked_commits.adapter_entry(entry)
        if of_model is not None:
            commits[name] = of_model.commit
        if of_adapter is not None:
            commits[f"{name} adapter"] = of_adapter.commit
    return {"models": models, "commits": commits}


def _model(scope: _Scope) -> Plain:
    return _asked(scope, scope.models)


def _judged_models(scope: _Scope) -> Plain:
    """The models whose replies the judge gets, and the judge."""
    if scope.params.judge is None:
        raise ConfigError("there is no judge; add the section `judge` with its model", path="judge")
    return _asked(scope, [*scope.models, scope.params.judge.model])


def _described(scope: _Scope) -> Plain:
    """The model that describes the objects of a construction."""
    attributes = scope.params.construction(scope.construction).attributes
    return _asked(scope, [attributes] if attributes else [])


def _generators(scope: _Scope) -> Plain:
    """The models of a construction's generators."""
    generators = scope.params.construction(scope.construction).generators.values()
    return _asked(scope, [generator.model for generator in generators if generator.model])


def _filters(scope: _Scope) -> Plain:
    """The models of a construction's filters."""
    return _asked(scope, scope.params.construction(scope.construction).filters.models)


def _construction(*keys: str) -> Parameter:
    """Return the function of a parameter: these keys of an entry of the section construction."""

    def of_entry(scope: _Scope) -> Plain:
        entry = scope.params.construction(scope.construction).plain()
        kept = {key: entry[key] for key in ("benchmark", "scripted_endpoint", *keys) if key in entry}
        return {"construction": {scope.construction: kept}}

    return of_entry


_CELLS: dict[str, Parameter] = {
    "edition": _edition,
    "benchmarks": _asked_benchmarks,
    "variants": _variants,
    "protocols": _protocols,
    "models": _model,
}
"""What was asked of a model, and how. Steps that follow have these parameters as well, and run again with them."""
_SHOWN: dict[str, Parameter] = {
    "edition": _edition,
    "benchmarks": _benchmarks,
    "variants": _variants,
    "protocols": _protocols,
    "models": _models,
    "parsers": _parsers,
    "statistics": _statistics,
    "judge": _judge,
    "revisions": _revisions,
}
"""Everything about the edition's models and benchmarks, for tables and pages."""
STEPS: dict[str, dict[str, Parameter]] = {
    "fetch": {"source": _source},
    "questions": {"data": _data},
    "check": {"data": _data},
    "vary": {"data": _data, "variant": _variant, "seeds": _seeds, "limit": _limit},
    "probe": {"models": _model},
    "infer": _CELLS | {"parsers": _refusal_parsers},
    "parse": _CELLS | {"parsers": _parsers},
    "judge": _CELLS | {"models": _judged_models, "judge": _judge},
    "measure": _CELLS | {"parsers": _parsers, "statistics": _statistics},
    "import_released": _CELLS | {"models": _imported_model},
    "released_numbers": _SHOWN,
    "reply_tables": _SHOWN,
    "summarise": _SHOWN,
    "compare": _SHOWN,
    "compare_models": _SHOWN,
    "report": _SHOWN | {"report": _report},
    "question_browser": _SHOWN | {"report": _report},
    "track": _SHOWN | {"tracking": _tracking},
    "construct_graphs": {"construction": _construction("scenes", "psg")},
    "construct_attributes": {"construction": _construction("attributes"), "models": _described},
    "construct_generate": {"construction": _construction("generators", "seed"), "models": _generators},
    "construct_filter": {"construction": _construction("filters", "seed"), "models": _filters},
    "construct_release": {"construction": _construction("seed"), "statistics": _statistics},
}
"""The steps, by the names of their rules, and the functions of their parameters."""

"""The configuration, checked against the registries of benchmarks, variants, protocols and parsers.

`known_unknowns.config` checks what the file alone can tell; it is a base package and knows no registry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter

from known_unknowns import config, protocols, scoring, variants
from known_unknowns.benchmark import registry
from known_unknowns.config import ImportedModel, Params, RespondentModel
from known_unknowns.config.errors import Mistakes, as_config_error, raise_all
from known_unknowns.data.released_cells import with_cells
from known_unknowns.entry_points import SECTIONS, of_group
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.inference import bound_protocols
from known_unknowns.records import JUDGE
from known_unknowns.variants.of_benchmark import every_variant, variants_of


def load(path: str | Path = "params.yaml", *, edition: str | None = None) -> Params:
    """Read and check a params file. ``edition`` overrides the file's own.

    Raises
    ------
    ConfigError
        For all mistakes in keys, types and names at once; each with the dotted path of its key.
    """
    return check(config.read(path, edition=edition))


def check(raw: Any) -> Params:
    """Check a configuration against its types, and its names against each other and the registries; see `load`."""
    params, mistakes = sound_part(raw)
    raise_all(mistakes.errors)
    assert params is not None  # else there was a mistake
    return params


def sound_part(raw: Any) -> tuple[Params | None, Mistakes]:
    """Return the configuration without its wrong keys, and all mistakes; see `load`.

    Imported models get the cells that fetched released files have.
    """
    params, mistakes = config.sound_part(raw)
    if params is None:
        return None, mistakes
    mistakes.add([*config.unknown_names(params), *unknown_to_registries(params)])
    if not mistakes.errors and any(params.data(name).source == "released" for name in params.benchmarks):
        params = with_cells(params)
    return params, mistakes


def unknown_to_registries(params: Params) -> list[ConfigError]:
    """Return the mistakes in names, arguments and combinations that only the registries can tell."""
    errors: list[ConfigError] = []

    @contextmanager
    def collected() -> Iterator[None]:
        try:
            yield
        except ConfigError as error:
            errors.append(error)

    protocol_functions, functions = bound_protocols.every_protocol(), every_variant()
    for name in params.file.protocols:
        with collected():
            protocol = params.protocol_entry(name)
            protocols.check_arguments(protocol, known=protocol_functions, path=f"protocols.{name}")
            _check_types(protocol_functions[protocol.name].function, protocol.arguments, path=f"protocols.{name}")
    for name in params.file.variants:
        with collected():
            variant = params.variant(name)
            variants.check_arguments(variant, known=functions, path=f"variants.{name}")
            _check_types(functions[variant.function].function, variant.arguments, path=f"variants.{name}")
    for index, name in enumerate(params.parsers):
        if name not in (*scoring.PARSERS, JUDGE):
            errors.append(ConfigError(unknown_name(name, (*scoring.PARSERS, JUDGE)), path=f"parsers[{index}]"))
        if name == JUDGE and params.judge is None:
            errors.append(
                ConfigError("needs the section `judge` with its model (docs/parsers.md)", path=f"parsers[{index}]")
            )
    for name in params.file.benchmarks:
        if name not in registry.names():
            errors.append(ConfigError(unknown_name(name, registry.names()), path=f"benchmarks.{name}"))
        else:
            errors += _impossible_protocols(params, name, known=protocol_functions)
    for name, edition in params.file.editions.items():
        imported = [model for model in edition.models if params.is_imported(model)]
        if edition.limit and imported:
            message = f"replies of {imported[0]} are imported, and no question is asked; remove the limit"
            errors.append(ConfigError(message, path=f"editions.{name}.limit"))
    errors += _repeated_replies(params)
    errors += _asked_otherwise(params)
    for section, entry in of_group(SECTIONS).items():
        if getattr(params.file, section):
            errors += entry.load()(params)
    return errors


def _repeated_replies(params: Params) -> Iterator[ConfigError]:
    """Models of the edition that would be asked the same thing again and give the same reply.

    A scripted respondent draws its replies anew for each seed and sample, and imported replies are what they are.
    """
    edition = params.file.editions.get(params.edition)
    if edition is None:
        return
    known_models = [name for name in edition.models if name in params.file.models]
    asked = [name for name in known_models if not isinstance(params.model(name), ImportedModel | RespondentModel)]
    for name in asked:
        entries = [params.model(name).asked_in(benchmark) for benchmark in edition.benchmarks]
        if any(entry.greedy for entry in entries) and (count := params.samples(name)) > 1:
            where = (
                f"models.{name}" if "samples" in params.model(name).model_fields_set else f"editions.{params.edition}"
            )
            message = (
                f"{name} decodes greedily: {count} samples would be the same reply; set samples: 1 in its entry, or"
            )
            yield ConfigError(f"{message} a temperature above 0 under `decoding`", path=f"{where}.samples")
    known, alike = every_variant(), defaultdict[str, list[str]](list)
    for benchmark in edition.benchmarks if asked else ():
        if benchmark not in params.file.benchmarks:
            continue
        for variant in params.variants(benchmark):
            with suppress(ConfigError):  # an unknown name, which is reported elsewhere
                function = known.get(params.variant(variant).function)
                seeds = params.seeds_of(benchmark, variant)
                if function is None or function.draws or len(seeds) == 1:
                    continue
                own = variant in params.benchmark(benchmark).seeds
                place = f"benchmarks.{benchmark}.seeds.{variant}" if own else f"editions.{params.edition}.seeds"
                alike[place].append(f"{variant} of {benchmark}")
    for place, (first, *others) in alike.items():
        variants = f"{first} and of {len(others)} other variants" if others else first
        yield ConfigError(
            f"the questions of {variants} are the same with each seed, so that {asked[0]} would give the same replies; "
            "list one seed, or set `samples`",
            path=place,
        )


def _asked_otherwise(params: Params) -> Iterator[ConfigError]:
    """Yield unknown benchmarks under ``asked`` of models, and prompts that a protocol of the edition would not use."""
    for name, entry in params.file.models.items():
        for benchmark in getattr(entry, "asked", ()):
            if benchmark not in registry.names():
                yield ConfigError(unknown_name(benchmark, registry.names()), path=f"models.{name}.asked.{benchmark}")
    edition = params.file.editions.get(params.edition)
    for benchmark in edition.benchmarks if edition else ():
        if benchmark not in registry.names() or benchmark not in params.file.benchmarks:
            continue
        for name in params.models:
            with suppress(ConfigError):  # an unknown name, which is reported elsewhere
                protocols_used = [params.protocol(benchmark, each).name for each in params.variants(benchmark)]
                model = params.model(name)
                if protocol := bound_protocols.ignored_prompt(registry.get(benchmark), protocols_used, model):
                    reason = (
                        f"the protocol {protocol!r} of {benchmark} has texts of its own; write the prompt for other"
                    )
                    yield ConfigError(f"{reason} benchmarks under `asked`", path=f"models.{name}.prompt")


def _check_types(function: Callable[..., Any], arguments: Mapping[str, Any], *, path: str) -> None:
    """ConfigError unless the arguments have the types that the function's annotations name."""
    hints = get_type_hints(function, include_extras=True)
    for name in hints.keys() & arguments.keys():
        with as_config_error(value := arguments[name], f"{path}.{name}"):
            TypeAdapter(hints[name], config=ConfigDict(strict=True, allow_inf_nan=False)).validate_python(value)


def _impossible_protocols(params: Params, name: str, *, known: Collection[str]) -> list[ConfigError]:
    """Variants that the benchmark does not have, or with a protocol that cannot ask its questions."""
    errors = []
    benchmark, own = registry.get(name), variants_of(name)
    for variant in params.variants(name):
        try:
            function = params.variant(variant).function
            if function not in own:
                if function in every_variant():
                    foreign = f"{function!r} is a variant of another benchmark; {name} has {', '.join(own)}"
                    errors.append(ConfigError(foreign, path=_variant_path(params, name, variant)))
                continue
            protocol = params.protocol(name, variant).name
            if protocol not in known:
                continue
            reason = bound_protocols.impossible_combination(benchmark, function, protocol)
        except ConfigError:
            continue  # an unknown name, which is reported elsewhere
        if reason is None:
            continue
        if own[function].removes and variant in params.benchmark(name).variants:
            errors.append(ConfigError(reason, path=_variant_path(params, name, variant)))
        else:
            errors.append(ConfigError(reason, path=_path(params, name, variant)))
    return errors


def _variant_path(params: Params, benchmark: str, variant: str) -> str:
    listed = params.benchmark(benchmark).variants
    if variant not in listed:
        return f"editions.{params.edition}.variants.{benchmark}"
    return f"benchmarks.{benchmark}.variants[{listed.index(variant)}]"


def _path(params: Params, benchmark: str, variant: str) -> str:
    """The key that gives a benchmark's variant its protocol."""
    entry = params.benchmark(benchmark)
    if variant in entry.variants_of_protocols:
        names = [item if isinstance(item, str) else item.name for item in entry.protocols]
        return f"benchmarks.{benchmark}.protocols[{names.index(params.protocol_name(benchmark, variant))}]"
    if params.variant(variant).protocol is None:
        return f"benchmarks.{benchmark}.protocol"
    return _variant_path(params, benchmark, variant)

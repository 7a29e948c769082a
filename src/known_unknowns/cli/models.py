"""The command that lists the models."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from known_unknowns.cli.options import PARAMS, AsJson, Edition, ParamsFile
from known_unknowns.comparison import settings
from known_unknowns.config import Params, catalogue
from known_unknowns.engines import memory_needs
from known_unknowns.engines.memory_needs import ListedModel, Machine
from known_unknowns.tables.aligned_text import align
from known_unknowns.workflow import configuration, needs

_HEADS = ("model", "family", "GiB", "fits", "images", "thinks", "weights", "published rows")


def list_(
    fits: Annotated[bool, typer.Option("--fits", help="List only models that fit this machine or are hosted.")] = False,
    absent: Annotated[
        bool, typer.Option("--absent", help="List the published rows without a model, and the reasons.")
    ] = False,
    needs: Annotated[
        bool, typer.Option("--needs", help="List the disk space and memory of the edition's models.")
    ] = False,
    as_published: Annotated[
        str | None,
        typer.Option(metavar="BENCHMARK", help="List how the models of a benchmark's published rows were asked."),
    ] = None,
    as_json: AsJson = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """List the models, their memory requirements, and the published rows that they reproduce.

    A star marks the models of the edition. All others are off.

    With --as-published, each published row has its settings with their sources, and whether its entry asks exactly so,
    nearly so (settings are unknown, or differ in what changes few replies), or not, and why.

    \b
    Examples:
      known-unknowns models list --fits
      known-unknowns models list --needs --edition papers
      known-unknowns models list --as-published BENCHMARK
    """
    chosen = configuration.load(params, edition=edition)
    if as_published:
        _print_as_published(settings.as_published(chosen, as_published), as_json=as_json)
        return
    if needs:
        _print_needs(chosen, as_json=as_json)
        return
    here = memory_needs.this_machine()
    listed = memory_needs.list_models(chosen, here)
    if fits:
        fitting = (memory_needs.ON_GPU, memory_needs.IN_RAM, memory_needs.ELSEWHERE)
        listed = [row for row in listed if row.fits in fitting]
    if as_json:
        found = {"machine": asdict(here), "models": [row.as_json() for row in listed], "absent": catalogue.absent()}
        print(json.dumps(found, indent=2))
    elif absent:
        print(*align([("benchmark", "row", "reason"), *_absent(catalogue.absent())]), sep="\n")
    else:
        print(*align([_HEADS, *map(_row, listed)]), sep="\n")
        print(_below(listed, here))


def _print_needs(params: Params, *, as_json: bool) -> None:
    of_models = needs.of_edition(params)
    sums = needs.totals(of_models)
    gpu_gib = memory_needs.this_machine().gpu_gib
    refused = {each.model: memory_needs.shortage(params.model(each.model), gpu_gib) for each in of_models}
    if as_json:
        found = {"edition": params.edition, "models": list(map(asdict, of_models)), "totals": asdict(sums)}
        print(json.dumps(found | {"refused": refused}, indent=2))
        return
    rows = [(each.model, each.runs, _number(each.disk_gb), _number(each.memory_gib)) for each in of_models]
    print(*align([("model", "runs", "disk GB", "memory GiB"), *rows]), sep="\n")
    unknown = f" {sums.unknown} of unknown size are not counted." if sums.unknown else ""
    print(
        f"\nAll {sums.models} models with weights: {sums.disk_gb:g} GB of disk. The largest needs "
        f"{sums.memory_gib:g} GiB of memory.{unknown}"
    )
    for model, why in refused.items():
        if why is not None:
            print(f"{model} {why}.")
    if gpu_gib is None:
        print("This machine has no GPU: whether the models fit into one is not known.")


def _print_as_published(rows: Sequence[settings.Reproducibility], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([_published_json(row) for row in rows], indent=2, ensure_ascii=False))
        return
    for row in rows:
        print(f"{row.settings.row} ({row.model or 'no entry'}): {row.level}")
        lines = [f"differs: {text}" if row.model else text for text in row.reasons]
        lines += [f"unknown in the source: {', '.join(row.unknown)}"] if row.unknown else []
        lines += [f"note: {row.settings.note}"] if row.settings.note else []
        lines += [f"{place}: {'; '.join(values) or '-'}" for place, values in _by_source(row.settings).items()]
        print(
            "\n".join(textwrap.fill(line, 118, initial_indent="  ", subsequent_indent="    ") for line in lines) + "\n"
        )
    levels = Counter(row.level for row in rows)
    counts = ", ".join(f"{levels[level]} {level}" for level in settings.LEVELS)
    print(f"{len(rows)} rows: {counts}. The sources are in {rows[0].settings.origin}." if rows else "no published rows")


def _by_source(row: settings.PublishedSettings) -> dict[str, list[str]]:
    """Return the settings of a row by the place that states them. Variants with the same setting are named together."""
    found: dict[str, list[str]] = {row.source(""): []}
    for key, value in row.of("").items():
        found.setdefault(row.source(key), []).append(f"{key} {settings.shown(key, value)}")
    alike: dict[tuple[str, str], list[str]] = {}
    for variant, changed in row.variants.items():
        for key, value in changed.items():
            alike.setdefault((key, settings.shown(key, value)), []).append(variant)
    for (key, text), variants in alike.items():
        found.setdefault(row.source(key), []).append(f"{key} {text} in {', '.join(variants)}")
    return found


def _published_json(row: settings.Reproducibility) -> dict[str, Any]:
    own = row.settings
    return {
        "row": own.row,
        "model": row.model or None,
        "reproduced": row.level,
        "reasons": row.reasons,
        "unknown": row.unknown,
        "settings": own.of(""),
        "variants": own.variants,
        "sources": {key: own.source(key) for key in own.of("")} or {"": own.source("")},
        "origin": own.origin,
        "note": own.note,
    }


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _row(row: ListedModel) -> tuple[str, ...]:
    found = row.as_json()
    memory = found["memory_gib"]
    return (
        f"{'*' if row.on else ' '} {row.name}",
        found.get("family", "-"),
        "-" if memory is None else f"{memory:.1f}",
        row.fits or "-",
        found["images"],
        "yes" if found["thinking"] else "-",
        "server"
        if found["remote_code"]
        else "hosted"
        if row.fits == "hosted"
        else "gated"
        if found.get("gated")
        else "open",
        "; ".join(f"{benchmark}: {name}" for benchmark, name in row.published.items()) or "-",
    )


def _absent(rows: dict[str, dict[str, str]]) -> list[tuple[str, str, str]]:
    return [(benchmark, row, why) for benchmark, reasons in rows.items() for row, why in reasons.items()]


def _below(listed: Sequence[ListedModel], here: Machine) -> str:
    gpus = ", ".join(f"{name} with {memory:g} GiB" for name, memory in here.gpus) or "no GPU"
    lines = ["", f"This machine: {here.ram_gib:g} GiB of main memory, {gpus}."]
    for package in sorted({package for row in listed for package in row.missing}):
        names = ", ".join(row.name for row in listed if package in row.missing)
        lines.append(f"Not installed: {package}, required by {names}.")
    lines.append(
        "server: needs an inference server (profiles/vllm/README.md). gated: accept the licence on the hub first."
    )
    return "\n".join(lines)

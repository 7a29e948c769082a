"""Command that lists the models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from known_unknowns.cli._options import PARAMS, Edition, ParamsFile

if TYPE_CHECKING:
    from known_unknowns.engines.memory_needs import ListedModel, Machine

_HEADS = ("model", "family", "GiB", "fits", "images", "thinks", "weights", "published rows")


def models(
    fits: Annotated[bool, typer.Option("--fits", help="List only models that fit this machine or are hosted.")] = False,
    absent: Annotated[
        bool, typer.Option("--absent", help="List the published rows without a model, and the reasons.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """List the models, their memory requirements, and the published rows that they reproduce.

    A star marks the models of the edition. All others are off.

    \b
    Example:
      known-unknowns models --fits
    """
    from known_unknowns.config import catalogue
    from known_unknowns.engines import memory_needs
    from known_unknowns.workflow import configuration

    here = memory_needs.this_machine()
    listed = memory_needs.list_models(configuration.load(params, edition=edition), here)
    if fits:
        fitting = (memory_needs.ON_GPU, memory_needs.IN_RAM, memory_needs.ELSEWHERE)
        listed = [row for row in listed if row.fits in fitting]
    if as_json:
        found = {"machine": asdict(here), "models": [row.as_json() for row in listed], "absent": catalogue.absent()}
        print(json.dumps(found, indent=2))
    elif absent:
        print(_columns([("benchmark", "row", "reason"), *_absent(catalogue.absent())]))
    else:
        print(_columns([_HEADS, *map(_row, listed)]))
        print(_below(listed, here))


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


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


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

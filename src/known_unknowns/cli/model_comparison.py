"""Commands that compare models with each other, and that plan a run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.cli.options import PARAMS, AsJson, Edition, ParamsFile
from known_unknowns.comparison.paired_rows import as_text, write_model_comparison
from known_unknowns.comparison.pairs import Selection, compare_selection
from known_unknowns.edition_files import EditionFiles
from known_unknowns.engines import gpus, memory_needs
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.metrics.summary import main_parser
from known_unknowns.workflow import configuration, prerequisites, rule_functions, run_plan


def compare_models(
    models: Annotated[list[str] | None, typer.Argument(help="Models; by default all of the edition.")] = None,
    benchmark: Annotated[list[str] | None, typer.Option(help="A benchmark; by default all. Repeatable.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="A variant; by default all. Repeatable.")] = None,
    parser: Annotated[
        list[str] | None, typer.Option(help="A parser; by default robust, or the first. Repeatable.")
    ] = None,
    results: Annotated[Path | None, typer.Option(help="The results folder; by default results/EDITION.")] = None,
    data: Annotated[Path | None, typer.Option(help="The data folder; by default that of the edition.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="A Parquet table to write as well.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Compare models with each other on the same questions, in all pairs.

    Models are also compared by dual accuracy, where both of its variants are selected.
    Variants without content (noise, blank images, no image) are not compared by accuracy.
    With one model, two or more variants (prompts, protocols) or two or more parsers of it are compared instead.

    A pair has the difference of its accuracies with a confidence interval clustered by image, an exact sign-flip
    test (McNemar's test if every image has one question), its p-value after Holm's correction over all pairs, rank
    intervals, and the minimum detectable difference at 80% power. docs/comparison.md describes the methods.

    \b
    Examples:
      known-unknowns compare-models MODEL OTHER --benchmark BENCHMARK
      known-unknowns compare-models MODEL --variant original --variant nota_only
      known-unknowns compare-models MODEL --parser official --parser robust
    """
    chosen = prerequisites.as_run(configuration.load(params, edition=edition))
    for name in models or ():  # a model that was removed from the edition may have answers
        if name not in chosen.models:
            raise ConfigError(unknown_name(name, chosen.models), path="MODEL")
    selection = Selection(
        models=models or chosen.models,
        benchmarks=benchmark or chosen.benchmarks,
        variants=variant or (),
        parsers=parser or (main_parser(chosen.parsers),),
    )
    rows = compare_selection(
        chosen,
        selection,
        EditionFiles(data or Path("data", chosen.data_name), results or Path("results", chosen.edition)),
    )
    if out is not None:
        write_model_comparison(out, rows)
    elif not rows:
        message = "no two have answers to the same benchmark and variant; if the edition has not been run, run it first"
        raise DataError(message, file=results or Path("results", chosen.edition))
    print(as_text(rows, selection.compared))


def run(
    gpus_of_run: Annotated[
        int | None, typer.Option("--gpus", min=1, help="The run's GPUs. [default: those of this machine]")
    ] = None,
    gpu_memory: Annotated[
        float | None,
        typer.Option(min=0, help="GiB of each GPU. [default: this machine's; unknown if --gpus is given]"),
    ] = None,
    as_json: AsJson = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Print the plan of a run before it starts: new first turns, GPUs, downloads and money of each model.

    Nothing is started, and no network is used. The journal tells what was asked before; a model whose first run was
    interrupted has to be loaded for that, so that its number is "at most". "4 x 1" GPUs are four jobs on one each.

    Of dialogues, whose later turns depend on the replies, turns and money are "at least". Downloads are the sizes in
    params.lock.yaml, or the number of parameters times the bytes of the dtype. Money follows from prices.yaml in the
    project's folder, whose format is that of the packaged table (known_unknowns/engines/prices.yaml), and else from
    that table, which has a date. A model that needs more GPUs than there are, or more memory for its weights than a GPU
    has, is refused, with the two numbers; where they are unknown, nothing is. What is not known is "unknown", and null
    with --json. The judge's requests depend on the replies and are not planned.

    \b
    Examples:
      known-unknowns plan run --edition full
      known-unknowns plan run --edition papers --gpus 8 --gpu-memory 80
    """
    chosen = prerequisites.as_run(configuration.load(params, edition=edition))
    count = max(1, len(gpus.visible())) if gpus_of_run is None else gpus_of_run
    if gpu_memory is None and gpus_of_run is None:
        gpu_memory = memory_needs.this_machine().gpu_gib
    plan = run_plan.of_run(rule_functions.with_shards(chosen, count), count, gpu_memory)
    print(json.dumps(asdict(plan), indent=2) if as_json else run_plan.as_text(plan))

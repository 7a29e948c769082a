"""Commands that compare models with each other, and that plan such a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.command_options import PARAMS, Edition, ParamsFile
from known_unknowns.comparison.model_pairs import Selection, as_text, compare_selection
from known_unknowns.comparison.models import write_model_comparison
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.metrics.power import PairedDesign
from known_unknowns.metrics.summary import main_parser
from known_unknowns.workflow import configuration, prerequisites


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
    intervals, and the minimum detectable difference at 80% power. docs/model_comparison.md describes the methods.

    \b
    Examples:
      known-unknowns compare-models MODEL OTHER --benchmark BENCHMARK
      known-unknowns compare-models MODEL --variant original --variant nota_only
      known-unknowns compare-models MODEL --parser official --parser robust
    """
    chosen = prerequisites.as_run(configuration.load(params, edition=edition))
    for name in models or ():  # a model that was removed from the edition may have scores
        if name not in chosen.models:
            raise ConfigError(unknown_name(name, chosen.models), path="MODEL")
    selection = Selection(
        models=models or chosen.models,
        benchmarks=benchmark or chosen.benchmarks,
        variants=variant or (),
        parsers=parser or (main_parser(chosen.parsers),),
    )
    if out is not None and not models and len(chosen.models) < 2:
        write_model_comparison(out, [])
        print(f"the {chosen.edition} edition has fewer than two models: nothing to compare")
        return
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


def power(
    n: Annotated[int, typer.Option(min=2, help="Number of questions.")],
    images: Annotated[int, typer.Option(min=2, help="Number of images, with the same number of questions each.")],
    accuracy: Annotated[float, typer.Option(help="Expected accuracy of the first model, from 0 to 1.")],
    difference: Annotated[
        float | None, typer.Option(help="Accuracy of the second model less that of the first one, from -1 to 1.")
    ] = None,
    correlation: Annotated[
        float, typer.Option(help="Correlation of the two models' answers to the same question.")
    ] = 0.0,
    icc: Annotated[float, typer.Option(help="Correlation of the differences of two questions on one image.")] = 0.2,
    confidence: Annotated[float, typer.Option(help="1 less the significance level.")] = 0.95,
    target: Annotated[float, typer.Option(help="The power that is asked for.")] = 0.8,
) -> None:
    """Plan a comparison of two models: its power, minimum detectable difference, and the images it needs.

    Both models answer the same questions. The test is a two-sided t test over images.

    \b
    Example:
      known-unknowns power --n 300 --images 60 --accuracy 0.8 --difference 0.05
    """
    if not 0 < target < 1 or difference == 0:
        raise ConfigError("the target is not between 0 and 1" if difference != 0 else "the difference is 0")
    try:
        design = PairedDesign(n, images, accuracy, correlation, icc, confidence)
        print(
            f"design: {n} questions on {images} images, accuracy {accuracy:g}, correlation of the models"
            f" {correlation:g}, correlation within images {icc:g}, significance level {1 - confidence:.3g}\n"
            f"standard error of the difference: {100 * design.standard_error():.2f} points"
        )
        detectable = design.detectable(target)
        found = "none" if detectable is None else f"{100 * detectable:.2f} points"
        print(f"minimum detectable difference at {target:.0%} power: {found}")
        if difference is not None:
            print(f"power for a difference of {100 * difference:g} points: {design.power(difference):.1%}")
            needed = design.images_needed(difference, target)
            text = "none" if needed is None else f"{needed}, with {n / images:g} questions each"
            print(f"images needed for {target:.0%} power: {text}")
    except ValueError as error:
        raise ConfigError(str(error)) from error

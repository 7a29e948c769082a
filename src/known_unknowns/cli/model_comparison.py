"""Commands that compare models with each other, and that plan comparisons."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.command_options import PARAMS, AsJson, Edition, ParamsFile
from known_unknowns.comparison.pairs import Selection, as_text, compare_selection, write_model_comparison
from known_unknowns.data.sample import smallest
from known_unknowns.edition_files import EditionFiles
from known_unknowns.engines import gpus
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.metrics.power import PairedDesign, sample_power
from known_unknowns.metrics.summary import main_parser
from known_unknowns.records import Question
from known_unknowns.workflow import configuration, needs, prerequisites, rule_functions, run_plan


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


def comparison(
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
      known-unknowns plan comparison --n 300 --images 60 --accuracy 0.8 --difference 0.05
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


def run(
    gpus_of_run: Annotated[
        int | None, typer.Option("--gpus", min=1, help="The run's GPUs. [default: those of this machine]")
    ] = None,
    as_json: AsJson = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Print the plan of a run before it starts: new turns, GPUs, hours, downloads and money of each model.

    Nothing is started, and no network is used. The journal tells what was asked before; a model whose first run was
    interrupted has to be loaded for that, so that its number is "at most". "4 x 1" GPUs are four jobs on one each.

    Hours follow from the mean time of the model's recorded replies to the same benchmark. Downloads are the sizes in
    params.lock.yaml, or the number of parameters times the bytes of the dtype. Money follows from prices.yaml in the
    project's folder, whose format is that of the packaged table (known_unknowns/engines/prices.yaml), and else from
    that table, which has a date. What is not known is "unknown", and null with --json. The judge's requests depend on
    the replies and are not planned.

    \b
    Examples:
      known-unknowns plan run --edition full
      known-unknowns plan run --edition papers --gpus 8
    """
    chosen = prerequisites.as_run(configuration.load(params, edition=edition))
    count = max(1, len(gpus.visible())) if gpus_of_run is None else gpus_of_run
    plan = run_plan.of_run(rule_functions.with_shards(chosen, count), count)
    print(json.dumps(asdict(plan), indent=2) if as_json else run_plan.as_text(plan))


def sample(
    benchmark: Annotated[str, typer.Argument(help="A benchmark of the edition.")],
    decide: Annotated[str, typer.Option(help='What is to be decided: "differs by 2 points".')] = "differs by 2 points",
    power: Annotated[float, typer.Option(help="The probability that the sample shows such a difference.")] = 0.8,
    accuracy: Annotated[float, typer.Option(help="Expected accuracy; 0.5 needs the most questions.")] = 0.5,
    icc: Annotated[float, typer.Option(help="Correlation of two answers on one image.")] = 0.2,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Plan a run on a sample: the fewest questions that show a difference from a published number.

    It prints the cost for each model of the edition. The sample is that of LIMIT: whole images, stratified by category
    and by whether the refusal is right. The published number is that of all questions, so that only the choice of the
    sample is random. docs/verdicts.md has the formula, and a simulation of it.

    \b
    Example:
      known-unknowns plan sample BENCHMARK --edition full --decide "differs by 2 points" --power 0.8
    """
    found = re.fullmatch(r"differs by (\d+(?:\.\d+)?) points?", decide.strip())
    difference = float(found[1]) / 100 if found else 0.0
    if not 0 < difference < 1:
        raise ConfigError(f"{decide!r} is not of the form 'differs by 2 points'", path="--decide")
    for name, value in (("--power", power), ("--accuracy", accuracy)):
        if not 0 < value < 1:
            raise ConfigError(f"{value:g} is not between 0 and 1", path=name)
    if not 0 <= icc <= 1:
        raise ConfigError(f"{icc:g} is not from 0 to 1", path="--icc")
    chosen = configuration.load(params, edition=edition)
    if benchmark not in chosen.benchmarks:
        raise ConfigError(unknown_name(benchmark, chosen.benchmarks), path="BENCHMARK")
    table = EditionFiles.of(chosen).question_table(benchmark)
    if not table.is_file():
        make = f"make run EDITION={chosen.edition} ARGS={table.as_posix()}"
        raise DataError(f"the questions are not there yet; fetch them with  {make}", file=table)
    questions = tables.read_questions(table)
    confidence = chosen.statistics.confidence

    def power_of(drawn: Sequence[Question]) -> float:
        sizes = list(Counter(question.group for question in drawn).values())
        return sample_power(sizes, len(questions), difference, accuracy=accuracy, icc=icc, confidence=confidence)

    drawn = smallest(questions, lambda some: power_of(some) >= power)
    images, whole = (len({question.group for question in some}) for some in (drawn, questions))
    n = len(drawn)
    print(
        f"{registry.get(benchmark).title}, edition {chosen.edition}: {n:,} of {len(questions):,} questions, "
        f"on {images:,} of {whole:,} images\n"
        f"power to show a difference of {100 * difference:g} points from a published number: {power_of(drawn):.1%} "
        f"(accuracy {accuracy:g}, correlation within images {icc:g}, confidence {confidence:g})"
    )
    for category, count in sorted(Counter(question.category for question in drawn).items()):
        refusals = sum(q.category == category and q.answer is not None and q.answer == q.refusal for q in drawn)
        print(f"  {category}: {count:,} questions, the refusal is right in {refusals:,}")
    print(f"Run it:  make run EDITION={chosen.edition} LIMIT={n}")
    for model in chosen.models:
        print(f"  {model}: {needs.estimate(chosen, model, benchmark, n)}")

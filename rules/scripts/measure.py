"""Compute every metric of a model on a benchmark with its confidence interval, and the confidence in each answer."""

from pathlib import Path

from known_unknowns.workflow.job import configuration, job

with job(snakemake) as settings:
    from known_unknowns.metrics import measure

    params = configuration(settings)
    model, benchmark = snakemake.wildcards.model, snakemake.wildcards.benchmark
    measure(
        params,
        model,
        benchmark,
        variants=Path(snakemake.params.folder),
        scores=Path(snakemake.input.scores),
        replies=Path(snakemake.input.replies),
        out=Path(snakemake.output.metrics),
        confidence=Path(snakemake.output.confidence),
        kept=getattr(params.model(model), "kept", None),
    )

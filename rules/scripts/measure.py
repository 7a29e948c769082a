"""Compute every metric of a model on a benchmark with its confidence interval."""

from pathlib import Path

from known_unknowns.workflow.job import configuration, job

with job(snakemake) as settings:
    from known_unknowns.metrics.measure import measure

    measure(
        configuration(settings),
        snakemake.wildcards.model,
        snakemake.wildcards.benchmark,
        answers=Path(snakemake.input[0]),
        out=Path(snakemake.output[0]),
    )

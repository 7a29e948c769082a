"""Compute every metric of a model on a benchmark with its confidence interval."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.metrics.measure import measure
    from known_unknowns.records import Cell, ResolvedProtocol

    measure(
        snakemake.wildcards.model,
        snakemake.wildcards.benchmark,
        answers=Path(snakemake.input[0]),
        out=Path(snakemake.output[0]),
        cells=[Cell(*cell) for cell in settings["cells"]],
        parsers=settings["parsers"],
        confidence_level=settings["confidence_level"],
        variants=settings["variants"],
        protocols={name: ResolvedProtocol.of(**entry) for name, entry in settings["protocols"].items()},
    )

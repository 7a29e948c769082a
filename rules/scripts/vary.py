"""Apply a variant to the questions of a benchmark, with all seeds."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.data.variant_tables import vary
    from known_unknowns.records import ResolvedVariant

    vary(
        ResolvedVariant.of(**settings["variant"]),
        Path(snakemake.input.questions),
        Path(snakemake.output[0]),
        seeds=settings["seeds"],
        limit=settings["limit"],
    )

"""Compare parsers, variants and models question by question."""

from pathlib import Path

from known_unknowns.workflow.job import configuration, job

with job(snakemake) as settings:
    from known_unknowns.comparison.reply_tables import write_tables

    write_tables(
        configuration(settings),
        snakemake.wildcards.benchmark,
        variants=Path(snakemake.params.folder),
        answers=Path(snakemake.params.answers),
        out=Path(snakemake.params.out),
    )

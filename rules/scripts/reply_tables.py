"""Compare parsers, variants and models question by question."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.comparison.reply_tables import write_tables
    from known_unknowns.config import Params

    write_tables(
        Params.of_settings(settings),
        snakemake.wildcards.benchmark,
        variants=Path(snakemake.params.folder),
        answers=Path(snakemake.params.answers),
        out=Path(snakemake.params.out),
    )

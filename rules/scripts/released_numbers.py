"""Write the numbers that were released with replies, and whether these reproduce them."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import Params
    from known_unknowns.exchange.released import write_published

    write_published(
        Params.of_settings(settings),
        snakemake.wildcards.benchmark,
        raw=Path(snakemake.input.raw),
        variants=Path(snakemake.params.folder),
        out=Path(snakemake.output[0]),
    )

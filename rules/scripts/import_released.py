"""Write the released replies of a model as inference writes replies."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns.config import Params
    from known_unknowns.exchange.released import import_released

    import_released(
        Params.of_settings(settings),
        snakemake.wildcards.model,
        snakemake.wildcards.benchmark,
        raw=Path(snakemake.input.raw),
        variants=Path(snakemake.params.folder),
        out=Path(snakemake.params.out),
    )

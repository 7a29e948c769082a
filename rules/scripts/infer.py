"""Ask a model every question of a benchmark, in all its variants and seeds, and write the table of replies."""

from pathlib import Path

from known_unknowns.workflow.job import asking_configuration, job

with job(snakemake) as settings:
    from known_unknowns import stopping
    from known_unknowns.model_runs.model_run import infer

    stopping.install()
    params = snakemake.params
    infer(
        asking_configuration(settings),
        snakemake.wildcards.model,
        snakemake.wildcards.benchmark,
        questions=Path(params.questions),
        variants=Path(params.folder),
        out=Path(params.out),
        journal=Path(params.journal),
        records=Path(params.shards),
        settings=settings,
    )

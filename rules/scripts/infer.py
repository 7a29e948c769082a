"""Ask a model every question of a benchmark, in all its variants and seeds, and write the table of replies."""

from pathlib import Path

from known_unknowns.workflow.job import job

with job(snakemake) as settings:
    from known_unknowns import stopping
    from known_unknowns.inference.asking import Asking
    from known_unknowns.model_runs.model_run import infer

    stopping.install()
    params, wildcards = snakemake.params, snakemake.wildcards
    infer(
        Asking.of_settings(wildcards.model, settings),
        wildcards.model,
        wildcards.benchmark,
        questions=Path(params.questions),
        variants=Path(params.folder),
        out=Path(params.out),
        journal=Path(params.journal),
        records=Path(params.shards),
    )
